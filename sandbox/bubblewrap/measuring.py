"""Measures what sandboxes have written; standard library only: the launcher imports this."""

from __future__ import annotations

import os
import stat

from sandbox.bubblewrap import syscalls, wire

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_UNIT = 512


def measure(body: wire.Body, fds: dict[str, int]) -> None:
    """Reports `sizes`: bytes on the disk of each folder of `body["paths"]`; 0 for one that is not there.

    With the first process of a sandbox (`init`) the first size includes what that sandbox's processes keep open of
    deleted files.
    """
    if "userns" in fds:
        syscalls.setns(fds["userns"], syscalls.CLONE_NEWUSER)
    paths = body["paths"]
    assert isinstance(paths, list)  # noqa: S101 - written by the host
    sizes = [_size(str(path), None, set()) for path in paths]
    if "init" in fds:
        syscalls.join(fds["init"], syscalls.CLONE_NEWNS)
        sizes[0] += _deleted()
    wire.report(fds["report"], done=True, sizes=sizes)


def _size(name: str, parent: int | None, seen: set[tuple[int, int]]) -> int:
    """Bytes below a folder, entered by descriptor: a sandbox that runs may put links in the way."""
    total = 0
    try:
        folder = os.open(name, _FOLDER, dir_fd=parent)
    except OSError:
        return 0
    try:
        for below in os.listdir(folder):
            try:
                status = os.stat(below, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                continue
            if stat.S_ISDIR(status.st_mode):
                total += _size(below, folder, seen)
            elif status.st_nlink > 1:
                if (status.st_dev, status.st_ino) in seen:
                    continue
                seen.add((status.st_dev, status.st_ino))
            total += status.st_blocks * _UNIT
    except FileNotFoundError:
        return total
    finally:
        os.close(folder)
    return total


def _deleted() -> int:
    """Bytes of deleted files that processes of this sandbox hold open; those in memory are the memory limit's."""
    memory = os.memfd_create("device")
    in_memory = {os.fstat(memory).st_dev, os.stat("/dev/shm").st_dev}  # noqa: S108 - looked at only
    sizes: dict[tuple[int, int], int] = {}
    for process in os.listdir("/proc"):
        if not process.isdecimal():
            continue
        try:
            descriptors = os.listdir(f"/proc/{process}/fd")
        except OSError:  # gone, or a keeper
            continue
        for descriptor in descriptors:
            try:
                status = os.stat(f"/proc/{process}/fd/{descriptor}")
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode) and not status.st_nlink and status.st_dev not in in_memory:
                sizes[status.st_dev, status.st_ino] = status.st_blocks * _UNIT
    return sum(sizes.values())
