"""Runs one command inside a sandbox: the keeper joins it, starts the command and outlives what that leaves behind.

Two processes come of one request, before the command itself. The *door* joins the sandbox's name spaces from outside;
its child, the *keeper*, is born in the sandbox's process name space, puts on all limits, starts the command, becomes
the parent of every orphan of it, and ends when none is left. The keeper runs no program, cannot be traced from
inside, and holds the only descriptor by which the exit status is told. Standard library only: for the launcher.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found] # `signal` wraps all in enums, at a price for each fork
import os
import resource
import stat

from sandbox.bubblewrap import syscalls, wire

NAMESPACES = (
    syscalls.CLONE_NEWUSER
    | syscalls.CLONE_NEWNS
    | syscalls.CLONE_NEWPID
    | syscalls.CLONE_NEWNET
    | syscalls.CLONE_NEWIPC
    | syscalls.CLONE_NEWUTS
    | syscalls.CLONE_NEWCGROUP
)
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
COMMON_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
IGNORED_BY_PYTHON = (_signal.SIGPIPE, _signal.SIGXFSZ, _signal.SIGINT)
_NOT_EXECUTABLE, _NOT_FOUND = 126, 127
_MAX_ACCOUNT_FILE = 1 << 20


class UserError(Exception):
    """The user a command is to run as cannot be had."""


def run(body: wire.Body, fds: dict[str, int]) -> None:
    """Starts the command of one request; the calling process (the door) should end afterwards.

    Reports `{"keeper": pid}` with the keeper's process id on the host, then `{"exit": status}` and,
    when nothing of the command is left, `{"over": True}`; or `{"error": "user", ...}` when the user is unknown.
    """
    syscalls.join(fds["init"], NAMESPACES)
    if body["harden"]:
        _protect_devices()
    syscalls.undumpable()
    keeper = os.fork()
    if keeper:
        wire.report(fds["report"], keeper=keeper)
        return
    try:
        _keep(body, fds)
    finally:
        os._exit(0)


def _protect_devices() -> None:
    """Makes the device nodes read-only mounts, or the sandbox's root, where it owns them, could change their modes."""
    for name in DEVICES:
        syscalls.remount_readonly(f"/dev/{name}", syscalls.MS_NOSUID | syscalls.MS_RELATIME)


def _keep(body: wire.Body, fds: dict[str, int]) -> None:
    syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
    os.setsid()
    status = _NOT_EXECUTABLE
    command = 0
    try:
        account = find_account(str(body["user"]), ids=bool(body["users"]))
        _enter_limits(body, fds)
        _enter_folder(str(body["cwd"]))
        _become_user(account, ids=bool(body["users"]))
        command, status = _start(body, fds, account[3])
    except UserError as error:
        wire.report(fds["report"], error="user", message=str(error), over=True)
        return
    except (OSError, ValueError) as error:
        os.write(fds["stderr"], f"cannot run the command: {error}\n".encode("utf-8", "surrogateescape"))
    if not command:
        wire.report(fds["report"], exit=status, over=True)
        return
    _signal.pthread_sigmask(_signal.SIG_BLOCK, range(1, _signal.NSIG))
    for name, fd in fds.items():
        if name != "report":
            os.close(fd)
    _reap(command, fds["report"])


def _enter_folder(path: str) -> None:
    try:
        os.chdir(path)
    except FileNotFoundError:
        os.makedirs(path, exist_ok=True)
        os.chdir(path)


def _reap(command: int, report: int) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, 0)
        except ChildProcessError:
            wire.report(report, over=True)
            return
        if pid == command:
            code = os.waitstatus_to_exitcode(status)
            wire.report(report, exit=code if code >= 0 else 128 - code)


