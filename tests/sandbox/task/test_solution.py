"""A reference solution is cut into sections by its marker lines, and cutting loses nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sandbox.task.solution import Section, renamed, section_ids, sections, without_sections

SCRIPT = """#!/bin/bash
set -e
# envolve: step one
echo 1
# envolve: step two
echo 2
"""

lines = st.sampled_from(
    ["echo hi\n", "# envolve: step a\n", "  # envolve: step b\r\n", "\n", "# envolve: steps\n", "x\r\n"]
)
scripts = st.lists(lines | st.text(max_size=12).map(lambda text: text + "\n")).map("".join) | st.text()


def test_preamble_and_one_section_per_marker() -> None:
    assert sections(SCRIPT) == (
        Section("", "#!/bin/bash\nset -e\n"),
        Section("one", "# envolve: step one\necho 1\n"),
        Section("two", "# envolve: step two\necho 2\n"),
    )


def test_dropping_a_section_drops_its_lines_alone() -> None:
    assert without_sections(SCRIPT, {"one"}) == "#!/bin/bash\nset -e\n# envolve: step two\necho 2\n"
    assert without_sections(SCRIPT, {"one", "two"}) == "#!/bin/bash\nset -e\n"


def test_a_script_without_markers_is_all_preamble() -> None:
    assert sections("echo 1\n") == (Section("", "echo 1\n"),)
    assert without_sections("echo 1\n", {"one"}) == "echo 1\n"


def test_comments_that_only_resemble_a_marker_are_none() -> None:
    assert section_ids("# envolve: step\n# see envolve: step a\n# envolve: step a b\necho # envolve: step a\n") == ()


def test_all_sections_of_an_id_go_together() -> None:
    script = "# envolve: step a\n1\n# envolve: step b\n2\n# envolve: step a\n3"
    assert section_ids(script) == ("a", "b")
    assert without_sections(script, {"a"}) == "# envolve: step b\n2\n"


@given(scripts)
def test_sections_joined_are_the_script(script: str) -> None:
    assert "".join(section.text for section in sections(script)) == script
    assert without_sections(script, ()) == script


@given(scripts, st.sets(st.sampled_from(["a", "b", "c"])))
def test_what_was_dropped_is_gone_and_dropping_again_changes_nothing(script: str, ids: set[str]) -> None:
    left = without_sections(script, ids)
    assert not ids & set(section_ids(left))
    assert without_sections(left, ids) == left
    assert [part for part in sections(script) if not part.id or part.id not in ids] == [
        part for part in sections(left) if part.id or part.text or not sections(script)[0].text
    ]


@given(scripts, st.sets(st.sampled_from(["a", "b"])), st.sets(st.sampled_from(["a", "b"])))
def test_dropping_one_after_the_other_is_dropping_both(script: str, first: set[str], second: set[str]) -> None:
    assert without_sections(without_sections(script, first), second) == without_sections(script, first | second)


def test_renaming_is_simultaneous_longest_first_and_whole_names_only() -> None:
    names = {"/app/a.txt": "/app/b.txt", "/app/b.txt": "/app/a.txt", "a.txt": "c.txt"}
    assert renamed("cp /app/a.txt /app/b.txt; cat a.txt aa.txt", names) == "cp /app/b.txt /app/a.txt; cat c.txt aa.txt"
    assert renamed("/app/out /app/output", {"/app/out": "/x"}) == "/x /app/output"


@given(st.text())
def test_renaming_nothing_changes_nothing(text: str) -> None:
    assert renamed(text, {}) == text
