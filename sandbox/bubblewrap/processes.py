"""Kills what a command left behind, from outside of the sandbox; standard library only: the launcher imports this."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found] # `signal` wraps all in enums, at a price for each fork
import os
import select
import time

from sandbox.bubblewrap import syscalls, wire

TYPE_CHECKING = False  # `typing` would only make the launcher larger
if TYPE_CHECKING:
    from collections.abc import Callable

_PASSES = 60
_ATTEMPTS = 50
_GENTLE_ROUNDS = 3
_STOP_PASSES = 10
_ROUND_SECONDS = 0.05
_LOOK_SECONDS = 0.001
_WAKE_MILLISECONDS = 50
_STUCK_SECONDS = 10.0


def kill_all(body: wire.Body, fds: dict[str, int]) -> None:
    """Kills every process of a sandbox but its first, at once: a fork bomb cannot outrun `kill(-1)`.

    Reports how many of them commands had started.
    """
    del body
    syscalls.setns(fds["init"], syscalls.CLONE_NEWUSER)
    _enter(fds)
    _kill_inside(fds)


def _kill_inside(fds: dict[str, int]) -> None:
    """Kills from inside, where `kill(-1)` means the sandbox; `_enter` came before."""
    counted, count = os.pipe()
    _in_child(_kill_everything, count)
    os.close(count)
    numbers = os.read(counted, 1 << 12).split()
    wire.report(fds["report"], done=True, killed=max((int(number) for number in numbers), default=0))


def _enter(fds: dict[str, int]) -> None:
    """Joins the sandbox; children of this process are born in it."""
    syscalls.join(fds["init"], syscalls.CLONE_NEWNS | syscalls.CLONE_NEWPID)
    syscalls.undumpable()


def _in_child(work: Callable[[int], None], argument: int) -> None:
    """Does something in a child; a racing killer inside can kill it: then once more; or stop it: it is woken."""
    for _ in range(_ATTEMPTS):
        inside = os.fork()
        if not inside:
            try:
                work(argument)
            finally:
                os._exit(0)
        handle = os.pidfd_open(inside)
        until = time.monotonic() + _STUCK_SECONDS
        while not _ended(handle, _WAKE_MILLISECONDS):
            _signal.pidfd_send_signal(handle, _signal.SIGCONT if time.monotonic() < until else _signal.SIGKILL)
        os.close(handle)
        if os.waitstatus_to_exitcode(os.waitpid(inside, 0)[1]) == 0:
            return


def _ended(handle: int, milliseconds: int) -> bool:
    """Whether a process ends within some time."""
    poller = select.poll()
    poller.register(handle, select.POLLIN)
    return bool(poller.poll(milliseconds))


def _kill_everything(count: int) -> None:
    try:
        os.write(count, b"%d " % len(_started()))
        for attempt in range(_PASSES):
            os.kill(-1, _signal.SIGKILL)
            if not _started():
                break
            time.sleep(min(0.001 * (attempt + 1), 0.05))
    except ProcessLookupError:
        return


def _started() -> list[int]:
    """Living processes that a command started, by the sandbox's own /proc.

    Those that came in from outside, the keepers and this one, have no parent here.
    """
    return [pid for pid, state, parent in _processes() if pid != 1 and state not in b"ZX" and parent]


def _processes() -> list[tuple[int, bytes, int]]:
    """Every process of this process name space's /proc: its id, its state, its parent's id."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdecimal():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except OSError:
            continue
        found.append((int(entry), state, int(parent)))
    return found


