"""Which respects of form an instruction leaves open, and other forms that hold the same."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolution.gates import alternative_variants
from evolution.gates.alternative_solutions import _write, same_but_for_form
from evolution.gates.alternative_variants import RESPECTS, Form, independent, open_respects, rewritten
from evolution.gates.alternative_wording import is_open
from evolution.gates.errors import GateError
from evolution.gates.scripts import MAX_LINE

PATH = "/app/out/result.json"
WRITE = f"Write `{PATH}`, a JSON object with `a` and `b`. "


@pytest.mark.parametrize(
    ("respect", "said"),
    [
        ("json-whitespace", "It is indented by two spaces."),
        ("json-whitespace", "Write compact JSON."),
        ("json-whitespace", "The JSON stands on one line."),
        ("json-whitespace", "It has to be exactly as shown."),
        ("json-whitespace", "The report is indented like `/app/samples/old.json`."),
        ("json-whitespace", "`/app/out/sums` holds the SHA-256 of this file."),
        ("json-whitespace", "The output must be byte-identical for everybody."),
        ("json-whitespace", "Write canonical JSON."),
        ("json-key-order", "Keys are sorted."),
        ("json-key-order", "The keys come in this order."),
        ("json-key-order", "Fields in alphabetical order."),
        ("json-key-order", "Write it as `json.dumps(value, sort_keys=True)` does."),
        ("final-newline", "Files end with a newline."),
        ("final-newline", "Every line of the output ends with `\\n`."),
        ("json-escapes", "The output is plain ASCII."),
        ("number-format", "Figures are rounded to two decimals."),
        ("final-newline", "Give the SHA-256 of this file as well."),
    ],
)
def test_what_is_said_is_fixed(respect, said: str) -> None:
    assert is_open(WRITE, PATH, respect)
    assert not is_open(f"{WRITE}{said}", PATH, respect)


@pytest.mark.parametrize(
    ("respect", "said"),
    [
        ("json-key-order", "The order of keys does not matter, the order of lists does."),
        ("json-whitespace", "\n\n- CSV and text results have every line ended by a single line feed."),
        ("final-newline", "\n\n- CSV and text results have every line ended by a single line feed."),
        ("json-whitespace", "The clocks changed, so mind each line's zone."),
        ("json-whitespace", "The status is `/app/data/a/<code>.gz`: stanzas with a blank line between files."),
        ("json-whitespace", "`seal` is the SHA-256 of a text with one line for each file."),
        ("json-whitespace", "Look it up by the SHA-256 of the value of `head` in `/app/out/r.json` (no line feed)."),
        ("json-whitespace", "It has exactly the keys named above."),
        ("json-key-order", "The list in `a` is sorted."),
    ],
)
def test_what_is_said_of_something_else_is_open(respect, said: str) -> None:
    assert is_open(f"{WRITE}{said}", PATH, respect)


def test_letter_case_is_open_only_where_hexadecimal_is_said() -> None:
    assert not is_open("Write the SHA-256 to /app/sum.txt.", "/app/sum.txt", "letter-case")
    assert is_open("Write the digest in hexadecimal to /app/sum.txt.", "/app/sum.txt", "letter-case")
    assert not is_open("Write the digest in lower-case hexadecimal to /app/sum.txt.", "/app/sum.txt", "letter-case")
    chained = (
        "A link is the SHA-256 of the one before (64 lower-case hexadecimal digits). Write the last to /app/sum.txt."
    )
    told = f"{chained} The first hexadecimal digit of what is in /app/sum.txt leads on."
    assert not is_open(told, "/app/sum.txt", "letter-case")
    assert is_open(told.replace("lower-case ", ""), "/app/sum.txt", "letter-case")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(
    VALUES,
    st.sets(st.sampled_from(RESPECTS[:5])),
    st.sampled_from((0, 1)),
    st.sampled_from((None, 1, 2)),
    st.booleans(),
)
def test_another_form_holds_the_same(value, respects, way: int, indent, escaped: bool) -> None:
    content = json.dumps(value, indent=indent, ensure_ascii=escaped).encode("utf-8", "surrogatepass")
    assert json.loads(rewritten(PATH, content, Form(frozenset(respects), way))) == json.loads(content)


@pytest.mark.parametrize("content", [b"\xff{}", b'{"a": 1.50}', b'{"a": 1, "a": 2}', b"[1, 2", b'{"a": NaN}'])
def test_what_another_form_could_lose_stays(content: bytes) -> None:
    respects = frozenset(RESPECTS[:4])
    assert all(rewritten(PATH, content, Form(respects, way)) == content for way in (0, 1))


def test_text_of_several_lines_keeps_its_last_line_end() -> None:
    form = Form(frozenset({"final-newline"}))
    assert rewritten("/a.txt", b"1\n2\n", form) == b"1\n2\n"
    assert rewritten("/a.txt", b"1\n2", form) == b"1\n2\n"
    assert rewritten("/a.txt", b"7\n", form) == b"7"


def test_a_file_whose_checksum_is_in_another_has_no_free_form() -> None:
    listed = hashlib.sha256(b"{}").hexdigest().encode()
    assert list(independent({PATH: b"{}", "/app/sums": listed})) == ["/app/sums"]
    assert open_respects(WRITE, PATH, b'{"a": 1, "b": 2}') >= {"json-whitespace", "json-key-order", "final-newline"}


@pytest.mark.parametrize(
    "content",
    [b'{"a": "\\ud800"}', b"[" * 900 + b"1" + b"]" * 900, b'{"a": ' * 900 + b"1" + b"}" * 900, b"[" * 200_000],
)
@pytest.mark.parametrize("path", [PATH, "/app/out/result.jsonl"])
def test_what_cannot_be_written_again_stays(path: str, content: bytes) -> None:
    kept = [rewritten(path, content, Form(frozenset({respect}), way)) for respect in RESPECTS[:4] for way in (0, 1)]
    assert set(kept) == {content}


def test_lines_of_json_stay_lines() -> None:
    content = b'{"a": 1.0, "b": [2.0]}\n\n{"a": 2.5}\n'
    path = "/app/out/rows.jsonl"
    assert rewritten(path, content, Form(frozenset({"number-format"}))) == b'{"a": 1, "b": [2]}\n\n{"a": 2.5}\n'
    assert rewritten(path, content, Form(frozenset({"final-newline"}))) == content
    compact = rewritten(path, content, Form(frozenset({"json-whitespace"}), 1))
    assert compact == b'{"a":1.0,"b":[2.0]}\n\n{"a":2.5}\n'


def test_the_layout_of_an_output_is_found_once(monkeypatch) -> None:
    dumped = []
    dumps = json.dumps
    content = dumps({"paid": [1.0] * 50, "ü": "\u00fc"}, indent=2).encode()

    def counted(value, **options) -> str:
        dumped.append(value)
        return dumps(value, **options)

    monkeypatch.setattr(alternative_variants.json, "dumps", counted)
    assert "json-key-order" in open_respects(WRITE, PATH, content)
    assert len(dumped) <= 12  # one for each form that is tried, and those that tell how it was written


ALL = frozenset(RESPECTS)
DIGEST = "ab" * 16


@pytest.mark.parametrize(
    ("ours", "theirs", "closed", "same"),
    [
        ('{"a": 1}', '{"a": true}', "", False),
        ('{"a": 1, "b": [1]}', '{"b":[1.0],"a":1}', "", True),
        ('{"a": 1}', '{"a": 1.0}', "number-format", False),
        ('{"a": 1.5, "b": 2}', '{"b":2,"a":1.5}', "number-format", True),
        ('{"a": 1}', '{"a": "1"}', "number-format", False),
        ('{"a": 1}', '{"a": 2, "a": 1}', "", False),
        ('{"a": "\\u00fc"}', '{"a": "ü"}', "", True),
        ('{"a": "\\u00fc"}', '{"a":"ü"}', "json-escapes", False),
        ('{"a": 1}\n', '{"a":1}', "final-newline", False),
        ('{"a": 1}\n', '{"a":1}', "", True),
        ("yes\n\n\n", "yes", "", False),
        ("Yes\n", "yes\n", "", False),
        (f"Sum {DIGEST}\n", f"Sum {DIGEST.upper()}\n", "", True),
        (f"Sum {DIGEST}\n", f"Sum {DIGEST.upper()}\n", "letter-case", False),
        ("[" * 900 + "1" + "]" * 900, "[" * 900 + "1 " + "]" * 900, "", False),
    ],
)
def test_outputs_that_are_the_same_but_for_their_form(ours: str, theirs: str, closed: str, same: bool) -> None:
    assert same_but_for_form(ours.encode(), theirs.encode(), ALL - {closed}) is same


@pytest.mark.parametrize(
    "names", [("a", "a/b"), ("a/b", "a"), ("../a",), ("/etc/a",), ("a\0b",), ("\ud800",), ("",), ("x" * 300,)]
)
def test_files_of_an_author_that_cannot_lie_together(tmp_path: Path, names: tuple[str, ...]) -> None:
    with pytest.raises(GateError, match="of an alternative solution"):
        _write(dict.fromkeys(names, b""), tmp_path / "solution")


@pytest.mark.parametrize("pump", ["order of keys ", "key order ", "whitespace ", "sha-1 of ", "keys ", "hex ", ". "])
def test_long_sentences_leave_nothing_open(pump: str) -> None:
    told = f"{WRITE}\n\n{pump * (200_000 // len(pump))}"
    open_ones = [respect for respect in RESPECTS if is_open(told, PATH, respect)]
    assert open_ones == [] or len(pump) == 2
    assert is_open(f"{WRITE}The order of keys {'x ' * 60} does not matter.", PATH, "json-key-order")
    assert not is_open(f"{WRITE}\n\n{'x' * (MAX_LINE + 1)}", PATH, "json-whitespace")
