"""What comes out of a sandbox is foreign: moves it to where it is kept, without links that lead elsewhere."""

from __future__ import annotations

import os
import posixpath
import shutil
from pathlib import Path


def move_fetched(source: Path, target: Path, *, links: bool = False) -> tuple[str, ...]:
    """Moves the files and folders of one folder into another, over what is there; `source` is gone afterwards.

    Args:
        source: A folder that was downloaded from a sandbox.
        target: Where its contents go; made when missing.
        links: Keep relative links that stay inside; all others are dropped in any case.

    Returns:
        The paths below `source` that were dropped, sorted.
    """
    dropped: list[str] = []
    target.mkdir(parents=True, exist_ok=True)
    for folder, folders, files in os.walk(source):
        inside = Path(folder).relative_to(source)
        here = target / inside
        _make_folder(here)
        for name in sorted([*files, *(name for name in folders if (Path(folder) / name).is_symlink())]):
            path = Path(folder) / name
            keep = (links and _stays(source, path)) if path.is_symlink() else path.is_file()
            if keep:
                make_way(here / name)
                path.replace(here / name)
            else:
                dropped.append((inside / name).as_posix())
    shutil.rmtree(source, ignore_errors=True)
    return tuple(sorted(dropped))


def make_way(path: Path) -> None:
    """Removes a folder that stands where a file is to be."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)


def _make_folder(path: Path) -> None:
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        path.unlink()
    path.mkdir(exist_ok=True)


def _stays(root: Path, link: Path) -> bool:
    """Whether a link is relative and ends inside of `root`, by its words alone."""
    to = link.readlink()
    if to.is_absolute():
        return False
    ends = posixpath.normpath((link.parent.relative_to(root) / to).as_posix())
    return ends != ".." and not ends.startswith("../")
