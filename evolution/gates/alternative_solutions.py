"""Other solutions of a task: where they come from, and running them in place of the reference."""

from __future__ import annotations

import asyncio
import json
import posixpath
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evolution.gates.alternative_variants import with_lower_digests
from evolution.gates.errors import GateError
from evolution.gates.roles import Alternative
from sandbox.errors import TransferError
from sandbox.task.phase import solution_env
from sandbox.task.reference import SCRIPT
from sandbox.trial.result import SolutionRun
from sandbox.trial.steps import SOLUTION, run_script, run_solution, run_steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evolution.gates.alternative_wording import Respect
    from sandbox.protocol import Sandbox
    from sandbox.task import Task, TaskStep
    from sandbox.trial.result import TrialResult

FOLDER: Final = "alternatives"
MAX_BYTES: Final = 1 << 20
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)


def supplied(task: Task, beside: Path | None = None) -> tuple[Alternative, ...]:
    """The alternatives in the task's folder `alternatives/<name>/`, then those in `<beside>/<task name>/<name>/`.

    Each has a `solve.sh`; in a multi-step task one for each step, `<name>/<step>/solve.sh`, and a step without one is
    done by the reference solution.
    """
    own: dict[str, dict[str, bytes]] = {}
    for file in task.under(FOLDER):
        name, _, path = file.path.removeprefix(f"{FOLDER}/").partition("/")
        if path and not file.link:
            own.setdefault(name, {})[path] = task.read_bytes(file.path)
    found = [_made(name, files) for name, files in sorted(own.items())]
    for root in _roots(task, beside):
        for folder in sorted(path for path in root.iterdir() if path.is_dir()):
            files = {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
            found.append(_made(folder.name, files))
    return tuple(alternative for alternative in found if _has_script(alternative))


def _roots(task: Task, beside: Path | None) -> list[Path]:
    if beside is None:
        return []
    candidates = dict.fromkeys((beside / task.name, beside / task.name.rpartition("/")[2]))
    return [folder for folder in candidates if folder.is_dir()]


def _made(name: str, files: Mapping[str, bytes]) -> Alternative:
    script = files.get(SCRIPT, b"").decode("utf-8", "surrogateescape")
    return Alternative(name, script, {path: content for path, content in files.items() if path != SCRIPT})


def _has_script(alternative: Alternative) -> bool:
    return bool(alternative.script) or any(posixpath.basename(path) == SCRIPT for path in alternative.files)


async def run_alternative(task: Task, sandbox: Sandbox, alternative: Alternative) -> TrialResult:
    """Runs an alternative solution in a fresh sandbox of the task, then the task's verifier, step by step.

    Raises:
        GateError: Its files cannot be written: one leaves their folder, or is the folder of another.
        SandboxError: The sandbox failed.
    """

    async def solve(step: TaskStep) -> SolutionRun | None:
        return await run_alternative_step(task, sandbox, step, alternative)

    return await run_steps(f"alternative:{alternative.name}", task, sandbox, solve)


async def run_alternative_step(
    task: Task, sandbox: Sandbox, step: TaskStep, alternative: Alternative
) -> SolutionRun | None:
    """Runs an alternative's part of one step as the reference would be run; the reference's where it has none.

    Raises:
        GateError: Its files cannot be written: one leaves their folder, or is the folder of another.
        SandboxError: The sandbox failed.
    """
    files = _files_of(step, alternative)
    if SCRIPT not in files:
        return await run_solution(task, sandbox, step)
    await sandbox.remake_directory(SOLUTION)
    with tempfile.TemporaryDirectory(prefix="envolve-alternative-") as shut:
        aside = Path(shut) / "solution"
        await asyncio.to_thread(_write, files, aside)
        await sandbox.upload(aside, SOLUTION)
    return await run_script(task, sandbox, step, env=solution_env(task))


def _files_of(step: TaskStep, alternative: Alternative) -> dict[str, bytes]:
    prefix = f"{step.name}/"
    if step.folder and any(path.startswith(prefix) for path in alternative.files):
        return {path.removeprefix(prefix): text for path, text in alternative.files.items() if path.startswith(prefix)}
    try:
        script = alternative.script.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise GateError(
            f"the script of the alternative solution {alternative.name} cannot be written: {error}"
        ) from error
    return {**alternative.files, **({SCRIPT: script} if script and not step.folder else {})}


def _write(files: Mapping[str, bytes], aside: Path) -> None:
    aside.mkdir(mode=0o755)
    aside.chmod(0o755)
    for path, content in files.items():
        place = aside / path
        try:
            if not place.resolve().is_relative_to(aside.resolve()):
                raise GateError(f"a file of an alternative solution leaves its folder: {path!r}")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
            place.chmod(0o755 if path == SCRIPT or content.startswith(b"#!") else 0o644)
        except (OSError, ValueError) as error:  # a file where a folder is needed, a name that no file may have
            raise GateError(f"a file of an alternative solution cannot be written: {path!r}: {error}") from error


async def contents(sandbox: Sandbox, paths: Iterable[str]) -> dict[str, bytes]:
    """The files among some paths, as far as they are plain and not huge."""
    found = {}
    for path in paths:
        try:
            found[path] = await sandbox.read_file(path, max_bytes=MAX_BYTES)
        except (FileNotFoundError, IsADirectoryError, TransferError):
            continue
    return found


def same_but_for_form(ours: bytes, theirs: bytes, open_ones: frozenset[Respect]) -> bool:
    """Whether two outputs hold the same, and differ at most in respects that are open."""
    if ours == theirs:
        return True
    if "final-newline" in open_ones:
        ours, theirs = ours.removesuffix(b"\n"), theirs.removesuffix(b"\n")
    if "letter-case" in open_ones:
        ours, theirs = with_lower_digests(ours), with_lower_digests(theirs)
    if ours == theirs:
        return True
    if not {"json-whitespace", "json-key-order"} <= open_ones or ours.endswith(b"\n") != theirs.endswith(b"\n"):
        return False
    by_value = "number-format" in open_ones
    try:
        same = _is_same(_value(ours, by_value=by_value), _value(theirs, by_value=by_value))
    except (ValueError, RecursionError):
        return False
    # Only now that both are known to be JSON do quotes come in pairs.
    return same and ("json-escapes" in open_ones or sorted(_STRING.findall(ours)) == sorted(_STRING.findall(theirs)))


class _Digits(str):
    """A number as it is written."""

    __slots__ = ()


def _value(text: bytes, *, by_value: bool) -> object:
    """What a JSON text holds, its numbers as they are written unless they count by their value.

    Raises:
        ValueError: It is no JSON, or has a key twice.
        RecursionError: It is nested too deeply.
    """

    def pairs(found: list[tuple[str, object]]) -> dict[str, object]:
        made = dict(found)
        if len(made) != len(found):
            raise ValueError("a key twice")
        return made

    if by_value:
        return json.loads(text, object_pairs_hook=pairs)
    return json.loads(text, object_pairs_hook=pairs, parse_int=_Digits, parse_float=_Digits, parse_constant=_Digits)


def _is_same(ours: object, theirs: object) -> bool:
    """Equality that tells `true` from 1, and a number from the text of its digits."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(_is_same(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(_is_same, ours, theirs))
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (ours, theirs))
    return ours == theirs and (numbers or type(ours) is type(theirs))
