"""The journal: written once, never changed, and there after a SIGKILL."""

import asyncio
import signal
import sqlite3
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolution.errors import JournalError
from evolution.journal import SCHEMA_VERSION, Journal, Usage


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.db"


async def test_gives_back_what_was_recorded(path):
    with Journal(path) as journal:
        assert await journal.finished("a/g001/result") is None
        await journal.record("a/g001/result", "value", kind="result")
        assert await journal.finished("a/g001/result") == "value"
    with Journal(path) as journal:
        assert await journal.finished("a/g001/result") == "value"


async def test_the_same_again_is_fine_and_another_value_is_refused(path):
    with Journal(path) as journal:
        await journal.record("key", "one", kind="call", input_tokens=5)
        await journal.record("key", "one", kind="call", input_tokens=7)
        with pytest.raises(JournalError, match="key is finished already, with another outcome"):
            await journal.record("key", "two", kind="call")
        assert await journal.finished("key") == "one"
        assert journal.usage().input_tokens == 5


async def test_entries_come_by_kind_in_the_order_of_keys(path):
    with Journal(path) as journal:
        for key, kind in (("b", "result"), ("c", "call"), ("a", "result")):
            await journal.record(key, key.upper(), kind=kind)
        assert list(journal.entries("result")) == [("a", "A"), ("b", "B")]
        assert list(journal.entries("nothing")) == []


async def test_usage_sums_calls_only_and_counts_unpriced_ones_apart(path):
    with Journal(path) as journal:
        assert journal.usage() == Usage()
        await journal.record("1", "x", kind="call", cost_usd=0.25, input_tokens=10, output_tokens=1, seconds=0.5)
        await journal.record("2", "x", kind="call", cost_usd=0.5, input_tokens=20, output_tokens=2, seconds=0.25)
        await journal.record("3", "x", kind="call", input_tokens=40)
        await journal.record("4", "x", kind="result", cost_usd=100.0, input_tokens=1000)
        expected = Usage(calls=3, input_tokens=70, output_tokens=3, cost_usd=0.75, unpriced_calls=1, seconds=0.75)
        assert journal.usage() == expected


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=50), max_size=8))
def test_any_key_and_value_come_back(tmp_path_factory, entries):
    async def write_and_read():
        with Journal(tmp_path_factory.mktemp("any") / "run.db") as journal:
            for key, value in entries.items():
                await journal.record(key, value, kind="call")
            return {key: await journal.finished(key) for key in entries}, dict(journal.entries("call"))

    assert asyncio.run(write_and_read()) == (entries, entries)


WRITER = """
import asyncio, sys
from pathlib import Path
from evolution.journal import Journal

async def write():
    with Journal(Path(sys.argv[1])) as journal:
        number = 0
        while True:
            await journal.record(f"{number:06d}", f"value {number}", kind="call")
            print(number, flush=True)
            number += 1

asyncio.run(write())
"""


@pytest.mark.parametrize("wanted", [1, 60])
def test_a_killed_writer_loses_nothing_it_acknowledged(path, wanted):
    with subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, text=True) as writer:
        acknowledged = [int(writer.stdout.readline()) for _ in range(wanted)]
        writer.kill()
        acknowledged += [int(line) for line in writer.stdout if line.endswith("\n")]
    assert writer.returncode == -signal.SIGKILL
    with Journal(path) as journal:
        entries = dict(journal.entries("call"))
        assert len(acknowledged) >= wanted
        for number in acknowledged:
            assert entries[f"{number:06d}"] == f"value {number}"
        asyncio.run(journal.record("after", "x", kind="call"))  # and it can be written on


def test_another_file_is_refused_and_left_alone(path):
    path.write_text("no database at all, " * 100)
    with pytest.raises(JournalError, match=r"run\.db is not a journal .* --fresh"):
        Journal(path)
    assert path.read_text() == "no database at all, " * 100


def test_another_programs_database_is_refused_and_left_alone(path):
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE entry (something TEXT)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(JournalError, match="another program's database"):
        Journal(path)
    assert path.read_bytes() == before


def test_a_newer_schema_is_refused(path):
    Journal(path).close()
    with sqlite3.connect(path) as newer:
        newer.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    newer.close()
    with pytest.raises(JournalError, match=f"has schema {SCHEMA_VERSION + 1}, .* update envolve"):
        Journal(path)


def test_a_folder_is_no_journal(tmp_path):
    with pytest.raises(JournalError, match="cannot be opened"):
        Journal(tmp_path)


def test_an_empty_file_becomes_a_journal(path):
    # What a process leaves that was killed while it made the file.
    path.touch()
    Journal(path).close()
    Journal(path).close()


async def test_a_disk_that_refuses_is_named(path):
    with Journal(path) as journal:
        journal._db.execute("PRAGMA max_page_count = 1")  # SQLite's own "disk is full"
        with pytest.raises(JournalError, match=r"big cannot be recorded .* full"):
            await journal.record("big", "x" * 100_000, kind="call")


def test_closes_twice(path):
    journal = Journal(path)
    journal.close()
    journal.close()
