"""What the evolver checks in its sandbox before it submits."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final

from agents.embedded import library
from agents.embedded.conversation import CannotError
from agents.embedded.library import FileContent
from agents.embedded.tools import Part, runs
from evolution.sequence import Step

BATCH: Final = 120  # files compared in one command, so that its answer is not cut


def check_tools(steps: Sequence[Step]) -> Part[tuple[str, ...]]:
    """Checks that the image has what the steps' solutions and checks call; returns those commands.

    Raises:
        CannotError: A step is not known, or a command is missing.
    """
    unknown = [f"{step.id} ({step})" for step in steps if not library.knows(step)]
    if unknown:
        raise CannotError(f"no way is known to write {', '.join(unknown)}")
    tools = sorted({tool for step in steps for tool in library.tools(step.scenario, step.skill)})
    (answer,) = yield from runs(
        (f'for t in {" ".join(tools)}; do command -v "$t" >/dev/null || echo "missing: $t"; done',)
    )
    missing = [line.removeprefix("missing: ") for line in answer.lines if line.startswith("missing: ")]
    if missing:
        raise CannotError(f"the image lacks {', '.join(missing)}, which {', '.join(map(str, steps))} need")
    return tuple(tools)


def differing(wanted: Mapping[str, FileContent]) -> Part[list[str]]:
    """Paths whose file in the folder is missing or is not as wanted."""
    paths = sorted(wanted)
    batches = [paths[i : i + BATCH] for i in range(0, len(paths), BATCH)]
    answers = yield from runs([_comparison({path: wanted[path] for path in batch}) for batch in batches])
    lines = [line for answer in answers for line in answer.lines]
    return sorted({line.rpartition(": FAILED")[0] for line in lines if ": FAILED" in line} & set(wanted))


def _comparison(wanted: Mapping[str, FileContent]) -> str:
    sums = "".join(f"{sha256(file.content).hexdigest()}  {path}\n" for path, file in wanted.items())
    programs = " ".join(shlex.quote(path) for path, file in wanted.items() if file.executable)
    bits = f'for f in {programs}; do [ -x "$f" ] || echo "$f: FAILED run bit"; done\n' if programs else ""
    return f"{bits}sha256sum --check --quiet - 2>/dev/null <<'END'\n{sums}END"


def check_syntax(shell: Sequence[str], python: Sequence[str]) -> Part[None]:
    """Lets the sandbox's own interpreters read the scripts.

    Raises:
        CannotError: One does not parse.
    """
    parse = "import ast, sys; [ast.parse(open(name, encoding='utf-8').read(), name) for name in sys.argv[1:]]"
    commands = [f"bash -n {shlex.quote(path)}" for path in sorted(shell)]
    if python:
        commands.append(f"python3 -I -S -c {shlex.quote(parse)} {' '.join(map(shlex.quote, sorted(python)))}")
    (answer,) = yield from runs((" && ".join(commands) or "true",))
    if answer.status != 0:
        raise CannotError(f"a script that was written does not parse: {answer.text[:500]}")
