"""The table `[metadata.evolution]` of a task: where it stands in its lineage and what its ξ is.

The host stamps it on a child after the child was submitted; an author never writes it. A seed may hold a part of it
(its sequence and its data seed).
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import tomlkit
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from tomlkit.items import AoT, Comment, InlineTable, Table, Whitespace

from evolution.plan import Axis, Effort
from evolution.sequence import Sequence
from sandbox.errors import TaskError
from sandbox.task.toml import CONFIG_FILE, field_error, parse_toml

if TYPE_CHECKING:
    from pathlib import Path

    from tomlkit.items import Item

    from sandbox.task import Task

_PLACE: Final = ("metadata", "evolution")
_Count = Annotated[int, Field(ge=0, strict=True)]


class Evolution(BaseModel):
    """What this project knows about one environment.

    Attributes:
        sequence: ξ; in TOML one `[[metadata.evolution.sequence]]` for each step, in order.
        lineage: Name of the lineage, "" for a seed that is in none yet.
        generation: 0 for a seed, the parent's plus one for a child.
        parent: The parent's content hash, "" for a seed.
        axis: The difficulty axis it was evolved along; `None` for a seed.
        effort: The effort it was evolved with; `None` for a seed.
        seed: The lineage's data seed, the same in all its generations.
        reward: Whether the verifier writes 0 or 1, or the fraction of units that pass; `None` where nobody said.
        source: Where the seed came from.
        license: The licence it came under.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sequence: Sequence
    lineage: str = ""
    generation: _Count = 0
    parent: str = ""
    axis: Axis | None = None
    effort: Effort | None = None
    seed: _Count = 0
    reward: Literal["binary", "fraction"] | None = None
    source: str | None = None
    license: str | None = None

    @field_validator("sequence", mode="before")
    @classmethod
    def _steps_of_an_array_of_tables(cls, value: object) -> object:
        return {"steps": value} if isinstance(value, list) else value

    def table(self) -> dict[str, Any]:
        """The TOML table, plain values, without what is unset; the sequence comes last."""
        values = self.model_dump(mode="json", exclude={"sequence"}, exclude_none=True)
        return {**values, "sequence": [step.model_dump() for step in self.sequence.steps]}


def read_evolution(task: Task) -> Evolution | None:
    """Reads the table of a task; `None` when it has none.

    Raises:
        TaskError: A field of it is wrong; names the field.
    """
    table = task.evolution
    if not table and "evolution" not in task.config.metadata:
        return None
    try:
        return Evolution.model_validate(table)
    except ValidationError as error:
        raise field_error(error, dict(table), prefix=_PLACE) from None


def stamp(task: Task, evolution: Evolution, target: Path, *, name: str) -> Task:
    """Copies a task to a new folder under a new name and with this table; nothing else in it changes.

    Args:
        task: The task as it was submitted.
        evolution: Replaces the whole table that may be there.
        target: The new folder.
        name: `[task] name`, "org/name".

    Raises:
        TaskError: As `Task.with_toml`; or the table cannot be put into this `task.toml` without changing other parts.
        OSError: The disk refuses.
    """

    def edit(document: tomlkit.TOMLDocument) -> None:
        before = parse_toml(tomlkit.dumps(document).encode())
        _set_name(document, name)
        _set_table(document, evolution)
        _check_rest(before, parse_toml(tomlkit.dumps(document).encode()), evolution, name)

    return task.with_toml(edit, target)


def _set_name(document: tomlkit.TOMLDocument, name: str) -> None:
    if "task" not in document:
        document["task"] = tomlkit.table()
    table: Any = document["task"]
    if table.get("name") != name:
        table["name"] = name


def _set_table(document: tomlkit.TOMLDocument, evolution: Evolution) -> None:
    if "metadata" not in document:
        document["metadata"] = tomlkit.table(is_super_table=True)
    metadata: Any = document["metadata"]
    values = evolution.table()
    if isinstance(metadata, InlineTable):
        inline = tomlkit.inline_table()
        inline.update(values)
        metadata["evolution"] = inline
        return
    tail = _trailing(metadata["evolution"]) if "evolution" in metadata else []
    steps = tomlkit.aot()
    for step in values.pop("sequence"):
        steps.append(tomlkit.item(step))
    table = tomlkit.table()
    table.update(values)
    table["sequence"] = steps
    last = steps[-1]
    for item in tail or [tomlkit.nl()]:
        last.add(item)
    metadata["evolution"] = table


def _trailing(item: Item) -> list[Comment | Whitespace]:
    """Blank lines and comments at the end of a table: in the file they stand over the next table and belong to it."""
    while True:
        if isinstance(item, AoT) and len(item):
            item = item[-1]
            continue
        if not isinstance(item, Table):
            return []
        body = item.value.body
        end = len(body)
        while end and isinstance(body[end - 1][1], Comment | Whitespace):
            end -= 1
        if end == 0 or end < len(body) or not isinstance(body[end - 1][1], Table | AoT):
            return [copy.copy(entry) for _, entry in body[end:] if isinstance(entry, Comment | Whitespace)]
        item = body[end - 1][1]


def _check_rest(before: dict[str, object], after: dict[str, object], evolution: Evolution, name: str) -> None:
    """Makes sure of what is promised: the table and the name are as asked, and all the rest says what it said."""
    expected: dict[str, Any] = copy.deepcopy(before)
    expected.setdefault("task", {})["name"] = name
    expected.setdefault("metadata", {})["evolution"] = evolution.table()
    if after != expected:
        message = "cannot take the table without changing other parts; write [task] and [metadata] as plain tables"
        raise TaskError(message, file=CONFIG_FILE, field=".".join(_PLACE))
