"""Small changes of scripts and outputs, as texts."""

from __future__ import annotations

import ast
import json
import random
import sqlite3
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolution.gates.mutation_database import DEADLINE, database_changes
from evolution.gates.mutation_diff import diff
from evolution.gates.mutation_edits import Edit, generic_edits, nearby_number
from evolution.gates.mutation_languages import MAX_EDITS, code_edits, still_parses
from evolution.gates.mutation_outputs import garbage, spoiled
from evolution.gates.mutation_parts import garbled, parts_of, without_part
from evolution.gates.mutation_python import python_edits
from evolution.gates.mutation_scripts import broken_solutions
from evolution.gates.mutation_shell import shell_edits
from evolution.gates.mutation_state import Entry, _read, _write, digest
from evolution.gates.mutation_values import other_value

if TYPE_CHECKING:
    from collections.abc import Iterable

SHELL = b"""#!/bin/bash
set -euo pipefail
LOT=edge-fra
if [ "$n" -lt 3 ] && grep -v x /a; then sort -u -k2,2nr /a | head -n 2 >> /out; fi
for f in /app/*.txt; do wc -l "$f" >> /out; done
awk -F, '$3 >= 5 { n += $4 }' /a > /b
python3 - /a <<'PY'
import sys
print(sorted(sys.argv[1:]), len(sys.argv) > 1)
PY
! cmp /a /b
"""


def changed(code: bytes, edits: Iterable[Edit]) -> set[str]:
    return {edit.applied(code).decode() for edit in edits if still_parses(code, edit)}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LOT=edge-fra", "LOT=xdge-fra"),
        ("-lt 3", "-le 3"),
        ("-lt 3", "-lt 4"),
        ("grep -v x", "grep  x"),
        ("] && grep", "] || grep"),
        ("sort -u -k2", "sort  -k2"),
        ("-k2,2nr", "-k2,2n"),
        ("head -n 2", "head -n 3"),
        ("| head -n 2", "| cat"),
        ("2 >> /out", "2 > /out"),
        ("in /app/*.txt;", "in $(printf '%s\\n' /app/*.txt | sed '$d');"),
        ("$3 >= 5", "$3 > 5"),
        ("n += $4", "n -= $4"),
        ("len(sys.argv) > 1", "len(sys.argv) >= 1"),
        ("sorted(sys.argv[1:])", "sorted(sys.argv[1:], reverse=True)"),
        ("! cmp", "cmp"),
        ("awk -F, '$3 >= 5 { n += $4 }' /a > /b\n", ":\n"),
    ],
)
def test_shell_changes(old: str, new: str) -> None:
    assert SHELL.decode().replace(old, new) in changed(SHELL, shell_edits(SHELL))


def test_shell_changes_parse() -> None:
    for text in changed(SHELL, shell_edits(SHELL)):
        ran = subprocess.run(["bash", "-n"], input=text.encode(), capture_output=True, check=False)
        assert ran.returncode == 0, text


def test_what_sets_up_is_not_left_out() -> None:
    script = b"set -e\nmkdir -p /out\ncd /out\n"
    assert changed(script, shell_edits(script)) == set()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a <= b", "a < b"),
        ("x in y", "x not in y"),
        ("p and q", "p or q"),
        ("n + 1", "n - 1"),
        ("n + 1", "n + 2"),
        ("t += n", "pass"),
        ("reverse=True", "reverse=False"),
        ("max(n)", "min(n)"),
        ("for i in z", "for i in list(z)[:-1]"),
        ("not w", "w"),
        ("'key'", "'xey'"),
    ],
)
def test_python_changes(old: str, new: str) -> None:
    code = (
        "'''A docstring.'''\nfor i in z:\n    if a <= b or (p and q) or x in y or not w:\n        t += n\n"
        "r = n + 1\ns = l(reverse=True)\nm = max(n)\nd = {'key': open(f, 'r')}\n"
    )
    found = changed(code.encode(), python_edits(code.encode()))
    assert code.replace(old, new, 1) in found
    assert all("A docstring" in text and "'r')" in text for text in found)
    for text in found:
        ast.parse(text)


def test_other_code() -> None:
    code = b'# if a == 1\nif (a == 12 && b) say("x > 3");\n'
    found = changed(code, generic_edits(code))
    assert b'# if a == 1\nif (a != 12 && b) say("x > 3");\n'.decode() in found
    assert b'# if a == 1\nif (a == 13 && b) say("x > 3");\n'.decode() in found
    assert all(text.startswith("# if a == 1\n") and 'say("x > 3")' in text for text in found)


