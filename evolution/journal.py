"""The journal of a run: finished work by deterministic key, in SQLite, so that a killed run can be taken up again.

An entry is written once, when the work behind it is finished, and is never changed: replaying a run looks each key up
before doing the work. Keys are made of (lineage, generation, axis, attempt, …), never of times or order of arrival.
"""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

from evolution.errors import JournalError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCHEMA_VERSION = 1
_APPLICATION_ID = 0x656E766F  # "envo", in the file's header: tells a journal from other SQLite files
# One transaction: a process killed while it makes the file leaves an empty one.
_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE entry (
    key TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    value TEXT NOT NULL,
    cost_usd REAL,
    input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    seconds REAL NOT NULL DEFAULT 0,
    finished_at REAL NOT NULL
) STRICT;
CREATE INDEX entry_kind ON entry (kind, key);
PRAGMA application_id = {_APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
COMMIT;
"""


class CallJournal(Protocol):
    """What the model gateway and the graphs need of a journal."""

    async def finished(self, key: str) -> str | None:
        """The value recorded under `key`, or `None` when that work is not finished."""
        ...

    async def record(
        self,
        key: str,
        value: str,
        *,
        kind: str,
        cost_usd: float | None = None,
        input_tokens: int = 0,
        output_tokens: int = 0,
        seconds: float = 0.0,
    ) -> None:
        """Records finished work; recording the same key again with another value is an error."""
        ...


@dataclass(frozen=True, slots=True)
class Usage:
    """What a run has used so far.

    Attributes:
        calls: Finished model calls.
        input_tokens: Their prompt tokens.
        output_tokens: Their completion tokens.
        cost_usd: Dollars of the calls whose model has a price.
        unpriced_calls: Calls of models without a price, counted in tokens only.
        seconds: Wall-clock seconds spent waiting for models, summed over calls.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced_calls: int = 0
    seconds: float = 0.0


class Journal:
    """A `CallJournal` on disk.

    Writes are committed one by one (WAL): a SIGKILL loses nothing that `record` returned from. A single statement takes
    about 0.1 ms, so it runs on the event loop's own thread.

    Raises:
        JournalError: The file is no journal, or one of a newer schema; it is left as it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._db = sqlite3.connect(path, isolation_level=None)
        except sqlite3.Error as error:
            raise JournalError(f"{path} cannot be opened as a journal ({error})") from error
        try:
            self._prepare()
        except sqlite3.Error as error:
            self.close()
            raise JournalError(
                f"{path} is not a journal of this program ({error}); move it away or use --fresh"
            ) from error
        except JournalError:
            self.close()
            raise

    def _prepare(self) -> None:
        """Makes the table in a new file; looks at another one before anything in it is changed."""
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables:
            (application,) = self._db.execute("PRAGMA application_id").fetchone()
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            if application != _APPLICATION_ID:
                raise JournalError(f"{self.path} is another program's database; move it away or use --fresh")
            if version != SCHEMA_VERSION:
                raise JournalError(
                    f"{self.path} has schema {version}, this program knows {SCHEMA_VERSION}: update envolve"
                )
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        if not tables:
            self._db.executescript(_SCHEMA)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file; safe to call twice."""
        self._db.close()

    async def finished(self, key: str) -> str | None:
        """See `CallJournal.finished`."""
        row = self._db.execute("SELECT value FROM entry WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    async def record(
        self,
        key: str,
        value: str,
        *,
        kind: str,
        cost_usd: float | None = None,
        input_tokens: int = 0,
        output_tokens: int = 0,
        seconds: float = 0.0,
    ) -> None:
        """See `CallJournal.record`.

        Raises:
            JournalError: The key is recorded already with another value, or the file cannot be written (disk full).
        """
        row = (key, kind, value, cost_usd, input_tokens, output_tokens, seconds, time.time())
        insert = "INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING"
        try:
            added = self._db.execute(insert, row).rowcount
        except sqlite3.Error as error:
            raise JournalError(f"{key} cannot be recorded in {self.path} ({error})") from error
        if not added and await self.finished(key) != value:
            raise JournalError(f"{key} is finished already, with another outcome; keys must name one piece of work")

    def entries(self, kind: str) -> Iterator[tuple[str, str]]:
        """All (key, value) of a kind, in the order of their keys."""
        yield from self._db.execute("SELECT key, value FROM entry WHERE kind = ? ORDER BY key", (kind,))

    def usage(self, prefix: str = "", *, kind: str = "call") -> Usage:
        """What the model calls have used, over all starts of the run.

        Args:
            prefix: Count only entries whose key begins so.
            kind: Count entries of another kind: of gates' `verdicts`, only the seconds say something.
        """
        row = self._db.execute(
            "SELECT count(*), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0),"
            " coalesce(sum(cost_usd), 0.0), coalesce(sum(cost_usd IS NULL), 0), coalesce(sum(seconds), 0.0)"
            " FROM entry WHERE kind = ? AND substr(key, 1, ?) = ?",
            (kind, len(prefix), prefix),
        ).fetchone()
        return Usage(*row)
