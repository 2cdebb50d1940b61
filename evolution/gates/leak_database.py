"""Reads the rows of a SQLite database that a task ships: nothing of it is run, and no more than the bounds is kept."""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING, Final

from evolution.gates.leak_streams import MOST_MEMBER_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SQLITE_MAGIC: Final = b"SQLite format 3\0"
MOST_ROWS: Final = 20_000
"""Rows read of one table."""
PATIENCE: Final = 10.0
"""Seconds for a database."""
_LEAST_LIMIT = 1000
_STEPS = 10_000
# A column that is computed when it is read may take any amount of memory, and says nothing that its row doesn't.
_COMPUTED = 2


def rows(content: bytes, on_cut: Callable[[], None] = lambda: None) -> bytes:
    """All values of all tables, each on lines of its own; an empty text for a database that cannot be read.

    Views, virtual tables and computed columns are left out: their values are those of plain tables, or of the schema.

    Args:
        content: The database.
        on_cut: Told where there is more than was read.
    """
    values: list[str] = []
    room = MOST_MEMBER_BYTES
    connection = sqlite3.connect(":memory:")
    deadline = time.monotonic() + PATIENCE
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(len(content), _LEAST_LIMIT))
        connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
        connection.text_factory = _text
        connection.deserialize(content)
        connection.execute("PRAGMA trusted_schema = OFF")
        for value in _values(connection, on_cut):
            room -= len(value) + 1
            if room < 0 or time.monotonic() > deadline:
                on_cut()
                break
            values.append(value)
    except (sqlite3.Error, OverflowError, UnicodeError):
        pass  # whatever came before the damage has been read
    finally:
        connection.close()
    return "\n".join(values).encode("utf-8", "replace")


def _values(connection: sqlite3.Connection, on_cut: Callable[[], None]) -> Iterator[str]:
    names = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
    for (table,) in connection.execute(names).fetchall():
        try:
            columns = connection.execute("SELECT name, hidden FROM pragma_table_xinfo(?)", (table,)).fetchall()
            stored = ", ".join(_quoted(name) for name, hidden in columns if hidden != _COMPUTED)
            if not stored:
                continue
            read = connection.execute(f"SELECT {stored} FROM {_quoted(table)} LIMIT {MOST_ROWS + 1}")  # noqa: S608
            for number, row in enumerate(read):
                if number == MOST_ROWS:
                    on_cut()
                    break
                yield from (_shown(value) for value in row if value is not None)
        except sqlite3.Error:
            continue  # one damaged table hides no other


def _quoted(name: object) -> str:
    return '"' + str(name).replace('"', '""') + '"'


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _shown(value: object) -> str:
    return _text(value) if isinstance(value, bytes) else str(value)
