"""The author itself: messages, tools and seed in, one assistant message out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final
from urllib.parse import parse_qsl

from agents.embedded.conversation import DECLINE, ConversationError, Message, Script, assignment_of, continue_script
from agents.embedded.evolving import evolve
from agents.embedded.proposing import propose
from agents.embedded.reviewing import review

MODEL: Final = "author"
ROLES: Final[Mapping[str, tuple[Callable[[Mapping[str, object], int], Script], frozenset[str]]]] = {
    "proposer": (propose, frozenset({"list_files", "read_file", "submit_plan"})),
    "critic": (review, frozenset({"list_files", "read_file", "submit_review"})),
    "evolver": (evolve, frozenset({"list_files", "read_file", "write_file", "run", "submit"})),
}


def respond(messages: Sequence[Message], tools: Sequence[Mapping[str, object]], seed: int | None) -> dict[str, object]:
    """The author's next message.

    Args:
        messages: The whole conversation in OpenAI's format; the first user message holds the assignment.
        tools: The tools on offer, in OpenAI's format.
        seed: The request's seed; the same messages with another seed may get another answer.

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
    return continue_script(script(assignment, seed or 0), messages, may_decline=DECLINE in offered)


def check_model(model: str) -> None:
    """Checks a model name: `author`, or `author?option=value&…` once there are options.

    Raises:
        ConversationError: Another model, or an option that does not exist.
    """
    name, _, query = model.removeprefix("embedded/").partition("?")
    if name != MODEL:
        raise ConversationError(f"no embedded model {name!r}: there is {MODEL!r}")
    options = [key for key, _ in parse_qsl(query, keep_blank_values=True)]
    if options:
        raise ConversationError(f"embedded model {name!r} has no option {options[0]!r}: it takes none")


def _names(tools: Sequence[Mapping[str, object]]) -> set[str]:
    functions = (tool.get("function") for tool in tools)
    return {str(function.get("name")) for function in functions if isinstance(function, Mapping)}
