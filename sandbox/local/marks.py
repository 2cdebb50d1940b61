"""Finds and kills the processes of a sandbox, by the marks that its commands and all their children carry."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sandbox.bubblewrap.storage import start_time

SANDBOX = "ENVOLVE_LOCAL_SANDBOX"
COMMAND = "ENVOLVE_LOCAL_COMMAND"
_PASSES = 200
_PAUSE_SECONDS = 0.002


@dataclass(frozen=True, slots=True)
class Mark:
    """What the processes of a sandbox, or of one command, have in common.

    Attributes:
        variable: `NAME=value` as it stands in their environment.
        groups: Control groups that hold them and no others.
        root: The process that the others descend from; 0 for none.
    """

    variable: bytes
    groups: tuple[Path, ...] = ()
    root: int = 0


def owner_name() -> str:
    """This process as a word that no other process has had or will have: its number, start and boot."""
    ticks, _, boot = start_time(os.getpid()).partition("@")
    return f"{os.getpid()}-{ticks}-{boot.replace('-', '')[:12]}"


def owner_lives(name: str) -> bool:
    """Whether the process of which `owner_name` gave the start of `name` still runs."""
    parts = name.split("-")
    if len(parts) < 3 or not parts[0].isdecimal():  # noqa: PLR2004
        return False
    ticks, _, boot = start_time(int(parts[0])).partition("@")
    return (ticks, boot.replace("-", "")[:12]) == (parts[1], parts[2])


def marked_sandboxes() -> dict[str, int]:
    """Names of sandboxes of which processes run here, with how many each has."""
    found: dict[str, int] = {}
    for pid in _pids():
        for row in _environ(pid):
            name, _, value = row.partition(b"=")
            if name == SANDBOX.encode() and not _is_zombie(pid):
                text = os.fsdecode(value)
                found[text] = found.get(text, 0) + 1
    return found


def kill(mark: Mark) -> int:
    """Kills every process that carries a mark, again and again until none is left; returns how many those were.

    They are stopped before they are killed: a stopped process cannot fork.
    """
    killed: set[int] = set()
    quiet = 0
    for _ in range(_PASSES):
        found = find(mark)
        if not found:
            quiet += 1
            if quiet > 1:
                break
            continue
        quiet = 0
        killed |= found
        for number in (signal.SIGSTOP, signal.SIGKILL):
            _signal(found, number)
        time.sleep(_PAUSE_SECONDS)
    return len(killed)


def find(mark: Mark) -> set[int]:
    """Living processes that carry a mark; this process is never among them."""
    found = {pid for group in mark.groups for pid in _group_members(group)}
    if not found or not mark.groups:
        found |= {pid for pid in _pids() if mark.variable in _environ(pid)}
        found |= _descendants(found | ({mark.root} if mark.root else set()))
    return {pid for pid in found if pid not in (os.getpid(), 1) and not _is_zombie(pid)}


def _group_members(group: Path) -> list[int]:
    members: list[int] = []
    for folder in (group, *(path for path in group.glob("*") if path.is_dir())):
        try:
            members += [int(row) for row in (folder / "cgroup.procs").read_text().split()]
        except OSError:
            continue
    return members


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def _pids() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdecimal()]  # noqa: PTH208 - runs often


def _environ(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _is_zombie(pid: int) -> bool:
    fields = _stat(pid)
    return not fields or fields[0] in (b"Z", b"X")


def _descendants(roots: set[int]) -> set[int]:
    children: dict[int, list[int]] = {}
    for pid in _pids() if roots else ():
        fields = _stat(pid)
        if fields:
            children.setdefault(int(fields[1]), []).append(pid)
    found: set[int] = set()
    waiting = list(roots)
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting += children.get(pid, [])
    return found


def _stat(pid: int) -> list[bytes]:
    """State, parent and the rest; empty when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return []
