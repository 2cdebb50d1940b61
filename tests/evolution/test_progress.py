"""What a run tells: one plain line per event, or one row per lineage."""

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from evolution.progress import Event, LiveTable, PlainLines, shown, silent

GATE = Event("csv-report", 2, "environment", axis="skill", attempt=1, gate="oracle", message="failed: oracle/below-one")


def test_a_line_says_where_and_what():
    assert GATE.line() == "csv-report: g002 skill environment 1 oracle: failed: oracle/below-one"
    assert Event("csv-report", 0, "seed", message="checking").line() == "csv-report: seed: checking"
    assert Event("csv-report", 1, "done", message="accepted").line() == "csv-report: g001 done: accepted"


@given(st.text())
def test_a_line_is_one_line_whatever_the_message(message):
    line = Event("a", 1, "plan", message=message).line()
    assert len(line.splitlines()) == 1
    assert line.isprintable()


def test_a_message_cannot_steer_the_terminal():
    assert Event("a", 1, "plan", message="x\x1b[2J\r\ny").line() == "a: g001 plan: x [2J y"


def test_plain_lines_leave_a_gates_pass_out():
    stream = io.StringIO()
    listen = PlainLines(stream)
    listen(GATE)
    listen(Event("csv-report", 2, "environment", gate="noop", message="passed"))
    listen(Event("csv-report", 2, "done", message="accepted"))
    assert stream.getvalue().splitlines() == [GATE.line(), "csv-report: g002 done: accepted"]


def test_the_table_has_a_row_per_lineage_and_counts_what_was_accepted():
    table = LiveTable()
    for event in (
        Event("b", 1, "plan", axis="length", attempt=1, message="proposing"),
        Event("a", 1, "done", message="accepted along skill"),
        Event("a", 2, "done", message="accepted along length"),
        Event("a", 3, "done", message="ended: every axis failed"),
    ):
        table(event)
    console = Console(file=io.StringIO(), width=120)
    console.print(table)
    header, first, second = console.file.getvalue().splitlines()
    assert header.split() == ["lineage", "generation", "axis", "loop", "attempt", "gate", "accepted"]
    assert first.split() == ["a", "3", "done", "ended:", "every", "axis", "failed", "2"]
    assert second.split() == ["b", "1", "length", "plan", "1", "proposing", "0"]


def test_names_are_no_markup():
    table = LiveTable()
    table(Event("[red]a[/red]", 1, "plan", message="[bold]"))
    console = Console(file=io.StringIO(), width=120)
    console.print(table)
    assert "[red]a[/red]" in console.file.getvalue()
    assert "[bold]" in console.file.getvalue()


def test_without_a_terminal_lines_go_to_standard_error(capsys):
    with shown() as listen:
        listen(GATE)
    assert capsys.readouterr() == ("", GATE.line() + "\n")


def test_live_draws_the_table(capsys):
    with shown(live=True) as listen:
        listen(GATE)
    assert "csv-report" in capsys.readouterr().err


def test_silent_says_nothing(capsys):
    silent(GATE)
    assert capsys.readouterr() == ("", "")
