"""Gate `mutation`: the reference solution broken in small ways is not rewarded; what is, the tests do not look at."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Final, Self

from evolution.gates.mutation_drawing import fair
from evolution.gates.mutation_outputs import REST, Spoiled, garbage, spoiled
from evolution.gates.mutation_parts import parts_of
from evolution.gates.mutation_runs import Reference, reference_run, run_broken, run_spoiled
from evolution.gates.mutation_scripts import Broken, broken_solutions
from evolution.gates.mutation_state import TooLargeError, difference, digest
from evolution.gates.oracle import oracle_problem
from evolution.gates.outcomes import accepted, finding, invalid, judged
from evolution.gates.settings import GateSettings
from evolution.gates.trials import together
from evolution.randomness import generator

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

    from evolution.gates.mutation_runs import Ran
    from evolution.gates.roles import Roles
    from evolution.verdict import Candidate, Finding, Verdict
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task

MOST_GONE: Final = 1
"""Mutants that leave an output out or empty: every test notices, so more of them say nothing."""
MOST_LINES: Final = 1
"""Mutants that a test which counts lines would notice."""
MOST_SUSPECTS: Final = 6
"""Outputs, and parts of them, that are looked at more closely."""
MOST_LOOKED_AT: Final = 100
"""Those among which they are sought: not every one has anything that garbage could take the place of."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mutant that ran.

    Attributes:
        place: Which step of the task it is of.
        item: What was changed.
        ran: What came of it.
    """

    place: int
    item: Broken | Spoiled
    ran: Ran


class MutationGate:
    """Breaks the solution's scripts and spoils its outputs, one at a time, and lets the verifier judge each.

    Script mutants whose outputs are the same as the reference's count for nothing. An output (or a key, a column of
    one) whose every value can be replaced is a fault whatever the share of mutants that are noticed.

    Args:
        settings: `mutants` and `least_noticed` are used.
    """

    name: Final = "mutation"
    stage: Final = 3
    codes: ClassVar[Mapping[str, str]] = {
        "unnoticed": "too many small faults in the solution, or in what it leaves, still earn the full reward",
        "unchecked": "an output, or a key or column of it, may hold anything",
        "too-large": "what the reference solution leaves is more than can be looked at",
        "reference-fails": "the reference solution itself does not earn 1",
    }

    def __init__(self, settings: GateSettings | None = None) -> None:
        self._settings = settings or GateSettings()

    @classmethod
    def configured(cls, settings: GateSettings, _: Roles) -> Self:
        """With `GateSettings.mutants` and `GateSettings.least_noticed`."""
        return cls(settings)

    async def check(self, candidate: Candidate, sandboxes: Sandboxes) -> Verdict:
        """Judges the candidate; raises what a sandbox raises."""
        try:
            async with reference_run(candidate.task, sandboxes) as reference:
                problem = oracle_problem(reference.result)
                if problem:
                    return invalid(self.name, "reference-fails", problem[1])
                return await self._judge(_Bench(reference, sandboxes, self._settings.mutants))
        except TooLargeError as error:
            told = finding(self.name, "too-large", f"what the reference solution leaves was not looked at: {error}")
            told = told.model_copy(update={"suppressed": "more than can be looked at"})
            return accepted(self.name, {"mutants": 0}).model_copy(update={"findings": (told,)})

    async def _judge(self, bench: _Bench) -> Verdict:
        spoilt = await bench.outputs()
        broken = await bench.scripts()
        mutants = [*spoilt, *broken]
        noticed = sum(mutant.ran.noticed for mutant in mutants)
        share = noticed / len(mutants) if mutants else 1.0
        measured = {
            "mutants": len(mutants),
            "noticed": noticed,
            "share": round(share, 4),
            "equivalent": bench.equivalent,
        }
        findings = [self._unchecked(item) for item in await bench.unchecked(spoilt)]
        if share < self._settings.least_noticed:
            unnoticed = [mutant for mutant in mutants if not mutant.ran.noticed]
            findings += await asyncio.to_thread(lambda: [self._unnoticed(bench, mutant) for mutant in unnoticed])
        return judged(self.name, findings, measured)

    def _unchecked(self, item: Spoiled) -> Finding:
        what = f"{item.path}, {item.part}" if item.part else item.path
        said = f"{what}: {item.says}, and the reward is 1 all the same: no test looks at what is there"
        return finding(self.name, "unchecked", said, item.path)

    def _unnoticed(self, bench: _Bench, mutant: Mutant) -> Finding:
        stage = bench.reference.stages[mutant.place]
        item, paths = mutant.item, stage.outputs
        differs = difference(stage.state, mutant.ran.state, paths)
        if isinstance(item, Broken):
            where = f"{item.file}:{item.line}"
            said = f"{where}: {item.says}; the reward is 1 all the same\n{item.diff}\nits outputs differ:\n{differs}"
        else:
            where, said = item.path, f"{item.path}: {item.says}; the reward is 1 all the same\n{differs}"
        return finding(self.name, "unnoticed", said, where)


class _Bench:
    """Makes the mutants of one reference run and runs them.

    Args:
        reference: The run.
        sandboxes: Where.
        most: How many mutants count at most.
    """

    def __init__(self, reference: Reference, sandboxes: Sandboxes, most: int) -> None:
        self.reference = reference
        self.equivalent = 0
        self._sandboxes = sandboxes
        self._most = most
        self._known_stable: dict[int, tuple[str, ...]] = {}
        self._for_outputs = most - most * 2 // 5 if any(stage.outputs for stage in reference.stages) else 0

    @property
    def _task(self) -> Task:
        return self.reference.task

    async def outputs(self) -> list[Mutant]:
        """Spoiled outputs."""
        candidates: list[tuple[int, Spoiled]] = []
        for place, stage in enumerate(self.reference.stages):
            stable = await self._stable(place)
            candidates += await asyncio.to_thread(self._spoiled, place, stable or stage.outputs)
        chosen = _mixed(candidates, self._for_outputs, self._random("outputs"))
        runs = [run_spoiled(self.reference, place, item, self._sandboxes) for place, item in chosen]
        return [Mutant(*pair, ran) for pair, ran in zip(chosen, await together(runs), strict=True)]

    def _spoiled(self, place: int, paths: Sequence[str]) -> list[tuple[int, Spoiled]]:
        """Ways to spoil some outputs of a step."""
        stage = self.reference.stages[place]
        found: list[Spoiled] = []
        for path in paths:
            rng = self._random("output", place, path)
            entry = stage.state.get(path)
            if entry is not None:
                found += spoiled(path, entry, stage.was, stage.step.instruction, rng, most=self._for_outputs)
            elif path in stage.was:
                found.append(Spoiled(path, stage.was[path], "undone", "content", "there as it was before"))
        return [(place, item) for item in found]

    async def scripts(self) -> list[Mutant]:
        """Broken solutions; those that leave the same as the reference, or as one before them, are not among them."""
        wanted = self._most - self._for_outputs
        candidates: list[tuple[int, Broken]] = []
        for place, stage in enumerate(self.reference.stages):
            if stage.outputs:
                rng = self._random("script", place)
                found = await asyncio.to_thread(broken_solutions, self._task, stage.step, 2 * wanted, rng)
                candidates += [(place, item) for item in found]
        candidates = fair(
            [(f"{place}", (place, item)) for place, item in candidates], 2 * wanted, self._random("scripts")
        )
        stable = {place: await self._stable(place) for place in sorted({place for place, _ in candidates})}
        known = {place: {digest(self.reference.stages[place].state, paths)} for place, paths in stable.items()}
        counted: list[Mutant] = []
        gone = 0
        while candidates and len(counted) < wanted:
            batch, candidates = candidates[: wanted - len(counted)], candidates[wanted - len(counted) :]
            for mutant in await together([self._broken(place, item, stable[place]) for place, item in batch]):
                made = digest(mutant.ran.state, stable[mutant.place])
                if not mutant.ran.timed_out and made in known[mutant.place]:
                    self.equivalent += 1
                    continue
                known[mutant.place].add(made)
                if self._leaves_nothing(mutant):
                    gone += 1
                    if gone > MOST_GONE:
                        continue
                counted.append(mutant)
        return counted

    async def unchecked(self, spoilt: Sequence[Mutant]) -> list[Spoiled]:
        """Outputs, and parts of outputs, that may hold anything, among those of which a mutant went unnoticed."""
        chosen = await asyncio.to_thread(self._suspects, spoilt)
        ran = await together([run_spoiled(self.reference, place, item, self._sandboxes) for place, item in chosen])
        found = [item for (_, item), one in zip(chosen, ran, strict=True) if not one.noticed]
        whole = {item.path for item in found if not item.part}
        return [item for item in found if not item.part or item.path not in whole]

    def _suspects(self, spoilt: Sequence[Mutant]) -> list[tuple[int, Spoiled]]:
        """The first suspicious ones with garbage in their place."""
        stages = self.reference.stages
        known = [(place, stages[place].state[path], path, part) for place, path, part in self._suspicious(spoilt)]
        files = [one for one in known if one[1].kind == "file" and one[1].content][:MOST_LOOKED_AT]
        made = ((place, garbage(path, entry, part)) for place, entry, path, part in files)
        return list(islice(((place, item) for place, item in made if item is not None), MOST_SUSPECTS))

    def _suspicious(self, spoilt: Sequence[Mutant]) -> list[tuple[int, str, str]]:
        """Step, path and part ("" for all of it) where a change went unnoticed; then those where none was tried."""
        noticed: set[tuple[int, str, str]] = set()
        found: dict[tuple[int, str, str], None] = {}
        for mutant in spoilt:
            item = mutant.item
            if not isinstance(item, Spoiled):
                continue
            if not mutant.ran.noticed:
                found.update(dict.fromkeys((mutant.place, item.path, part) for part in ("", item.part, REST)))
            elif item.group == "content":
                noticed |= {(mutant.place, item.path, ""), (mutant.place, item.path, item.part)}
        for place, stage in enumerate(self.reference.stages):
            for path in self._known_stable.get(place) or stage.outputs:
                entry = stage.state.get(path)
                parts = parts_of(path, entry.content) if entry is not None and entry.kind == "file" else ()
                untried = [(place, path, part) for part in ("", *(part.name for part in parts))]
                found.update(dict.fromkeys(key for key in untried if key not in noticed))
        return [key for key in found if self._has_own_content(key[0], key[1])]

    def _has_own_content(self, place: int, path: str) -> bool:
        """Whether the reference solution gave an output what is in it, and not just another mode or owner."""
        stage = self.reference.stages[place]
        now, was = stage.state.get(path), stage.was.get(path)
        return now is not None and (was is None or (was.kind, was.content) != (now.kind, now.content))

    async def _broken(self, place: int, item: Broken, stable: tuple[str, ...]) -> Mutant:
        return Mutant(place, item, await run_broken(self.reference, place, item, self._sandboxes, stable=stable))

    async def _stable(self, place: int) -> tuple[str, ...]:
        """The outputs that are the same when the reference solution runs again."""
        if place not in self._known_stable:
            stage = self.reference.stages[place]
            again = await run_broken(self.reference, place, None, self._sandboxes)
            same = tuple(path for path in stage.outputs if again.state.get(path) == stage.state.get(path))
            self._known_stable[place] = same
        return self._known_stable[place]

    def _leaves_nothing(self, mutant: Mutant) -> bool:
        """Whether an output is missing or empty that the reference solution left."""
        stage = self.reference.stages[mutant.place]
        now = mutant.ran.state
        left = {path: entry for path, entry in stage.state.items() if entry.kind == "file" and entry.content}
        return mutant.ran.timed_out or any(path not in now or not now[path].content for path in left)

    def _random(self, *about: str | int) -> random.Random:
        named = [str(part).encode("utf-8", "backslashreplace").decode() for part in about]  # a path need not be UTF-8
        return generator(self._task.content_hash, "mutation", *named)


def _mixed(candidates: Sequence[tuple[int, Spoiled]], most: int, rng: random.Random) -> list[tuple[int, Spoiled]]:
    """At most `most`: a few that any test notices, the others in turns from every output, and there from every part."""
    groups: dict[str, list[tuple[int, Spoiled]]] = {"gone": [], "lines": [], "content": []}
    for place, item in candidates:
        groups[item.group].append((place, item))
    gone = _in_turns(groups["gone"], min(MOST_GONE, most), rng)
    lines = _in_turns(groups["lines"], min(MOST_LINES, most - len(gone)), rng)
    content = _in_turns(groups["content"], most - len(gone) - len(lines), rng)
    return [*content, *lines, *gone]


def _in_turns(candidates: Sequence[tuple[int, Spoiled]], most: int, rng: random.Random) -> list[tuple[int, Spoiled]]:
    by_output: dict[str, list[tuple[int, Spoiled]]] = {}
    for place, item in candidates:
        by_output.setdefault(f"{place} {item.path}", []).append((place, item))
    drawn: list[tuple[str, tuple[int, Spoiled]]] = []
    for output, items in by_output.items():
        parts = fair([(item.part, (place, item)) for place, item in items if item.part], most, rng)
        others = fair([(item.kind, (place, item)) for place, item in items if not item.part], most, rng)
        drawn += [(output, item) for item in (*parts, *others)]
    return fair(drawn, most, rng, shuffled=False)
