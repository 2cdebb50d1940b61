"""Looks for the condition that a task leans on: all of them at once, then, when that differs, each alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from evolution.gates.rerun_trials import Problem, difference, problem_under, round_under
from evolution.gates.trials import fresh_reference, together
from sandbox.perturbing import CLOCK, Survey, survey

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sandbox.conditions import Condition
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task
    from sandbox.trial.result import TrialResult

TOGETHER: Final = "conditions"


@dataclass(slots=True)
class Conditions:
    """Runs a task under other conditions than usual.

    Args:
        task: The task.
        sandboxes: Where.
        survey: What can be otherwise.
        plain: Clean runs under the usual conditions.
        excused: Names of conditions that are left out.
        noop_too: Whether doing nothing is tried under them, too.
        clean: Runs of the reference solution under other conditions that went as usual.
    """

    task: Task
    sandboxes: Sandboxes
    survey: Survey
    plain: list[TrialResult]
    excused: set[str] = field(default_factory=set)
    noop_too: bool = True
    clean: int = 0

    async def problem(self, variants: int) -> Problem | None:
        """What is wrong, if anything; afterwards `clean` says how many runs of the reference solution were not.

        Args:
            variants: How many of the clocks and hash seeds to try.
        """
        if not self.survey.variants:
            return None
        for variant, said in enumerate(await together([self._tried(self._all(number)) for number in range(variants)])):
            problem = await self._culprit(variant, said) if said else None
            if problem:
                return problem
            self.clean += 1
        return None

    async def _culprit(self, variant: int, said: str) -> Problem | None:
        """Who is at fault for a difference under all conditions at once."""
        for name, ways in self.survey.variants.items():
            if name in self.excused:
                continue
            way = ways[variant % len(ways)]
            alone = await self._tried([way])
            if not alone:
                continue
            if name == CLOCK and not await self._tried([await self._clock_with_files(variant)]):
                self.excused.add(name)
                continue
            return await self._confirmed(name, [way], alone)
        if CLOCK not in self.excused:
            return await self._confirmed(TOGETHER, self._all(variant), said)
        rest = self._all(variant)
        again = await self._tried(rest)
        return await self._confirmed(TOGETHER, rest, again) if again else None

    async def _confirmed(self, name: str, conditions: Sequence[Condition], said: str) -> Problem | None:
        """The same once more, and a plain run: what does not come again is chance, and so is what comes without it."""
        plain = await fresh_reference(self.task, self.sandboxes)
        differs = difference([*self.plain, plain])
        if differs:
            return differs
        self.plain.append(plain)
        words = "; ".join(condition.said for condition in conditions)
        if again := await self._tried(conditions):
            which = "where" if len(conditions) == 1 else "where all of this holds at once (none of it does it alone)"
            return name, f"{which}: {words}\n{again}"
        return (
            "reward-differs",
            f"{len(self.plain)} runs as usual were alike; one of two runs was not ({words}), the other one was: {said}",
        )

    async def _clock_with_files(self, variant: int) -> Condition:
        """The same clock, with the times of files that are written from now on."""
        async with self.sandboxes.running(self.task) as sandbox:
            return (await survey(sandbox)).clock_with_files[variant]

    def _all(self, variant: int) -> list[Condition]:
        return list(self.survey.together(variant, self.excused))

    async def _tried(self, conditions: Iterable[Condition]) -> str:
        found = await round_under(self.task, self.sandboxes, list(conditions), noop_too=self.noop_too)
        return problem_under(self.task, self.plain[0], found)
