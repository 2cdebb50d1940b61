"""The file of rubrics: added to at its end, whatever people have written into it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolution.errors import ConfigError
from evolution.rubrics import Rubric, Rubrics, add_rubric, read_rubrics, write_rubrics

TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1)


@settings(deadline=None)
@given(st.lists(st.tuples(TEXT, st.text(st.characters(exclude_categories=("Cs",))), st.booleans()), max_size=5))
def test_what_is_written_is_read(tmp_path_factory, given_):
    path = tmp_path_factory.getbasetemp() / "rubrics.yaml"
    rubrics = Rubrics(
        version=len(given_),
        rubrics=tuple(
            Rubric(id=f"r{number:03d}", text=text, reason=reason, active=active)
            for number, (text, reason, active) in enumerate(given_)
        ),
    )
    write_rubrics(rubrics, path)
    assert read_rubrics(path) == rubrics
    added = add_rubric(path, "One more.", reason="because", task="t")
    assert read_rubrics(path) == added
    assert added.rubrics[:-1] == rubrics.rubrics
    assert (added.version, added.rubrics[-1].since) == (rubrics.version + 1,) * 2


def test_edits_by_hand_survive_an_addition(tmp_path):
    path = tmp_path / "rubrics.yaml"
    add_rubric(path, "First.")
    add_rubric(path, "Second.")
    edited = (
        path.read_text()
        .replace("text: First.", "text: 'Mine: first.'  # better so")
        .replace("active: true", "active: false", 1)
    )
    path.write_text(edited)
    added = add_rubric(path, "Third.", reason="no: reason", task="x-g001")
    assert [(rubric.id, rubric.text, rubric.active) for rubric in added.rubrics] == [
        ("r001", "Mine: first.", False),
        ("r002", "Second.", True),
        ("r003", "Third.", True),
    ]
    assert read_rubrics(path) == added
    assert [rubric.id for rubric in added.active] == ["r002", "r003"]
    assert path.read_text().startswith(edited.replace("version: 2", "version: 3"))


@pytest.mark.parametrize(
    "text",
    [
        "rubrics: []\n",
        "rubrics:\n",
        "# ours\nrubrics:\n  # the first\n  - id: r009\n    text: a\n",
        "version: 3\nrubrics:\n- id: r009\n  text: a  # said in May\n",
        "",
    ],
)
def test_layouts_that_people_write_can_be_added_to(tmp_path, text):
    path = tmp_path / "rubrics.yaml"
    path.write_text(text)
    before = read_rubrics(path)
    assert add_rubric(path, "Added.") == read_rubrics(path)
    assert [rubric.text for rubric in read_rubrics(path).rubrics] == [
        *(rubric.text for rubric in before.rubrics),
        "Added.",
    ]
    comments = [line.partition("#")[2] for line in text.splitlines() if "#" in line]
    assert all(comment in path.read_text() for comment in comments)


def test_a_layout_that_cannot_be_added_to_is_left_as_it_is(tmp_path):
    path = tmp_path / "rubrics.yaml"
    path.write_text("{version: 4, rubrics: [{id: mine, text: a}]}  # all of it\n")
    with pytest.raises(ConfigError, match=r"let `rubrics:` be the last key"):
        add_rubric(path, "Added.")
    assert path.read_text() == "{version: 4, rubrics: [{id: mine, text: a}]}  # all of it\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rubrics: [", "cannot be read as YAML"),
        ("rubrics: 3", "rubrics: "),
        ("- a", "valid dictionary"),
        ("rubrics: [{id: A B, text: x}]", "rubrics.0.id"),
        ("rubrics: [{id: a, text: x}, {id: a, text: y}]", "'a' comes twice"),
        ("rubrics: [{id: a, txt: x}]", "rubrics.0.txt"),
    ],
)
def test_a_broken_file_is_named(tmp_path, text, told):
    path = tmp_path / "rubrics.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"rubrics\.yaml: ") as raised:
        read_rubrics(path)
    assert told in str(raised.value)


def test_a_file_that_is_not_there_holds_none_unless_it_has_to_be(tmp_path):
    assert read_rubrics(tmp_path / "none.yaml") == Rubrics()
    with pytest.raises(ConfigError, match=r"python -m evolution.review makes one"):
        read_rubrics(tmp_path / "none.yaml", must_exist=True)
