"""Paths of a container reached through `/proc` of this machine, no link of which leads out of the container."""

from __future__ import annotations

import ctypes
import os
import struct
from contextlib import suppress

_OPENAT2 = 437  # the same number on every architecture
_IN_ROOT = 0x10
_NO_MAGIC_LINKS = 0x02


def unlink(init: int, path: str) -> bool:
    """Removes a file, never what a link points to; whether that could be done from here.

    Args:
        init: The container's first process, on this machine.
        path: Absolute path inside.
    """
    parent, _, name = path.rstrip("/").rpartition("/")
    try:
        root = os.open(f"/proc/{init}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        folder = _open_inside(root, parent or "/")
        if folder < 0:
            return False
        try:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
        except OSError:
            return False
        finally:
            os.close(folder)
    finally:
        os.close(root)
    return True


def _open_inside(root: int, path: str) -> int:
    """Opens a folder as if `root` were `/`; negative when it cannot be."""
    how = struct.pack("QQQ", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, 0, _IN_ROOT | _NO_MAGIC_LINKS)
    libc = ctypes.CDLL(None, use_errno=True)
    name = os.fsencode(path)
    return int(libc.syscall(_OPENAT2, root, ctypes.c_char_p(name), ctypes.c_char_p(how), ctypes.c_size_t(len(how))))
