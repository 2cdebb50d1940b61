"""Other solutions of a task: where they come from, and running them in place of the reference."""

from __future__ import annotations

import asyncio
import json
import posixpath
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evolution.gates.roles import Alternative
from sandbox.errors import TransferError
from sandbox.task.phase import agent_env, agent_timeout, agent_user, solution_env
from sandbox.task.reference import SCRIPT
from sandbox.trial.result import SolutionRun
from sandbox.trial.steps import SOLUTION, run_solution, run_steps
from sandbox.verification.verify import MAX_OUTPUT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evolution.gates.alternative_wording import Respect
    from sandbox.protocol import Sandbox
    from sandbox.task import Task, TaskStep
    from sandbox.trial.result import TrialResult

FOLDER: Final = "alternatives"
MAX_BYTES: Final = 1 << 20


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
    """Runs an alternative solution in a fresh sandbox of the task, then the task's verifier, step by step."""

    async def solve(step: TaskStep) -> SolutionRun | None:
        return await run_alternative_step(task, sandbox, step, alternative)

    return await run_steps(f"alternative:{alternative.name}", task, sandbox, solve)


async def run_alternative_step(
    task: Task, sandbox: Sandbox, step: TaskStep, alternative: Alternative
) -> SolutionRun | None:
    """Runs an alternative's part of one step as the reference would be run; the reference's where it has none."""
    files = _files_of(step, alternative)
    if SCRIPT not in files:
        return await run_solution(task, sandbox, step)
    await sandbox.remake_directory(SOLUTION)
    with tempfile.TemporaryDirectory(prefix="envolve-alternative-") as shut:
        aside = Path(shut) / "solution"
        await asyncio.to_thread(_write, files, aside)
        await sandbox.upload(aside, SOLUTION)
    ran = await sandbox.exec(
        ["bash", "-c", f"{SOLUTION}/{SCRIPT}"],
        cwd=task.config.environment.workdir,
        env={**agent_env(task), **solution_env(task)},
        user=agent_user(task, step),
        timeout=agent_timeout(task, step),
    )
    return SolutionRun(ran.exit_code, ran.timed_out, ran.text[-MAX_OUTPUT:], ran.error_text[-MAX_OUTPUT:])


def _files_of(step: TaskStep, alternative: Alternative) -> dict[str, bytes]:
    prefix = f"{step.name}/"
    if step.folder and any(path.startswith(prefix) for path in alternative.files):
        return {path.removeprefix(prefix): text for path, text in alternative.files.items() if path.startswith(prefix)}
    script = alternative.script.encode("utf-8", "surrogateescape")
    return {**alternative.files, **({SCRIPT: script} if script and not step.folder else {})}


def _write(files: Mapping[str, bytes], aside: Path) -> None:
    aside.mkdir(mode=0o755)
    aside.chmod(0o755)
    for path, content in files.items():
        place = aside / path
        if not place.resolve().is_relative_to(aside.resolve()):
            raise TransferError(f"a file of an alternative solution leaves its folder: {path}")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        place.chmod(0o755 if path == SCRIPT or content.startswith(b"#!") else 0o644)


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
        ours, theirs = ours.rstrip(b"\n"), theirs.rstrip(b"\n")
    if "letter-case" in open_ones:
        ours, theirs = ours.lower(), theirs.lower()
    if ours == theirs:
        return True
    if not {"json-whitespace", "json-key-order"} <= open_ones:
        return False
    try:
        return bool(json.loads(ours) == json.loads(theirs))
    except (ValueError, RecursionError):
        return False
