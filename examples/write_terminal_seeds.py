"""Writes `examples/seeds/terminal/`: eight small tasks to evolve from, out of the embedded author's library.

    python examples/write_terminal_seeds.py [FOLDER]

The same bytes come out every time; the folder of a seed is made anew.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from agents.embedded import library
from agents.embedded.library.task_folder import Reward
from evolution.sequence import Sequence, Step

FOLDER = Path(__file__).parent / "seeds" / "terminal"


@dataclass(frozen=True)
class Seed:
    """One seed task: its name, its lineage's data seed, and the pairs it leads through."""

    name: str
    seed: int
    pairs: tuple[tuple[str, str], ...]
    reward: Reward = "binary"

    @property
    def sequence(self) -> Sequence:
        """The pairs as steps s1, s2 and so on."""
        steps = (Step(id=f"s{place}", scenario=a, skill=b) for place, (a, b) in enumerate(self.pairs, 1))
        return Sequence(steps=tuple(steps))


SEEDS = (
    Seed("access-log-digest", 2101, (("web-access-logs", "filter-and-total"),)),
    Seed("order-payments", 2102, (("order-ledger", "reconcile-sources"),)),
    Seed(
        "telemetry-quarantine",
        2103,
        (("sensor-telemetry", "malformed-quarantine"), ("sensor-telemetry", "percentile-report")),
    ),
    Seed("release-references", 2104, (("git-history", "pattern-harvest"),)),
    Seed(
        "backup-audit",
        2105,
        (("backup-archives", "checksum-audit"), ("backup-archives", "latest-version-wins")),
        "fraction",
    ),
    Seed("image-package-sizes", 2106, (("package-stanzas", "top-k-ties"),), "fraction"),
    Seed("stock-moves-export", 2107, (("inventory-database", "fixed-format-export"),)),
    Seed(
        "process-table-review",
        2108,
        (("process-snapshots", "baseline-difference"), ("file-server-listing", "filter-and-total")),
    ),
)


def write(seed: Seed, folder: Path) -> None:
    """Writes one seed's task below `folder`, in place of what was there under its name."""
    root = folder / seed.name
    if root.exists():
        shutil.rmtree(root)
    files = library.render_task(seed.sequence, seed.seed, name=f"envolve/{seed.name}", reward=seed.reward)
    for path, file in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.content)
        target.chmod(0o755 if file.executable else 0o644)
    print(f"{root}: {len(files)} files, {sum(len(file.content) for file in files.values())} bytes")


if __name__ == "__main__":
    for each in SEEDS:
        write(each, Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
