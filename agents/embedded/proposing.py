"""The proposer: reads the task, takes its sequence and edits it along the axis, within the effort."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Final

from agents.embedded import library
from agents.embedded.assignment import Facts, axis_and_effort, feedback_of, figures_of, number, steps_of, text
from agents.embedded.conversation import Call, CannotError, Script
from agents.embedded.edits import Pair, Scale, Wish, all_pairs, insert, new_steps, pair, replace
from agents.embedded.foreign.reading import Foreign, read_foreign
from agents.embedded.library.registry import BASE_TOOLS
from agents.embedded.task_settings import at, parsed
from agents.embedded.tools import texts
from evolution.plan import Axis, Effort
from evolution.sequence import Sequence, Step

TRIES: Final = 3
FRONT: Final = 0.8  # a step in front makes all of the task depend on it, one behind only itself
_FULL_IMAGE: Final = re.compile(r"(?im)^FROM\s+(?:\S*/)?python:3[\d.]*(?:-(?:bullseye|bookworm|trixie))?\s*$")
UNLISTED: Final = "unlisted"


def propose(facts: Facts, seed: int) -> Script:
    """Submits a plan; when it comes back with an error, another one.

    Raises:
        CannotError: No plan along this axis is possible.
    """
    axis, effort = axis_and_effort(facts)
    files = yield from texts(("task.toml", "instruction.md"))
    toml = parsed(files.get("task.toml", ""))
    before = steps_of(facts.get("sequence")) or recorded(toml) or read_off(toml, text(facts, "task"))
    known = all(library.knows(step) for step in before.steps)
    if not known and axis is not Axis.LENGTH:
        raise CannotError(
            f"this task has pairs that the library does not know ({before}): it can be made longer, but no {axis} "
            "of it can be replaced"
        )
    foreign = None if known else (yield from read_foreign(toml))
    feedback = feedback_of(facts)
    rng = random.Random("\n".join((str(seed), str(axis), str(effort), str(before), *feedback)))  # noqa: S311 - no secret
    scale = Scale(figures_of(facts))
    avoid = turned_down(feedback, before) | (unsupported(foreign) if foreign is not None else frozenset())
    for _ in range(TRIES):
        wish = Wish(effort, _new_ids(facts, before), avoid)
        if foreign is not None:
            after = lengthened(before, foreign, wish, scale, rng)
        else:
            after = insert(before, wish, scale, rng) if axis is Axis.LENGTH else replace(before, axis, wish, scale, rng)
        (answer,) = yield (Call("submit_plan", _submission(before, after, rationale(before, after, axis, scale))),)
        if not answer.failed:
            return "The plan is submitted."
        avoid |= {pair(step) for step in after.steps if step not in before.steps}
    raise CannotError(f"{TRIES} plans were turned down, the last with: {answer.text}")


def lengthened(before: Sequence, foreign: Foreign, wish: Wish, scale: Scale, rng: random.Random) -> Sequence:
    """A plan for a task that the library does not know: its own pairs stay, library pairs go before or behind them.

    Raises:
        CannotError: Nothing can be tied to this task.
    """
    places = foreign.places()
    new = new_steps(before, wish, scale, rng)
    if wish.effort is Effort.MAX and len(new) > 1 and len(places) > 1:
        return before.insert(0, new[:-1]).insert(len(before) + len(new) - 1, new[-1:])
    front = "front" in places and (len(places) == 1 or rng.random() < FRONT)
    return before.insert(0, new) if front else before.insert(len(before), new[:1])


def unsupported(task: Foreign) -> frozenset[Pair]:
    """Pairs that want commands which the image of a foreign task may lack.

    A plan cannot be tried, so anything beyond a plain Debian with Python counts, unless the task says that it is there
    or builds on the full Python image, which brings git and the like.
    """
    if _FULL_IMAGE.search(task.dockerfile.text):
        return frozenset()
    listed = at(task.toml, "metadata", "tools")
    there = {*BASE_TOOLS, *(listed if isinstance(listed, list) else ())}
    return frozenset(pair(step) for step in all_pairs("x") if set(library.tools(*pair(step))) - there)


def recorded(toml: Mapping[str, object]) -> Sequence | None:
    """The sequence that `task.toml` records, if it does."""
    steps = at(toml, "metadata", "evolution", "sequence")
    return steps_of(steps) if isinstance(steps, list) and steps else None


def read_off(toml: Mapping[str, object], task: str) -> Sequence:
    """A sequence for a task that records none: one pair per step of a multi-step task, else one pair `origin`.

    The scenario is the task's category, or its first keyword; the skill is the task's (or step's) name.
    """
    keywords = at(toml, "task", "keywords")
    hints = [at(toml, "metadata", "category"), *(keywords if isinstance(keywords, list) else [])]
    scenario = next((slug(hint) for hint in hints if isinstance(hint, str) and hint), UNLISTED)
    steps = at(toml, "steps")
    names = [str(at(step, "name")) for step in steps] if isinstance(steps, list) else []
    if names:
        ids = unique([slug(name) for name in names])
        return Sequence(steps=tuple(Step(id=name, scenario=scenario, skill=name) for name in ids))
    return Sequence(steps=(Step(id="origin", scenario=scenario, skill=slug(task.rsplit("/", 1)[-1])),))


def slug(words: str) -> str:
    """Words as a name."""
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:64].rstrip("-") or UNLISTED


def unique(names: list[str]) -> list[str]:
    """The names, later twins numbered."""
    return [name if names.index(name) == i else f"{name[:60]}-{i}" for i, name in enumerate(names)]


def turned_down(feedback: tuple[str, ...], before: Sequence) -> frozenset[Pair]:
    """Pairs that feedback names as `scenario/skill`, those of the parent excepted."""
    said = "\n".join(feedback)
    kept = {pair(step) for step in before.steps}
    named = {pair(step) for step in all_pairs("x") if re.search(rf"(?<![\w/-]){step}(?![\w/-])", said)}
    return frozenset(named - kept)


def rationale(before: Sequence, after: Sequence, axis: Axis, scale: Scale) -> str:
    """What the plan changes and why that is harder."""
    old = {step.id: step for step in before.steps}
    changed = [(old.get(step.id), step) for step in after.steps if old.get(step.id) != step]
    if axis is Axis.LENGTH:
        names = ", ".join(f"{new.id} ({new})" for _, new in changed)
        end = after.steps[-1].id not in old
        tie = "works on what the task before it leaves behind" if end else "decides what the steps after it work on"
        return f"Inserts {names}: more to do, and it {tie}, so a mistake there is carried on."
    parts = []
    for past, new in changed:
        figures = [scale.figures.of(*pair(step)) for step in (past, new) if step is not None]
        known = [figure for figure in figures if figure is not None]
        by = f" ({known[0]:.2f} → {known[1]:.2f} nats)" if len(known) == 2 else ""  # noqa: PLR2004 - before and after
        parts.append(f"{new.id}: {past} becomes {new}{by}")
    return f"Replaces the {axis} where a rarer one fits, all else kept: {'; '.join(parts)}."


def _new_ids(facts: Facts, before: Sequence) -> tuple[str, ...]:
    given = facts.get("new_step_ids")
    if isinstance(given, list) and given:
        return tuple(str(name) for name in given if str(name) not in before.ids)
    generation = number(facts, "generation", 1)
    return tuple(name for name in (f"g{generation}{letter}" for letter in "abcdefgh") if name not in before.ids)


def _submission(before: Sequence, after: Sequence, why: str) -> dict[str, object]:
    return {"before": before.model_dump(mode="json"), "after": after.model_dump(mode="json"), "rationale": why}
