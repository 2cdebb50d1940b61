"""What an agent left behind that could reach the verifier: the values, and what a judgement of them is made from.

A *leftover* is reported with every verification. A *suspicious* one could make the tests say what they would not say on
a clean machine; the verifier then gets a second run without it (see `sandbox.verification.second_opinion`).
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.protocol import Change

Found = Literal["file", "folder", "other", "missing"]
"""What lies at a path now; "other" is a link, a device, or a file of more than a byte."""

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_HOME = re.compile(r"/root(?=/)|/home/[^/]+(?=/)")
_VERSION = re.compile(r"-?\d[\d.]*$")


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something of the agent's that was there when its work was verified.

    Attributes:
        kind: What kind of thing, one of `sandbox.verification.kinds.KINDS`.
        path: Where it lies in the sandbox; "" for what is no file.
        note: The same in words, where the kind does not say it all.
        suspicious: Whether the verifier was run a second time without it.
    """

    kind: str
    path: str
    note: str = ""
    suspicious: bool = False


@dataclass(frozen=True)
class Scene:
    """What the judgement of a change is made from.

    Attributes:
        changes: Every path that differs from the image.
        path: The folders of the image's PATH, in order.
        workdir: Where the verifier starts.
        tests: The text of all the tests' files.
        task: The text of the instruction and of the reference solution.
        installs: What `[metadata] installs` lists: names of tools and packages, or absolute paths.
        found: What lies now at the paths that `sandbox.verification.classify.questions` asks for.
        contents: The bytes of the files that it asks for, as far as they could be read.
    """

    changes: Mapping[str, Change]
    path: tuple[str, ...] = tuple(DEFAULT_PATH.split(":"))
    workdir: str = "/"
    tests: str = ""
    task: str = ""
    installs: frozenset[str] = frozenset()
    found: Mapping[str, Found] = field(default_factory=dict)
    contents: Mapping[str, bytes] = field(default_factory=dict)

    @cached_property
    def _installed(self) -> frozenset[str]:
        return frozenset(plain(name) for name in self.installs)

    def tests_use(self, name: str) -> bool:
        """Whether the tests' text has this name as a word."""
        return has_word(self.tests, name)

    def task_names(self, *names: str) -> bool:
        """Whether the instruction or the solution has one of these names (or paths) as a word."""
        return any(has_word(self.task, name) for name in names)

    def installs_one(self, path: str, *names: str) -> bool:
        """Whether `installs` lists one of these names, with or without its version, or a folder around the path."""
        if any(rule.startswith("/") and within(path, rule) for rule in self.installs):
            return True
        known = {plain(name) for name in names}
        return not self._installed.isdisjoint(known | {_VERSION.sub("", name) for name in known})

    def image_had(self, path: str) -> bool:
        """Whether the image has something at a path: a fact about changed paths and those that were asked for."""
        change = self.changes.get(path)
        return self.found.get(path, "missing") != "missing" if change is None else change.kind != "added"

    def is_added(self, path: str) -> bool:
        """Whether the agent has added this very path."""
        change = self.changes.get(path)
        return change is not None and change.kind == "added"

    def shell_or_python(self, pattern: re.Pattern[str]) -> bool:
        """Whether the tests' text has a command of this form."""
        return pattern.search(self.tests) is not None


def within(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies below it."""
    folder = folder.rstrip("/")
    return path == folder or path.startswith(f"{folder}/")


def has_word(text: str, word: str) -> bool:
    """Whether `word` is in `text` with no letter, digit, `_` or `-` going on at either end."""
    return word in text and re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None


def plain(name: str) -> str:
    """A name of a tool or package as names are compared: lower case, `-` for `_` and `.` between words."""
    return re.sub(r"[_.]+(?=[a-z])", "-", name.lower())


def at_home(path: str) -> str:
    """A path below somebody's home folder as `~/…`; "" for any other."""
    match = _HOME.match(path)
    return f"~{path[match.end() :]}" if match else ""


def words(text: str) -> frozenset[str]:
    """The words of a list that is too long to be written one by one."""
    return frozenset(text.split())


def parents(path: str) -> tuple[str, ...]:
    """Every folder around a path, the nearest first, "/" last."""
    found = []
    while path != "/":
        path = posixpath.dirname(path)
        found.append(path)
    return tuple(found)
