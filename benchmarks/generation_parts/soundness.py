"""Whether an accepted environment is what the plan asked for, and which mistake is in it otherwise.

Worked out from seeds alone, after the fact (`agents.embedded.mistakes`): nothing of it is in a run.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from agents.embedded.evolving import MOST_ROUNDS, renderings
from agents.embedded.library import FileContent
from agents.embedded.mistakes import Mistake, slip
from agents.embedded.task_settings import at, parsed
from benchmarks.generation_parts.plans import Assignment
from evolution.randomness import derive_seed

TOML = "task.toml"


def digest_of_folder(folder: Path) -> str:
    """Of a task's files; what the host stamps on every child is left out."""
    return _digest(
        {
            path.relative_to(folder).as_posix(): FileContent(
                path.read_bytes(), executable=bool(path.stat().st_mode & 0o100)
            )
            for path in folder.rglob("*")
            if path.is_file()
        }
    )


def sound_files(work: Assignment) -> Mapping[str, FileContent]:
    """The task that the plan asks for."""
    toml = (work.parent / TOML).read_text(encoding="utf-8")
    seed = at(parsed(toml), "metadata", "evolution", "seed")
    assert isinstance(seed, int)
    return renderings(work.plan, toml, seed)[1]


def survivor(work: Assignment, digest: str, attempts: int, faults: float) -> str:
    """The kind of mistake that is in an accepted environment; "" when there is none.

    One that a repair has left something of is called `<kind> (in part)`.
    """
    wanted = sound_files(work)
    if digest == _digest(wanted):
        return ""
    made = list(_mistakes(work, wanted, attempts, faults))
    whole = next((mistake.kind for mistake in made if _digest(mistake.files) == digest), "")
    return whole or (f"{made[0].kind} (in part)" if made else "unknown")


def _mistakes(work: Assignment, wanted: Mapping[str, FileContent], attempts: int, faults: float) -> Iterator[Mistake]:
    for attempt in range(1, attempts + 1):
        seed = work.seed_of(attempt)
        for each in (seed, *(derive_seed(seed, "repair", round_) for round_ in range(MOST_ROUNDS))):
            mistake = slip(wanted, faults, each)
            if mistake is not None:
                yield mistake


def _digest(files: Mapping[str, FileContent]) -> str:
    total = hashlib.sha256()
    for path in sorted(files):
        content = _unstamped(files[path].content) if path == TOML else files[path].content
        entry = [path, files[path].executable, hashlib.sha256(content).hexdigest()]
        total.update(json.dumps(entry).encode() + b"\n")
    return total.hexdigest()


def _unstamped(toml: bytes) -> bytes:
    try:
        settings = tomllib.loads(toml.decode("utf-8"))
    except ValueError:  # no TOML, or no UTF-8
        return toml
    settings.get("metadata", {}).pop("evolution", None)
    settings.get("task", {}).pop("name", None)
    return json.dumps(settings, sort_keys=True, default=str).encode()
