"""The checker that rendered tasks carry: what it takes for a fault, and what it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agents.embedded.library import run_checks

CHECKS = """
want = expected("s1")
def check_right():
    same(load_json(str(HERE / "out.json"))["total"], want.total, "total")
def check_rows():
    same_rows(load_json(str(HERE / "out.json"))["rows"], want.rows, "rows")
"""


@pytest.fixture
def tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tests"
    (folder / "checks").mkdir(parents=True)
    (folder / "expected").mkdir()
    (folder / "checks/s1.py").write_text(CHECKS)
    rows = [run_checks.row_digest(row) for row in ("a", "b")]
    (folder / "expected/s1.json").write_text(json.dumps({"total": 3, "rows": rows}))
    monkeypatch.setattr(run_checks, "TESTS", folder)
    monkeypatch.setattr(run_checks, "LOGS", tmp_path / "logs")
    monkeypatch.setattr(run_checks, "HERE", tmp_path, raising=False)
    return tmp_path


def scored(folder: Path, reward: str) -> tuple[str, dict[str, str]]:
    run_checks.main(reward)
    report = json.loads((folder / "logs/ctrf.json").read_text())["results"]
    assert report["summary"]["tests"] == len(report["tests"])
    units = {test["name"]: test["status"] for test in report["tests"]}
    return (folder / "logs/reward.txt").read_text().strip(), units


@pytest.mark.parametrize(
    ("text", "binary", "fraction"),
    [
        (None, "0", "0.0"),
        ('{"total": 3, "rows": ["a", "b"]}', "1", "1"),
        ('{"total": 3, "rows": ["b", "a"]}', "0", "0.5"),
        ('{"total": true, "rows": ["a", "b"]}', "0", "0.5"),
        ('{"total": 3, "rows": ["a", "b", "c"]}', "0", "0.5"),
        ('{"total": 3, "rows": ["a"]}', "0", "0.5"),
        ('{"total": 3}', "0", "0.5"),
        ('{"total": 3, "rows": {"0": "a"}}', "0", "0.5"),
        ("[3]", "0", "0.0"),
        ("not json", "0", "0.0"),
        ("\ufeff{}", "0", "0.0"),
    ],
)
def test_rewards(tests: Path, text: str | None, binary: str, fraction: str) -> None:
    if text is not None:
        (tests / "out.json").write_text(text, encoding="utf-8")
    assert scored(tests, "binary")[0] == binary
    got, units = scored(tests, "fraction")
    assert got == fraction
    assert set(units) == {"s1::right", "s1::rows"}


def test_a_result_that_is_no_text_or_a_folder_fails_its_units_alone(tests: Path) -> None:
    (tests / "out.json").write_bytes(b"\xff\xfe\x00")
    assert scored(tests, "binary") == ("0", {"s1::right": "failed", "s1::rows": "failed"})
    (tests / "out.json").unlink()
    (tests / "out.json").mkdir()
    assert scored(tests, "binary")[0] == "0"


@pytest.mark.parametrize(("text", "said"), [("a\r\n", "carriage returns"), ("a", "not ended by a line feed")])
def test_lines_have_to_end_as_asked(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "x.txt"
    file.write_bytes(text.encode())
    with pytest.raises(AssertionError, match=said):
        run_checks.load_lines(str(file))


def test_messages_do_not_give_the_answer_away(tests: Path) -> None:
    (tests / "out.json").write_text('{"total": 4, "rows": []}')
    run_checks.main("binary")
    messages = [test["message"] for test in json.loads((tests / "logs/ctrf.json").read_text())["results"]["tests"]]
    assert messages == ["AssertionError: total: got 4, which is not right", "AssertionError: rows: 0 rows, not 2"]
