"""Edits of a sequence along an axis: what could be done, what each would add, and a choice among them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from agents.embedded import library
from agents.embedded.assignment import Figures
from agents.embedded.conversation import CannotError
from evolution.plan import Axis, Effort
from evolution.sequence import Sequence, Step

LONGEST: Final = 12
SPAN: Final = {Effort.LOW: (1, 1), Effort.HIGH: (1, 3), Effort.MAX: (2, 4)}

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Scale:
    """How hard a pair is: by the reference figures where these know it, else by how rare the library says it is.

    Attributes:
        figures: The reference's figures, nats.
    """

    figures: Figures

    def hardest_first(self, steps: Iterable[Step]) -> list[Step]:
        """The steps by difficulty, ties by name; one measure for all of them."""
        listed = list(steps)
        known = {step: self.figures.of(*pair(step)) for step in listed}
        by_figures = {step: figure for step, figure in known.items() if figure is not None}
        worth = by_figures if len(by_figures) == len(listed) else {step: _rarity(step) for step in listed}
        return sorted(listed, key=lambda step: (-worth[step], pair(step)))

    def gain(self, old: Step, new: Step) -> float:
        """What replacing `old` by `new` adds; by rarity when the figures do not know both."""
        before, after = (self.figures.of(step.scenario, step.skill) for step in (old, new))
        if before is not None and after is not None:
            return after - before
        return _rarity(new) - _rarity(old)


@dataclass(frozen=True, slots=True)
class Wish:
    """What a plan has to keep to besides its axis.

    Attributes:
        effort: The scope.
        new_ids: Ids for inserted steps, in the order in which they are to be used.
        avoid: Pairs that an earlier attempt was turned down for.
    """

    effort: Effort
    new_ids: tuple[str, ...]
    avoid: frozenset[Pair] = frozenset()


def replacements(step: Step, axis: Axis) -> Iterator[Step]:
    """The steps that could stand in a step's place along an axis, in alphabetical order."""
    if axis is Axis.SCENARIO:
        others = (step.model_copy(update={"scenario": name}) for name in library.scenario_names())
    else:
        others = (step.model_copy(update={"skill": name}) for name in library.skill_names())
    return (other for other in others if other != step and library.knows(other))


def replace(before: Sequence, axis: Axis, wish: Wish, scale: Scale, rng: random.Random) -> Sequence:
    """An edit along `scenario` or `skill`: every pair it touches gets harder, and no pair comes twice.

    Raises:
        CannotError: No pair that it may touch can get harder.
    """
    taken = {pair(step) for step in before.steps}
    options: dict[int, list[Step]] = {}
    for position, step in enumerate(before.steps):
        found = [
            new for new in replacements(step, axis) if pair(new) not in taken | wish.avoid and scale.gain(step, new) > 0
        ]
        if found:
            options[position] = found
    if not options:
        raise CannotError(f"no {axis} that fits would make any of the {len(before)} pairs of this task harder")
    steps = list(before.steps)
    for position in _positions(sorted(options), wish.effort, rng):
        free = [new for new in options[position] if pair(new) not in taken]
        if not free:
            break  # a gap would tear the span
        steps[position] = _chosen(free, scale, rng)
        taken.add(pair(steps[position]))
    return Sequence(steps=tuple(steps))


def insert(before: Sequence, wish: Wish, scale: Scale, rng: random.Random) -> Sequence:
    """An edit along `length`: new pairs, each in front of a step of the parent, which comes to depend on it.

    Raises:
        CannotError: The task is as long as it may get, or no pair is left.
    """
    new = new_steps(before, wish, scale, rng)
    if wish.effort is not Effort.MAX:
        return before.insert(rng.randrange(len(before)), new)
    after = before
    for step in new:
        after = after.insert(rng.randrange(len(after)), (step,))
    return after


def new_steps(before: Sequence, wish: Wish, scale: Scale, rng: random.Random) -> tuple[Step, ...]:
    """Pairs that the sequence does not have yet, as many as the effort asks for and the length allows.

    Raises:
        CannotError: There is no room, no id or no pair for a single one.
    """
    least, most = SPAN[wish.effort]
    room = min(most, len(wish.new_ids), LONGEST - len(before))
    if room < 1:
        raise CannotError(f"the task has {len(before)} pairs, more than {LONGEST} are too long for one task")
    taken = {pair(step) for step in before.steps} | wish.avoid
    new: list[Step] = []
    for name in wish.new_ids[: rng.randint(min(least, room), room)]:
        free = [step for step in all_pairs(name) if pair(step) not in taken]
        if free:
            new.append(_chosen(free, scale, rng))
            taken.add(pair(new[-1]))
    if not new:
        raise CannotError("every pair that fits is in this task already or was turned down")
    return tuple(new)


def all_pairs(step_id: str) -> list[Step]:
    """Every pair that can be written, as a step of that id."""
    pairs = ((scenario, skill) for scenario in library.scenario_names() for skill in library.skill_names())
    return [
        Step(id=step_id, scenario=scenario, skill=skill)
        for scenario, skill in pairs
        if library.compatible(scenario, skill)
    ]


def pair(step: Step) -> Pair:
    """A step without its id."""
    return step.scenario, step.skill


def _rarity(step: Step) -> float:
    return float(library.rarity(step.scenario) + library.rarity(step.skill))


def _positions(possible: list[int], effort: Effort, rng: random.Random) -> list[int]:
    """Positions to edit: one, a contiguous run, or any."""
    least, most = SPAN[effort]
    count = rng.randint(least, most)
    if effort is Effort.MAX:
        return sorted(rng.sample(possible, min(count, len(possible))))
    start = rng.choice(possible)
    run = [start]
    while len(run) < count and run[-1] + 1 in possible:
        run.append(run[-1] + 1)
    return run


def _chosen(steps: Iterable[Step], scale: Scale, rng: random.Random) -> Step:
    """One of the harder half, so that generations neither repeat the extreme nor creep."""
    ranked = scale.hardest_first(steps)
    return rng.choice(ranked[: (len(ranked) + 1) // 2])
