"""A folder of this machine and what of it may go into a sandbox."""

from __future__ import annotations

import os
import posixpath
import stat
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.errors import TransferError

MAX_UPLOAD = 8 << 30


@dataclass(frozen=True, slots=True)
class Tree:
    """The content of a folder by path inside it.

    Attributes:
        folders: Folders, parents first.
        files: Files, and whether they may be run.
        links: What links say.
    """

    folders: list[str] = field(default_factory=list)
    files: dict[str, bool] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)


def read_tree(root: Path) -> Tree:
    """Reads a folder.

    Raises:
        TransferError: A link leaves it, or something in it is no plain file, folder or link.
    """
    tree = Tree()
    _read(root, "", tree)
    return tree


def _read(root: Path, inside: str, tree: Tree) -> None:
    with os.scandir(root / inside) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        path = f"{inside}{entry.name}"
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            link = str((root / path).readlink())
            goal = posixpath.normpath(posixpath.join(inside, link))
            if link.startswith("/") or goal == ".." or goal.startswith("../"):
                raise TransferError(f"{root / path}: a link that leaves the folder ({link})")
            tree.links[path] = link
        elif stat.S_ISDIR(mode):
            tree.folders.append(path)
            _read(root, path + "/", tree)
        elif stat.S_ISREG(mode):
            tree.files[path] = bool(mode & 0o111)
        else:
            raise TransferError(f"{root / path}: a pipe, a socket or a device, not a plain file")
