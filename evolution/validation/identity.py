"""What a result depends on beside the task: kept results are taken only where all of it is the same."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import evolution.gates
from evolution.gates.registry import gate_class

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evolution.validation.job import Job

_SCRIPT = "script:"
_CODE = frozenset({".py", ".yaml", ".md", ".sh"})


def identity(job: Job) -> str:
    """A digest of gates (their code too), settings, models, back end, and the files that these name.

    Suppressions are not in it: `Validation` keeps results by those that speak of the task at hand.
    """
    settings = job.settings
    files = [path for path in (*settings.held_out, settings.alternatives, settings.rubrics) if path is not None]
    files += [Path(model.removeprefix(_SCRIPT)) for model in job.models.values() if model.startswith(_SCRIPT)]
    said = {
        "gates": {name: _code(name) for name in job.gates},
        "order": job.gates,
        "settings": settings.model_dump(mode="json"),
        "models": dict(job.models),
        "sandbox": job.sandbox,
        "base": job.base,
        "network": job.network,
        "thorough": job.thorough,
        "files": {str(path): stamp(path) for path in files},
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def stamp(path: Path) -> str:
    """A digest of a file, or of a folder's files, by paths, sizes and times: benchmarks are too large to be read."""
    digest = hashlib.sha256()
    for found in _below(path):
        try:
            seen = found.stat()
        except OSError:
            continue
        digest.update(f"{found} {seen.st_size} {seen.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _code(gate: str) -> str:
    """A digest of a gate's source: of its file, and of all of this package's gates where it is one of them."""
    try:
        file = Path(inspect.getfile(gate_class(gate)))
        return _package() if file.parent == _home() else hashlib.sha256(file.read_bytes()).hexdigest()
    except (OSError, TypeError):  # made in a shell, say: nothing to read
        return ""


@cache
def _package() -> str:
    digest = hashlib.sha256()
    for file in sorted(file for file in _home().rglob("*") if file.suffix in _CODE):
        digest.update(f"{file.name} ".encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _home() -> Path:
    return Path(next(iter(evolution.gates.__path__)))


def _below(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for folder, names, files in os.walk(path):
        names.sort()
        yield from (Path(folder, name) for name in sorted(files))
