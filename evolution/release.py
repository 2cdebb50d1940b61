"""Releases: immutable generation folders of plain Harbor tasks with a manifest.

A release appears whole or not at all, holds nothing that differs between two runs of the same seed (times, cost and
host facts stay in run.db), and is never overwritten.
"""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from evolution.errors import ReleaseError
from evolution.lineage import Member, lineage_document
from evolution.plan import Plan
from evolution.verdict import Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from evolution.reference import Reference
    from sandbox.task import Task

SCHEMA_VERSION = "1.0"


class Entry(BaseModel):
    """One released environment.

    Attributes:
        member: Who it is.
        plan: What its generation changed.
        verdicts: What every gate said of it, in gate order.
        base: What its image's `FROM` resolved to when it was verified.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    member: Member
    plan: Plan
    verdicts: tuple[Verdict, ...]
    base: str = ""


def release_folder(releases: Path, generation: int) -> Path:
    """Where a generation's release lies."""
    return releases / f"generation-{generation:03d}"


def manifest(generation: int, entries: tuple[Entry, ...], reference: Reference) -> dict[str, Any]:
    """What `manifest.json` holds; entries sorted by task id."""
    from evolution.difficulty import difficulty

    tasks = []
    for entry in sorted(entries, key=lambda e: e.member.task_id):
        plan, member = entry.plan, entry.member
        tasks.append(
            {
                "id": member.task_id,
                "path": f"tasks/{member.task_id}",
                "content_hash": member.content_hash,
                "parent": member.parent,
                "lineage": member.lineage,
                "generation": member.generation,
                "axis": str(plan.axis),
                "effort": str(plan.effort),
                "sequence_before": [step.model_dump() for step in plan.before.steps],
                "sequence_after": [step.model_dump() for step in plan.after.steps],
                "difficulty_before": round(difficulty(plan.before, reference).total, 6),
                "difficulty_after": round(difficulty(plan.after, reference).total, 6),
                "rationale": plan.rationale,
                "base": entry.base,
                "verdicts": [v.model_dump(mode="json", exclude=UNRELEASED) for v in entry.verdicts],
            }
        )
    return {"schema_version": SCHEMA_VERSION, "generation": generation, "tasks": tasks}


UNRELEASED = {"seconds", "measured", "findings"}
"""What of a verdict tells of the machine it was made on (times, conditions that could be had): no part of a release."""


def write_release(
    releases: Path,
    generation: int,
    released: tuple[tuple[Entry, Task], ...],
    ancestors: tuple[Member, ...],
    reference: Reference,
) -> Path:
    """Writes a generation's folder: `manifest.json`, `lineage.json`, `tasks/<task id>/`; returns it.

    Args:
        releases: The run's folder of releases.
        generation: g ≥ 1.
        released: The accepted environments of that generation.
        ancestors: Every member of earlier generations, seeds included.
        reference: Measures D_T before and after.

    Raises:
        ReleaseError: The folder exists and holds another release, or a task is not the one its entry names.
        ValueError: The members are no forest (see `lineage.forest`).
    """
    for entry, task in released:
        if task.content_hash != entry.member.content_hash:
            raise ReleaseError(
                f"{task.root} is not the environment that was accepted as {entry.member.task_id}: it has changed since"
            )
    target = release_folder(releases, generation)
    entries = tuple(entry for entry, _ in released)
    documents = {
        "manifest.json": _json(manifest(generation, entries, reference)),
        "lineage.json": _json(lineage_document((*ancestors, *(entry.member for entry in entries)))),
    }
    if target.exists():
        if any(not _holds(target / name, text) for name, text in documents.items()):
            raise ReleaseError(
                f"{target} is released already with other content; releases never change: use another --out"
            )
        return target
    aside = target.with_name(f".{target.name}.partial")
    if aside.exists():
        shutil.rmtree(aside)
    (aside / "tasks").mkdir(parents=True)
    for entry, task in released:
        task.write(aside / "tasks" / entry.member.task_id)
    for name, text in documents.items():
        (aside / name).write_text(text, encoding="utf-8")
    _flush(aside)
    aside.rename(target)
    _sync(releases)
    return target


def _holds(file: Path, text: str) -> bool:
    return file.is_file() and file.read_bytes() == text.encode()


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, sort_keys=False) + "\n"


def _flush(folder: Path) -> None:
    for path, _, files in os.walk(folder):
        for name in files:
            file = os.path.join(path, name)  # noqa: PTH118 - os.walk gives strings
            if not os.path.islink(file):  # noqa: PTH114
                _sync(file)
        _sync(path)


def _sync(path: Path | str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
