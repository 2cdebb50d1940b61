"""ξ and its three edits: each changes what its axis says and nothing else."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evolution.sequence import Sequence, Step, is_name

names = st.text(string.ascii_lowercase + string.digits + "-", min_size=1, max_size=20).filter(lambda n: n[0] != "-")


@st.composite
def sequences(draw):
    ids = draw(st.lists(names, min_size=1, max_size=6, unique=True))
    return Sequence(steps=tuple(Step(id=i, scenario=draw(names), skill=draw(names)) for i in ids))


def three_steps():
    return Sequence(
        steps=(
            Step(id="s1", scenario="log-rotation", skill="grep"),
            Step(id="s2", scenario="csv-export", skill="awk"),
            Step(id="s3", scenario="backup", skill="tar"),
        )
    )


def test_reads_as_its_pairs_in_order():
    assert str(three_steps()) == "log-rotation/grep → csv-export/awk → backup/tar"
    assert three_steps().ids == ("s1", "s2", "s3")


def test_length_inserts_before_a_position():
    new = Step(id="s4", scenario="checksums", skill="sha256sum")
    assert three_steps().insert(1, (new,)).ids == ("s1", "s4", "s2", "s3")
    assert three_steps().insert(3, (new,)).ids == ("s1", "s2", "s3", "s4")


def test_scenario_keeps_the_skill_and_skill_keeps_the_scenario():
    assert str(three_steps().replace_scenario(1, "ledger")) == "log-rotation/grep → ledger/awk → backup/tar"
    assert str(three_steps().replace_skill(1, "jq")) == "log-rotation/grep → csv-export/jq → backup/tar"


@given(sequences(), st.data())
def test_insert_keeps_every_step_and_their_order(sequence, data):
    position = data.draw(st.integers(0, len(sequence)))
    new = Step(id="inserted--one", scenario="a", skill="b")
    longer = sequence.insert(position, (new,))
    assert longer.steps[position] == new
    assert tuple(s for s in longer.steps if s != new) == sequence.steps
    assert len(longer) == len(sequence) + 1


@given(sequences(), names, st.data())
def test_replacing_touches_one_name_of_one_step(sequence, name, data):
    position = data.draw(st.integers(0, len(sequence) - 1))
    for edited, field in (
        (sequence.replace_scenario(position, name), "scenario"),
        (sequence.replace_skill(position, name), "skill"),
    ):
        assert edited.ids == sequence.ids
        assert getattr(edited.steps[position], field) == name
        for i, (old, new) in enumerate(zip(sequence.steps, edited.steps, strict=True)):
            left = {k: v for k, v in new.model_dump().items() if i != position or k != field}
            assert left.items() <= old.model_dump().items()


@given(sequences())
def test_survives_json(sequence):
    assert Sequence.model_validate_json(sequence.model_dump_json()) == sequence


def test_an_id_comes_once():
    step = Step(id="s1", scenario="a", skill="b")
    with pytest.raises(ValidationError, match="these come twice: s1"):
        Sequence(steps=(step, step))
    with pytest.raises(ValidationError, match="these come twice: s2"):
        three_steps().insert(0, (Step(id="s2", scenario="a", skill="b"),))


def test_no_sequence_is_empty():
    with pytest.raises(ValidationError):
        Sequence(steps=())


@pytest.mark.parametrize("position", [-1, 4])
def test_insert_names_a_position_outside(position):
    with pytest.raises(IndexError, match=rf"position {position} is outside 0\.\.3"):
        three_steps().insert(position, (Step(id="s4", scenario="a", skill="b"),))


@pytest.mark.parametrize("position", [-1, 3])
@pytest.mark.parametrize("edit", [Sequence.replace_scenario, Sequence.replace_skill])
def test_replacing_names_a_position_outside(edit, position):
    with pytest.raises(IndexError, match=rf"position {position} is outside 0\.\.2"):
        edit(three_steps(), position, "a")


BAD_NAMES = ["", "-a", "A", "a b", "a_b", "a/b", "../a", "ä", "a\n", "a" * 65]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_bad_names_are_refused_everywhere(name):
    assert not is_name(name)
    for field in ("id", "scenario", "skill"):
        with pytest.raises(ValidationError):
            Step(**{"id": "a", "scenario": "a", "skill": "a", field: name})
    with pytest.raises(ValidationError):
        three_steps().replace_skill(0, name)


@given(st.text(max_size=5) | names)
def test_is_name_agrees_with_the_model(text):
    try:
        Step(id=text, scenario="a", skill="a")
    except ValidationError:
        assert not is_name(text)
    else:
        assert is_name(text)
