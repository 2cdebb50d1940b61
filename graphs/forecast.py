"""What a run would do and cost, before anything is started (`--dry-run`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.model import prices
from evolution.intake import read_seeds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evolution.config import RunConfig


JUDGING = "rubric-judge"


@dataclass(frozen=True, slots=True)
class Session:
    """What one conversation of a role uses, by rule of thumb: the history is read again at each turn.

    Attributes:
        calls: Model calls.
        input_tokens: Tokens read over all of them.
        output_tokens: Tokens written.
    """

    calls: int
    input_tokens: int
    output_tokens: int


SESSIONS = {
    "proposer": Session(calls=5, input_tokens=35_000, output_tokens=2_500),
    "critic": Session(calls=4, input_tokens=25_000, output_tokens=1_200),
    "evolver": Session(calls=30, input_tokens=600_000, output_tokens=25_000),
    "judge": Session(calls=6, input_tokens=60_000, output_tokens=1_500),
}
WRITER = Session(calls=1, input_tokens=30_000, output_tokens=12_000)
"""The evolver's in the modes in which it writes all files in one answer."""


def sessions(config: RunConfig) -> dict[str, Session]:
    """Of the roles that a run has."""
    found = dict(SESSIONS)
    if config.mode != "loop":
        found["evolver"] = WRITER
    if JUDGING not in config.gates:
        del found["judge"]
    return found


def forecast_lines(config: RunConfig) -> Iterator[str]:
    """Says what would run; dollars are a rule of thumb, the only bound is `--budget-usd`.

    The settings are those that `graphs.assembly.check` finds no fault with.
    """
    seeds, refusals = read_seeds(config.seeds)
    environments = len(seeds) * config.generations
    yield f"seeds        {len(seeds)} readable, {len(refusals)} refused"
    for refusal in refusals:
        yield f"  refused    {refusal.folder}: {refusal.reason}"
    yield f"generations  {config.generations}: up to {environments} environments"
    yield f"axes         {', '.join(config.axes)}, effort {config.effort}"
    yield f"mode         {config.mode}"
    yield f"gates        {' '.join(config.gates)}, in {config.sandbox} sandboxes"
    least, most = 0.0, 0.0
    unpriced = []
    roles = sessions(config)
    for role, session in roles.items():
        model = config.model_for(role)
        price = prices(model)
        attempts = config.repair_attempts if role in {"evolver", "judge"} else config.plan_attempts
        if price is None:
            unpriced.append(model)
            cost = "price not known"
        else:
            once = session.input_tokens * price[0] + session.output_tokens * price[1]
            least += environments * once
            most += environments * once * attempts * len(config.axes)
            cost = f"about ${once:.2f} a session"
        yield f"{role:<12} {model}: about {session.calls} calls a session, {cost}"
    if len(unpriced) < len(roles):
        yield f"dollars      about ${least:.2f} if every first attempt holds, about ${most:.2f} if only the last does"
    else:
        yield "dollars      not known"
    if unpriced:
        names = ", ".join(sorted(set(unpriced)))
        yield f"             without {names}: no known price, so tokens are counted and dollars are not"
    limit = (
        f"${config.budget_usd:.2f}; no call is made that would pass it"
        if config.budget_usd
        else "none; set --budget-usd"
    )
    yield f"limit        {limit}"
    yield f"run folder   {config.out}{' (exists: finished work is not done again)' if config.out.exists() else ''}"


def unlimited_models(config: RunConfig) -> tuple[str, ...]:
    """The models that a limit in dollars cannot hold back, because no price of theirs is known."""
    if config.budget_usd is None:
        return ()
    return tuple(sorted({model for role in sessions(config) if prices(model := config.model_for(role)) is None}))
