"""What an overlap index costs: seconds to build, megabytes on disk and in memory, questions a second.

python benchmarks/overlap_index.py [--tasks 100000] [--words 250] [--questions 2000]
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from evolution.gates.overlap_index import OverlapIndex

if TYPE_CHECKING:
    from collections.abc import Iterator

VOCABULARY = 20_000


def texts(count: int, words: int, seed: int = 7) -> Iterator[tuple[str, str]]:
    """Made-up instructions, the frequent words as frequent as in prose."""
    chance = random.Random(seed)  # noqa: S311 - nothing secret
    weights = [1 / rank for rank in range(1, VOCABULARY + 1)]
    total = 0.0
    cumulative = [total := total + weight for weight in weights]
    known = [f"w{number}" for number in range(VOCABULARY)]
    for number in range(count):
        length = chance.randint(words // 2, words + words // 2)
        yield f"task {number}", " ".join(chance.choices(known, cum_weights=cumulative, k=length))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=5000)
    parser.add_argument("--words", type=int, default=250)
    parser.add_argument("--questions", type=int, default=2000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        written = list(texts(asked.tasks, asked.words))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began, worked = time.perf_counter(), time.process_time()
        index = OverlapIndex.build(written, Path(folder) / "index")
        seconds = time.perf_counter() - began
        worked = time.process_time() - worked
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        size = sum(path.stat().st_size for path in (Path(folder) / "index").iterdir())
        print(f"tasks {index.texts}, grams {index.grams}")
        speed = f"{asked.tasks / seconds:.0f} tasks/s, {(peak - before) / 1024:.0f} MB beyond them"
        print(f"build {seconds:.1f} s ({worked:.1f} s of CPU), {speed}")
        print(f"disk {size / 1e6:.1f} MB")
        chance = random.Random(8)  # noqa: S311 - likewise
        questions = [text for _, text in texts(asked.questions, asked.words, seed=9)]
        questions[::2] = [chance.choice(written)[1] for _ in questions[::2]]
        began, worked = time.perf_counter(), time.process_time()
        hits = sum(1 for question in questions if next(index.hits(question), None) is not None)
        seconds = time.perf_counter() - began
        worked = time.process_time() - worked
        asked_of = f"{len(questions) / seconds:.0f}/s, {len(questions) / worked:.0f} a second of CPU"
        print(f"questions {asked_of}, {hits} of {len(questions)} overlap (half were copied)")


if __name__ == "__main__":
    main()
