"""System calls that Python 3.11 does not offer, by ctypes; standard library only, for the launcher and its children."""

from __future__ import annotations

import ctypes
import os
import sys

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

PR_SET_DUMPABLE = 4
PR_SET_NAME = 15
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

MS_RDONLY, MS_NOSUID, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_RELATIME = 1, 2, 8, 32, 4096, 1 << 21

# CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, SETPCAP, NET_BIND_SERVICE, NET_RAW, SYS_CHROOT, MKNOD,
# AUDIT_WRITE, SETFCAP: what Docker leaves to a container's root by default.
DOCKER_CAPABILITIES = frozenset({0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31})
LAST_CAPABILITY = 63

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def setns(fd: int, kinds: int) -> None:
    """Joins the name spaces of `kinds` behind a process descriptor or one name space descriptor."""
    _checked(_libc.setns(fd, kinds), "setns")


def join(fd: int, kinds: int) -> None:
    """Joins the name spaces of a sandbox, its mounts among them, and forbids all further imports.

    Python looks for modules by path, and from here on paths lead into the sandbox: an import would run agents' code.
    """
    sys.meta_path.clear()
    setns(fd, kinds)
    os.chdir("/")


def unshare(kinds: int) -> None:
    """Leaves the name spaces of `kinds` for new ones."""
    _checked(_libc.unshare(kinds), "unshare")


def prctl(option: int, value: int = 0) -> int:
    """Sets one property of this process."""
    arguments = [ctypes.c_ulong(number) for number in (value, 0, 0, 0)]
    return _checked(_libc.prctl(option, *arguments), f"prctl {option}")


def name_process(name: bytes) -> None:
    """Sets the name that `ps` shows (15 bytes)."""
    _libc.prctl(PR_SET_NAME, ctypes.c_char_p(name), 0, 0, 0)


def undumpable() -> None:
    """Forbids others, a sandbox's root included, to trace this process or to look into its `/proc` folder."""
    prctl(PR_SET_DUMPABLE, 0)


def limit_capabilities(keep: frozenset[int]) -> None:
    """Takes every capability but `keep` from this process's bounding set; effective at the next `exec`."""
    for capability in range(LAST_CAPABILITY + 1):
        if capability not in keep and _libc.prctl(PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0) < 0:
            if ctypes.get_errno() == 22:  # noqa: PLR2004 - EINVAL: the kernel knows no capability of that number
                return
            _checked(-1, f"dropping capability {capability}")


def remount_readonly(path: str, flags: int) -> None:
    """Makes one mount read-only, keeping its other `flags`."""
    result = _libc.mount(None, os.fsencode(path), None, ctypes.c_ulong(MS_REMOUNT | MS_BIND | MS_RDONLY | flags), None)
    _checked(result, f"remounting {path}")


def hide_arguments() -> None:
    """Overwrites this process's arguments in memory: they name paths of the host, and `/proc/PID/cmdline` is open."""
    with open("/proc/self/stat", "rb") as stat:
        fields = stat.read().rpartition(b")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    if 0 < start < end:
        ctypes.memset(start, 0, end - start)
