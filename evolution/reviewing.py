"""What a reviewer is shown of a released environment, and what became of reviews."""

from __future__ import annotations

import difflib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from evolution.errors import EvolutionError
from evolution.gates.outcomes import shown_safely
from evolution.gates.scripts import text_of
from evolution.run_folder import SEEDS_FOLDER, TRANSCRIPTS_FOLDER
from sandbox.errors import TaskError
from sandbox.task import Task, TaskFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REVIEWS_FILE = "reviews.jsonl"
LONGEST_FILE_DIFF = 400
"""Lines of one file's difference that are shown."""
LONGEST_MESSAGE = 6000
"""Characters of one message of a conversation that are shown."""
_SHOWN = (
    "id",
    "path",
    "content_hash",
    "parent",
    "generation",
    "axis",
    "effort",
    "sequence_before",
    "sequence_after",
    "difficulty_before",
    "difficulty_after",
    "verdicts",
)


class ReviewError(EvolutionError):
    """A run cannot be reviewed: it is none, or a file of it is broken."""


@dataclass(frozen=True, slots=True)
class Review:
    """A person's word on one environment.

    Attributes:
        task_id: Which.
        verdict: The word.
        reason: Why, when rejected.
        rubric: Id of the rubric that the reason became; "" when it became none.
    """

    task_id: str
    verdict: Literal["accepted", "rejected"]
    reason: str = ""
    rubric: str = ""


@dataclass(frozen=True, slots=True)
class Released:
    """An environment of a release.

    Attributes:
        entry: Its entry in the manifest.
        task: The environment.
        parent: What it was evolved from; `None` where that is not in the run folder any more.
        transcripts: Files of the conversations it came about in.
    """

    entry: dict[str, Any]
    task: Task
    parent: Task | None
    transcripts: tuple[Path, ...]

    @property
    def task_id(self) -> str:
        """Its id."""
        return str(self.entry["id"])


def released(run: Path) -> Iterator[Released]:
    """Every released environment of a run, by generation and id.

    Raises:
        ReviewError: It is no run folder, or a manifest or an environment in it cannot be read.
    """
    by_hash: dict[str, Path] = {}
    for folder in sorted((run / SEEDS_FOLDER).glob("*")):
        by_hash[_read(folder).content_hash] = folder
    for manifest in check_run(run):
        for entry in _entries(manifest):
            folder = manifest.parent / entry["path"]
            by_hash[entry["content_hash"]] = folder
            parent = by_hash.get(entry["parent"])
            yield Released(
                entry,
                _read(folder),
                _read(parent) if parent is not None else None,
                tuple(sorted((run / TRANSCRIPTS_FOLDER / entry["id"]).glob("*.jsonl"))),
            )


def check_run(run: Path) -> list[Path]:
    """The manifests of a run's releases, oldest first.

    Raises:
        ReviewError: There is none.
    """
    manifests = sorted(run.glob("releases/generation-*/manifest.json"))
    if not manifests:
        raise ReviewError(f"{run}: no release in it; give the folder of a run (its --out)")
    return manifests


def _entries(manifest: Path) -> list[dict[str, Any]]:
    try:
        tasks: list[dict[str, Any]] = json.loads(manifest.read_text(encoding="utf-8"))["tasks"]
        missing = sorted({name for entry in tasks for name in _SHOWN if name not in entry})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ReviewError(f"{manifest}: cannot be read as a manifest ({error})") from error
    if missing:
        raise ReviewError(f"{manifest}: entries lack {', '.join(missing)}; was it written by another version?")
    return tasks


def reviews(run: Path) -> dict[str, Review]:
    """What was said so far, the last word on each environment.

    Raises:
        ReviewError: The file is broken; says where.
    """
    file = run / REVIEWS_FILE
    found: dict[str, Review] = {}
    if not file.exists():
        return found
    for number, line in enumerate(file.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            review = Review(**json.loads(line))
        except (ValueError, TypeError) as error:
            raise ReviewError(f"{file}:{number}: is no review ({error}); mend or remove the line") from error
        found[review.task_id] = review
    return found


def record(run: Path, review: Review) -> None:
    """Adds a review to the run's file.

    Raises:
        OSError: It cannot be written.
    """
    with (run / REVIEWS_FILE).open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(review)) + "\n")


def difference(parent: Task | None, task: Task) -> str:
    """The unified difference of two environments, file by file; binary ones by name and size."""
    if parent is None:
        return "(its parent is not in the run folder)"
    before = {file.path: file for file in parent.files}
    after = {file.path: file for file in task.files}
    parts: list[str] = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old is not None and new is not None and old.sha256 == new.sha256 and old.executable == new.executable:
            continue
        texts = ["" if file is None else text_of(owner, file) for owner, file in ((parent, old), (task, new))]
        if texts[0] is None or texts[1] is None:
            sizes = " → ".join("absent" if file is None else f"{file.size} bytes" for file in (old, new))
            parts.append(f"binary {path}: {sizes}")
            continue
        lines = list(
            difflib.unified_diff(
                (texts[0] or "").splitlines(),
                (texts[1] or "").splitlines(),
                f"parent/{path}" if old else "/dev/null",
                path if new else "/dev/null",
                lineterm="",
            )
        )
        if not lines:
            parts.append(f"{path}: {_being(old)} → {_being(new)}")
        more = len(lines) - LONGEST_FILE_DIFF
        parts += lines[:LONGEST_FILE_DIFF] + ([f"… {more} more lines of {path}"] if more > 0 else [])
    return shown_safely("\n".join(parts))


def _being(file: TaskFile | None) -> str:
    """What a file is, where its text tells no difference."""
    if file is None:
        return "absent"
    if file.link:
        return f"link to {file.link}"
    return f"{file.size} bytes, {'with' if file.executable else 'without'} its run bit"


def tests_text(task: Task) -> str:
    """The text files of the verifier, one after the other."""
    from evolution.gates.scripts import tests_of

    parts = []
    for file in tests_of(task):
        text = text_of(task, file)
        parts.append(
            f"--- {file.path}\n{text}" if text is not None else f"--- {file.path} ({file.size} bytes, no text)"
        )
    return shown_safely("\n".join(parts))


def transcript_text(files: tuple[Path, ...]) -> str:
    """The conversations as readable text."""
    parts = []
    for file in files:
        parts.append(f"=== {file.stem}")
        # Not splitlines: a message may hold characters that Python takes for ends of lines, and JSON does not.
        for line in file.read_text(encoding="utf-8", errors="replace").split("\n"):
            if not line.strip():
                continue
            try:
                entry = json.loads(line)
            except ValueError:
                entry = None
            parts.append(_message(entry) if isinstance(entry, dict) else line)
    return shown_safely("\n".join(parts)) or "(no transcript is kept)"


def _message(entry: dict[str, Any]) -> str:
    """One line of `agents.transcript.Transcript`."""
    content = entry.get("content", "")
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    name = f" {entry['name']}" if "name" in entry else ""
    calls = "".join(
        f"\n  → {call.get('name')} {_cut(json.dumps(call.get('args'), ensure_ascii=False))}"
        for call in (*entry.get("tool_calls", ()), *entry.get("invalid_tool_calls", ()))
    )
    return f"[{entry.get('type', 'message')}{name}] {_cut(text)}{calls}"


def _cut(text: str) -> str:
    more = len(text) - LONGEST_MESSAGE
    return text if more <= 0 else f"{text[:LONGEST_MESSAGE]}… ({more} more characters)"


def _read(folder: Path) -> Task:
    try:
        return Task.read(folder)
    except TaskError as error:
        raise ReviewError(f"{folder}: cannot be read: {error}") from error