VALUES = st.recursive(
    st.integers() | st.text(max_size=5) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(value=VALUES, indent=st.sampled_from([None, 1]), ascii_only=st.booleans())
def test_parts_of_json_are_its_values(value: object, indent: int | None, ascii_only: bool) -> None:
    content = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    for part in parts_of("x.json", content):
        for start, end in part.spans:
            assert not isinstance(json.loads(content[start:end]), list | dict)
        left = without_part(content, part)
        assert left is not None
        assert json.loads(left) != value


@pytest.mark.parametrize(
    ("path", "content", "names"),
    [
        ("a.json", b'{"n": 1, "of": {"x": 2, "y": [3]}}', ["n", "of"]),
        ("a.json", b'[{"id": 1, "t": "a"}, {"id": 2, "t": "b"}]', ["id", "t"]),
        ("a.json", b'{"north": {"id": 1, "t": "a"}, "south": {"id": 2, "t": "b"}}', ["id", "t"]),
        ("a.csv", b'id,name\n1,"a, b"\n2,c\n', ["id", "name"]),
        ("a.txt", b"ann 3\nbob 4\n", ["1", "2"]),
        ("a.conf", b"# all\nhost = a\nport = 3 4\n", ["host", "port"]),
        ("a.md", b"# Title\n\nA few words here.\nAnd more.\n", []),
    ],
)
def test_parts(path: str, content: bytes, names: list[str]) -> None:
    assert [part.name for part in parts_of(path, content)] == names


def test_garbage_keeps_the_form_and_no_value() -> None:
    content = '{"café": "äb1", "n": 10, "ok": true}'.encode()
    spans = [span for part in parts_of("x.json", content) for span in part.spans]
    assert json.loads(garbled(content, spans)) == {"café": "äq4", "n": 43, "ok": True}


def entry(content: bytes) -> Entry:
    return Entry("file", content=content)


def kinds(path: str, content: bytes, text: str = "sorted", before: dict[str, Entry] | None = None) -> set[str]:
    found = spoiled(path, entry(content), before or {}, text, random.Random(1))
    assert all(item.entry != entry(content) for item in found)
    return {item.kind for item in found}


def test_spoiled_outputs() -> None:
    table = b"id,n\na,1\nb,2\nc,3\n"
    assert kinds("/o.csv", table) == {"removed", "emptied", "value", "digit", "last-line", "duplicate", "swap"}
    assert "swap" not in kinds("/o.csv", table, "Rows come in any order, first the header.")
    assert "key" in kinds("/o.json", b'{"a": 1, "b": [2]}')
    assert kinds("/o.bin", b"a\0b\xff") == {"removed", "emptied", "byte", "truncated"}
    assert "undone" in kinds("/o.csv", table, before={"/o.csv": entry(b"id,n\n")})
    assert {"comparison", "constant"} <= kinds("/o.py", b"x = 1\nprint(x > 2)\n")


def test_a_database_stays_one(tmp_path) -> None:
    place = tmp_path / "a.db"
    with sqlite3.connect(place) as opened:
        opened.executescript(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER, s TEXT); INSERT INTO t VALUES (1, 2, 'a')"
        )
    opened.close()
    found = spoiled("/a.db", entry(place.read_bytes()), {}, "", random.Random(1))
    for item in found:
        if item.kind in {"row", "value"}:
            assert item.entry is not None
            read = sqlite3.connect(":memory:")
            read.deserialize(item.entry.content)
            assert read.execute("SELECT * FROM t").fetchall() != [(1, 2, "a")]
            assert read.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            read.close()
    assert {"row", "value"} <= {item.kind for item in found}


def test_links_and_modes() -> None:
    link, rng = Entry("link", content=b"/a"), random.Random(1)
    assert {item.kind for item in spoiled("/l", link, {}, "", rng)} == {"removed", "link"}
    now, was = Entry("file", 0o600, content=b"x"), Entry("file", 0o644, content=b"x")
    assert [item.entry for item in spoiled("/f", now, {"/f": was}, "", rng)] == [was]
    assert garbage("/l", link) is None


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/app/a.js", b"f(12 + 3);\n" * 19_000),
        ("/app/a.py", b"table = [\n" + b"    12,\n" * 12_000 + b"]\n"),
        ("/app/a.sh", b"head -n 3 /a > /b\n" * 4000),
    ],
)
def test_what_has_thousands_of_changes_is_changed_a_few_times(path: str, code: bytes) -> None:
    """200 KB of numbers are no gigabytes of copies, and no hours of parsing."""
    began = time.monotonic()
    found = spoiled(path, entry(code), {}, "", random.Random(1))
    assert 3 < len(found) <= 14
    assert sum(len(item.edit.new) for item in found if item.edit) < len(code)
    assert time.monotonic() - began < 60


