"""Precision and recall by kind and by gate, with 95 % Wilson intervals."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

from benchmarks.gate_parts.corpus import Item
from evolution.statistics import wilson_interval
from evolution.validation.report import TaskReport
from evolution.verdict import VerdictClass

Judged = list[tuple[Item, TaskReport]]
KIND_COLUMNS = ("kind", "shown_by", "written", "tasks", "found", "recall", "low", "high", "found_by")
GATE_COLUMNS = ("gate", "refused_faulty", "refused_sound", "precision", "low", "high")


def kind_rows(judged: Judged) -> list[dict[str, object]]:
    """A row for each kind, then all that running can show: both authors' apart and together, then the sound tasks."""
    by_kind: dict[str, Judged] = {}
    for item, report in judged:
        if item.fault is not None and report.verdict_class is not VerdictClass.INFRASTRUCTURE:
            by_kind.setdefault(item.fault.kind, []).append((item, report))
    rows = [_row(kind, _shown_by(found), _written(found), found) for kind, found in sorted(by_kind.items())]
    running = [pair for found in by_kind.values() for pair in found if _shown_by([pair]) == "running"]
    rows += [
        _row("ALL", "running", written, [pair for pair in running if _written([pair]) == written])
        for written in ("independent", "known")
    ]
    rows.append(_row("ALL", "running", "both", running))
    for by_hand, name in ((True, "by hand"), (False, "library"), (None, "both")):
        found = [
            (item, report)
            for item, report in judged
            if item.fault is None
            and by_hand in (None, item.by_hand)
            and report.verdict_class is not VerdictClass.INFRASTRUCTURE
        ]
        rows.append(_row("SOUND (refused)", "", name, found))
    return rows


def gate_rows(judged: Judged) -> list[dict[str, object]]:
    """For each gate: of the tasks it refused, how many had a fault."""
    faulty: Counter[str] = Counter()
    sound: Counter[str] = Counter()
    for item, report in judged:
        for gate in _refusing(report):
            (sound if item.fault is None else faulty)[gate] += 1
    rows = []
    for gate in sorted(faulty | sound):
        good, all_ = faulty[gate], faulty[gate] + sound[gate]
        low, high = wilson_interval(good, all_)
        rows.append(dict(zip(GATE_COLUMNS, (gate, good, sound[gate], *_shares(good, all_, low, high)), strict=True)))
    return rows


def write(rows: list[dict[str, object]], path: Path, columns: tuple[str, ...]) -> None:
    """As CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def show(rows: list[dict[str, object]], columns: tuple[str, ...]) -> None:
    """As a table on standard output."""
    widths = {name: max(len(name), *(len(str(row[name])) for row in rows), 0) for name in columns}
    for row in [{name: name for name in widths}, *rows]:
        print("  ".join(f"{row[name]!s:{width}}" for name, width in widths.items()).rstrip())


def _row(kind: str, shown_by: str, written: str, found: Judged) -> dict[str, object]:
    refused = [report for _, report in found if report.verdict_class is not VerdictClass.ACCEPTED]
    low, high = wilson_interval(len(refused), len(found))
    by = Counter(gates[0] for gates in map(_refusing, refused) if gates)
    said = " ".join(f"{gate}:{count}" for gate, count in by.most_common(4))
    values = (kind, shown_by, written, len(found), len(refused), *_shares(len(refused), len(found), low, high), said)
    return dict(zip(KIND_COLUMNS, values, strict=True))


def _shares(good: int, all_: int, low: float, high: float) -> tuple[str, str, str]:
    return f"{good / all_ if all_ else 0:.4f}", f"{low:.4f}", f"{high:.4f}"


def _refusing(report: TaskReport) -> list[str]:
    if report.unreadable:
        return ["task"]
    ours = VerdictClass.INFRASTRUCTURE
    return [verdict.gate for verdict in report.verdicts if not verdict.passed and verdict.verdict_class is not ours]


def _shown_by(found: Judged) -> str:
    fault = found[0][0].fault
    assert fault is not None
    return fault.shown_by


def _written(found: Judged) -> str:
    fault = found[0][0].fault
    assert fault is not None
    return "independent" if fault.independent else "known"
