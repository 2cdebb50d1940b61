"""The evolver: turns a plan into the files of a task folder."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from agents.embedded import library
from agents.embedded.assignment import Facts, number, plan_of
from agents.embedded.bundling import write_all
from agents.embedded.careless import repairs, with_slip
from agents.embedded.checking import BATCH, check_syntax, check_tools, differing
from agents.embedded.conversation import Call, CannotError, Script
from agents.embedded.diagnosis import Finding
from agents.embedded.foreign.hardening import harden
from agents.embedded.library import FileContent
from agents.embedded.options import Options
from agents.embedded.self_test import self_test
from agents.embedded.task_settings import at, carried_over, parsed
from agents.embedded.tools import Part, listing, runs, texts
from evolution.plan import Plan
from evolution.randomness import derive_seed
from evolution.sequence import Sequence as Steps

TOML: Final = "task.toml"
MOST_ROUNDS: Final = 3
"""Times the author tries its draft out and repairs it before it hands it in as it is."""


def evolve(facts: Facts, request_seed: int, options: Options) -> Script:
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
        if options.faults:
            return (
                yield from rewrite_carelessly(plan, toml, seed, facts=facts, request_seed=request_seed, options=options)
            )
        return (yield from rewrite(plan, toml, seed, attempt=number(facts, "attempt", 1)))
    return (yield from harden(plan, toml, attempt=number(facts, "attempt", 1)))


def rewrite(plan: Plan, toml: str, seed: int, *, attempt: int) -> Script:
    """A task that is the library's own from end to end: writes what differs from the planned one.

    Raises:
        CannotError: The plan has a pair that cannot be written, or the image lacks a tool.
    """
    yield from check_tools(plan.after.steps)
    before, after = renderings(plan, toml, seed)
    changed = yield from differing(after)
    yield from write_all(changed, after)
    stale = yield from removed(sorted(before.keys() - after.keys()))
    scripts = [path for path in after if path.startswith(("solution/", "tests/"))]
    yield from check_syntax([p for p in scripts if p.endswith(".sh")], [p for p in scripts if p.endswith(".py")])
    summary = summarised(plan, changed, stale, attempt)
    yield (Call("submit", {"summary": summary}),)
    return summary


def rewrite_carelessly(
    plan: Plan, toml: str, seed: int, *, facts: Facts, request_seed: int, options: Options
) -> Script:
    """The same with mistakes in it (`mistakes`), tried out and repaired by what the trial or the gates say.

    Raises:
        CannotError: The plan has a pair that cannot be written, or the image lacks a tool.
    """
    yield from check_tools(plan.after.steps)
    before, after = renderings(plan, toml, seed)
    findings = findings_of(facts)
    written = 0
    if not findings:
        draft = with_slip(after, options, request_seed)
        changed = yield from differing(draft)
        yield from write_all(changed, draft)
        yield from removed(sorted(before.keys() - draft.keys()))
        written = len(changed)
    for round_ in range(MOST_ROUNDS):
        if not findings:
            findings = yield from self_test()
        if not findings:
            break
        wrong = yield from differing(after)
        there = yield from listing()
        # Only what is not as it should be has to be read; of the rest the author knows what it wrote.
        own = [path for path in there if path in wrong or path not in after]
        read = yield from texts(own)
        folder = {path: read.get(path, "").encode() if path in own else after[path].content for path in there}
        repair_seed = derive_seed(request_seed, "repair", round_)
        repair = repairs(after, folder, wrong, findings, options=options, seed=repair_seed)
        yield from write_all(sorted(repair.written), repair.written)
        yield from removed(repair.removed)
        written += len(repair.written) + len(repair.removed)
        findings = ()
        if not repair.written and not repair.removed:
            break
    summary = f"Along {plan.axis}: {', '.join(map(str, plan.edited_steps))}. {written} files written or removed."
    yield (Call("submit", {"summary": summary}),)
    return summary


def renderings(plan: Plan, toml: str, seed: int) -> tuple[dict[str, FileContent], dict[str, FileContent]]:
    """The task before and after the plan, every file.

    Raises:
        CannotError: The plan has a pair that cannot be written.
    """
    before, after = (_rendered(sequence, toml, seed) for sequence in (plan.before, plan.after))
    after[TOML] = FileContent(_settings(toml, before[TOML], after[TOML]))
    return before, after


def findings_of(facts: Facts) -> tuple[Finding, ...]:
    """The newest finding of the feedback, which is about the folder as it is; none in a first attempt."""
    items = facts.get("feedback")
    if not isinstance(items, list) or not items or not isinstance(items[-1], Mapping):
        return ()
    return (Finding(str(items[-1].get("code", "")), str(items[-1].get("text", ""))),)


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
