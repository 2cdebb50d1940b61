"""What validation shows while it goes: a live table in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TextIO

from evolution.progress import one_line
from evolution.verdict import VerdictClass

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import Group

    from evolution.validation.report import TaskReport
    from evolution.verdict import Verdict

_STYLES = {
    VerdictClass.ACCEPTED: "green",
    VerdictClass.INVALID: "red",
    VerdictClass.MISCALIBRATED: "yellow",
    VerdictClass.INFRASTRUCTURE: "magenta",
}
MOST_REFUSED_SHOWN = 12


class Screen(Protocol):
    """Is told what happens."""

    def started(self, folder: Path) -> None:
        """A task is begun."""
        ...

    def verdict(self, folder: Path, verdict: Verdict) -> None:
        """A gate has spoken."""
        ...

    def postponed(self, folder: Path) -> None:
        """Something of ours failed; the task is begun once more when all others are through."""
        ...

    def finished(self, report: TaskReport) -> None:
        """A task is through."""
        ...


@dataclass
class Silent:
    """Shows nothing."""

    def started(self, folder: Path) -> None:
        """See `Screen`."""

    def verdict(self, folder: Path, verdict: Verdict) -> None:
        """See `Screen`."""

    def postponed(self, folder: Path) -> None:
        """See `Screen`."""

    def finished(self, report: TaskReport) -> None:
        """See `Screen`."""


@dataclass
class Lines(Silent):
    """A line for each task that is through, and for each that has to be tried again.

    Attributes:
        total: Tasks there are.
        stream: Where lines go.
        count: Tasks that are through.
    """

    total: int = 0
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    count: int = 0

    def postponed(self, folder: Path) -> None:
        """Prints the line."""
        print(
            f"{one_line(folder.name)}: something of ours failed, tried again at the end", file=self.stream, flush=True
        )

    def finished(self, report: TaskReport) -> None:
        """Prints the line."""
        self.count += 1
        said = one_line(f"{report.task}: {report.verdict_class}{reason(report)}")
        print(f"[{self.count}/{self.total}] {said}", file=self.stream, flush=True)


@dataclass
class LiveScreen:
    """How many are through, by class; what is under way, gate by gate; and the last that were refused.

    Attributes:
        total: Tasks there are.
        began: When, by the monotonic clock.
        counts: Tasks that are through, by class.
        under_way: Verdicts so far, by folder.
        refused: The last that were not accepted.
        again: Folders to be tried once more.
    """

    total: int = 0
    began: float = field(default_factory=time.monotonic)
    counts: dict[VerdictClass, int] = field(default_factory=lambda: dict.fromkeys(VerdictClass, 0))
    under_way: dict[Path, list[Verdict]] = field(default_factory=dict)
    refused: list[TaskReport] = field(default_factory=list)
    again: set[Path] = field(default_factory=set)

    def started(self, folder: Path) -> None:
        """See `Screen`."""
        self.again.discard(folder)
        self.under_way[folder] = []

    def verdict(self, folder: Path, verdict: Verdict) -> None:
        """See `Screen`."""
        self.under_way.setdefault(folder, []).append(verdict)

    def postponed(self, folder: Path) -> None:
        """See `Screen`."""
        self.under_way.pop(folder, None)
        self.again.add(folder)

    def finished(self, report: TaskReport) -> None:
        """See `Screen`."""
        self.under_way.pop(report.path, None)
        self.counts[report.verdict_class] += 1
        if report.verdict_class is not VerdictClass.ACCEPTED:
            self.refused = [*self.refused, report][-MOST_REFUSED_SHOWN:]

    def __rich__(self) -> Group:
        """As rich draws it."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        done = sum(self.counts.values())
        head = Text(f"{done} of {self.total} tasks, {time.monotonic() - self.began:.0f} s   ")
        for kind, count in self.counts.items():
            head.append(f"{kind} {count}   ", style=_STYLES[kind] if count else "dim")
        if self.again:
            head.append(f"to be tried again {len(self.again)}", style=_STYLES[VerdictClass.INFRASTRUCTURE])
        table = Table(box=None, pad_edge=False, header_style="bold")
        for title in ("task", "", "gates"):
            table.add_column(title, overflow="ellipsis", no_wrap=True)
        for report in self.refused:
            fault = Text(str(report.verdict_class), style=_STYLES[report.verdict_class])
            table.add_row(Text(one_line(report.task)), fault, Text(one_line(reason(report).removeprefix(", "))))
        for folder, verdicts in self.under_way.items():
            passed = Text()
            for verdict in verdicts:
                passed.append(f"{one_line(verdict.gate)} ", style="green" if verdict.passed else "red")
            table.add_row(Text(one_line(folder.name)), Text("…", style="dim"), passed)
        return Group(head, table)


def reason(report: TaskReport) -> str:
    """The codes that a task was refused by, for a line; "" when it was not."""
    counting = [finding.code for finding in report.findings if not finding.suppressed]
    return f", {', '.join(dict.fromkeys(counting))}" if counting else ""


@contextmanager
def shown(total: int, *, live: bool | None = None, quiet: bool = False) -> Iterator[Screen]:
    """A screen for the length of a `with` block, on standard error.

    Args:
        total: Tasks there are.
        live: The live table; `None` decides by whether standard error is a terminal.
        quiet: Nothing at all.
    """
    if quiet:
        yield Silent()
    elif live if live is not None else sys.stderr.isatty():
        from rich.console import Console
        from rich.live import Live

        screen = LiveScreen(total)
        # Standard output stays what it is: it may go to a file while the table is drawn on the terminal.
        with Live(screen, console=Console(stderr=True), refresh_per_second=4, transient=True, redirect_stdout=False):
            yield screen
    else:
        yield Lines(total)
