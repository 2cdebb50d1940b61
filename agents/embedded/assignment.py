"""What an assignment holds, as values: sequences, plans, reference figures, feedback."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from agents.embedded.conversation import ConversationError
from evolution.plan import Axis, Effort, Plan
from evolution.sequence import Sequence as Steps

Facts = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Figures:
    """−log p_T in nats, where the reference distribution knows the name.

    Attributes:
        scenario: By scenario.
        skill: By scenario, then skill.
    """

    scenario: Mapping[str, float]
    skill: Mapping[str, Mapping[str, float]]

    def of(self, scenario: str, skill: str) -> float | None:
        """A pair's share of D_T; `None` when either figure is not given."""
        novelty, rarity = self.scenario.get(scenario), self.skill.get(scenario, {}).get(skill)
        return None if novelty is None or rarity is None else novelty + rarity


def text(facts: Facts, key: str) -> str:
    """A field that must be a string.

    Raises:
        ConversationError: It is missing or something else.
    """
    value = facts.get(key)
    if not isinstance(value, str):
        raise ConversationError(f"the assignment's {key!r} must be a string, got {value!r}")
    return value


def number(facts: Facts, key: str, default: int) -> int:
    """A field that must be a whole number when it is there.

    Raises:
        ConversationError: It is something else.
    """
    value = facts.get(key, default)
    if not isinstance(value, int):
        raise ConversationError(f"the assignment's {key!r} must be a whole number, got {value!r}")
    return value


def axis_and_effort(facts: Facts) -> tuple[Axis, Effort]:
    """The axis and the effort.

    Raises:
        ConversationError: One of them is missing or unknown.
    """
    try:
        return Axis(text(facts, "axis")), Effort(text(facts, "effort"))
    except ValueError as error:
        raise ConversationError(f"the assignment's axis or effort: {error}") from error


def steps_of(value: object) -> Steps | None:
    """A sequence as the host writes it, `{"steps": […]}` or the bare list; `None` for null.

    Raises:
        ConversationError: It is no sequence.
    """
    if value is None:
        return None
    try:
        return Steps.model_validate(value if isinstance(value, Mapping) else {"steps": value})
    except ValidationError as error:
        raise ConversationError(f"the assignment's sequence does not hold: {error}") from error


def plan_of(facts: Facts) -> Plan:
    """The plan, checked against its axis and effort.

    Raises:
        ConversationError: It is missing or malformed.
        ValueError: It breaks a rule of its axis or effort.
    """
    plan = facts.get("plan")
    if not isinstance(plan, Mapping):
        raise ConversationError(f"the assignment's 'plan' must be an object, got {plan!r}")
    axis, effort = axis_and_effort(plan)
    before, after = steps_of(plan.get("before")), steps_of(plan.get("after"))
    if before is None or after is None:
        raise ConversationError("the assignment's plan lacks 'before' or 'after'")
    return Plan(axis=axis, effort=effort, before=before, after=after, rationale=str(plan.get("rationale", "")))


def figures_of(facts: Facts) -> Figures:
    """The reference figures; empty where none are given."""
    reference = facts.get("reference")
    given = reference if isinstance(reference, Mapping) else {}
    scenario, skill = given.get("scenario") or {}, given.get("skill") or {}
    return Figures(dict(scenario), {name: dict(row) for name, row in skill.items()})


def feedback_of(facts: Facts) -> tuple[str, ...]:
    """The feedback's texts, each with its code in front."""
    items = facts.get("feedback")
    if not isinstance(items, Sequence) or isinstance(items, str):
        return ()
    return tuple(f"{item.get('code', '')}: {item.get('text', '')}" for item in items if isinstance(item, Mapping))
