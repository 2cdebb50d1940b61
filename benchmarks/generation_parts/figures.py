"""From trials to rows, and from rows to words."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.generation_parts.trials import Trial
from evolution.statistics import wilson_interval

MILLION = 1_000_000
Row = dict[str, object]


@dataclass(frozen=True)
class Prices:
    """US dollars per million tokens read and written."""

    read: float
    written: float

    def of(self, trial: Trial) -> float:
        return (trial.tokens_in * self.read + trial.tokens_out * self.written) / MILLION


def mode_row(mode: str, faults: float, trials: Sequence[Trial], survivors: Sequence[str], prices: Prices) -> Row:
    """One point of the curves. "Valid" is what the gates accept; "sound" what is as the plan asks for, too."""
    count = len(trials)
    first = sum(trial.results[:1] == ("accepted",) for trial in trials)
    valid = sum(trial.accepted for trial in trials)
    bad = [kind for kind in survivors if kind]
    dollars = sum(prices.of(trial) for trial in trials)
    read, written = sum(t.tokens_in for t in trials), sum(t.tokens_out for t in trials)
    models, gates = sum(t.model_seconds for t in trials), sum(t.gate_seconds for t in trials)

    def each(value: float, digits: int) -> float | str:
        return round(value / valid, digits) if valid else ""

    return {
        "mode": mode,
        "fault_rate": faults,
        "plans": count,
        **_share("first", first, count),
        **_share("valid", valid, count),
        **_share("sound", valid - len(bad), count),
        "attempts": sum(len(trial.results) for trial in trials),
        "tokens_per_valid": each(read + written, 0),
        "usd_per_valid": each(dollars, 4),
        "model_seconds_per_valid": each(models, 3),
        "gate_seconds_per_valid": each(gates, 3),
        "tokens_read": read,
        "tokens_written": written,
        "survived": " ".join(f"{kind.replace(' ', '-')}:{n}" for kind, n in sorted(Counter(bad).items())),
        "rejected_by": " ".join(f"{code}:{n}" for code, n in sorted(_codes(trials).items())),
    }


def control_rows(repaired: dict[str, list[bool]]) -> list[Row]:
    """How often a rejected draft is repaired, by whose feedback it was."""
    return [
        {"feedback": name, "drafts": len(found), **_share("repaired", sum(found), len(found))}
        for name, found in repaired.items()
    ]


def write(rows: Sequence[Row], path: Path) -> None:
    """As CSV, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.partial")
    with aside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    aside.replace(path)


def words(rows: Sequence[Row], control: Sequence[Row]) -> Iterator[str]:
    """What the figures say, above all where the loop loses."""
    by = {(str(row["mode"]), float(str(row["fault_rate"]))): row for row in rows}
    rates = sorted({rate for _, rate in by})
    others = sorted({mode for mode, _ in by} - {"loop"})
    for column, unit in (("tokens_per_valid", "tokens"), ("usd_per_valid", "dollars")):
        dearer = [
            (rate, other, float(str(by["loop", rate][column])) / float(str(by[other, rate][column])))
            for rate in rates
            for other in others
            if ("loop", rate) in by and by["loop", rate][column] and by.get((other, rate), {}).get(column)
        ]
        losing = [f"{rate:g} ({times:.2f} x {other})" for rate, other, times in dearer if times > 1]
        winning = [f"{rate:g} ({times:.2f} x {other})" for rate, other, times in dearer if times <= 1]
        yield f"The loop needs more {unit} for a valid environment at fault rates {', '.join(losing) or 'none'}"
        yield f"  and no more at {', '.join(winning) or 'none'}."
    for mode in sorted({mode for mode, _ in by}):
        yield _survivors(mode, [row for row in rows if row["mode"] == mode])
    for rate in rates:
        behind = [
            f"{other} ({by[other, rate]['valid']} against {by['loop', rate]['valid']})"
            for other in others
            if ("loop", rate) in by and (other, rate) in by and _value(by[other, rate]) > _value(by["loop", rate])
        ]
        if behind:
            yield f"At fault rate {rate:g} the loop is behind {', '.join(behind)} in valid environments."
    if control:
        said = ", ".join(
            f"{row['feedback']} {row['repaired']} ({row['repaired_low']} to {row['repaired_high']})" for row in control
        )
        yield f"Rejected drafts repaired, by whose feedback was given: {said}."
        own, none, swapped = (_interval(control, name) for name in ("own", "none", "swapped"))
        meets = swapped[0] <= none[1] and none[0] <= swapped[1]
        apart = own[0] > swapped[1]
        yield (
            f"Swapped feedback {'is no better than none' if meets else 'IS BETTER THAN NONE: the feedback leaks'}, "
            f"and one's own {'is better than both' if apart else 'IS NO BETTER'} (95 % Wilson intervals)."
        )


def _survivors(mode: str, rows: Sequence[Row]) -> str:
    kinds: Counter[str] = Counter()
    for row in rows:
        for entry in str(row["survived"]).split():
            kind, _, count = entry.rpartition(":")
            kinds[kind] += int(count)
    if not kinds:
        return f"No mistake of {mode} got past the gates."
    said = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    return f"Past the gates, from {mode}, over all fault rates: {sum(kinds.values())} ({said})."


def _codes(trials: Sequence[Trial]) -> Counter[str]:
    return Counter(code for trial in trials for code in trial.codes if code)


def _value(row: Row) -> float:
    return float(str(row["valid"]))


def _interval(rows: Sequence[Row], name: str) -> tuple[float, float]:
    row = next(row for row in rows if row["feedback"] == name)
    return float(str(row["repaired_low"])), float(str(row["repaired_high"]))


def _share(name: str, good: int, count: int) -> Row:
    low, high = wilson_interval(good, count)
    share = good / count if count else 0.0
    return {name: f"{share:.4f}", f"{name}_low": f"{low:.4f}", f"{name}_high": f"{high:.4f}"}
