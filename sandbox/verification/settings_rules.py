"""Rules for settings that shells, pytest, git, package managers and the C library read by themselves."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from sandbox.verification.leftovers import Leftover, at_home, within, words

if TYPE_CHECKING:
    from sandbox.protocol import Change
    from sandbox.verification.leftovers import Scene

PYTEST_ALWAYS: Final = frozenset({"conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"})
PYTEST_SECTIONS: Final = {"pyproject.toml": b"tool.pytest", "setup.cfg": b"tool:pytest", "tox.ini": b"pytest"}
"""Files that are pytest's only where they have a section for it, and what that is called."""

_SHELL_FILES: Final = frozenset(
    {"/etc/profile", "/etc/bash.bashrc", "/etc/bashrc", "/etc/environment", "/etc/zsh/zshenv"}
)
_SHELL_HOME: Final = frozenset(
    f"~/.{name}" for name in words("bashrc profile bash_profile bash_login bash_aliases zshrc zshenv zprofile")
)
_LOGIN: Final = re.compile(
    r"\b(?:bash|sh|zsh|dash)\s+(?:-\w+\s+)*(?:-[a-zA-Z]*[li]|--login|--rcfile)|\bsu\s+(?:-\s|-l|--login)|\bsudo\s+(?:-\w+\s+)*-i"
    r"|(?:\bsource|(?:^|[\s;&])\.)\s+\S*(?:profile|bashrc|bash_aliases|/etc/environment)",
    re.MULTILINE,
)
_GIT_SETTINGS: Final = frozenset({"/etc/gitconfig", "~/.gitconfig", "~/.config/git/config"})
_HOOK: Final = re.compile(r".*/\.git/hooks/[^/.]+")
_DATABASES: Final = frozenset(
    {"/etc/passwd", "/etc/shadow", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/resolv.conf"}
)

# Where fetched programs come from, and the words of a test script that fetches some.
_SOURCES: Final = (
    (re.compile(r"/etc/pip\.conf|~/\.pip/pip\.conf|~/\.config/pip/pip\.conf"), re.compile(r"\b(?:pip[\d.]*|pipx)\b")),
    (re.compile(r"/etc/uv/uv\.toml|~/\.config/uv/uv\.toml|~/\.cache/uv|~/\.local/share/uv"), re.compile(r"\buvx?\b")),
    (re.compile(r"~/\.npmrc|/etc/npmrc|/usr/(?:local/)?etc/npmrc"), re.compile(r"\bnp[mx]\b")),
    (re.compile(r"~/\.curlrc"), re.compile(r"\bcurl\b")),
    (re.compile(r"~/\.wgetrc|/etc/wgetrc"), re.compile(r"\bwget\b")),
    (
        re.compile(r"/etc/apt/(?:sources\.list|sources\.list\.d/.+|apt\.conf|apt\.conf\.d/.+|preferences.*)"),
        re.compile(r"\bapt(?:-get)?\b"),
    ),
)


def shell_startup(change: Change, scene: Scene) -> Leftover | None:
    """What shells read at their start.

    Suspicious where the tests start a login or an interactive shell, or source such a file: no other shell reads them.
    Excused: the instruction or the solution names the file, or `installs` lists its path.
    """
    path, name = change.path, posixpath.basename(change.path)
    home = at_home(path)
    if path not in _SHELL_FILES and home not in _SHELL_HOME and posixpath.dirname(path) != "/etc/profile.d":
        return None
    excused = scene.installs_one(path) or scene.task_names(path, name)
    return Leftover("shell-startup", path, suspicious=scene.shell_or_python(_LOGIN) and not excused)


def pytest_config(change: Change, scene: Scene) -> Leftover | None:
    """Settings and `conftest.py` where pytest looks: in the working directory, around it, in a folder the tests name.

    Suspicious where the tests use pytest; `pyproject.toml`, `setup.cfg` and `tox.ini` only with a section for it.
    Excused: the instruction or the solution names the file, or `installs` lists its path.
    """
    folder, name = posixpath.split(change.path)
    section = PYTEST_SECTIONS.get(name)
    if change.kind == "removed" or (name not in PYTEST_ALWAYS and section is None):
        return None
    around = within(scene.workdir, folder) or (len(folder) > 1 and folder in scene.tests)
    if not around or (section is not None and section not in scene.contents.get(change.path, section)):
        return None
    excused = scene.installs_one(change.path) or scene.task_names(name)
    return Leftover("pytest-config", change.path, suspicious="pytest" in scene.tests and not excused)


def package_source(change: Change, scene: Scene) -> Leftover | None:
    """Where pip, uv, npm, apt, curl and wget fetch from, and uv's cache.

    Suspicious where the tests use that very tool. Excused: the instruction or the solution names the file, or
    `installs` lists its path.
    """
    home = at_home(change.path)
    for place, tool in _SOURCES:
        match = place.match(home or change.path)
        if match is None or (home or change.path)[match.end() :][:1] not in {"", "/"}:
            continue
        path = change.path[: len(change.path) - len((home or change.path)[match.end() :])]
        excused = scene.installs_one(path) or scene.task_names(path, posixpath.basename(path))
        suspicious = scene.shell_or_python(tool) and change.kind != "removed" and not excused
        return Leftover("package-source", path, suspicious=suspicious)
    return None


def git_settings(change: Change, scene: Scene) -> Leftover | None:
    """Settings of git that hold for every repository. Reported, never suspicious: repositories are work, not tools."""
    del scene
    if change.path in _GIT_SETTINGS or at_home(change.path) in _GIT_SETTINGS:
        return Leftover("git-config", change.path)
    return None


def git_hook(change: Change, scene: Scene) -> Leftover | None:
    """A hook in a repository. Reported, never suspicious."""
    del scene
    added = change.kind != "removed" and _HOOK.fullmatch(change.path)
    return Leftover("git-hook", change.path) if added else None


def user_database(change: Change, scene: Scene) -> Leftover | None:
    """Users, groups and names of hosts. Reported, never suspicious: installing a service changes them."""
    del scene
    return Leftover("user-database", change.path) if change.path in _DATABASES else None
