"""The state that flows through the graphs: small values and paths; transcripts and candidates lie on disk."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from typing_extensions import TypedDict  # pydantic refuses the one of typing before Python 3.12

Outcome = Literal["accepted", "rejected", "infrastructure"]


class Feedback(TypedDict):
    """What a rejected attempt is told.

    Attributes:
        source: Who says so: a gate's name, `critic`, `plan` or `evolver`.
        code: Stable code of the finding.
        text: What is wrong and what was seen.
    """

    source: str
    code: str
    text: str


class Attempt(TypedDict):
    """One finished attempt, for the funnel of a run.

    Attributes:
        axis: The axis tried.
        loop: `plan` or `environment`.
        attempt: Its number in that loop, from 1.
        result: `accepted`, or the class it was rejected with (`invalid`, `miscalibrated`, `infrastructure`).
        gate: Who rejected it: a gate, `critic`, `plan` or a role; "" when accepted.
        code: The finding's code; "" when accepted.
    """

    axis: str
    loop: Literal["plan", "environment"]
    attempt: int
    result: str
    gate: str
    code: str


def _extend(old: list[Attempt], new: list[Attempt] | None) -> list[Attempt]:
    if new is None:  # a generation begins
        return []
    # A subgraph hands back the whole list it was given plus its own; only what is new is added.
    return [*old, *(attempt for attempt in new if attempt not in old)]


class LineageState(TypedDict, total=False):
    """What one generation of one lineage knows, in `evolve` and in both loops.

    Given by the caller: `lineage`, `generation`, `seed`, `parent` (task folder), `work` (folder for candidates and
    transcripts), `effort`. The rest is filled in by nodes; `axes` are those still to be tried.
    """

    lineage: str
    generation: int
    seed: int
    parent: str
    work: str
    effort: str
    axes: list[str]
    axis: str
    attempt: int
    plan: dict[str, Any] | None
    draft: str
    candidate: str
    base: str
    verdicts: list[dict[str, Any]]
    feedback: list[Feedback]
    outcome: Outcome
    reason: str
    history: Annotated[list[Attempt], _extend]
