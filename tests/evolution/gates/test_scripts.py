"""Lines of a task's files: cut, counted, and fit for evidence."""

from __future__ import annotations

from evolution.gates.scripts import MAX_LINE, Line, code_lines, lines_of, numbered_lines, with_plain_line_ends


def test_a_line_shows_nothing_that_a_terminal_obeys() -> None:
    shown = str(Line("tests/\x1b[2Jt.sh", 3, "  echo \x1b]0;title\x07\x9b31m \ud800\ttab\x00\r "))
    assert shown == "tests/t.sh:3: echo 31m ?\ttab"


def test_long_lines_are_cut(write, seed) -> None:
    task = write({**seed, "tests/long.txt": f"{'x' * (MAX_LINE + 5)}\r\n# no code\n\nshort\r\n"})
    files = task.under("tests/long.txt")
    assert [(line.number, len(line.text)) for line in lines_of(task, files)] == [
        (1, MAX_LINE), (2, 9), (3, 0), (4, 5), (5, 0),
    ]  # fmt: skip
    assert [line.number for line in code_lines(task, files)] == [1, 4]
    assert list(numbered_lines("a\nb")) == [(1, "a"), (2, "b")]


def test_line_ends() -> None:
    assert with_plain_line_ends("a\rb\r\nc\n\rd") == "a\nb\nc\n\nd"
