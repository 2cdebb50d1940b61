"""What a scenario and a skill are made of: values that travel, and the two protocols.

A scenario lays *tables* out on disk in formats of its own and knows how to read them back; a skill asks something of
the tables, whatever they hold, in the scenario's words. A row is a mapping from *role* to value, so that a skill can
speak of the quantity where one scenario has bytes and another has cents. Times are seconds since the epoch, UTC.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from agents.embedded.library.story import Organisation
    from evolution.sequence import Step

Value = str | int
Row = Mapping[str, Value]
Roles = frozenset[str]

RECORDS = "records"
VERSIONS = "versions"
REJECTS = "rejects"
SECOND = "second"
BASELINE = "baseline"
MANIFEST = "manifest"
ENCODED = "encoded"


class LibraryError(ValueError):
    """The library was asked for something it does not know how to write; the message names it."""


def stream(*names: object) -> random.Random:
    """A generator of its own for each list of names, the same on every machine and Python."""
    key = "\x1f".join(str(name) for name in names)
    return random.Random(int.from_bytes(hashlib.sha256(key.encode()).digest(), "big"))  # noqa: S311 - data, not secrets


@dataclass(frozen=True)
class FileContent:
    """One file of a rendered task.

    Attributes:
        content: Its bytes.
        executable: Whether it has the run bits.
    """

    content: bytes
    executable: bool = False


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes:
        role: What it is to a skill: key, entity, category, group, quantity, time, text, ref, start, end, …
        name: What it is called in outputs; a word that is good as a JSON key ("bytes").
        words: What it is called in a sentence, without an article ("response size").
        unit: The unit of a quantity, plural ("bytes", "cents"); "" where there is none.
    """

    role: str
    name: str
    words: str
    unit: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of one kind, per lot, with the way to read them from disk.

    Attributes:
        name: RECORDS, VERSIONS, REJECTS, SECOND, BASELINE, MANIFEST or ENCODED.
        columns: In the order in which the reader writes them.
        rows: Lot code → rows in the order in which the reader writes them.
        rules: Sentences of the instruction: what counts as a row and what each column is.
        reader: Bash lines that write `$W/<name>.tsv` for the lot `$LOT` of the folder `$S`; no header line.
        join: For SECOND and BASELINE: the role of RECORDS that their `key` column refers to.
    """

    name: str
    columns: tuple[Column, ...]
    rows: Mapping[str, tuple[Row, ...]]
    rules: str
    reader: str
    join: str = "key"

    def column(self, role: str) -> Column:
        """The column of a role; `LibraryError` when the table has none."""
        for column in self.columns:
            if column.role == role:
                return column
        raise LibraryError(f"table {self.name} has no column for the role {role!r}")

    def at(self, role: str) -> int:
        """The column's position in the reader's lines, counted from 1 as awk, cut and sort do."""
        return self.columns.index(self.column(role)) + 1

    def pooled(self, role: str) -> list[Value]:
        """A role's values over all lots, in lot order: what skills choose their thresholds from."""
        return [row[role] for rows in self.rows.values() for row in rows]

    def tsv(self, lot: str) -> str:
        """What the reader should write for a lot."""
        roles = [column.role for column in self.columns]
        return "".join("\t".join(str(row[role]) for role in roles) + "\n" for row in self.rows[lot])


@dataclass(frozen=True)
class Words:
    """How people speak in a scenario.

    Attributes:
        record: One row of RECORDS ("request").
        records: Several of them.
        lot: What the material is split by ("edge host").
        lots: Several of them.
        task: The task's name when the scenario opens it: "access-log" in `access-log-digest`.
        heading: A few words that head its section ("Access logs of the edge hosts").
        heading_in_text: The same inside a sentence ("the access logs of the edge hosts").
        errand: Why somebody looks at it, a main clause ("capacity has to be booked for the autumn").
    """

    record: str
    records: str
    lot: str
    lots: str
    task: str
    heading: str
    heading_in_text: str
    errand: str


@dataclass(frozen=True)
class Material:
    """A scenario's data, laid out.

    Attributes:
        lots: Lot codes.
        files: Path below the step's data folder → bytes.
        layout: Sentences that say what lies where; `{root}` stands for the step's data folder.
        tables: Table name → table; its `rules` may use `{root}` too.
    """

    lots: tuple[str, ...]
    files: Mapping[str, bytes]
    layout: str
    tables: Mapping[str, Table]


