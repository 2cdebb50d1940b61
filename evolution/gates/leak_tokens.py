"""Secrets that come back in other words: their tokens, which nothing else that a solver reads has, seen together.

A text that was reworded, reordered or compiled shares no whole line with what it comes from. It still shares names,
numbers and runs of words, and those count once what instruction and inputs say is taken off. What is found this way is
a suspicion (but for compiled code, which no task hands out by chance): the gate confirms it by running the reference
solution without the file.
"""

from __future__ import annotations

import builtins
import keyword
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evolution.gates.leak_secrets import WORD, Secret, Suspect

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

WINDOW = 5
"""Words of a shingle."""
LEAST_SHINGLES = 12
LEAST_TOKENS = 4
LEAST_SHARE = 0.6
LEAST_NAMES = 5
LEAST_NAMES_SHARE = 0.7
MOST_BYTES = 2 * 1024 * 1024

Shingle = tuple[str, ...]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}")
_ORDINARY = frozenset((*keyword.kwlist, *dir(builtins), "self", "main", "__main__", "__name__", "encoding", "utf8"))
_SHORTEST_TOKEN = 5


@dataclass(frozen=True, slots=True)
class Traits:
    """What of a secret nothing else says.

    Attributes:
        secret: Whose.
        shingles: Its runs of `WINDOW` words.
        shared: Those that stand in one input besides, by the path of that input.
        tokens: Its words that hold a digit, five characters or more.
        names: Names in a program.
    """

    secret: Secret
    shingles: frozenset[Shingle]
    shared: Mapping[str, frozenset[Shingle]]
    tokens: frozenset[str]
    names: frozenset[str]


def traits_of(secrets: Iterable[tuple[Secret, str]], public: Iterable[tuple[str, str]]) -> tuple[Traits, ...]:
    """The traits of secrets, without what is public.

    Args:
        secrets: Each with its text.
        public: Texts that a solver is meant to read, each with its path where it lies among the inputs, else "".
    """
    raw = [_Raw(secret, set(_shingles(text)), set(_tokens(text)), _names(secret, text)) for secret, text in secrets]
    for path, text in public:
        shown = text[:MOST_BYTES]
        runs, words, names = set(_shingles(shown)), set(WORD.findall(shown)), set(_NAME.findall(shown))
        for one in raw:
            one.take_off(path, runs)
            one.tokens.difference_update(words)
            one.names.difference_update(names)
    return tuple(one.traits() for one in raw)


@dataclass(slots=True)
class _Raw:
    """Traits in the making."""

    secret: Secret
    shingles: set[Shingle]
    tokens: set[str]
    names: set[str]
    holders: dict[Shingle, str] = field(default_factory=dict)

    def take_off(self, path: str, runs: set[Shingle]) -> None:
        """Takes off what is said in the instruction or in two inputs, and notes what is said in one."""
        for shingle in self.shingles & runs:
            if path and self.holders.setdefault(shingle, path) == path:
                continue
            self.shingles.discard(shingle)
            self.holders.pop(shingle, None)

    def traits(self) -> Traits:
        shared: dict[str, set[Shingle]] = {}
        for shingle, path in self.holders.items():
            shared.setdefault(path, set()).add(shingle)
        return Traits(
            secret=self.secret,
            shingles=frozenset(self.shingles.difference(self.holders)),
            shared={path: frozenset(shingles) for path, shingles in shared.items()},
            tokens=frozenset(self.tokens),
            names=frozenset(self.names),
        )


def compiled(traits: Traits, file: Suspect) -> str:
    """Evidence that a compiled file comes from a secret program, "" when it does not seem so."""
    if len(traits.names) < LEAST_NAMES or not _is_compiled(file):
        return ""
    shared = traits.names & set(_NAME.findall(file.text))
    if len(shared) < max(LEAST_NAMES, LEAST_NAMES_SHARE * len(traits.names)):
        return ""
    return f"{file.called} is compiled from what has the names of {traits.secret.path}: {_some(shared)}"


def reworded(traits: Traits, file: Suspect, among_inputs: str = "") -> tuple[str, str] | None:
    """What makes a file suspect of holding a secret in other words: code and evidence; `None` for nothing.

    Args:
        traits: Of the secret.
        file: The file, or what is packed or encoded in it.
        among_inputs: The file's path where it lies among inputs, which share values with results for honest reasons:
            then only runs of words count, and those that only it shares with the secret as well.
    """
    if len(file.content) > MOST_BYTES:
        return None
    words = file.words
    shingles = traits.shingles | traits.shared.get(among_inputs, frozenset())
    if len(shingles) >= LEAST_SHINGLES and len(words) >= LEAST_SHINGLES:
        found = shingles.intersection(_runs(words))
        if len(found) >= max(LEAST_SHINGLES, LEAST_SHARE * len(shingles)):
            said = f"{file.called} holds {len(found)} of {len(shingles)} runs of {WINDOW} words that only "
            return "similar", f"{said}{traits.secret.path} has, such as {' '.join(min(found))!r}"
    if len(traits.tokens) >= LEAST_TOKENS and not traits.secret.is_script and not among_inputs:
        values = traits.tokens.intersection(words)
        if len(values) >= max(LEAST_TOKENS, LEAST_SHARE * len(traits.tokens)):
            said = (
                f"{file.called} holds {len(values)} of {len(traits.tokens)} values that only {traits.secret.path} has"
            )
            return "expected-value", f"{said}: {_some(values)}"
    return None


def _is_compiled(file: Suspect) -> bool:
    path = file.path.partition("!")[0].partition(" (")[0]
    return file.content[2:4] == b"\r\n" or path.endswith((".pyc", ".pyo", ".class"))


def _shingles(text: str) -> Iterator[Shingle]:
    return _runs(WORD.findall(text[:MOST_BYTES]))


def _runs(words: list[str]) -> Iterator[Shingle]:
    return zip(*(words[start:] for start in range(WINDOW)), strict=False)


def _tokens(text: str) -> Iterator[str]:
    for token in WORD.findall(text[:MOST_BYTES]):
        if len(token) >= _SHORTEST_TOKEN and any(character.isdigit() for character in token):
            yield token


def _names(secret: Secret, text: str) -> set[str]:
    return set(_NAME.findall(text)) - _ORDINARY if secret.is_script and not secret.path.endswith(".sh") else set()


def _some(values: Iterable[str]) -> str:
    shown = sorted(values)
    return ", ".join(shown[:6]) + (", …" if len(shown) > 6 else "")  # noqa: PLR2004
