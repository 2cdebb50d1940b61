"""Units are read from CTRF as far as it is well formed; a skipped unit is no pass."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.verification.ctrf import MAX_MESSAGE, Unit, parse_ctrf, statuses


def report(*tests: object) -> bytes:
    return json.dumps({"results": {"tool": {"name": "bash"}, "summary": {}, "tests": tests}}).encode()


def test_units_in_the_order_of_the_file() -> None:
    units = parse_ctrf(
        report({"name": "s1::a", "status": "passed"}, {"name": "s2::b", "status": "failed", "message": "no file"})
    )
    assert units == (Unit("s1::a", "passed"), Unit("s2::b", "failed", "no file"))
    assert [unit.passed for unit in units] == [True, False]


@pytest.mark.parametrize("status", ["skipped", "pending", "other", None, 1])
def test_only_passed_is_a_pass(status: object) -> None:
    (unit,) = parse_ctrf(report({"name": "a", "status": status}))
    assert not unit.passed


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"[]", b"{}", b'{"results": []}', b'{"results": {"tests": {}}}', b"[" * 100_000]
)
def test_malformed_reports_have_no_units(content: bytes) -> None:
    assert parse_ctrf(content) == ()


def test_entries_without_a_name_are_left_out_and_messages_are_cut() -> None:
    units = parse_ctrf(report("text", {"status": "passed"}, {"name": "a", "status": "passed", "message": "x" * 9999}))
    assert [unit.name for unit in units] == ["a"]
    assert len(units[0].message) == MAX_MESSAGE


@given(st.lists(st.sampled_from(["passed", "failed", "skipped"]), min_size=1))
def test_a_name_that_comes_twice_passes_only_when_it_always_passed(found: list[str]) -> None:
    merged = statuses(Unit("a", status) for status in found)
    assert (merged["a"] == "passed") == all(status == "passed" for status in found)


@given(
    st.recursive(
        st.none() | st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_any_json_is_read_without_an_exception(value: object) -> None:
    parse_ctrf(json.dumps({"results": {"tests": value}}).encode())
    parse_ctrf(json.dumps(value).encode())
