"""Rules for shared libraries, the loader's files, and libraries of perl, ruby and node."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from sandbox.verification.leftovers import Leftover

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandbox.protocol import Change
    from sandbox.verification.leftovers import Scene

PRELOAD: Final = "/etc/ld.so.preload"
CACHE: Final = "/etc/ld.so.cache"
_LIBRARY: Final = re.compile(r"/(?:usr/(?:local/)?)?lib(?:32|64|x32|exec)?/.*")
_SHARED: Final = re.compile(r"(?:.*\.so(?:\.[\w.]+)?|ld[-.].*)")
_INTERPRETER: Final = re.compile(
    r"/usr/(?:local/)?(?:lib|share)/(?:[\w-]+-linux-[\w-]+/)?(?:perl\d?|perl-base|ruby|node_modules|nodejs|git-core|jvm)/.*"
)
_FIRST: Final = re.compile(r"/usr/local/lib(?:64)?/(?:[\w-]+-linux-[\w-]+/)?|.*/glibc-hwcaps/[^/]+/")
_PLAIN: Final = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
_TRIPLETS: Final = ("x86_64-linux-gnu", "aarch64-linux-gnu")
_STARTUP: Final = re.compile(
    r"(?:.*/)?(?:sitecustomize\.pl|rubygems_plugin\.rb|rubygems/defaults/operating_system\.rb)"
)


def preload(change: Change, scene: Scene) -> Leftover | None:
    """`/etc/ld.so.preload` loads a library into every program. Excused only by its path in `installs`."""
    if change.path != PRELOAD or change.kind == "removed":
        return None
    return Leftover("preload", change.path, suspicious=not scene.installs_one(change.path))


def loader_file(change: Change, scene: Scene) -> Leftover | None:
    """What tells the loader where libraries are: `/etc/ld.so.conf`, `/etc/ld.so.conf.d/*`, `/etc/ld.so.cache`.

    Installing any library rewrites the cache; without it the second run has one that `ldconfig` has made anew. Excused:
    `installs` lists its path; for the settings also that the instruction or the solution names the file.
    """
    path = change.path
    if path == CACHE:
        return Leftover("library", path, "the loader's cache", suspicious=not scene.installs_one(path))
    if path != "/etc/ld.so.conf" and posixpath.dirname(path) != "/etc/ld.so.conf.d":
        return None
    excused = scene.installs_one(path) or scene.task_names(path, posixpath.basename(path))
    return Leftover("library", path, "settings of the loader", suspicious=not excused)


def library(change: Change, scene: Scene) -> Leftover | None:
    """A shared library, or a file of perl, ruby, node or git, that the image had and that is another one now, or gone.

    Excused: `installs` names it (`libz`, `libz.so.1`, a path), or the instruction or the solution names its path.
    """
    path, name = change.path, posixpath.basename(change.path)
    shared = _LIBRARY.fullmatch(path) is not None and _SHARED.fullmatch(name) is not None
    if change.kind == "added" or not (shared or _INTERPRETER.fullmatch(path)):
        return None
    excused = scene.installs_one(path, name, name.partition(".so")[0]) or scene.task_names(path)
    return Leftover("library", path, "gone" if change.kind == "removed" else "not the image's", suspicious=not excused)


def shadowing_library(change: Change, scene: Scene) -> Leftover | None:
    """An added shared library that the loader finds before the image's of that name. Excused as a changed one."""
    path, name = change.path, posixpath.basename(change.path)
    behind = next((other for other in libraries_behind(change) if scene.image_had(other)), "")
    if not behind:
        return None
    excused = scene.installs_one(path, name, name.partition(".so")[0]) or scene.task_names(path)
    return Leftover("library", path, f"before {behind}", suspicious=not excused)


def interpreter_startup(change: Change, scene: Scene) -> Leftover | None:
    """A file that perl or ruby runs at every start. Excused by `installs`, or a solution that names its path."""
    if change.kind == "removed" or not _STARTUP.fullmatch(change.path):
        return None
    excused = scene.installs_one(change.path) or scene.task_names(change.path)
    return Leftover("interpreter-startup", change.path, suspicious=not excused)


def libraries_behind(change: Change) -> Iterator[str]:
    """Where the image's library of the same name would be, of an added one that comes before it."""
    folder, name = posixpath.split(change.path)
    if change.kind != "added" or not _FIRST.fullmatch(f"{folder}/") or not _SHARED.fullmatch(name):
        return iter(())
    folders = (*_PLAIN, *(f"{plain}/{triplet}" for plain in ("/lib", "/usr/lib") for triplet in _TRIPLETS))
    return (f"{other}/{name}" for other in folders if other != folder)
