"""The evolver: turns a plan into the files of a task folder."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final, Literal

from agents.embedded import library
from agents.embedded.assignment import Facts, number, plan_of
from agents.embedded.bundling import write_all
from agents.embedded.checking import BATCH, check_syntax, check_tools, differing
from agents.embedded.conversation import Call, CannotError, Script
from agents.embedded.foreign.hardening import harden
from agents.embedded.library import FileContent
from agents.embedded.task_settings import at, carried_over, parsed
from agents.embedded.tools import Part, runs, texts
from evolution.plan import Plan
from evolution.sequence import Sequence as Steps

TOML: Final = "task.toml"


def evolve(facts: Facts, _seed: int) -> Script:
    """Edits the folder until it is the plan's `after`, then submits.

    Raises:
        CannotError: The plan asks for something that cannot be built here.
    """
    try:
        plan = plan_of(facts)
    except ValueError as error:
        raise CannotError(f"the plan does not hold: {error}") from error
    files = yield from texts((TOML, "instruction.md"))
    toml = files.get(TOML)
    if toml is None:
        raise CannotError("the task has no readable task.toml")
    seed = at(parsed(toml), "metadata", "evolution", "seed")
    if isinstance(seed, int) and all(library.knows(step) for step in plan.before.steps):
        return (yield from rewrite(plan, toml, seed, attempt=number(facts, "attempt", 1)))
    return (yield from harden(plan, toml, attempt=number(facts, "attempt", 1)))


def rewrite(plan: Plan, toml: str, seed: int, *, attempt: int) -> Script:
    """A task that is the library's own from end to end: writes what differs from the planned one.

    Raises:
        CannotError: The plan has a pair that cannot be written, or the image lacks a tool.
    """
    yield from check_tools(plan.after.steps)
    before, after = (_rendered(sequence, toml, seed) for sequence in (plan.before, plan.after))
    after[TOML] = FileContent(_settings(toml, before[TOML], after[TOML]))
    changed = yield from differing(after)
    yield from write_all(changed, after)
    stale = yield from removed(sorted(before.keys() - after.keys()))
    scripts = [path for path in after if path.startswith(("solution/", "tests/"))]
    yield from check_syntax([p for p in scripts if p.endswith(".sh")], [p for p in scripts if p.endswith(".py")])
    summary = summarised(plan, changed, stale, attempt)
    yield (Call("submit", {"summary": summary}),)
    return summary


def removed(paths: Sequence[str]) -> Part[int]:
    """Removes files and the folders that are empty without them; how many were there."""
    if not paths:
        return 0
    batches = [" ".join(map(shlex.quote, paths[i : i + BATCH])) for i in range(0, len(paths), BATCH)]
    commands = [f'for f in {batch}; do [ -e "$f" ] && rm "$f" && echo gone; done' for batch in batches]
    answers = yield from runs([*commands, "find environment tests -type d -empty -delete"])
    return sum(line == "gone" for answer in answers for line in answer.lines)


def summarised(plan: Plan, changed: Sequence[str], stale: int, attempt: int) -> str:
    """What the evolver says of its work."""
    steps = ", ".join(f"{step.id} ({step})" for step in plan.edited_steps)
    if not changed and not stale:
        return f"Nothing was changed in attempt {attempt}: the folder already is what the plan asks for ({steps})."
    gone = f", removed {stale}" if stale else ""
    return (
        f"Along {plan.axis}: {steps}. Wrote {len(changed)} files{gone}; all scripts parse, all tools are in the image."
    )


def _rendered(sequence: Steps, toml: str, seed: int) -> dict[str, FileContent]:
    settings = parsed(toml)
    kind: Literal["binary", "fraction"] = (
        "fraction" if at(settings, "metadata", "evolution", "reward") == "fraction" else "binary"
    )
    name = at(settings, "task", "name")
    try:
        return library.render_task(sequence, seed, name=name if isinstance(name, str) else "envolve/task", reward=kind)
    except library.LibraryError as error:
        raise CannotError(str(error)) from error


def _settings(toml: str, before: FileContent, after: FileContent) -> bytes:
    return carried_over(toml, before.content.decode(), after.content.decode()).encode()
