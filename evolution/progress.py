"""What a run tells while it goes: events, a live table in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

Loop = Literal["seed", "plan", "environment", "done"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something happened to one lineage.

    Attributes:
        lineage: Which.
        generation: Its generation under way; 0 while the seed is checked.
        loop: Where it is.
        axis: The axis tried, "" outside the loops.
        attempt: Which attempt of that loop, from 1; 0 where none.
        gate: The gate that spoke, "" for other events.
        message: What happened, in a few words.
    """

    lineage: str
    generation: int
    loop: Loop
    axis: str = ""
    attempt: int = 0
    gate: str = ""
    message: str = ""

    def line(self) -> str:
        """As one plain line, whatever the message holds."""
        parts = (
            f"g{self.generation:03d}" if self.generation else "seed",
            self.axis,
            f"{self.loop} {self.attempt}" if self.attempt else self.loop,
            self.gate,
        )
        where = " ".join(dict.fromkeys(part for part in parts if part))
        return f"{self.lineage}: {where}: {one_line(self.message)}"


def one_line(text: str) -> str:
    """The text without line breaks and control characters: models and tasks had a say in it, a terminal obeys those."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


class Listener(Protocol):
    """Is told each event of a run."""

    def __call__(self, event: Event) -> None:
        """Takes one event; must not block."""
        ...


def silent(event: Event) -> None:
    """A listener that says nothing."""


@dataclass
class PlainLines:
    """Prints a line for each event that is not a gate's pass."""

    stream: TextIO = field(default_factory=lambda: sys.stderr)

    def __call__(self, event: Event) -> None:
        """Prints the event."""
        if event.gate and event.message == "passed":
            return
        print(event.line(), file=self.stream, flush=True)


@dataclass
class LiveTable:
    """A row per lineage that says where it is."""

    rows: dict[str, Event] = field(default_factory=dict)
    accepted: dict[str, int] = field(default_factory=dict)

    def __call__(self, event: Event) -> None:
        """Takes the event into the table."""
        self.rows[event.lineage] = event
        if event.loop == "done" and event.message.startswith("accepted"):
            self.accepted[event.lineage] = self.accepted.get(event.lineage, 0) + 1

    def __rich__(self) -> Table:
        """The table as rich draws it."""
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, header_style="bold")
        for title in ("lineage", "generation", "axis", "loop", "attempt", "gate", "", "accepted"):
            table.add_column(title, justify="right" if title in ("generation", "attempt", "accepted") else "left")
        for name in sorted(self.rows):
            event = self.rows[name]
            bad = event.message.startswith(("failed", "rejected", "ended"))
            table.add_row(
                Text(name),
                str(event.generation or "seed"),
                event.axis,
                event.loop,
                str(event.attempt or ""),
                event.gate,
                Text(one_line(event.message)[:60], style="red" if bad else ""),
                str(self.accepted.get(name, 0)),
            )
        return table


@contextmanager
def shown(*, live: bool | None = None) -> Iterator[Listener]:
    """A listener for the length of a `with` block: the live table when standard error is a terminal, else plain lines.

    Args:
        live: Choose one whatever standard error is.
    """
    if live if live is not None else sys.stderr.isatty():
        from rich.console import Console
        from rich.live import Live

        table = LiveTable()
        with Live(table, console=Console(stderr=True), refresh_per_second=4, transient=False):
            yield table
    else:
        yield PlainLines()
