"""Puts lines into shell scripts, where their authors would."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

    from evolution.faults.draft import Draft
    from evolution.faults.fault import Planter

_HEADER = re.compile(r"\s*(#.*|set -\S+.*|export [A-Z_]+=\S*( [A-Z_]+=\S*)*)?\s*")
_ENDS = re.compile(r"(exec|exit)\b")


def one_of(*ways: Planter) -> Planter:
    """A planter that tries ways in an order of chance until one fits; a draft that none fits stays as it is."""

    def plant(draft: Draft, rng: Random) -> bool:
        for way in rng.sample(ways, len(ways)):
            before = dict(draft.files)
            if way(draft, rng):
                return True
            draft.files = before
        return False

    return plant


def after_header(text: str, added: str) -> str:
    """A script with lines after its `#!`, first comments and settings."""
    lines = text.split("\n")
    end = next((place for place, line in enumerate(lines) if not _HEADER.fullmatch(line)), len(lines))
    while end > 1 and not lines[end - 1].strip():
        end -= 1
    return "\n".join([*lines[:end], *added.rstrip("\n").split("\n"), *lines[end:]])


def at_end(text: str, added: str) -> str | None:
    """A script with lines after its last, or before a last plain `exit`; `None` where they would not be reached."""
    lines = text.rstrip("\n").split("\n")
    last, tail = lines[-1], [""]
    if re.fullmatch(r"exit( 0)?", last):
        tail = [lines.pop(), ""]
    elif _ENDS.match(last):
        if not last.startswith("exec ") or last.endswith("\\"):
            return None
        lines[-1] = last.removeprefix("exec ")
    return "\n".join([*lines, *added.rstrip("\n").split("\n"), *tail])


def edit_solution(draft: Draft, added: str, *, end: bool) -> bool:
    """Puts lines of bash into the reference solution: at its end, or before its work."""
    return _edit(draft, draft.solution_script, added, end=end)


def edit_tests(draft: Draft, added: str, *, end: bool = False) -> bool:
    """Puts lines of bash into the verifier's script: at its end, or before its work."""
    return _edit(draft, draft.test_script, added, end=end)


def is_shell(text: str) -> bool:
    """Whether a script is one of a shell."""
    first = text.split("\n", 1)[0]
    return not first.startswith("#!") or first.rstrip().split("/")[-1].split()[-1] in ("bash", "sh", "-e", "-eu", "-u")


def _edit(draft: Draft, path: str, added: str, *, end: bool) -> bool:
    if path not in draft.files or not is_shell(draft.text(path)):
        return False
    script = re.sub(r"\A#!(/bin/|/usr/bin/env )sh\b", r"#!\1bash", draft.text(path))
    text = at_end(script, added) if end else after_header(script, added)
    if text is None:
        return False
    draft.write(path, text)
    return True


def indented(text: str, by: str = "    ") -> str:
    """Lines moved to the right."""
    return "\n".join(by + line if line else line for line in text.strip("\n").split("\n"))
