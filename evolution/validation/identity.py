"""What a result depends on beside the task: kept results are taken only where all of it is the same."""

from __future__ import annotations

import hashlib
import importlib.util
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
_CODE = frozenset({".py", ".yaml", ".md", ".sh", ".c", ".csv", ".json"})


def identity(job: Job) -> str:
    """A digest of gates, settings, models, back end, this program's own code, and the files that these name.

    Suppressions are not in it: `Validation` keeps results by those that speak of the task at hand.
    """
    settings = job.settings
    files = [path for path in (*settings.held_out, settings.alternatives, settings.rubrics) if path is not None]
    files += [Path(model.removeprefix(_SCRIPT)) for model in job.models.values() if model.startswith(_SCRIPT)]
    files += [Path(where) for _, _, where in (base.partition("=") for base in job.base) if where not in {"", "host"}]
    named = (*job.models.values(), job.sandbox)
    said = {
        "gates": {name: _code(name) for name in job.gates},
        "order": job.gates,
        "settings": settings.model_dump(mode="json"),
        "models": dict(job.models),
        "api_base": job.api_base if job.models else None,
        "program": code_digest("sandbox", "evolution", "agents", "graphs"),
        "named": {name: _module(name.partition(":")[0]) for name in named if ":" in name and _SCRIPT not in name},
        "sandbox": job.sandbox,
        "base": job.base,
        "network": job.network,
        "thorough": job.thorough,
        "files": {str(path): stamp(path) for path in files},
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def stamp(path: Path) -> str:
    """A digest of a file, or of a folder's files, by paths, sizes and times: benchmarks are too large to be read.

    Of a root folder, which holds a whole system, the uppermost files count.
    """
    digest = hashlib.sha256()
    for found in _below(path):
        try:
            seen = found.stat()
        except OSError:
            continue
        digest.update(f"{found} {seen.st_size} {seen.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


@cache
def code_digest(*rooms: str) -> str:
    """A digest of the source, prompts and data files of some of this program's rooms."""
    digest = hashlib.sha256()
    home = Path(next(iter(evolution.gates.__path__))).parents[1]
    for file in sorted(file for room in rooms for file in (home / room).rglob("*") if file.suffix in _CODE):
        digest.update(f"{file.relative_to(home)} ".encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _code(gate: str) -> str:
    """A digest of the source of a gate that is somebody else's."""
    try:
        return hashlib.sha256(Path(inspect.getfile(gate_class(gate))).read_bytes()).hexdigest()
    except (OSError, TypeError):  # made in a shell, say: nothing to read
        return ""


def _module(name: str) -> str:
    """The same of a module; "" for none."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return ""
    origin = spec.origin if spec and spec.has_location else None
    return hashlib.sha256(Path(origin).read_bytes()).hexdigest() if origin else ""


def _below(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for folder, names, files in os.walk(path):
        names[:] = [] if (path / "usr" / "bin").is_dir() else sorted(names)
        yield Path(folder)
        yield from (Path(folder, name) for name in sorted(files))
