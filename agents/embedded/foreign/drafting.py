"""The folder as it will be: edits are collected and written in one go, so that a plan that fails leaves no trace."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Final

from agents.embedded.bundling import write_all
from agents.embedded.conversation import CannotError
from agents.embedded.foreign.dockerfile import with_line
from agents.embedded.foreign.placing import FOLDER, HOME, OUT, rules
from agents.embedded.foreign.reading import DOCKERFILE, ENVIRONMENT, IGNORED, Foreign
from agents.embedded.foreign.sealing import UNSEAL, program
from agents.embedded.library import FileContent
from agents.embedded.tools import Part

MARKER: Final = re.compile(r"^[ \t]*#[ \t]*envolve:[ \t]*step[ \t]+\S+[ \t]*\r?$", re.MULTILINE)
COMMENTS: Final = re.compile(r"\A(?:\s*<!--.*?-->[ \t]*\n)+", re.DOTALL)
RULES_HEADING: Final = f"## About the files in `{OUT}/`"
RULE: Final = "\n\n---\n\n"


class Draft:
    """Edits of one task.

    Args:
        task: The task as it was read.
    """

    def __init__(self, task: Foreign) -> None:
        self._task = task
        self._files: dict[str, FileContent] = {}

    @property
    def paths(self) -> list[str]:
        """What will be written."""
        return sorted(self._files)

    def has(self, path: str) -> bool:
        """Whether the folder has or will have a file."""
        return path in self._files or path in self._task.files

    def text(self, path: str) -> str:
        """A text file as it will be.

        Raises:
            CannotError: It was not read whole, or is no text.
        """
        if path in self._files:
            return self._files[path].content.decode()
        text, file = self._task.texts.get(path), self._task.files.get(path)
        if text is None or file is None or len(text.encode()) != file.size:
            raise CannotError(f"{path} is not a text file that can be read whole, so it cannot be edited safely")
        return text

    def put(self, path: str, content: bytes | str, *, executable: bool | None = None) -> None:
        """Sets a file; the run bit stays as it is when left out."""
        data = content.encode() if isinstance(content, str) else content
        known = (
            self._files[path].executable
            if path in self._files
            else path in self._task.files and self._task.files[path].executable
        )
        self._files[path] = FileContent(data, executable=known if executable is None else executable)

    def merge(self, prefix: str, files: Mapping[str, FileContent]) -> None:
        """Sets several files below a folder."""
        for path, file in files.items():
            self.put(f"{prefix}{path}", file.content, executable=file.executable)

    def replace(self, path: str, old: str, new: str) -> bool:
        """Replaces a passage that occurs exactly once; whether it did."""
        text = self.text(path)
        if text.count(old) != 1:
            return False
        self.put(path, text.replace(old, new))
        return True

    def written(self) -> Part[None]:
        """Writes it all."""
        yield from write_all(self.paths, self._files)

    def instruct(self, path: str, *, front: str = "", end: str = "") -> None:
        """Puts sections before or behind an instruction; comments at its top, which Harbor strips, stay at its top."""
        text = self.text(path)
        comments = COMMENTS.match(text)
        top, body = (comments[0], text[comments.end() :]) if comments else ("", text)
        told = "" if RULES_HEADING in body else f"{RULES_HEADING}\n\n{rules()}"
        before = "\n\n".join(part for part in (front, told) if part) if front else ""
        after = "\n\n".join(part for part in (end, "" if front else told) if part) if end else ""
        self.put(path, top + RULE.join(part.strip("\n") for part in (before, body, after) if part) + "\n")

    def solve(self, path: str, *, front: str = "", end: str = "") -> None:
        """Puts sections before or behind those of a `solve.sh` that has markers."""
        text = self.text(path)
        first = MARKER.search(text)
        if first is None:
            raise CannotError(f"{path} has no section of a step")
        head, rest = text[: first.start()], text[first.start() :].rstrip("\n")
        self.put(path, f"{head}{front}{rest}\n{end}")

    def wrap_solution(self, path: str, step: str) -> None:
        """Makes a `solve.sh` without sections one with a single section, which runs the old script as it was."""
        text = self.text(path)
        if MARKER.search(text):
            return
        kept = f"{path.removesuffix('solve.sh')}{self._free(path, 'solve.sh')}"
        self.put(kept, text, executable=True)
        call = f"{shebang(text)} /solution/{kept.rpartition('/')[2]}"
        note = "# Reference solution: a section a step; the original solution is run as it was written."
        self.put(path, f"#!/bin/bash\n{note}\n\n# envolve: step {step}\n{call}\n", executable=True)

    def wrap_tests(self, step: str, kind: str, harness: Mapping[str, FileContent]) -> None:
        """Puts the checks of inserted steps beside the tests, once: the old `test.sh` is run by a new one."""
        if self.has(f"tests/{FOLDER}/weigh.py"):
            return
        text = self.text("tests/test.sh")
        kept = self._free("tests/test.sh", "test.sh")
        self.put(f"tests/{kept}", text, executable=True)
        self.put(f"tests/{FOLDER}/weigh.py", program("weigh.py"))
        self.put(f"tests/{FOLDER}/run_checks.py", harness["run_checks.py"].content)
        self.put(f"tests/{FOLDER}/seed.txt", f"{self._task.data_seed}\n")
        note = (
            "# The original verifier runs as it always did, then the checks of the other steps; one reward out of both."
        )
        script = (
            f"{shebang(text)} /tests/{kept}\nexec python3 -I -S /tests/{FOLDER}/weigh.py {kind} {shlex.quote(step)}\n"
        )
        self.put("tests/test.sh", f"#!/bin/bash\n{note}\n{script}", executable=True)

    def add_check(self, path: str, code: str) -> None:
        """Adds a check to a step's file of checks."""
        text = self.text(path).rstrip("\n") + "\n\n\n" if self.has(path) else ""
        self.put(path, text + code)

    def open_folder(self, *, unseal: bool) -> None:
        """Makes the image hold the folder of the inserted steps, with a place for the solver's results."""
        keep = f"{ENVIRONMENT}{FOLDER}/out/.keep"
        if not self.has(keep):
            owner = f"--chown={self._task.user} " if self._task.user else ""
            self.put(DOCKERFILE, with_line(self.text(DOCKERFILE), f"COPY {owner}{FOLDER}/ {HOME}/"))
            self.put(keep, b"")
            if self.has(IGNORED):
                self.put(IGNORED, f"{self.text(IGNORED).rstrip()}\n!{FOLDER}\n!{FOLDER}/**\n")
        if unseal:
            self.put(f"{ENVIRONMENT}{FOLDER}/{UNSEAL}", program(UNSEAL))

    def _free(self, path: str, name: str) -> str:
        folder = path.removesuffix(name)
        names = [f"origin_{name}", *(f"origin_{i}_{name}" for i in range(2, 100))]
        return next(each for each in names if not self.has(f"{folder}{each}"))


def shebang(text: str) -> str:
    """How to run a script whatever its run bit: the interpreter that it names, with its one argument; else bash."""
    first = text.split("\n", 1)[0].rstrip("\r")
    if not first.startswith("#!"):
        return "bash"
    interpreter, _, argument = first[2:].strip().partition(" ")
    return f"{interpreter} {shlex.quote(argument.strip())}" if argument.strip() else interpreter
