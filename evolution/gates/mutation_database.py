"""An SQLite output with one row less or one value changed: made by SQL on a copy, which somebody else designed."""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

MAGIC: Final = b"SQLite format 3\0"
DEADLINE: Final = 5.0
"""Seconds that one change may take."""
MAX_ROWS: Final = 5000
_SLACK: Final = 1 << 16
_STEPS: Final = 1000  # of SQLite's machine, between two looks at the clock


def database_changes(content: bytes, rng: random.Random) -> Iterator[tuple[str, str, bytes]]:
    """A row deleted, values changed, each in a table drawn from those with rows.

    None of what is no sound database, or takes too long. Nothing that the database brings runs: tables with triggers
    and with generated columns are left out, and views are not read.

    Yields:
        "row" or "value", what was done for a person, and the database with the change.
    """
    for kind in ("row", "value", "value", "value"):
        opened = sqlite3.connect(":memory:")
        try:
            opened.deserialize(content)
            _bound(opened, len(content))
            says = _change(opened, kind, rng)
            if not says:
                continue
            opened.commit()
            changed = opened.serialize()
        except (sqlite3.Error, MemoryError):
            return
        finally:
            opened.close()
        yield kind, says, changed


def _bound(opened: sqlite3.Connection, size: int) -> None:
    """No value is larger than the database was, no trigger fires, no view or recursion is read, time is short."""
    opened.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, size + _SLACK)
    opened.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 0)
    opened.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 200)  # matching takes no steps that are counted
    opened.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    deadline = time.monotonic() + DEADLINE
    opened.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
    opened.execute("PRAGMA trusted_schema=OFF")
    opened.set_authorizer(_allowed)


def _allowed(action: int, _one: str | None, _two: str | None, _database: str | None, within: str | None) -> int:
    """Refuses what a trigger or a view does (`within` is its name), and recursion."""
    return sqlite3.SQLITE_DENY if within is not None or action == sqlite3.SQLITE_RECURSIVE else sqlite3.SQLITE_OK


def _change(opened: sqlite3.Connection, kind: str, rng: random.Random) -> str:
    tables = [name for name in _tables(opened) if opened.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone()]  # noqa: S608 - quoted
    if not tables:
        return ""
    table = rng.choice(tables)
    rows = [row[0] for row in opened.execute(f"SELECT rowid FROM {table} ORDER BY rowid LIMIT {MAX_ROWS}")]  # noqa: S608 - quoted
    row = rng.choice(rows)
    if kind == "row":
        opened.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))  # noqa: S608 - quoted
        return f"row {row} of table {table} deleted"
    columns = [column[1] for column in opened.execute(f"PRAGMA table_info({table})") if not column[5]]
    columns = [name for name in columns if '"' not in name]
    if not columns:
        return ""
    column = rng.choice(columns)
    opened.execute(
        f"UPDATE {table} SET \"{column}\" = CASE WHEN typeof(\"{column}\") IN ('integer', 'real') "  # noqa: S608 - quoted
        f"THEN \"{column}\" + 1 ELSE coalesce(\"{column}\", '') || 'x' END WHERE rowid = ?",
        (row,),
    )
    return f"{column} of row {row} of table {table} changed"


def _tables(opened: sqlite3.Connection) -> list[str]:
    """Plain tables, quoted; a schema may be written by hand, so names may be anything."""
    with_triggers = {
        str(row[0]).lower() for row in opened.execute("SELECT tbl_name FROM sqlite_master WHERE type = 'trigger'")
    }
    names = opened.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'create virtual %' ORDER BY name"
    )
    plain = [
        f'"{name}"'
        for (name,) in names.fetchall()
        if isinstance(name, str)
        and not name.startswith("sqlite_")
        and '"' not in name
        and name.lower() not in with_triggers
    ]
    return [table for table in plain if not any(row[6] for row in opened.execute(f"PRAGMA table_xinfo({table})"))]
