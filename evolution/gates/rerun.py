"""Gate `rerun`: on fresh instances, and on other machines and days, the same happens again."""

from __future__ import annotations

import asyncio
import hashlib
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Final, Self

from evolution.gates.noop import noop_problem
from evolution.gates.outcomes import accepted, finding, invalid
from evolution.gates.rerun_conditions import TOGETHER, Conditions
from evolution.gates.rerun_flakiness import bound, runs_needed
from evolution.gates.rerun_signs import SIDE_BY_SIDE, runs_test_cases, signs, weight
from evolution.gates.rerun_trials import ABSENT, Problem, Round, difference, plain_round
from evolution.gates.settings import GateSettings
from evolution.gates.trials import fresh_reference, together
from sandbox.perturbing import LOAD, NAMES, VARIANTS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from evolution.gates.rerun_signs import Sign
    from evolution.gates.roles import Roles
    from evolution.verdict import Candidate, Verdict
    from sandbox.perturbing import Survey
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task
    from sandbox.trial.result import TrialResult

__all__ = ["ABSENT", "RerunGate", "difference"]

_OF_CHANCE: Final = frozenset(["reward-differs", "unit-differs", "units-differ", "noop-differs", "verify-again"])
_LEAST_PLAIN: Final = 2  # clean runs before a condition may be blamed
_AT_ONCE: Final = 4
DOCKERFILE: Final = "environment/Dockerfile"


class RerunGate:
    """Runs the reference solution until flakiness is unlikely, looks for hidden state, and changes the conditions.

    In one sandbox nothing at all is verified, then the reference solution runs and is verified twice; further runs are
    each in a fresh sandbox; then one or two under all other conditions at once (`sandbox.perturbing.NAMES`), with the
    no-op before them. It stops at the first difference.

    Args:
        runs: How often the reference solution runs in all, at least 2, the last time under other conditions, without
            load and without the no-op before it; left out, the sequential test of `rerun_flakiness` decides.
        settings: What the sequential test wants to know.
    """

    name: Final = "rerun"
    stage: Final = 3
    codes: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "no-reward": "a run of the reference solution had no reward",
            "reward-differs": "the reward was not the same in every run, or not 1",
            "unit-differs": "a test unit had another status in another run",
            "units-differ": "the test units had other names in another run",
            "noop-differs": "run again, doing nothing was rewarded",
            "verify-again": "verified once more, the same work has another reward or other units",
            "after-noop": "the reference solution fails where the tests ran before it",
            **{name: f"the outcome is another one where {said}" for name, said in NAMES.items()},
            TOGETHER: "the outcome is another one where several conditions differ at once",
        }
    )

    def __init__(self, runs: int | None = None, settings: GateSettings | None = None) -> None:
        if runs is not None and runs < 2:  # noqa: PLR2004 - one run cannot differ from itself
            raise ValueError(f"runs: {runs}, but it takes at least 2 to see a difference")
        self.runs = runs
        self.settings = settings or GateSettings()
        self._surveys: dict[str, Survey] = {}

    @classmethod
    def configured(cls, settings: GateSettings, _: Roles) -> Self:
        """As `GateSettings` says."""
        return cls(settings.reruns, settings)

    async def check(self, candidate: Candidate, sandboxes: Sandboxes) -> Verdict:
        """Judges the candidate; raises what a sandbox raises."""
        found, test_cases = await asyncio.to_thread(_read, candidate.task)
        check = _Check(candidate.task, sandboxes, test_cases, self._surveys)
        doubted = weight(found)
        variants = VARIANTS if self.runs is None else 1
        # Load slows down all that runs beside it, and matters only where things happen side by side.
        without = () if self.runs is None and not SIDE_BY_SIDE.isdisjoint(sign.kind.name for sign in found) else (LOAD,)
        problem = await check.problem(
            self._plain_runs(doubted, variants), variants, without, noop_too=self.runs is None
        )
        measured = {
            "runs": float(check.clean),
            "flakiness_bound": bound(doubted, check.clean, self.settings.confidence),
            "signs": float(len(found)),
            "conditions": float(len(check.survey.variants) if check.survey else 0),
            "conditions_missing": float(len(check.survey.missing) if check.survey else 0),
        }
        if problem:
            what, evidence = problem
            noticed = "".join(f"\n  {sign.kind.name}: {sign.line}" for sign in found if what in _OF_CHANCE)
            return invalid(
                self.name, what, evidence + (f"\nwhat may be behind it:{noticed}" if noticed else ""), measured
            )
        missing = check.survey.missing if check.survey else {}
        told = [
            finding(self.name, name, f"not tried: {why}").model_copy(update={"suppressed": "it cannot be had here"})
            for name, why in missing.items()
        ]
        return accepted(self.name, measured).model_copy(update={"findings": tuple(told)})

    def _plain_runs(self, doubted: float, variants: int) -> int:
        """How many runs under the usual conditions; those under other ones count as well."""
        if self.runs is not None:
            return self.runs - variants
        wanted = self.settings
        needed = runs_needed(doubted, wanted.flakiness, wanted.confidence, most=wanted.most_reruns)
        return max(_LEAST_PLAIN, needed - variants)