def kill_tree(body: wire.Body, fds: dict[str, int]) -> None:
    """Kills everything below a keeper, which then ends by itself; everything in the sandbox where all else fails.

    No list of processes shows that none is left: one that forks and ends all the time is never in it. The keeper
    becomes the parent of every orphan, so it knows: it says `over` and ends when it has no child. Where a few rounds
    from outside do not bring it there, the whole sandbox is stopped for a moment, see `_kill_stopped`.
    """
    keeper = int(str(body["keeper"]))
    syscalls.setns(fds["init"], syscalls.CLONE_NEWUSER)
    syscalls.undumpable()
    try:
        handle = os.pidfd_open(keeper)
    except ProcessLookupError:
        handle = -1
    if handle < 0 or _parents().get(keeper) != os.getppid():
        wire.report(fds["report"], done=True)
        return
    for _ in range(_GENTLE_ROUNDS):
        if _kill_round(keeper, handle):
            wire.report(fds["report"], done=True)
            return
    inside = _numbers(str(keeper))
    _enter(fds)
    if len(inside) > 1:
        _in_child(_kill_stopped, inside[-1])
    if _ended(handle, _WAKE_MILLISECONDS):
        wire.report(fds["report"], done=True)
    else:
        _kill_inside(fds)


def _kill_round(keeper: int, handle: int) -> bool:
    """Stops what is below a keeper, pass by pass, then kills it; says whether the keeper has ended after that.

    A parent that is stopped first cannot react to the end of its children. The keeper is stopped, too: as long as it
    does not reap, the numbers of its children are theirs.
    """
    try:
        _signal.pidfd_send_signal(handle, _signal.SIGSTOP)
        stopped: set[int] = set()
        for _ in range(_STOP_PASSES):
            found = [pid for pid in _descendants(keeper, _parents()) if pid not in stopped]
            if not found:
                break
            _signal_all(found, _signal.SIGSTOP)
            stopped.update(found)
        _signal_all([*stopped, *_descendants(keeper, _parents())], _signal.SIGKILL)
        _signal.pidfd_send_signal(handle, _signal.SIGCONT)
    except ProcessLookupError:
        return True
    return _ended(handle, _WAKE_MILLISECONDS)


def _kill_stopped(keeper: int) -> None:
    """Kills what is below a keeper, by its number inside, while nothing in the sandbox runs but its first process.

    `kill(-1)` reaches all at one moment, those that are just forking included, and what is stopped cannot fork. All
    others go on at once, also those that had been stopped before: who has stopped them cannot be told safely, for a
    second killer may be at work here.
    """
    for _ in range(_ATTEMPTS):
        try:
            os.kill(-1, _signal.SIGSTOP)
            for _ in range(_STOP_PASSES):
                found = _descendants(keeper, _parents())
                if not found:
                    break
                for pid in found:
                    os.kill(pid, _signal.SIGKILL)
            os.kill(-1, _signal.SIGCONT)
        except ProcessLookupError:
            return
        until = time.monotonic() + _ROUND_SECONDS
        while time.monotonic() < until:
            if keeper not in _parents():
                return
            time.sleep(_LOOK_SECONDS)


def _signal_all(pids: list[int], number: int) -> None:
    """Signals processes of a sandbox; a number that has since gone to a process of the host is left alone."""
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            if _is_inside(pid):
                _signal.pidfd_send_signal(handle, number)
        except (ProcessLookupError, PermissionError):
            continue
        finally:
            os.close(handle)


def _is_inside(pid: int) -> bool:
    """Whether a process lies in a process name space below this one: it then has more numbers than we have."""
    return len(_numbers(str(pid))) > len(_numbers("self"))


def _numbers(pid: str) -> list[int]:
    """The process id in each process name space, from this one to the process's own."""
    try:
        with open(f"/proc/{pid}/status", "rb") as status:
            line = next((row for row in status if row.startswith(b"NSpid:")), b"")
    except OSError:
        return []
    return [int(number) for number in line.split()[1:]]


def _parents() -> dict[int, int]:
    """The parent of every process that is not a zombie."""
    return {pid: parent for pid, state, parent in _processes() if state != b"Z"}


def _descendants(keeper: int, parents: dict[int, int]) -> list[int]:
    """What is below a keeper, parents before their children."""
    children: dict[int, list[int]] = {}
    for pid, parent in parents.items():
        children.setdefault(parent, []).append(pid)
    found: list[int] = []
    waiting = [keeper]
    for pid in waiting:
        below = children.get(pid, [])
        found += below
        waiting += below
    return found
