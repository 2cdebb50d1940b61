"""The launcher: a small process that forks for every request, so that the large host process never has to.

It is started with an empty environment and holds nothing of the host but one socket. Its children, forked in advance,
wait at that socket; each takes one request, joins a sandbox and does what it says, while the launcher forks the next
one. Standard library only, one thread. It ends, and every `bwrap` it started with it, when the host process does.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found] # `signal` wraps all in enums, at a price for each fork
import _socket
import fcntl
import gc
import os
import resource
import select
import sys

from sandbox.bubblewrap import (
    archives,
    changes,
    gateway,
    hostname,
    keeper,
    layers,
    listening,
    measuring,
    namespaces,
    processes,
    syscalls,
    transfer,
    unpacking,
    wire,
)

TYPE_CHECKING = False  # `typing` would only make this process larger, and every fork slower
if TYPE_CHECKING:
    from collections.abc import Callable

READY = b"ready"
_WAITING_CHILDREN = 4
_QUIET_MILLISECONDS = 10
_HIGH_DESCRIPTOR = 64
_SIGNALS = 65
_MAX_DEPTH = 1 << 20

_OPERATIONS: dict[str, Callable[[wire.Body, dict[str, int]], None]] = {
    "exec": keeper.run,
    "kill_all": processes.kill_all,
    "kill_tree": processes.kill_tree,
    "userns": namespaces.make,
    "listen": listening.listen,
    "attach": gateway.attach,
    "rename": hostname.rename,
    "freeze": layers.freeze,
    "remove": layers.remove,
    "measure": measuring.measure,
    "read": transfer.read,
    "write": transfer.write,
    "remake": transfer.remake,
    "remove_inside": transfer.remove,
    "upload": transfer.upload,
    "download": transfer.download,
    "place": transfer.place,
    "unpack": transfer.unpack,
    "pack": archives.pack,
    "unpack_over": archives.unpack_over,
    "lay": unpacking.lay,
    "pack_root": unpacking.pack_root,
    "changes": changes.changes,
}


def main() -> None:
    """Serves requests from the socket on descriptor 0 until it closes."""
    channel = _socket.socket(fileno=0)
    syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
    syscalls.hide_arguments()
    syscalls.name_process(b"envolve")
    syscalls.undumpable()
    os.umask(0o022)
    _allow_depth()
    for number in range(1, _SIGNALS):
        if _signal.getsignal(number) == _signal.SIG_IGN:  # by `nohup`, say: commands would inherit it
            _signal.signal(number, _signal.SIG_DFL)
    for number in keeper.IGNORED_BY_PYTHON:
        _signal.signal(number, _signal.SIG_IGN)
    channel.send(READY)
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(null, 2)
    os.close(null)
    gc.disable()
    gc.freeze()
    _serve(channel)


def _allow_depth() -> None:
    """Trees of any depth can be walked: an agent may make one that nobody could remove otherwise."""
    sys.setrecursionlimit(_MAX_DEPTH)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _serve(channel: _socket.socket) -> None:
    """Keeps children waiting at the socket, and reaps."""
    wake, told = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    taken, take = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    _signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    _signal.signal(_signal.SIGCHLD, _nothing)
    poller = select.poll()
    poller.register(wake, select.POLLIN)
    poller.register(taken, select.POLLIN)
    poller.register(channel, 0)
    waiting = 0
    while True:
        # Nobody should have to wait for a fork, or share a processor with one, as long as a child is left.
        events = poller.poll(_QUIET_MILLISECONDS if waiting < _WAITING_CHILDREN else None) if waiting else ()
        for _ in range(0 if events else _WAITING_CHILDREN - waiting):
            if not os.fork():
                _wait(channel, take)
            waiting += 1
        for fd, event in events:
            if fd == taken:
                waiting -= len(os.read(taken, 4096))
            elif fd == wake:
                os.read(wake, 4096)
                _reap()
            elif event & select.POLLHUP:
                return


def _nothing(*_: object) -> None:
    """Handles a signal: what counts is the byte in the wake-up pipe."""


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _wait(channel: _socket.socket, take: int) -> None:
    """The life of a child: waits for a request, tells that one more child is needed, does it, ends."""
    try:
        _signal.set_wakeup_fd(-1)
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
        _warm_up()
        request = wire.receive(channel)
        if request is None:
            return
        os.write(take, b"1")
        channel.close()
        os.close(take)
        _answer(*request)
    finally:
        os._exit(0)


def _warm_up() -> None:
    """Touches what a request will touch: pages shared with the launcher are copied now, not when somebody waits."""
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    datagram, fds, _memory = wire.pack({"op": "", "env": {"PATH": keeper.COMMON_PATH}}, {"report": ours.fileno()})
    wire.send(ours, datagram, fds)
    request = wire.receive(theirs)
    if request is not None:
        os.close(request[1]["report"])
    ours.close()
    theirs.close()
    syscalls.name_process(b"envolve")


def _answer(body: wire.Body, fds: dict[str, int]) -> None:
    """Does what one request asks."""
    operation = str(body["op"])
    try:
        if operation == "spawn":
            _spawn(body, fds)
        elif operation == "run":
            _run(body, fds)
        else:
            _OPERATIONS[operation](body, fds)
    except ProcessLookupError:  # only joining looks a process up: the sandbox's first one
        wire.report(fds["report"], error="gone", message="the sandbox is gone")
    except OSError as error:
        wire.report(fds["report"], error="os", number=error.errno or 0, message=str(error))
    except transfer.RefusedError as error:
        wire.report(fds["report"], error="refused", message=str(error))
    except BaseException as error:  # noqa: BLE001 - the end of this process: what is not told here is lost
        wire.report(fds["report"], error="internal", message=_described(error))


def _described(error: BaseException) -> str:
    """An error and where it came from.

    A real traceback would read source files, by paths that may lead into a sandbox by now.
    """
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    place = f" ({at.tb_frame.f_code.co_filename}:{at.tb_lineno})" if at else ""
    return f"{type(error).__name__}: {error}{place}"


def _run(body: wire.Body, fds: dict[str, int]) -> None:
    """Runs a program to its end and reports its exit status."""
    child = os.fork()
    if not child:
        try:
            _spawn(body, fds)
        finally:
            os._exit(127)
    wire.report(fds["report"], exit=os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def _spawn(body: wire.Body, fds: dict[str, int]) -> None:
    """Becomes a program; `body["numbers"]` says which descriptor gets which number."""
    arguments, numbers = body["arguments"], body["numbers"]
    assert isinstance(arguments, list)  # noqa: S101 - written by the host
    assert isinstance(numbers, dict)  # noqa: S101 - likewise
    wire.report(fds["report"], pid=os.getpid())
    high = {name: fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH_DESCRIPTOR) for name, fd in fds.items()}
    for name, number in numbers.items():
        os.dup2(high[name], number)
    os.closerange(max(numbers.values()) + 1, 1 << 16)
    for number in keeper.IGNORED_BY_PYTHON:
        _signal.signal(number, _signal.SIG_DFL)
    os.execve(arguments[0], arguments, {})  # noqa: S606 - no shell is what we want


if __name__ == "__main__":
    sys.exit("started by sandbox.bubblewrap.client only")
