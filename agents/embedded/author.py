"""The author itself: messages, tools and seed in, one assistant message out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from agents.embedded.conversation import (
    DECLINE,
    ConversationError,
    Message,
    Script,
    assignment_of,
    continue_script,
    first_message,
)
from agents.embedded.evolving import evolve
from agents.embedded.options import Options
from agents.embedded.proposing import propose
from agents.embedded.reviewing import review
from agents.embedded.writing import MESSAGE, write

Part: TypeAlias = Callable[[Mapping[str, object], int, Options], Script]
ROLES: Final[Mapping[str, tuple[Part, frozenset[str]]]] = {
    "proposer": (lambda facts, seed, _: propose(facts, seed), frozenset({"list_files", "read_file", "submit_plan"})),
    "critic": (lambda facts, seed, _: review(facts, seed), frozenset({"list_files", "read_file", "submit_review"})),
    "evolver": (evolve, frozenset({"list_files", "read_file", "write_file", "run", "submit"})),
    "writer": (write, frozenset({"submit_files"})),
}


def respond(
    messages: Sequence[Message],
    tools: Sequence[Mapping[str, object]],
    seed: int | None,
    options: Options | None = None,
) -> dict[str, object]:
    """The author's next message.

    Args:
        messages: The whole conversation in OpenAI's format; the first user message holds the assignment.
        tools: The tools on offer, in OpenAI's format.
        seed: The request's seed; the same messages with another seed may get another answer.
        options: How it works.

    Returns:
        An assistant message in OpenAI's format. One without tool calls is its last word. It gives up by the tool
        `decline`, or, where that is not offered, by a text that begins with `cannot:`.

    Raises:
        ConversationError: This is no conversation of a role it can play.
    """
    assignment = assignment_of(messages)
    role = assignment.get("role")
    if role not in ROLES:
        raise ConversationError(f"the assignment's role is {role!r}: the embedded author plays {', '.join(ROLES)}")
    script, needed = ROLES[str(role)]
    offered = _names(tools)
    missing = sorted(needed - offered)
    if missing:
        raise ConversationError(f"a {role} needs the tool(s) {', '.join(missing)}, the request does not offer them")
    facts = {**assignment, MESSAGE: first_message(messages)} if role == "writer" else assignment
    return continue_script(script(facts, seed or 0, options or Options()), messages, may_decline=DECLINE in offered)


def _names(tools: Sequence[Mapping[str, object]]) -> set[str]:
    functions = (tool.get("function") for tool in tools)
    return {str(function.get("name")) for function in functions if isinstance(function, Mapping)}
