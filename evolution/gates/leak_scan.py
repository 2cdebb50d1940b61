"""Looks for a task's secrets in whatever a solver could open: plain, packed, encoded, or in git's own files."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from evolution.gates.leak_archives import Packed, unpacked
from evolution.gates.leak_decoded import mirrored
from evolution.gates.leak_forms import forms
from evolution.gates.leak_git import git_texts
from evolution.gates.leak_secrets import LEAST_SHARE, Known, Secret, Suspect, recognised, secrets_of
from evolution.gates.leak_shell import heredocs
from evolution.gates.leak_tokens import MOST_BYTES, Traits, compiled, reworded, traits_of
from evolution.gates.leak_unseen import Unseen
from evolution.gates.outcomes import finding
from evolution.gates.scripts import solution_of, tests_of, text_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from evolution.verdict import Finding
    from sandbox.task import Task

GATE: Final = "leak"
SHORTEST_EXPECTED: Final = 12
"""Characters of a line of expected results that a variable cannot hold by chance."""
MOST_KEPT: Final = 64 * 1024 * 1024
"""Bytes of suspects kept for a second look."""

_NAMED = re.compile(r"(?:^|[/!])(?:solution/solve\.(?:sh|bat)|tests/test\.(?:sh|bat))$|!solve\.(?:sh|bat)$")
_HISTORY = re.compile(
    r"(?:^|/)(?:\.[\w.-]*(?:history|_hist|hsts|hist)|\w+_history|\.viminfo|[\w.-]+\.shada|\.[\w.-]+\.sw[a-p]|\.recently-used[\w.-]*|"
    r"history\.sqlite|\.python_history[\w.-]*)$"
)
_BACKUP = re.compile(r"(?:~|\.(?:bak|orig|save|old)|/#[^/]+#)$")
_CACHE = re.compile(
    r"(?:^|/)(?:__pycache__|\.?cache|\.npm|\.pytest_cache|\.mypy_cache|\.ipynb_checkpoints|log|logs)/|\.(?:pyc|log)$"
)
_GIT_WORDS = re.compile(
    r"\b(?:git|commits?|repositor(?:y|ies)|repo|reflog|stash(?:ed)?|branch(?:es)?|revisions?|bisect|changesets?)\b",
    re.IGNORECASE,
)
_SYSTEM = ("/usr/", "/lib/", "/bin/")
_TYPED = re.compile(r"^(?:- cmd: |: \d+:\d+;|[$#>] |>>> |\.\.\. |In \[\d+\]: )", re.MULTILINE)
"""What shells and interpreters put before a line that was typed."""
_GIT_OBJECT = re.compile(r"/objects/(?:[0-9a-f]{2}/[0-9a-f]{38}(?:[0-9a-f]{24})?|pack/pack-[0-9a-f]+\.\w+|info/\S+)$")


@dataclass(frozen=True, slots=True)
class Place:
    """Where something lies that is to be looked at.

    Attributes:
        path: What to call it; findings say it in `where`.
        what: The code of findings there; "" leaves it to what is found.
        kind: What kind of thing it is, for evidence.
        known: Whether a solver is meant to use it; left out, its path decides.
    """

    path: str
    what: str = ""
    kind: str = "environment file"
    known: bool | None = None


@dataclass(frozen=True, slots=True)
class Doubt:
    """A file that may give something away, or be an input: only running the reference solution without it tells.

    Attributes:
        place: Where the file lies.
        content: Its bytes as they lie there.
        what: The code of the finding it may become.
        said: What was seen.
    """

    place: Place
    content: bytes
    what: str
    said: str


class Scan:
    """Looks for the secrets of one task.

    Args:
        task: The task.

    Attributes:
        secrets: What it looks for.
        known: Which files a solver is meant to use.
        kept: What was looked at, each form of it beside the bytes of the file, for a second look; bounded.
        unseen: What was not looked at.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self.secrets = secrets_of(task)
        self._tests = {file.path: file for file in tests_of(task)}
        self.known = Known(task)
        self.kept: list[tuple[Place, bytes, Suspect]] = []
        self._room = MOST_KEPT
        self._charged: bytes | None = None
        self.unseen = Unseen()
        self.looked_at = 0
        self.about_git = _GIT_WORDS.search(task.instruction) is not None

    @cached_property
    def traits(self) -> tuple[Traits, ...]:
        """What of each secret nothing else says."""
        texts: list[tuple[Secret, str]] = []
        files = {file.path: file for file in (*solution_of(self._task), *tests_of(self._task))}
        for secret in self.secrets:
            text = text_of(self._task, files[secret.path]) or ""
            texts.append((secret, text))
            for number, held in enumerate(heredocs(text), start=1):
                texts.append((Secret(f"here-document {number} of {secret.path}", "", parts=secret.parts), held))
        return traits_of(texts, (("", self._task.instruction), *self._public))

    @cached_property
    def _public(self) -> tuple[tuple[str, str], ...]:
        """Inputs; with their path where only their folder is called an input, not they."""
        return tuple(self._inputs())

    @cached_property
    def short_answers(self) -> dict[str, str]:
        """What data files of the tests hold, where that is one line."""
        answers = {}
        for secret in self.secrets:
            file = None if secret.is_script else self._tests.get(secret.path)
            text = (text_of(self._task, file) or "").strip() if file is not None else ""
            if text and "\n" not in text:
                answers[secret.path] = text
        return answers

    @cached_property
    def expected_lines(self) -> dict[str, str]:
        """Telling lines of the tests' data files, each with the file that has it."""
        found: dict[str, str] = {}
        for secret in self.secrets:
            file = None if secret.is_script else self._tests.get(secret.path)
            for line in ((text_of(self._task, file) or "") if file is not None else "").splitlines():
                bare = line.strip()
                if len(bare) >= SHORTEST_EXPECTED and any(character.isdigit() for character in bare):
                    found.setdefault(bare, secret.path)
        return found

    def is_public(self, value: str) -> bool:
        """Whether the instruction or an input says so, too."""
        return value in self._task.instruction or any(value in text for _, text in self._public)

    def look(self, place: Place, content: bytes) -> Iterator[Finding]:
        """What one file gives away, and what is packed or encoded in it."""
        known = self.known.names(place.path) if place.known is None else place.known
        for path, data, is_encoded in forms(place.path, content, self._note_cut):
            if _NAMED.search(path.removeprefix("environment/")) and not path.startswith(_SYSTEM):
                yield self._say(place, "named", f"{place.kind} {path} is called as a solution or a verifier is")
            suspect = Suspect(path, data, place.kind, is_decoded=is_encoded)
            self._keep(place, content, suspect)
            yield from self.suspect(place, suspect, known=known, is_encoded=is_encoded)
            for form in () if is_encoded else mirrored(path, data):
                yield from self.suspect(
                    place,
                    Suspect(form.path, form.content, place.kind, is_decoded=True),
                    known=known,
                    is_encoded=True,
                )

    def suspect(self, place: Place, suspect: Suspect, *, known: bool, is_encoded: bool = False) -> Iterator[Finding]:
        """What one text gives away."""
        is_recipe = place.what == "layer"
        in_tree = not is_recipe and self.known.names_tree(place.path)
        for secret in self.secrets:
            match = recognised(
                secret,
                suspect,
                known=known,
                known_script=known or is_recipe,
                in_tree=in_tree,
                # Nobody works on a variable: one line of a solution there helps, and came there by hand.
                least_share=0.0 if place.what == "environment" else LEAST_SHARE,
            )
            what = place.what or ("encoded" if is_encoded else "")
            if match is None and _HISTORY.search(place.path):
                # Nobody works on a history: one line of a solution there is a line that was typed.
                typed = suspect if suspect.is_binary else _without_marks(suspect, place)
                match = recognised(secret, typed, known=known, known_script=False, least_share=0.0)
                what = what or "history"
            if match is not None:
                yield self._say(place, what or match[0], match[1])
        if suspect.is_binary:
            for traits in self.traits:
                said = compiled(traits, suspect)
                if said:
                    yield self._say(place, "cache", said)

    def git(self, files: Mapping[str, bytes], plain: Collection[str]) -> Iterator[Finding]:
        """What repositories and bundles give away; the files a commit has checked out aside.

        Args:
            files: Contents by path of git's own files and of bundles; others do no harm.
            plain: Digests (SHA-256, hexadecimal) of all files beside them: they lie in the open.
        """
        excused = self.about_git  # to read a repository is the work: data may come from there, programs may not
        for text in git_texts(files, self._note_cut):
            suspect = Suspect(f"{text.repository}, {text.origin}", text.content, "git object in")
            if suspect.sha256 in plain:
                continue  # it is looked at where it lies
            named = bool(text.name) and self.known.names(posixpath.join(text.repository, "..", text.name))
            # The instruction calls outputs by their names, too: what nothing but a commit holds is no input by that.
            named = named and not self._is_output(posixpath.basename(text.name))
            place = Place(text.repository, "git", "git object in", named)
            for path, data, _ in forms(suspect.path, text.content, self._note_cut):
                inner = Suspect(path, data, place.kind)
                for secret in self.secrets:
                    if secret.is_script and (named or excused) and not _is_entry(secret.path):
                        continue  # the repaired file may be what an old commit had
                    match = recognised(secret, inner, known=named or excused, known_script=named)
                    if match is not None:
                        yield self._say(place, "git", match[1])

    def _is_output(self, base: str) -> bool:
        """Whether tests hold data of this name, and the environment no file of it."""
        shipped = (posixpath.basename(file.path) for file in self._task.under("environment"))
        expected = (posixpath.basename(secret.path) for secret in self.secrets if not secret.is_script)
        return base in expected and base not in shipped

    def doubts(self) -> Iterator[Doubt]:
        """Files that may give a secret away, as far as can be told without running anything.

        They hold it in other words, or they lie in a folder of inputs and hold results that the tests expect.
        """
        for place, content, suspect in self.kept:
            is_input = self.known.names(place.path) if place.known is None else place.known
            if is_input and (place.known or self.known.names_file(place.path)):
                continue
            for secret in self.secrets if is_input else ():
                match = None if secret.is_script else recognised(secret, suspect, known=False, in_tree=True)
                if match is not None:
                    yield Doubt(place, content, *match)
            for traits in self.traits:
                match = reworded(traits, suspect, place.path if is_input else "")
                if match is not None:
                    yield Doubt(place, content, *match)

    def _inputs(self) -> Iterator[tuple[str, str]]:
        for file in self._task.under("environment"):
            if file.size <= MOST_BYTES and not file.link and self.known.names(file.path):
                content = self._task.read_bytes(file.path)
                called = "" if self.known.names_file(file.path) else file.path
                for packed in (Packed(file.path, content), *unpacked(file.path, content)):
                    yield called, Suspect(packed.path, packed.content).text

    def _keep(self, place: Place, content: bytes, suspect: Suspect) -> None:
        self.looked_at += 1
        self._room -= len(suspect.content)
        if suspect.content is not content and self._charged is not content:
            self._charged = content
            self._room -= len(content)
        if self._room >= 0:
            self.kept.append((place, content, suspect))
        else:
            self.unseen.note("cut", f"{place.path} (the second look)")

    def _note_cut(self, path: str) -> None:
        self.unseen.note("cut", path)

    def _say(self, place: Place, what: str, message: str) -> Finding:
        return finding(GATE, what, message, place.path)


def hiding_place(path: str) -> str:
    """The code for a file that the build made, by the kind of place it lies in."""
    if _HISTORY.search(path) or _BACKUP.search(path):
        return "history"
    if "/.git/" in path:
        return "git"
    return "cache" if _CACHE.search(path) else "built"


def is_git_file(path: str, roots: frozenset[str]) -> bool:
    """Whether a path is an object of one of some repositories, which `Scan.git` reads better."""
    return _GIT_OBJECT.search(path) is not None and any(path.startswith(f"{root}/objects/") for root in roots)


def _without_marks(suspect: Suspect, place: Place) -> Suspect:
    text = _TYPED.sub("", suspect.content.decode("utf-8", "replace"))
    return Suspect(suspect.path, text.encode("utf-8", "replace"), place.kind)


def _is_entry(path: str) -> bool:
    return posixpath.basename(path) in {"solve.sh", "solve.bat", "test.sh", "test.bat"}
