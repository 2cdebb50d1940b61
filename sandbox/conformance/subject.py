"""What is checked: a back end that can be made again and again, in this process and in others."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Self

from sandbox.backends import load_backend

if TYPE_CHECKING:
    from sandbox.protocol import SandboxBackend

Option = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Subject:
    """A back end under check.

    Attributes:
        name: As `load_backend` takes it: `bubblewrap`, `module:Class`, …
        base: What `FROM` stands for, as rules.
        options: For its class.
        wrap: Put around each back end that is made in this process.
    """

    name: str
    base: tuple[str, ...] = ()
    options: Mapping[str, Option] = field(default_factory=dict)
    wrap: Callable[[SandboxBackend], SandboxBackend] | None = None

    def make(self) -> SandboxBackend:
        """A new back end.

        Raises:
            SandboxUnavailableError: There is none of that name, or its package is missing.
            ValueError: A rule of `base` is wrong.
        """
        made = load_backend(self.name, base=self.base, **self.options)
        return self.wrap(made) if self.wrap else made

    def dumped(self) -> str:
        """As text for another process; what is wrapped around it does not travel."""
        return json.dumps(asdict(replace(self, wrap=None)))

    @classmethod
    def parsed(cls, text: str) -> Self:
        """The other way."""
        fields = json.loads(text)
        return cls(fields["name"], tuple(fields["base"]), fields["options"])


def read_option(text: str) -> tuple[str, Option]:
    """Reads `key=value`; true and false, and numbers, become what they look like.

    Raises:
        ValueError: There is no `=`.
    """
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise ValueError(f"--option {text}: expected KEY=VALUE")
    if value.lower() in ("true", "false"):
        return key, value.lower() == "true"
    for kind in (int, float):
        try:
            return key, kind(value)
        except ValueError:
            continue
    return key, value
