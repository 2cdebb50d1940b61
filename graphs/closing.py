"""What a run says at its end: environments accepted and rejected, valid rate, cost, time, D_T, where the release is."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evolution.difficulty import difficulty
from evolution.reference import shipped
from evolution.summary import by_generation, funnel
from graphs.spending import spending

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from evolution.run_folder import RunFolder
    from graphs.generations import Outcome


LONGEST_REASON = 200


@dataclass(frozen=True, slots=True)
class Closing:
    """What the closing lines are made of.

    Attributes:
        folder: The run folder.
        outcome: What the run came to.
        seconds: Wall-clock seconds of this start.
    """

    folder: RunFolder
    outcome: Outcome
    seconds: float


def closing_lines(closing: Closing) -> Iterator[str]:
    """The lines, in order."""
    outcome, folder = closing.outcome, closing.folder
    counts = funnel(attempt for result in outcome.results for attempt in result.history)
    low, high = counts.interval
    yield ""
    yield f"environments accepted   {counts.accepted}"
    rejected = sum(counts.rejected.values())
    detail = ", ".join(f"{gate} ({kind}): {n}" for (kind, gate), n in counts.rejected.items())
    yield f"environments rejected   {rejected}{f'   {detail}' if detail else ''}"
    if counts.plans_rejected:
        yield f"plans rejected          {counts.plans_rejected}"
    if counts.judged:
        yield (
            f"valid rate              {counts.valid_rate:.1%} of {counts.judged} judged"
            f"   (95 % Wilson interval {low:.1%} to {high:.1%})"
        )
    else:
        yield "valid rate              none was judged"
    yield from spending(folder.journal, outcome.results).lines()
    yield f"cost                    {_cost(folder)}"
    yield f"time                    {closing.seconds:.0f} s"
    yield from _difficulties(closing)
    for refusal in outcome.refusals:
        yield f"seed not used           {refusal.folder.name}: {refusal.reason}"
    for result in outcome.results:
        if result.outcome != "accepted":
            where = f"{result.lineage} at generation {result.generation}"
            yield f"lineage ended           {where}: {_first_line(result.reason)}"
    yield ""
    yield from _what_next(closing)


def _cost(folder: RunFolder) -> str:
    usage = folder.journal.usage()
    unpriced = f", {usage.unpriced_calls} calls of models without a known price" if usage.unpriced_calls else ""
    tokens = f"{usage.input_tokens:,} + {usage.output_tokens:,} tokens"
    return f"${usage.cost_usd:.4f}   ({usage.calls} model calls, {tokens}{unpriced})"


def _difficulties(closing: Closing) -> Iterator[str]:
    reference = shipped(closing.folder.config.domain)
    values: dict[int, list[float]] = {}
    for result in closing.outcome.results:
        if result.entry is None:
            continue
        if result.generation == 1:
            values.setdefault(0, []).append(difficulty(result.entry.plan.before, reference).total)
        values.setdefault(result.generation, []).append(difficulty(result.entry.plan.after, reference).total)
    for row in by_generation(values):
        name = f"generation {row.generation}" if row.generation else "seeds"
        spread = f"{row.lowest:.2f} to {row.highest:.2f}"
        yield f"D_T {name:<19} mean {row.mean:6.2f} nats   {spread}   {row.count} environments"


def _what_next(closing: Closing) -> Iterator[str]:
    outcome, folder = closing.outcome, closing.folder
    if outcome.releases:
        yield f"Released: {_spread(outcome.releases)}"
        yield f"Run one of them:  {_trial(closing)}"
    if outcome.drained:
        saved = sum(result.outcome != "infrastructure" for result in outcome.results)
        why = f"Stopped: {outcome.limit}" if outcome.limit else "Interrupted."
        yield f"{why} Saved in {folder.root}: {saved} finished steps of lineages and every finished model call."
        yield f"Go on with the same command, or: {_again(folder)}"
    elif not outcome.releases:
        yield f"Nothing was released: {_why_nothing(outcome)}"
    elif len(outcome.releases) < folder.config.generations:
        yield "Every lineage has ended: start another --out with more seeds, another --seed, --effort or --axes."
    else:
        yield f"Harden further:   {_again(folder)} --generations {folder.config.generations + 1}"


def _again(folder: RunFolder) -> str:
    return _command("evolution.generation", "--config", folder.root / "config.yaml")


def _trial(closing: Closing) -> str:
    config = closing.folder.config
    task = min((closing.outcome.releases[-1] / "tasks").iterdir())
    bases = [part for rule in config.base for part in ("--base", rule)]
    backend = [] if config.sandbox == "bubblewrap" else ["--sandbox", config.sandbox]
    return _command("sandbox.trial", task, "--agent", "oracle", *backend, *bases)


def _command(module: str, *arguments: str | Path) -> str:
    """A line for a shell, that does the same from any folder and without an active virtual environment."""
    return shlex.join([sys.executable, "-m", module, *map(str, arguments)])


def _spread(releases: tuple[Path, ...]) -> str:
    if len(releases) == 1:
        return str(releases[0])
    return f"{releases[0]} to {releases[-1].name}   ({len(releases)} generations)"


def _why_nothing(outcome: Outcome) -> str:
    if not outcome.results:
        reasons = "; ".join(f"{r.folder.name}: {_first_line(r.reason)}" for r in outcome.refusals[:3])
        return f"no seed could be used ({len(outcome.refusals)} refused: {reasons})" if reasons else "there was no seed"
    reasons = "; ".join(f"{r.lineage}: {_first_line(r.reason)}" for r in outcome.results[:3] if r.reason)
    return f"no candidate passed every gate ({reasons})"


def _first_line(text: str) -> str:
    line = text.strip().splitlines()[0] if text.strip() else "no reason given"
    return line if len(line) <= LONGEST_REASON else f"{line[: LONGEST_REASON - 1]}…"
