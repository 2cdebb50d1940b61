"""The strongest expected output is what the reference solution writes: is it there already, and not as an input?

Once the solution has run, the files it wrote are looked for in everything that was there before. Tasks copy, unpack and
restore files, so a match alone says nothing. What tells an answer from an input is a second run without the file: an
input is missed, an answer is not. The second run takes place only for tasks with such a match.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from evolution.gates.leak_image import MOST_FILE_BYTES, fetched
from evolution.gates.leak_scan import GATE, Doubt
from evolution.gates.leak_secrets import SHORTEST_LINE, SHORTEST_MATCH, data_secret, recognised
from evolution.gates.outcomes import finding
from sandbox.errors import UnsupportedTaskError
from sandbox.siblings import fresh
from sandbox.trial.steps import prepare_step, run_solution

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evolution.gates.leak_scan import Place, Scan
    from evolution.gates.leak_secrets import Suspect
    from evolution.verdict import Finding
    from sandbox.protocol import Sandbox
    from sandbox.task import Task

PATIENCE: Final = 60.0
"""Seconds a reference solution may take; one that takes longer is not run for this."""
MOST_OUTPUTS: Final = 200
MOST_DOUBTS: Final = 4
"""Second runs of one task."""
MOST_HOLDERS: Final = 8
# Nothing is written there: folders whose files no task asks for.
_PASSING = ("/proc", "/sys", "/dev", "/run", "/logs", "/tests", "/solution", "/var/log", "/var/cache", "/var/tmp", "/tmp")  # fmt: skip # noqa: S108, E501
_FIND: Final = 'find / -xdev \\( -path /proc -o -path /sys -o -path /dev \\) -prune -o -type f -size "$1"c -print0'


@dataclass(frozen=True, slots=True)
class Outputs:
    """What the reference solution wrote.

    Attributes:
        files: Contents by path.
    """

    files: Mapping[str, bytes]

    def same(self, path: str, other: Outputs) -> bool:
        """Whether two runs wrote the same to a path."""
        return path in other.files and other.files[path] == self.files.get(path)


async def output_findings(task: Task, sandbox: Sandbox, scan: Scan) -> list[Finding]:
    """Files of an environment that hold what the reference solution writes, and which it can do without.

    Args:
        task: The task.
        sandbox: A fresh one of it; the solution is run in it.
        scan: What has looked at the task's files.
    """
    outputs = await _solved(task, sandbox)
    if outputs is None:
        return []
    found: list[Finding] = []
    suspicions = [*_matches(outputs, scan), *(("", [doubt]) for doubt in scan.doubts())]
    for _, doubts in suspicions[MOST_DOUBTS:]:
        for doubt in doubts:
            scan.unseen.note("doubts_dropped", doubt.place.path)
    for path, doubts in suspicions[:MOST_DOUBTS]:
        if await _does_without(task, sandbox, doubts, path, outputs):
            for doubt in doubts:
                said = f"{doubt.said}\n  and the reference solution does without it, so it is no input"
                found.append(finding(GATE, doubt.what, said, doubt.place.path))
    return found


async def _solved(task: Task, sandbox: Sandbox) -> Outputs | None:
    """What the reference solution writes; `None` where it does not run to a good end, which other gates say."""
    try:
        async with asyncio.timeout(PATIENCE):
            for step in task.steps:
                if await prepare_step(task, sandbox, step):
                    return None
                ran = await run_solution(task, sandbox, step)
                if ran is None or ran.exit_code or ran.timed_out:
                    return None
        changes = await sandbox.changed_files()
    except (TimeoutError, UnsupportedTaskError):
        return None
    paths = [change.path for change in changes if change.kind != "removed" and not _passes(change.path)]
    files = await fetched(sandbox, paths[: MOST_OUTPUTS * 5])
    return Outputs({path: content for path, content in files.items() if len(content) < MOST_FILE_BYTES})


def _passes(path: str) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in _PASSING) or "/.git/" in path


def _matches(outputs: Outputs, scan: Scan) -> Iterator[tuple[str, list[Doubt]]]:
    """Outputs that files hold, each with all the files that hold it."""
    kept = [entry for entry in scan.kept if _may_hold(entry[0], entry[2], scan)]
    told: set[frozenset[str]] = set()
    for path, content in sorted(outputs.files.items())[:MOST_OUTPUTS]:
        if len(content) < SHORTEST_LINE:
            continue
        secret = data_secret(f"what the reference solution writes to {path}", content)
        if len(secret.normal) < SHORTEST_MATCH:
            secret = replace(secret, normal="")
        doubts: dict[str, Doubt] = {}
        for place, data, suspect in kept:
            match = recognised(secret, suspect, known=False)
            if match is not None:
                doubts.setdefault(place.path, Doubt(place, data, "output", match[1]))
        if len(doubts) > MOST_HOLDERS:
            for holder in doubts:
                scan.unseen.note("doubts_dropped", holder)
        elif doubts and frozenset(doubts) not in told:
            told.add(frozenset(doubts))
            yield path, list(doubts.values())


def _may_hold(place: Place, suspect: Suspect, scan: Scan) -> bool:
    """Whether a text is worth a run: one packed in a file that the solver is told of is an input."""
    if place.kind not in {"environment file", "file of the image"}:
        return False
    return "!" not in suspect.path or not scan.known.names(place.path)


async def _does_without(task: Task, sandbox: Sandbox, doubts: list[Doubt], path: str, outputs: Outputs) -> bool:
    """Whether the solution writes the same when files are missing: all it wrote, or the one output at `path`."""
    if any(doubt.place.path.startswith("steps/") for doubt in doubts):
        return False  # each step hands its files out again
    async with fresh(sandbox) as clean:
        await prepare_step(task, clean, task.steps[0])
        places = [place for doubt in doubts for place in await _copies(clean, doubt)]
        if not places or path in places:
            return False
        before = await fetched(clean, [path]) if path else {}
        if before and before.get(path) == outputs.files.get(path):
            return False  # it stood there before, and was left as it was
        for place in places:
            await clean.remove(place)
        without = await _solved(task, clean)
    if without is None:
        return False
    wanted = [path] if path else [path for path in outputs.files if path not in places]
    return bool(wanted) and all(outputs.same(one, without) for one in wanted)


async def _copies(sandbox: Sandbox, doubt: Doubt) -> list[str]:
    """Where a file lies in a sandbox, by its content."""
    if doubt.place.path.startswith("/"):
        return [doubt.place.path]
    size = len(doubt.content)
    listed = await sandbox.exec(["sh", "-c", _FIND, "find", str(size)], user=0, cwd="/")
    names = [name.decode("utf-8", "replace") for name in listed.stdout.split(b"\0") if name]
    base = doubt.place.path.rpartition("/")[2]
    names = sorted(names, key=lambda name: (not name.endswith(f"/{base}"), name))[:2000]
    digest = hashlib.sha256(doubt.content).digest()
    files = await fetched(sandbox, names)
    return [name for name, content in files.items() if hashlib.sha256(content).digest() == digest]
