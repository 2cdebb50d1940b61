"""Finds held-out instructions: of Harbor tasks anywhere below a folder, and in .md, .txt and .jsonl files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from evolution.gates.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

FIELDS: Final = ("instruction", "prompt", "question", "text", "problem_statement", "description")
"""Fields of a line of a .jsonl file that may hold the instruction; the first that is there counts."""
NAMES: Final = ("name", "id", "task_id", "instance_id")
_TASK: Final = ("task.toml", "task.yaml")
_SUFFIXES: Final = (".md", ".txt", ".jsonl")


def held_out_texts(paths: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """Names and texts of all held-out instructions, in order of their paths.

    Of a task folder only instructions are read (`instruction.md`, those of its steps); in any other folder every file
    of the three kinds.

    Raises:
        GateError: A path does not exist, holds no instruction, or is not UTF-8; a line of a .jsonl file has none.
    """
    for path in paths:
        count = 0
        for name, text in _below(path, path.name):
            count += 1
            yield name, text
        if not count:
            raise GateError(
                f"held_out: {path} holds no instruction: expected task folders, or .md, .txt or .jsonl files"
            )


def _below(path: Path, name: str) -> Iterator[tuple[str, str]]:
    if path.is_file():
        yield from _of_file(path, name)
        return
    if not path.is_dir():
        raise GateError(f"held_out: {path} does not exist")
    try:
        entries = sorted(path.iterdir())
    except OSError as error:
        raise GateError(f"held_out: {path} cannot be read: {error}") from error
    if any((path / one).is_file() for one in _TASK):
        found = [path / "instruction.md", *sorted(path.glob("steps/*/instruction.md"))]
        for one in found:
            if one.is_file():
                step = "" if one.parent == path else f", step {one.parent.name}"
                yield f"task {name}{step}", _read(one)
        return
    for entry in entries:
        if entry.is_dir() and not entry.is_symlink() and not entry.name.startswith("."):
            yield from _below(entry, f"{name}/{entry.name}")
        elif entry.is_file() and entry.suffix in _SUFFIXES:
            yield from _of_file(entry, f"{name}/{entry.name}")


def _of_file(path: Path, name: str) -> Iterator[tuple[str, str]]:
    if path.suffix != ".jsonl":
        yield f"text {name}", _read(path)
        return
    for number, line in enumerate(_read(path).split("\n"), start=1):
        if line.strip():
            called, text = _of_line(line, f"{path}:{number}")
            yield f"{name}:{number}{f' ({called})' if called else ''}", text


def _of_line(line: str, where: str) -> tuple[str, str]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise GateError(f"held_out: {where}: no JSON: {error}") from error
    if isinstance(row, str):
        return "", row
    if isinstance(row, dict):
        for key in FIELDS:
            if isinstance(row.get(key), str):
                return str(next((row[name] for name in NAMES if row.get(name)), "")), row[key]
    raise GateError(f"held_out: {where}: expected a string, or an object with one of the fields {', '.join(FIELDS)}")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise GateError(f"held_out: {path} cannot be read: {error}") from error
