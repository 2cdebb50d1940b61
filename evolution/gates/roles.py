"""Who gives judgement where a gate needs it: protocols only; `graphs` hands in models, tests hand in scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sandbox.task import Task
    from sandbox.trial.agent import Agent


class AgentMaker(Protocol):
    """Makes agents for trials (see `sandbox.trial.agent`): a solver, or an attacker who tries to pass without work."""

    @property
    def name(self) -> str:
        """Who it is, for verdicts: a model string, `module:Class`."""
        ...

    def make(self, *, seed: int, hint: str = "") -> Agent:
        """A new agent for one trial.

        Args:
            seed: Number for its model; another one may act differently.
            hint: What it is told beside the instruction; "" is nothing.
        """
        ...


@dataclass(frozen=True, slots=True)
class Criterion:
    """One thing a judge looks at.

    Attributes:
        id: Stable name; part of the finding's code.
        text: What has to hold, in words.
    """

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Opinion:
    """A judge's word on one criterion.

    Attributes:
        criterion: Its id.
        passed: Whether it holds.
        reason: Why not, quoting file and line.
    """

    criterion: str
    passed: bool
    reason: str = ""


class Judge(Protocol):
    """Reads a task and says which criteria it meets."""

    @property
    def name(self) -> str:
        """Who it is."""
        ...

    async def judge(self, task: Task, criteria: Sequence[Criterion]) -> tuple[Opinion, ...]:
        """One opinion for each criterion.

        Raises:
            GateError: It gave none that can be used.
        """
        ...


@dataclass(frozen=True, slots=True)
class Alternative:
    """A solution that is right but not the reference.

    Attributes:
        name: What to call it.
        script: The text of its `solve.sh`.
        files: What lies beside it, by path.
    """

    name: str
    script: str
    files: Mapping[str, bytes] = field(default_factory=dict)


class AlternativeAuthor(Protocol):
    """Writes solutions that are right but different."""

    @property
    def name(self) -> str:
        """Who it is."""
        ...

    async def alternatives(self, task: Task, count: int) -> tuple[Alternative, ...]:
        """At most `count` of them."""
        ...


@dataclass(frozen=True, slots=True)
class Roles:
    """Who is there; gates that need one who is not say so (`GateError`) or do without.

    Attributes:
        solver: Acts in calibration.
        attacker: Tries to be rewarded without doing the work.
        judge: Reads for the rubrics.
        author: Writes alternative solutions.
    """

    solver: AgentMaker | None = None
    attacker: AgentMaker | None = None
    judge: Judge | None = None
    author: AlternativeAuthor | None = None
