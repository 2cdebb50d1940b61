"""The YAML of a compose file that nobody vouches for: bounded in size, in depth, and in what aliases stand for."""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

MOST_CHARACTERS: Final = 256 << 10
MOST_VALUES: Final = 20_000
DEEPEST: Final = 50
_MOST_BITS: Final = 128

_BOOL: Final = "tag:yaml.org,2002:bool"
# What yaml's constructors raise, beside its own errors, where a value does not fit its tag (`!!int ''`, `2020-99-99`).
_MISFITS: Final = (ValueError, TypeError, AttributeError, LookupError, OverflowError)


class _Loader(yaml.SafeLoader):
    """Reads `on`, `no` and their like as words, as YAML 1.2 and Docker do; refuses depth before it costs time."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def fetch_flow_collection_start(self, token: Any) -> None:
        if self.flow_level >= DEEPEST:
            raise yaml.YAMLError(_TOO_DEEP)
        super().fetch_flow_collection_start(token)

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self._depth >= DEEPEST:
            raise yaml.YAMLError(_TOO_DEEP)
        self._depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1

    def flatten_mapping(self, node: Any) -> None:
        super().flatten_mapping(node)
        if len(node.value) > MOST_VALUES:
            raise yaml.YAMLError(_TOO_MANY)


_TOO_DEEP: Final = f"nested more than {DEEPEST} deep"
_TOO_MANY: Final = f"more than {MOST_VALUES} values, with what aliases (*name) stand for counted each time"
_Loader.yaml_implicit_resolvers = {
    first: [row for row in rows if row[0] != _BOOL] for first, rows in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(_BOOL, re.compile("true|True|TRUE|false|False|FALSE"), list("tTfF"))


def read_yaml(text: str) -> object:
    """Reads it.

    Raises:
        ValueError: It is no YAML, too large, too deep, has a number that is, or aliases that stand for too many values.
    """
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"{len(text)} characters, more than {MOST_CHARACTERS}")
    try:
        found: object = yaml.load(text, _Loader)  # noqa: S506 - a safe one
    except yaml.YAMLError as error:
        raise ValueError(f"no YAML: {_cut(' '.join(str(error).split()))}") from error
    except RecursionError:
        raise ValueError(f"no YAML: {_TOO_DEEP}") from None
    except _MISFITS as error:
        raise ValueError(f"no YAML: a value that does not fit its type: {_cut(str(error))}") from error
    _check_size(found)
    return found


def _check_size(found: object) -> None:
    """Counts the values as whoever walks through them meets them, an alias each time; one may also hold itself."""
    waiting: list[tuple[int, object]] = [(0, found)]
    met = 0
    while waiting:
        depth, value = waiting.pop()
        met += 1
        if met > MOST_VALUES:
            raise ValueError(_TOO_MANY)
        if depth > DEEPEST:
            raise ValueError(_TOO_DEEP)
        if isinstance(value, dict):
            waiting += [(depth + 1, inner) for inner in value.values()]
        elif isinstance(value, (list, tuple, set)):
            waiting += [(depth + 1, inner) for inner in value]
        elif isinstance(value, int) and value.bit_length() > _MOST_BITS:
            raise ValueError(f"a whole number of {value.bit_length()} bits, more than {_MOST_BITS}")


def _cut(text: str) -> str:
    most = 500
    return text if len(text) <= most else f"{text[:most]}…"
