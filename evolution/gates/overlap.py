"""Gate `overlap`: no 13 words in a row of the instruction occur in a held-out task (AutoEnvScaling, admission)."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Self

from evolution.gates.errors import GateError
from evolution.gates.outcomes import finding, judged
from evolution.gates.overlap_texts import held_out_texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evolution.gates.overlap_index import OverlapIndex
    from evolution.gates.roles import Roles
    from evolution.gates.settings import GateSettings
    from evolution.verdict import Candidate, Finding, Verdict
    from sandbox.sandboxes import Sandboxes


class OverlapGate:
    """Looks the instruction's grams up in an index of the held-out instructions, built when it is first asked.

    Args:
        held_out: Folders and files with held-out instructions, and folders of saved indexes.
        cache: Where indexes are kept, by content; left out, the user's cache folder.
    """

    name: Final = "overlap"
    stage: Final = 0
    codes: ClassVar[Mapping[str, str]] = {"held-out": "the instruction shares 13 words in a row with a held-out task"}

    def __init__(self, held_out: Sequence[Path], cache: Path | None = None) -> None:
        self._held_out = tuple(held_out)
        self._cache = cache or default_cache()
        self._indexes: tuple[OverlapIndex, ...] | None = None
        self._lock = asyncio.Lock()

    @classmethod
    def configured(cls, settings: GateSettings, roles: Roles) -> Self:  # noqa: ARG003 - every gate is made so
        """Makes the gate.

        Raises:
            GateError: `held_out` is empty.
        """
        if not settings.held_out:
            raise GateError(
                "gate 'overlap' needs the setting held_out: folders of tasks, or files of instructions (.md, .txt, "
                ".jsonl), that no task may overlap with"
            )
        return cls(settings.held_out)

    async def check(self, candidate: Candidate, sandboxes: Sandboxes) -> Verdict:  # noqa: ARG002 - reads only
        """Judges the candidate.

        Raises:
            GateError: A held-out file cannot be read, or the index cannot be written.
        """
        async with self._lock:
            if self._indexes is None:
                self._indexes = await asyncio.to_thread(indexes_of, self._held_out, self._cache)
        grams = sum(index.grams for index in self._indexes)
        found, shared = await asyncio.to_thread(_findings, candidate.task.instruction, self._indexes)
        return judged(self.name, found, {"held_out_grams": float(grams), "shared_grams": float(shared)})


def indexes_of(held_out: Sequence[Path], cache: Path) -> tuple[OverlapIndex, ...]:
    """Opens the saved indexes among some paths, and one of all the other texts, which is built where it is not there.

    Raises:
        GateError: A path cannot be read, or has nothing to compare with.
    """
    from evolution.gates.overlap_index import OverlapIndex, folder_for

    saved = [path for path in held_out if (path / "grams.npy").is_file()]
    indexes = [OverlapIndex(path) for path in saved]
    others = [path for path in held_out if path not in saved]
    if others:
        folder = folder_for(held_out_texts(others), cache)
        exists = (folder / "format").is_file()
        indexes.append(OverlapIndex(folder) if exists else OverlapIndex.build(held_out_texts(others), folder))
    return tuple(indexes)


def default_cache() -> Path:
    """`$XDG_CACHE_HOME/envolve/overlap`, by default in `~/.cache`."""
    root = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(root).expanduser() / "envolve" / "overlap"


def _findings(instruction: str, indexes: Sequence[OverlapIndex]) -> tuple[list[Finding], int]:
    """One finding for each run of shared words of one held-out text, and how many grams of the instruction are shared.

    Grams that overlap are one run. A gram that several indexes have counts once.
    """
    found: list[Finding] = []
    shared: set[int] = set()
    for index in indexes:
        last: tuple[str, int] = ("", -1)
        for hit in index.hits(instruction):
            shared.add(hit.at)
            follows = last == (hit.name, hit.at - 1)
            last = (hit.name, hit.at)
            if not follows:
                said = f"the instruction shares these 13 words in a row with the held-out {hit.name}: {hit.words!r}"
                found.append(finding(OverlapGate.name, "held-out", said, "instruction.md"))
    return found, len(shared)