class Scenario(Protocol):
    """σ: a situation with its own material on disk and its own way to read it.

    Attributes:
        name: Its name in sequences.
        rarity: 1 everyday … 5 hardly ever seen.
        tools: Commands that it needs beyond those of a plain Debian with Python.
        words: How people speak in it.
        roles: Table name → roles of its columns, and marks that are no columns: "story" (what an entity's category is
            over time tells something) and "spending" (the quantity is used up over time).
    """

    name: ClassVar[str]
    rarity: ClassVar[int]
    tools: ClassVar[tuple[str, ...]]
    words: ClassVar[Words]
    roles: ClassVar[Mapping[str, Roles]]

    def material(self, rng: random.Random, organisation: Organisation) -> Material:
        """Makes and lays out the data; nothing but the arguments may decide it."""
        ...


@dataclass(frozen=True)
class View:
    """What a skill sees of a scenario.

    Attributes:
        words: The scenario's words.
        tables: The tables, rules and layout already with real paths.
        lots: Lot codes.
        root: The step's data folder, `/app/data/<step id>`.
    """

    words: Words
    tables: Mapping[str, Table]
    lots: tuple[str, ...]
    root: str

    def table(self, name: str = RECORDS) -> Table:
        """A table by name; `LibraryError` when the scenario has none."""
        try:
            return self.tables[name]
        except KeyError:
            raise LibraryError(f"this scenario has no table {name!r}, only {sorted(self.tables)}") from None


@dataclass(frozen=True)
class Answer:
    """What is right for one lot.

    Attributes:
        expected: What the checks compare with, as it stands in `tests/expected/<step id>.json`.
        checkpoint: What the checkpoint's command prints.
        content: The whole output, where the request fixes its every byte; "" where it does not.
    """

    expected: Mapping[str, object]
    checkpoint: str
    content: str = ""


@dataclass(frozen=True)
class Posed:
    """A skill's request, ready but for the lot it is about.

    Attributes:
        file: Name of the output after the step id, with its suffix ("status-totals.json").
        request: Paragraphs that ask for it; `{out}` stands for the output's path.
        solution: Bash lines that read `$W/*.tsv` and write `$OUT`.
        answers: Lot code → what is right there.
        units: Check name → lines of Python, run with `out` (the path) and `want` (the lot's expectation) in scope.
        figure: The checkpoint in words, after "the" (`"{out}"` may stand in it).
        command: A shell command that prints the checkpoint; `{out}` stands for the output's path.
        tables: Names of the tables whose reader the solution needs.
    """

    file: str
    request: str
    solution: str
    answers: Mapping[str, Answer]
    units: Mapping[str, str]
    figure: str
    command: str
    tables: tuple[str, ...] = (RECORDS,)


class Skill(Protocol):
    """κ: what is done with a scenario's tables.

    Attributes:
        name: Its name in sequences.
        rarity: 1 everyday … 5 hardly ever seen.
        needs: Table name → the roles and marks that a scenario must have for it.
    """

    name: ClassVar[str]
    rarity: ClassVar[int]
    needs: ClassVar[Mapping[str, Roles]]

    def pose(self, rng: random.Random, view: View) -> Posed:
        """Chooses parameters and words; nothing but the arguments may decide them."""
        ...


@dataclass(frozen=True)
class Checkpoint:
    """A figure in a step's output that a later step can depend on.

    Attributes:
        path: The output.
        description: The figure in words, after "the".
        command: A shell command that prints it; prints nothing, or fails, when the output is not there.
        value: What it prints when the output is right.
        sha256: The output's SHA-256 where its every byte is fixed; "" where it is not.
    """

    path: str
    description: str
    command: str
    value: str
    sha256: str = ""


@dataclass(frozen=True)
class RenderedStep:
    """One step of a task, written out.

    Attributes:
        step: The pair it renders.
        environment: Path below `environment/` → file; all below `data/<step id>/`.
        paragraph: Its section of the instruction, without a heading.
        solution: Its section of `solution/solve.sh`, without the marker.
        units: Names of its checks, `<step id>::<unit>`.
        test_code: Python functions `check_<unit>()` for the checker, which offers them its readers and `EXPECTED`.
        tests: Path below `tests/` → file: the step's checks and expected values.
        output_path: Where its result goes.
        checkpoint: What the next step's link reads.
        tools: Commands that a solution needs.
        heading: A title for its section.
    """

    step: Step
    environment: Mapping[str, FileContent]
    paragraph: str
    solution: str
    units: tuple[str, ...]
    test_code: str
    tests: Mapping[str, FileContent]
    output_path: str
    checkpoint: Checkpoint
    tools: tuple[str, ...]
    heading: str = field(default="")


def row_digest(row: object) -> str:
    """Twelve hexadecimal digits that stand for one row of an expected result, so that no row has to be spelt out."""
    return hashlib.sha256(json.dumps(row, separators=(",", ":"), ensure_ascii=True).encode()).hexdigest()[:12]
