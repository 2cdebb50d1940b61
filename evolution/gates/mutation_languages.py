"""Which language code is in, the small changes it can have, and whether it parses with one of them."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from evolution.gates.mutation_drawing import in_turns
from evolution.gates.mutation_edits import MAX_NEW, PROGRAMS, Edit, generic_edits
from evolution.gates.mutation_python import parses_as_python, python_edits
from evolution.gates.mutation_shell import parses_as_shell, shell_edits

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Iterator

MAX_EDITS: Final = 20_000
"""Changes of one file that one is drawn from."""
TRIED: Final = 8
"""How many changes are tried for each that is wanted: a text of which hardly one parses is not worth more."""


def code_edits(path: str, content: bytes) -> Iterator[Edit]:
    """Small changes of a program, the first `MAX_EDITS`, not yet tried whether it parses; none of what is no program.

    Args:
        path: Its name or path; where the name says nothing the first line may.
        content: The program.
    """
    first = content.split(b"\n", 1)[0][:MAX_NEW]
    script = first.startswith(b"#!")
    edits: Iterator[Edit] = iter(())
    if path.endswith(".py") or (script and b"python" in first):
        edits = python_edits(content)
    elif path.endswith((".sh", ".bash")) or (script and b"sh" in first):
        edits = shell_edits(content)
    elif path.endswith(PROGRAMS) or script:
        edits = generic_edits(content)
    return islice((edit for edit in edits if len(edit.new) <= MAX_NEW), MAX_EDITS)


def drawn_edits(
    candidates: Iterable[tuple[str, bytes, Edit]], most: int, rng: random.Random
) -> list[tuple[str, bytes, Edit]]:
    """At most `most` changes in turns from each kind, of those with which the code still parses.

    Args:
        candidates: Changes, each with the path and content of its file before it.
        most: How many at most.
        rng: Decides which.
    """
    tried = islice(in_turns(((item[2].kind, item) for item in candidates), rng), TRIED * most)
    return list(islice((item for item in tried if still_parses(item[1], item[2])), most))


def still_parses(code: bytes, edit: Edit) -> bool:
    """Whether the programs that a change lies in parse with it."""
    for language, start, end in edit.programs:
        changed = code[start : edit.start] + edit.new + code[edit.end : end]
        if not (parses_as_python(changed) if language == "python" else parses_as_shell(changed)):
            return False
    return True
