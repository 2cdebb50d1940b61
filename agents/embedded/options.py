"""What can be said behind the author's name: `embedded/author?faults=0.3`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self
from urllib.parse import parse_qsl

from agents.embedded.conversation import ConversationError

MODEL: Final = "author"
PREFIX: Final = "embedded/"


@dataclass(frozen=True, slots=True)
class Options:
    """How the author works.

    Attributes:
        faults: The share of its drafts that it makes a mistake in, from 0 to 1; it makes one as often in a repair, but
            there it counts only when all that it spoils is rewritten anyway.
    """

    faults: float = 0.0

    @classmethod
    def of(cls, model: str) -> Self:
        """From a model's name.

        Raises:
            ConversationError: Another model, an option that does not exist, or a value that it cannot have.
        """
        name, _, query = model.removeprefix(PREFIX).partition("?")
        if name != MODEL:
            raise ConversationError(f"no embedded model {name!r}: there is {MODEL!r}")
        given = dict(parse_qsl(query, keep_blank_values=True))
        faults = given.pop("faults", "0")
        for option in given:
            raise ConversationError(f"embedded model {name!r} has no option {option!r}: there is `faults`")
        try:
            share = float(faults)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            raise ConversationError(f"embedded model {name!r}: faults={faults}, expected a number from 0 to 1")
        return cls(share)
