"""Kills what a command left behind, from outside of the sandbox; standard library only: the launcher imports this."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found] # `signal` wraps all in enums, at a price for each fork
import os
import time

from sandbox.bubblewrap import syscalls, wire

_PASSES = 60
_ATTEMPTS = 50


def kill_all(body: wire.Body, fds: dict[str, int]) -> None:
    """Kills every process of a sandbox but its first, at once: a fork bomb cannot outrun `kill(-1)`.

    Reports how many of them commands had started.
    """
    del body
    syscalls.setns(fds["init"], syscalls.CLONE_NEWUSER)
    _kill_inside(fds)


def _kill_inside(fds: dict[str, int]) -> None:
    """Kills from inside, where `kill(-1)` means the sandbox; a racing killer there can kill ours: then once more."""
    syscalls.join(fds["init"], syscalls.CLONE_NEWNS | syscalls.CLONE_NEWPID)
    syscalls.undumpable()
    counted, count = os.pipe()
    for _ in range(_ATTEMPTS):
        inside = os.fork()
        if not inside:
            _kill_everything(count)
        if os.waitstatus_to_exitcode(os.waitpid(inside, 0)[1]) == 0:
            break
    os.close(count)
    numbers = os.read(counted, 1 << 12).split()
    wire.report(fds["report"], done=True, killed=max((int(number) for number in numbers), default=0))


def _kill_everything(count: int) -> None:
    try:
        os.write(count, b"%d " % len(_started()))
        for attempt in range(_PASSES):
            os.kill(-1, _signal.SIGKILL)
            if not _started():
                break
            time.sleep(min(0.001 * (attempt + 1), 0.05))
    except ProcessLookupError:
        pass
    finally:
        os._exit(0)


def _started() -> list[str]:
    """Living processes that a command started, by the sandbox's own /proc.

    Those that came in from outside, the keepers and this one, have no parent here.
    """
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdecimal() or entry == "1":
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except OSError:
            continue
        if state not in b"ZX" and parent != b"0":
            found.append(entry)
    return found


def kill_tree(body: wire.Body, fds: dict[str, int]) -> None:
    """Kills a keeper and everything below it; everything in the sandbox where the keeper is gone already.

    Processes are stopped first, pass by pass, until no new one shows up: stopped processes cannot fork. The keeper is
    stopped too: it would end when the last of them has, and that is how we would see that somebody else has killed it.
    """
    keeper = int(str(body["keeper"]))
    syscalls.setns(fds["init"], syscalls.CLONE_NEWUSER)
    syscalls.undumpable()
    try:
        handle = os.pidfd_open(keeper)
    except ProcessLookupError:
        handle = -1
    parents = _parents()
    if handle < 0 or parents.get(keeper) != os.getppid():
        _kill_inside(fds)
        return
    _signal.pidfd_send_signal(handle, _signal.SIGSTOP)
    stopped = _stop_descendants(keeper)
    alive = _signal_all(_descendants(keeper, _parents()) | stopped, _signal.SIGKILL)
    for _ in range(_PASSES):
        alive = _descendants(keeper, _parents())
        if not alive:
            break
        _signal_all(alive, _signal.SIGKILL)
    lost = _parents().get(keeper) is None
    try:
        _signal.pidfd_send_signal(handle, _signal.SIGKILL)
    except ProcessLookupError:
        lost = True
    if lost or alive:
        _kill_inside(fds)
    else:
        wire.report(fds["report"], done=True)


def _stop_descendants(keeper: int) -> set[int]:
    stopped: set[int] = set()
    for _ in range(_PASSES):
        found = _descendants(keeper, _parents()) - stopped
        if not found:
            break
        _signal_all(found, _signal.SIGSTOP)
        stopped |= found
    return stopped


def _signal_all(pids: set[int], number: int) -> set[int]:
    """Signals processes of a sandbox; a number that has since gone to a process of the host is left alone."""
    reached = set()
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            if _is_inside(pid):
                _signal.pidfd_send_signal(handle, number)
                reached.add(pid)
        except (ProcessLookupError, PermissionError):
            continue
        finally:
            os.close(handle)
    return reached


def _is_inside(pid: int) -> bool:
    """Whether a process lies in a process name space below this one: it then has more numbers than we have."""
    return _depth(str(pid)) > _depth("self")


def _depth(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/status", "rb") as status:
            line = next((row for row in status if row.startswith(b"NSpid:")), b"")
    except OSError:
        return 0
    return len(line.split()) - 1


def _parents() -> dict[int, int]:
    """The parent of every process that is not a zombie."""
    parents = {}
    for entry in os.listdir("/proc"):
        if not entry.isdecimal():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except OSError:
            continue
        if state != b"Z":
            parents[int(entry)] = int(parent)
    return parents


def _descendants(keeper: int, parents: dict[int, int]) -> set[int]:
    children: dict[int, list[int]] = {}
    for pid, parent in parents.items():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    waiting = [keeper]
    while waiting:
        for pid in children.get(waiting.pop(), ()):
            if pid not in found:
                found.add(pid)
                waiting.append(pid)
    return found
