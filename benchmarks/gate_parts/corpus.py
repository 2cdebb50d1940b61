"""The corpus: sound tasks, by hand and out of the library, and the same tasks with one known fault planted in each."""

from __future__ import annotations

import itertools
import shutil
from dataclasses import dataclass
from pathlib import Path

from benchmarks.library_tasks import drawn_sequence, write_task
from evolution.faults.fault import Fault
from evolution.faults.planting import kinds, plant
from evolution.intake import find_tasks
from evolution.randomness import generator
from evolution.validation.identity import code_digest
from sandbox.task import Task

ROOT = Path(__file__).resolve().parents[2]
BY_HAND = (ROOT / "tests" / "data" / "handwritten", ROOT / "tests" / "data" / "foreign")
SEEDS = ROOT / "examples" / "seeds" / "terminal"
TRIES = 4
"""Seeds tried for a fault that has nothing to hold on to in a task."""


@dataclass(frozen=True)
class Item:
    """One task of the corpus; what is planted in it is known here and nowhere else."""

    folder: Path
    by_hand: bool
    fault: Fault | None = None


def sound(folder: Path, count: int) -> list[Item]:
    """`count` sound tasks: all that are written by hand, the seeds, and as many of the library's as it takes.

    A count that is not enough for those written by hand is a sample, half of it by hand.
    """
    found = [Item(path, by_hand=True) for path in find_tasks(BY_HAND)]
    if count <= len(found):
        generator("corpus", "sample", count).shuffle(found)
        del found[-(-count // 2) :]
    found += [Item(path, by_hand=False) for path in find_tasks((SEEDS,))]
    return [*found, *(Item(path, by_hand=False) for path in rendered(folder, count - len(found)))][:count]


def rendered(folder: Path, count: int) -> list[Path]:
    """`count` sound tasks of the embedded author's library, the same ones every time."""
    found: list[Path] = []
    number = 0
    while len(found) < count:
        number += 1
        target = folder / f"library-{number:04d}"
        if target.is_dir() or _render(target, number):
            found.append(target)
    return found


def faulty(folder: Path, items: list[Item], each: int, wanted: list[str] | None = None) -> list[Item]:
    """`each` tasks with a fault of each kind, one half in tasks written by hand, the other in the library's."""
    found: list[Item] = []
    planter = code_digest("evolution/faults")[:8]
    for kind, fault in kinds().items():
        if wanted and kind not in wanted:
            continue
        draw = generator("corpus", kind)
        pools = [[item for item in items if item.by_hand is by_hand] for by_hand in (True, False)]
        for pool in pools:
            draw.shuffle(pool)
        found += _planted(folder / f"{kind}-{planter}", fault, pools, each)
    return found


def _planted(folder: Path, fault: Fault, pools: list[list[Item]], each: int) -> list[Item]:
    found: list[Item] = []
    seeds = itertools.count()
    for turn in range(8 * each):
        if len(found) == each:
            break
        pool = pools[turn % 2] or pools[0]
        item = pool[(turn // 2) % len(pool)]
        seed = next(seeds)
        target = folder / f"{item.folder.name}-{seed}"
        # Finished folders only: one that a killed run left half-written has no mark beside it.
        mark = folder / f".{target.name}.done"
        if not mark.exists():
            shutil.rmtree(target, ignore_errors=True)
            if not any(plant(Task.read(item.folder), fault.kind, seed + 1000 * n, target) for n in range(TRIES)):
                continue
            mark.touch()
        found.append(Item(target, item.by_hand, fault))
    return found


def _render(target: Path, number: int) -> bool:
    draw = generator("corpus", "library", number)
    sequence = drawn_sequence(draw, (1, 1, 2, 3))
    reward = draw.choice(("binary", "fraction"))
    return write_task(target, sequence, 9000 + number, name=f"corpus/library-{number:04d}", reward=reward)