def find_account(user: str, *, ids: bool) -> tuple[int, int, list[int], str]:
    """Looks a user up as Docker does: a name or a number, with `:group` behind it if need be; "" is root.

    Args:
        user: What was asked for.
        ids: Whether the sandbox has user ids other than 0.

    Returns:
        User id, group id, further group ids, home folder.

    Raises:
        UserError: No such user or group here, or an id this sandbox does not have.
    """
    if not user:
        return 0, 0, [], "/root"
    name, _, group = user.partition(":")
    rows = _rows("/etc/passwd", 7)
    row = next((r for r in rows if name and name in (r[0], r[2])), None)
    if row is None and name in ("", "0", "root"):
        row = ["root", "", "0", "0", "", "/root", ""]
    if row is None and not name.isdecimal():
        raise UserError(f"user {name!r} is not in the sandbox's /etc/passwd")
    uid, gid = (int(row[2]), int(row[3])) if row else (int(name), 0)
    groups = _rows("/etc/group", 4)
    further = [int(r[2]) for r in groups if row and row[0] in r[3].split(",") and r[2].isdecimal()]
    if group:
        found = next((r[2] for r in groups if group in (r[0], r[2])), group)
        if not found.isdecimal():
            raise UserError(f"group {group!r} is not in the sandbox's /etc/group")
        gid, further = int(found), []
    if not ids and (uid or gid):
        raise UserError(f"user {user!r} is not root, and this sandbox has no other user")
    return uid, gid, further, (row[5] if row else "/")


def _rows(path: str, width: int) -> list[list[str]]:
    """Rows of an account file of the sandbox, which may be anything the agent put there."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        return []
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return []
        text = os.read(fd, _MAX_ACCOUNT_FILE).decode("utf-8", "surrogateescape")
    finally:
        os.close(fd)
    rows = [line.split(":") for line in text.splitlines()]
    return [row for row in rows if len(row) == width and row[2].isdecimal()]


def _enter_limits(body: wire.Body, fds: dict[str, int]) -> None:
    for name, fd in fds.items():
        if name.startswith("cgroup"):
            os.write(fd, b"0")
    limits = body["rlimits"]
    assert isinstance(limits, dict)  # noqa: S101 - written by the host
    for name, wanted in {**limits, "CORE": 0}.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(kind, (value, value))
    cpus = body["cpus"]
    if isinstance(cpus, list) and cpus:
        os.sched_setaffinity(0, cpus)
    os.umask(0o022)


def _become_user(account: tuple[int, int, list[int], str], *, ids: bool) -> None:
    """Takes the user's ids, and what the command must not have; the keeper itself needs nothing any more."""
    syscalls.limit_capabilities(syscalls.DOCKER_CAPABILITIES)
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    if ids:
        os.setgroups(account[2])
    os.setresgid(account[1], account[1], account[1])
    os.setresuid(account[0], account[0], account[0])
    syscalls.undumpable()  # the kernel undoes it when ids change


def _start(body: wire.Body, fds: dict[str, int], home: str) -> tuple[int, int]:
    """Starts the command without copying this process: its process id, or 0 and the exit status of a failure."""
    given = body["env"]
    assert isinstance(given, dict)  # noqa: S101 - written by the host
    env = {"PATH": COMMON_PATH, "HOME": home, "LANG": "C.UTF-8", **given}
    command = body["command"]
    if isinstance(command, str):
        shell = next((p for p in ("/bin/bash", "/usr/bin/bash") if os.access(p, os.X_OK)), "bash")
        command = [shell, "-c", command]
    assert isinstance(command, list)  # noqa: S101 - as above
    if not command:
        raise ValueError("it is empty")
    stdin = fds["stdin"] if "stdin" in fds else os.open("/dev/null", os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    os.set_blocking(stdin, True)
    streams: list[tuple[object, ...]]
    streams = [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate((stdin, fds["stdout"], fds["stderr"]))]
    if "terminal" in body:  # a session leader that opens a terminal gets it as its controlling one
        streams = [(os.POSIX_SPAWN_OPEN, 0, f"/proc/self/fd/{stdin}", os.O_RDWR, 0), *streams]
    failure: OSError = FileNotFoundError(2, "command not found")
    for program in _candidates(str(command[0]), str(env["PATH"])):
        try:
            pid = os.posix_spawn(
                program,
                command,
                env,
                file_actions=streams,
                setsid=True,
                setsigmask=(),
                setsigdef=IGNORED_BY_PYTHON,
            )
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            failure = error
            continue
        return pid, 0
    text = f"{command[0]}: {failure.strerror}\n"
    os.write(fds["stderr"], text.encode("utf-8", "surrogateescape"))
    return 0, _NOT_FOUND if isinstance(failure, FileNotFoundError) else _NOT_EXECUTABLE


def _candidates(program: str, path: str) -> list[str]:
    return [program] if "/" in program else [f"{folder or '.'}/{program}" for folder in path.split(":")]
