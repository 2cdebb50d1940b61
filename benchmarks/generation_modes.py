"""The three ways to generate, compared over the author's fault rate; and what feedback is worth.

    python benchmarks/generation_modes.py                                the full figure
    python benchmarks/generation_modes.py --plans 4 --rates 0 0.6        a sample

Each way gets the same first-generation plans over seeds of the library, the same author (`embedded/author?faults=p`),
gates and attempts (*AutoEnvScaling*, "three ways to generate, compared"). Planning is the same for all and not counted.
A candidate that several runs hand in is judged once; its seconds count in each of them.

The gates are the default ones without `harder`: the plans are harder by construction, and that gate costs as much as
the others together. What the gates let through all the same is worked out afterwards from seeds ("survived").

The control takes drafts that the gates have rejected and lets the author repair each once: told what was found in it,
told only that it was rejected, and told what was found in another draft.

Finished trials are kept in --work, so that a run that was ended goes on; other gates or code find nothing finished.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import os
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.generation_parts import figures
from benchmarks.generation_parts.plans import Assignment, assignments
from benchmarks.generation_parts.soundness import survivor
from benchmarks.generation_parts.trials import Trial, Way
from evolution.config import MODES
from evolution.gates.registry import DEFAULT_GATES, make_gates
from evolution.gates.settings import GateSettings
from evolution.journal import Journal
from evolution.validation.identity import code_digest
from evolution.verdict import Gate
from sandbox.backends import load_backend
from sandbox.sandboxes import Sandboxes

GATES = tuple(gate for gate in DEFAULT_GATES if gate != "harder")
RATES = (0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9)
RESULTS = Path(__file__).parent / "results"
NOT_SAID = {"source": "gates", "code": "", "text": "It was rejected."}

T = TypeVar("T")


class Benchmark:
    """One measurement.

    Args:
        arguments: The command line.
        sandboxes: Where authors work and gates judge.
        shared: Verdicts of all runs.
    """

    def __init__(self, arguments: argparse.Namespace, sandboxes: Sandboxes, shared: Journal) -> None:
        self._arguments, self._sandboxes, self._shared = arguments, sandboxes, shared
        self._gates: tuple[Gate, ...] = make_gates(arguments.gates, GateSettings(reruns=arguments.reruns))
        self._prices = figures.Prices(*arguments.prices)
        self._began = time.monotonic()

    async def modes(self, work: Sequence[Assignment]) -> list[figures.Row]:
        """The rows of the curves."""
        rows = []
        for faults in self._arguments.rates:
            for mode in self._arguments.modes:
                with self._way(f"{faults:g}/{mode.replace('+', '-')}", mode, faults) as way:
                    found = await self._each(work, way.trial)
                pairs = [(item, trial) for item, trial in zip(work, found, strict=True) if trial is not None]
                survived = [
                    survivor(item, trial.digest, len(trial.results), faults) if trial.accepted else ""
                    for item, trial in pairs
                ]
                row = figures.mode_row(mode, faults, [trial for _, trial in pairs], survived, self._prices)
                rows.append(row)
                self._tell(f"{mode} at {faults:g}: valid {row['valid']}, first {row['first']}, sound {row['sound']}")
        return rows

    async def control(self, work: Sequence[Assignment]) -> list[figures.Row]:
        """The rows of the control."""
        chosen = work[: self._arguments.control]
        with self._way("control/drafts", "prompt+feedback", 1.0, attempts=1) as way:

            async def draft(item: Assignment) -> Trial | None:
                return await way.trial(item, keep=True)

            drafts = await self._each(chosen, draft)
            folder = way.folder
        rejected = [
            (item, trial)
            for item, trial in zip(chosen, drafts, strict=True)
            if trial is not None and not trial.accepted and trial.feedback
        ]
        own = [trial.feedback[-1] for _, trial in rejected]
        told: dict[str, list[dict[str, str]]] = {
            "own": own,
            "none": [NOT_SAID] * len(own),
            "swapped": [*own[1:], *own[:1]],
        }
        repaired: dict[str, list[bool]] = {}
        for name, feedback in told.items():
            said = dict(zip((item.lineage for item, _ in rejected), feedback, strict=True))
            with self._way(f"control/{name}", "prompt+feedback", 0.0, attempts=2) as way:

                async def repair(
                    item: Assignment, way: Way = way, said: dict[str, dict[str, str]] = said
                ) -> Trial | None:
                    drafted = folder / "work" / item.lineage / str(item.plan.axis) / "environment-1" / "draft"
                    begin = {"attempt": 1, "draft": str(drafted), "feedback": [said[item.lineage]]}
                    return await way.trial(item, begin)

                found = await self._each([item for item, _ in rejected], repair)
            repaired[name] = [trial.accepted for trial in found if trial is not None]
            self._tell(f"control, feedback {name}: {sum(repaired[name])} of {len(repaired[name])} repaired")
        return figures.control_rows(repaired)

    def _way(self, place: str, mode: str, faults: float, attempts: int | None = None) -> Way:
        return Way(
            self._arguments.work / "runs" / place,
            mode,
            faults,
            self._gates,
            self._sandboxes,
            self._shared,
            attempts or self._arguments.repair_attempts,
        )

    async def _each(self, items: Sequence[Assignment], do: Callable[[Assignment], Awaitable[T]]) -> list[T]:
        slots = asyncio.Semaphore(self._arguments.workers)

        async def one(item: Assignment) -> T:
            async with slots:
                return await do(item)

        return list(await asyncio.gather(*(one(item) for item in items)))

    def _tell(self, said: str) -> None:
        print(f"[{time.monotonic() - self._began:.0f} s] {said}", file=sys.stderr)


async def measured(arguments: argparse.Namespace) -> tuple[list[figures.Row], list[figures.Row]]:
    backend = load_backend(base=("*=host",))
    seeds = arguments.work / "seeds"
    seeds.mkdir(parents=True, exist_ok=True)
    try:
        with Journal(arguments.work / "plans.db") as plans, Journal(arguments.work / "verdicts.db") as shared:
            work = [item async for item in assignments(seeds, max(arguments.plans, arguments.control), plans)]
            benchmark = Benchmark(arguments, Sandboxes(backend, concurrency=2 * arguments.workers), shared)
            rows = await benchmark.modes(work[: arguments.plans]) if arguments.plans else []
            return rows, await benchmark.control(work) if arguments.control else []
    finally:
        await backend.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plans", type=int, default=40, help="plans for each way and rate (default: 40)")
    parser.add_argument("--control", type=int, default=80, help="drafts of the control (default: 80)")
    parser.add_argument("--rates", type=float, nargs="+", default=RATES, help="fault rates of the author")
    parser.add_argument("--modes", nargs="+", default=MODES, choices=MODES)
    parser.add_argument("--gates", nargs="+", default=GATES, help=f"default: {' '.join(GATES)}")
    parser.add_argument("--reruns", type=int, default=2, help="for gate rerun (default: 2, as in a run)")
    parser.add_argument("--repair-attempts", type=int, default=3, help="environments per plan (default: 3)")
    parser.add_argument(
        "--prices",
        type=float,
        nargs=2,
        default=(3.0, 15.0),
        metavar=("IN", "OUT"),
        help="dollars per million tokens read and written (default: 3 15)",
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--work", type=Path, default=Path("runs/benchmark-generation"), help="finished work")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the CSV files and the picture")
    arguments = parser.parse_args()
    asked = (arguments.gates, arguments.reruns, arguments.repair_attempts)
    said = f"{asked} {code_digest('sandbox', 'evolution', 'agents', 'graphs')}"
    arguments.work /= hashlib.sha256(said.encode()).hexdigest()[:12]
    rows, control = asyncio.run(measured(arguments))
    if rows:
        from benchmarks.generation_parts.chart import draw

        figures.write(rows, arguments.results / "generation_modes.csv")
        draw(rows, arguments.results / "generation_modes.png")
    if control:
        figures.write(control, arguments.results / "generation_modes_control.csv")
    for line in figures.words(rows, control):
        print(line)


if __name__ == "__main__":
    main()