def _read(task: Task) -> tuple[tuple[Sign, ...], bool]:
    return signs(task), runs_test_cases(task)


class _Check:
    """One check of one task.

    Args:
        task: The task.
        sandboxes: Where.
        test_cases: Whether its tests are cases of pytest or unittest.
        surveys: What is known of images: those of the same base and Dockerfile have the same programs.
    """

    def __init__(self, task: Task, sandboxes: Sandboxes, test_cases: bool, surveys: dict[str, Survey]) -> None:
        self._task = task
        self._sandboxes = sandboxes
        self._test_cases = test_cases
        self._surveys = surveys
        self.survey: Survey | None = None
        self.clean = 0

    async def problem(
        self, runs: int, variants: int, without: Collection[str], *, noop_too: bool = True
    ) -> Problem | None:
        """What is wrong with the task, if anything.

        Args:
            runs: How often the reference solution runs as usual.
            variants: How often it runs under other conditions.
            without: Conditions that are left out.
            noop_too: Whether doing nothing is tried under other conditions, too.
        """
        first, plain = await (self._both() if runs > 1 else self._one())
        self.survey = first.survey
        problem = difference([plain]) or self._noop_problem(first) or await self._hidden_state(plain, first)
        if problem:
            return problem
        results = [plain] if plain is first.reference else [plain, first.reference]
        while len(results) < runs and not problem:
            results += await self._plain(min(_AT_ONCE, runs - len(results)))
            problem = difference(results)
        self.clean = len(results)
        if problem or self.survey is None:
            return problem
        conditions = Conditions(self._task, self._sandboxes, self.survey, results, set(without), noop_too)
        problem = await conditions.problem(variants)
        self.clean += conditions.clean
        return problem

    async def _hidden_state(self, plain: TrialResult, first: Round) -> Problem | None:
        """Whether verifying leaves something behind that changes a later verification.

        What differs is tried once more beside another plain run, so that plain flakiness is called by its name.
        """
        spoilt = difference([plain, first.reference])
        again = None if first.again is None else difference([first.reference, first.again])
        if not spoilt and not again:
            return None
        second, other = await self._both()
        flaky = difference([plain, other])
        if flaky:
            return flaky
        labels = ["in a fresh sandbox", "where doing nothing was verified before"]
        if spoilt:
            same = difference([plain, second.reference], labels)
            return ("after-noop", same[1]) if same else difference([plain, other, first.reference])
        labels = ["verified at first", "verified again"]
        same = None if second.again is None else difference([second.reference, second.again], labels)
        if same:
            return "verify-again", f"nothing was done between two verifications, and they differ\n{same[1]}"
        return again

    def _noop_problem(self, first: Round) -> Problem | None:
        problem = noop_problem(self._task, first.noop) if first.noop else None
        return problem and ("noop-differs", f"run again, doing nothing is not refused any more: {problem[1]}")

    async def _both(self) -> tuple[Round, TrialResult]:
        """A round that looks for hidden state, and a plain run beside it."""
        rounds: list[Round] = []
        plain: list[TrialResult] = []

        async def in_one_sandbox() -> None:
            rounds.append(await self._round())

        async def fresh() -> None:
            plain.extend(await self._plain(1))

        await together([in_one_sandbox(), fresh()])
        return rounds[0], plain[0]

    async def _one(self) -> tuple[Round, TrialResult]:
        """A round that stands for a plain run as well, unless something in it is wrong."""
        only = await self._round()
        plain = [only.reference] if difference([only.reference]) is None else await self._plain(1)
        return only, plain[0]

    async def _round(self) -> Round:
        image = await self._sandboxes.build(self._task)
        recipe = self._task.read_bytes(DOCKERFILE) if self._task.has(DOCKERFILE) else image.reference.encode()
        about = (image.base, sorted(image.env.items()), self._task.config.environment.cpus, self._test_cases)
        key = hashlib.sha256(recipe + repr(about).encode()).hexdigest()
        known = self._surveys.get(key)
        found = await plain_round(self._task, self._sandboxes, known, test_cases=self._test_cases)
        if found.survey is not None:
            self._surveys[key] = found.survey
        return found

    async def _plain(self, count: int) -> list[TrialResult]:
        return await together([fresh_reference(self._task, self._sandboxes) for _ in range(count)])
