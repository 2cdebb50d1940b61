"""Small changes of scripts and outputs, as texts."""

from __future__ import annotations

import ast
import json
import random
import sqlite3
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolution.gates.mutation_edits import generic_edits
from evolution.gates.mutation_outputs import garbage, spoiled
from evolution.gates.mutation_parts import garbled, parts_of, without_part
from evolution.gates.mutation_python import python_edits
from evolution.gates.mutation_shell import shell_edits
from evolution.gates.mutation_state import Entry

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


def changed(code: bytes, edits: object) -> set[str]:
    return {edit.applied(code).decode() for edit in edits}  # type: ignore[attr-defined]


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
