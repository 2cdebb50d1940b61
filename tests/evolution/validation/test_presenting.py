"""What is shown and written: JUnit that other programs read, a table and lines that no task's name can break."""

from __future__ import annotations

import io
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped
from rich.console import Console

from evolution.gates.outcomes import accepted, finding, infrastructure, invalid, judged
from evolution.validation.closing import exit_code, summary_lines, task_lines
from evolution.validation.junit import write_junit
from evolution.validation.report import TaskReport
from evolution.validation.showing import Lines, LiveScreen
from evolution.validation.suppressions import Suppression, Suppressions
from evolution.verdict import Verdict

HOSTILE = "a\x1b[2J\x1b]0;owned\x07<b>&\"'\n\x00\ufffe\udc80]]>\u202ez"


def report(*verdicts: Verdict, task: str = "tests/a", **more: object) -> TaskReport:
    return TaskReport.model_validate({"path": Path("/t/a"), "task": task, "verdicts": verdicts, **more})


def read_back(reports: list[TaskReport], path: Path) -> JUnitXml:
    write_junit(reports, path)
    ET.parse(path)  # noqa: S314 - written a line above
    return JUnitXml.fromfile(str(path))


def test_junit_tells_whose_fault_it_is(tmp_path):
    known = judged("rubric", [finding("rubric", "clock", "m").model_copy(update={"suppressed": "its subject"})])
    reports = [
        report(
            known,
            invalid("oracle", "below-one", "reward 0"),
            infrastructure("noop", "sandbox", "lost"),
            not_asked=("rerun",),
            seconds=3.0,
        ),
        report(accepted("oracle"), task="tests/b"),
        TaskReport(path=Path("/t/c"), task="c", unreadable="task.toml: missing"),
    ]
    document = read_back(reports, tmp_path / "junit.xml")
    suites = list(document)
    assert [suite.name for suite in suites] == ["tests/a", "tests/b", "c"]
    cases = {case.name: case for case in suites[0]}
    assert {name: [type(result) for result in case.result] for name, case in cases.items()} == {
        "rubric": [],
        "oracle": [Failure],
        "noop": [Error],
        "rerun": [Skipped],
    }
    assert cases["oracle"].result[0].text == "reward 0"
    assert cases["oracle"].result[0].type == "oracle/below-one"
    assert cases["rubric"].system_out == "suppressed rubric/clock: its subject"
    assert [case.result[0].type for case in suites[2]] == ["task/unreadable"]
    assert (document.tests, document.failures, document.errors, document.skipped) == (6, 2, 1, 1)
    assert [file.name for file in tmp_path.iterdir()] == ["junit.xml"]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=40), st.text(max_size=200))
def test_any_name_and_any_evidence_makes_xml_that_can_be_read(tmp_path_factory, name, evidence):
    path = tmp_path_factory.getbasetemp() / "any.xml"
    (suite,) = read_back([report(invalid("oracle", "x", evidence), task=name or "a")], path)
    (case,) = suite
    printable = "".join(c for c in evidence if c.isprintable() and c != "\ufffe")
    seen = "".join(c for c in case.result[0].text or "" if c.isprintable())
    assert seen == printable.encode("utf-8", "replace").decode()


def test_a_hostile_name_is_written_and_shown_without_what_a_terminal_obeys(tmp_path):
    bad = report(invalid("oracle", "x", HOSTILE), task=HOSTILE, path=Path("/t") / HOSTILE.replace("\x00", ""))
    (suite,) = read_back([bad], tmp_path / "junit.xml")
    assert "<b>&\"'" in suite.name
    screen, stream = LiveScreen(total=3), io.StringIO()
    screen.started(bad.path)
    screen.verdict(bad.path, accepted("build"))
    under_way = drawn(screen)
    screen.finished(bad)
    lines = Lines(total=3, stream=stream)
    lines.finished(bad)
    lines.postponed(bad.path)
    shown = [under_way, drawn(screen), stream.getvalue(), *task_lines(bad)]
    for text in shown:
        assert not set(text) & set("\x1b\x07\x00\x9b")
    for text in (*shown[:3], shown[3]):
        assert "\u202e" not in text
    assert len(stream.getvalue().splitlines()) == 2


def drawn(screen: LiveScreen) -> str:
    console = Console(file=io.StringIO(), width=120)
    console.print(screen)
    return console.file.getvalue()


def test_the_table_shows_what_is_through_what_is_under_way_and_what_comes_again():
    screen = LiveScreen(total=4)
    for name in ("a", "b", "c"):
        screen.started(Path(name))
    screen.verdict(Path("b"), accepted("build"))
    screen.finished(report(invalid("oracle", "below-one", "no"), path=Path("a")))
    screen.postponed(Path("c"))
    text = drawn(screen)
    assert "1 of 4 tasks" in text
    assert "invalid 1" in text
    assert "oracle/below-one" in text
    assert [line.split() for line in text.splitlines() if line.startswith("b")] == [["b", "…", "build"]]
    assert "to be tried again 1" in text
    assert not [line for line in text.splitlines() if line.startswith("c")]
    screen.started(Path("c"))
    assert "to be tried again" not in drawn(screen)


def test_only_the_last_that_were_refused_are_kept_in_the_table():
    screen = LiveScreen(total=100)
    for number in range(40):
        screen.finished(report(invalid("oracle", "x", ""), task=f"t{number}"))
    assert len(drawn(screen).splitlines()) < 20
    assert "t39" in drawn(screen)


@pytest.mark.parametrize(
    ("reports", "code"),
    [
        ([], 0),
        ([report(accepted("a"))], 0),
        ([report(infrastructure("a", "x", "")), report(accepted("a"))], 3),
        ([report(infrastructure("a", "x", "")), report(invalid("a", "x", ""))], 1),
        ([report(infrastructure("a", "x", ""), invalid("b", "x", ""))], 1),
    ],
)
def test_exit_codes(reports, code):
    assert exit_code(reports) == code


def test_the_summary_counts_tasks_by_finding_and_names_useless_entries():
    twice = judged("rubric", [finding("rubric", "clock", "a"), finding("rubric", "clock", "b")])
    reports = [
        report(twice),
        report(twice, invalid("noop", "passes", "")),
        report(accepted("noop"), stored=True, verifier_seconds=100.0),
    ]
    entry = Suppression(code="leak/*", task="x", where="y", reason="z")
    suppressions = Suppressions([entry, entry.model_copy(update={"task": "not-here"})])
    suppressions.note("x", ())
    lines = list(summary_lines(reports, suppressions, 2.0))
    assert (
        lines[0]
        == "3 tasks in 2.0 s; 1 kept from an earlier run; their own tests ran 0.0 s, side by side: 1 accepted, 2 invalid"
    )
    assert [line.split() for line in lines[2:4]] == [["rubric/clock", "2"], ["noop/passes", "1"]]
    assert lines[4:] == ["warning: the suppression of leak/* for x at y covers nothing: take it out"]


def test_a_report_survives_being_kept():
    made = report(
        judged("rubric", [finding("rubric", "clock", HOSTILE.encode("utf-8", "replace").decode(), "w")]),
        content_hash="h",
    )
    assert TaskReport.model_validate_json(made.model_dump_json()) == made
