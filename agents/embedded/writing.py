"""The writer: the evolver's work in one answer, from the files in the prompt and with nothing tried out."""

from __future__ import annotations

import base64
import hashlib
from typing import Final

from agents.embedded import library
from agents.embedded.assignment import Facts, plan_of
from agents.embedded.careless import repairs, with_slip
from agents.embedded.conversation import Call, CannotError, Script
from agents.embedded.evolving import TOML, findings_of, renderings
from agents.embedded.library import FileContent
from agents.embedded.options import Options
from agents.embedded.shown_files import ShownFile, shown_files
from agents.embedded.task_settings import at, parsed

MESSAGE: Final = "message"


def write(facts: Facts, seed: int, options: Options) -> Script:
    """Hands in every file that is not as the plan wants it; of a folder that was turned down, those under suspicion.

    Raises:
        CannotError: The plan cannot be written without trying things out, or not at all.
    """
    try:
        plan = plan_of(facts)
    except ValueError as error:
        raise CannotError(f"the plan does not hold: {error}") from error
    shown = shown_files(str(facts.get(MESSAGE, "")))
    toml = shown[TOML].text if TOML in shown else None
    if toml is None:
        raise CannotError("the prompt shows no task.toml")
    data_seed = at(parsed(toml), "metadata", "evolution", "seed")
    if not isinstance(data_seed, int) or not all(library.knows(step) for step in plan.before.steps):
        raise CannotError("a task that is not the library's own has to be tried out in a sandbox")
    before, after = renderings(plan, toml, data_seed)
    findings = findings_of(facts)
    if findings:
        content = {path: (file.text or "").encode("utf-8", "replace") for path, file in shown.items()}
        wrong = frozenset(path for path, file in after.items() if not _is(shown.get(path), file))
        repair = repairs(after, content, wrong, findings, options=options, seed=seed)
        files, removed = dict(repair.written), list(repair.removed)
    else:
        draft = with_slip(after, options, seed)
        files = {path: file for path, file in draft.items() if not _is(shown.get(path), file)}
        removed = sorted(before.keys() & shown.keys() - draft.keys())
    summary = f"Along {plan.axis}: {len(files)} files written, {len(removed)} removed; none of it could be tried."
    arguments: dict[str, object] = {
        "files": [_as_json(path, files[path]) for path in sorted(files)],
        "summary": summary,
    }
    if removed:
        arguments["removed"] = removed
    yield (Call("submit_files", arguments),)
    return summary


def _is(shown: ShownFile | None, file: FileContent) -> bool:
    return (
        shown is not None
        and shown.executable == file.executable
        and shown.sha256 == hashlib.sha256(file.content).hexdigest()
    )


def _as_json(path: str, file: FileContent) -> dict[str, object]:
    entry: dict[str, object] = {"path": path}
    try:
        entry["content"] = file.content.decode("utf-8")
    except UnicodeDecodeError:
        entry |= {"content": base64.b64encode(file.content).decode("ascii"), "encoding": "base64"}
    return {**entry, "executable": True} if file.executable else entry