def test_so_many_changes_are_thought_of() -> None:
    assert len(list(code_edits("a.js", b"1;" * 100_000))) == MAX_EDITS


def test_a_solution_with_a_table_is_broken_quickly(write, seed) -> None:
    rows = "".join(f"    {n},\n" for n in range(12_000))
    task = write({**seed, "solution/table.py": f"TABLE = [\n{rows}]\n"})
    began = time.monotonic()
    assert len(broken_solutions(task, task.steps[0], 10, random.Random(1))) == 10
    assert time.monotonic() - began < 30


def test_long_texts_without_an_end_to_a_quote() -> None:
    code = b'"' + b'\\"' * 100_000 + b"\n" + b'x("") + 1;\n' * 10_000
    began = time.monotonic()
    assert len(list(generic_edits(code))) == 10_000
    assert time.monotonic() - began < 20


def test_a_long_diff_is_short_and_quick() -> None:
    before = b"".join(b"%d\n" % (n * 7919 % 997) for n in range(60_000))
    began = time.monotonic()
    assert "@@ 1 @@\n  -0\n  +x" in diff(before, b"x" + before[1:], "a")
    assert "too much" in diff(before * 4, before, "a")
    assert time.monotonic() - began < 10


HUGE = b"9" * 5000


@pytest.mark.parametrize("number", [b"9", b"09", b"099", b"10", b"129", b"0"])
def test_a_nearby_number(number: bytes) -> None:
    assert nearby_number(number) == str(int(number) + 1).encode().rjust(len(number), b"0")


def test_numbers_of_any_length() -> None:
    assert nearby_number(HUGE) == b"1" + b"0" * 5000
    assert kinds("/o.txt", HUGE + b"\n" + HUGE) >= {"digit"}
    assert kinds("/o.json", b'{"a": ' + HUGE + b"}") >= {"digit"}
    for code in (b"x = " + HUGE, b"x = 0x" + HUGE + b"\ny = 1\n"):
        changed(code, python_edits(code))
    assert len(list(generic_edits(b"x = " + HUGE + b";"))) == 1
    script = b"x=" + HUGE + b"\nhead -n " + HUGE + b" /a > /b\n"
    assert changed(script, shell_edits(script))


def test_long_sums() -> None:
    code = b"x = " + b" + ".join([b"a"] * 700) + b"\ny = " + b" + ".join([b"a"] * 2500)
    assert {edit.kind for edit in python_edits(code)} == {"arithmetic"}


def test_python_that_is_not_as_it_looks() -> None:
    code = b"\xef\xbb\xbfx = 1\n"
    assert changed(code, python_edits(code)) == {"\ufeffx = 2\n"}
    utf7 = b"# coding: utf-7\nx = '+AAoACgAK-'\ny = 1\n"
    assert "y = 2" in "".join(changed(utf7, python_edits(utf7)))


def test_scripts_in_scripts_in_scripts() -> None:
    deep = b"".join(b"cat > /a <<'E%04dX'\n#!/bin/sh\n" % n for n in range(600))
    deep += b"sort -u /a > /b\n" + b"".join(b"E%04dX\n" % n for n in reversed(range(600)))
    assert {len(edit.programs) for edit in code_edits("/a.sh", deep)} == {1, 2, 3}


@pytest.mark.parametrize(
    "content",
    [
        b'{"a": "\\ud83d", "b": 1}',
        b'{"a": 1, "\\ud83d": 2}',
        '{"a": 1, "b": "x"}'.encode("utf-16"),
        '{"a": 1, "b": "x"}'.encode("utf-16-le"),
        '{"é": [1], "b": "ü"}'.encode("utf-16"),
        b"[" * 900 + b"1" + b"]" * 900 + b"\n",
        b'{"x":\n ' + b'{"a": ' * 400 + b"1" + b"}" * 400 + b"}",
    ],
    ids=range(7),
)
def test_json_that_is_odd(content: bytes) -> None:
    for item in spoiled("/o.json", entry(content), {}, "", random.Random(1)):
        made = garbage("/o.json", entry(content), item.part)
        assert made is None or made.entry != entry(content)
        if item.kind == "key":
            assert item.entry is not None
            json.loads(item.entry.content.decode())
    assert all(content[start:end] for part in parts_of("/o.json", content) for start, end in part.spans)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"-1", b"-2"),
        (b"-10", b"-11"),
        (b"-9", b"-10"),
        (b"-09", b"-10"),
        (b"7", b"8"),
        (b"90.5", b"80.5"),
        (b"-0.5", b"-1.5"),
        (b"95e3", b"85e3"),
        (b'"\\nab"', b'"\\nqb"'),
        (b'"\\u00ab"', b'"\\u10ab"'),
        (b'"k": true', None),
    ],
)
def test_another_value_is_of_the_same_sort(value: bytes, expected: bytes | None) -> None:
    edit = other_value(value, random.Random(1))
    assert edit is not None
    assert edit.changes(value)
    if expected is None:
        json.loads(b"{" + edit.applied(value) + b"}")
    else:
        assert edit.applied(value) == expected


@given(value=VALUES | st.floats(allow_nan=False, allow_infinity=False), seed=st.integers(0, 9))
def test_another_value_of_json_is_json(value: object, seed: int) -> None:
    text = json.dumps(value).encode()
    edit = other_value(text, random.Random(seed))
    if edit is not None:
        assert json.loads(edit.applied(text)) != value or edit.applied(text) != text


def test_a_link_and_a_name_that_are_no_utf8(tmp_path) -> None:
    link, path = Entry("link", 0o777, content=b"/a\xff"), "/app/\udcff"
    _write(tmp_path / "a.tar", path, link)
    assert _read(tmp_path / "a.tar", frozenset([path])) == {path: link}
    assert digest({path: link}, [path]) != digest({}, [path])


def database(script: str) -> bytes:
    opened = sqlite3.connect(":memory:")
    opened.executescript("CREATE TABLE t(id INTEGER PRIMARY KEY, n); INSERT INTO t VALUES (1, 2)")
    opened.executescript(script)
    content = opened.serialize()
    opened.close()
    return content


ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
GENERATED = "DROP TABLE t; CREATE TABLE u(a, b AS (length(hex(zeroblob(9000000))))); INSERT INTO u VALUES (1)"
CHECKED = "DROP TABLE t; CREATE TABLE u(a CHECK (a < length(hex(zeroblob(9000000))))); INSERT INTO u VALUES (1)"
SPOOFED = "INSERT INTO sqlite_master SELECT 'table', 'v', 'v', 0, 'CREATE TABLE w(a)' FROM t;"


@pytest.mark.parametrize(
    ("script", "changes"),
    [
        pytest.param(f"CREATE TRIGGER a AFTER UPDATE ON t BEGIN INSERT INTO t(n) {ENDLESS}; END", 0, id="update"),
        pytest.param(f"CREATE TRIGGER a BEFORE DELETE ON t BEGIN INSERT INTO t(n) {ENDLESS}; END", 0, id="delete"),
        pytest.param(GENERATED, 0, id="generated"),
        pytest.param(CHECKED, 1, id="check"),
        pytest.param(f"CREATE VIEW v AS {ENDLESS}", 4, id="view"),
        pytest.param(f"CREATE VIEW v AS {ENDLESS}; PRAGMA writable_schema=ON; {SPOOFED}", 0, id="view-as-table"),
    ],
)
def test_what_a_database_brings_does_not_run(script: str, changes: int) -> None:
    content = database(script)
    began = time.monotonic()
    assert len(list(database_changes(content, random.Random(1)))) == changes
    assert time.monotonic() - began < DEADLINE
    assert "removed" in kinds("/o.db", content)


def test_a_database_that_takes_long_is_given_up(monkeypatch) -> None:
    monkeypatch.setattr("evolution.gates.mutation_database.DEADLINE", -1.0)
    rows = "INSERT INTO t(n) WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 5000) SELECT x FROM c"
    assert list(database_changes(database(rows), random.Random(1))) == []


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/a.jq", b".a == 1"),
        ("/a.sql", b"SELECT a FROM t WHERE a >= 12"),
        ("/a.ts", b"if (a == 1) {}"),
        ("/a.java", b"if (a == 1) {}"),
        ("/a", b"#!/usr/bin/awk -f\n$1 == 3"),
        ("/a", b"#!/usr/bin/env python3\nprint(1)"),
    ],
)
def test_outputs_and_solutions_know_the_same_languages(write, seed, path: str, content: bytes) -> None:
    expected = {edit.kind for edit in code_edits(path, content)}
    assert expected
    assert expected <= kinds(path, content)
    task = write({**seed, f"solution{path}": content})
    broken = broken_solutions(task, task.steps[0], 200, random.Random(1))
    assert expected <= {one.kind for one in broken if one.inside == path[1:]}
