"""One reward out of the original one and the new checks."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.embedded.foreign.programs import weigh

statuses = st.sampled_from(["passed", "failed"])
units = st.lists(
    st.builds(lambda step, status: {"name": f"{step}::u", "status": status}, st.sampled_from("abc"), statuses)
)
scores = st.floats(-2, 2, allow_nan=False)


@given(st.sampled_from(["binary", "fraction"]), scores, units)
def test_full_marks_are_exactly_one_and_nothing_else_is(kind, score, units):
    reward = weigh.weighed(kind, score, units)
    full = score >= 1 and all(unit["status"] == "passed" for unit in units)
    assert 0 <= reward <= 1
    assert (reward == 1) == full
    if kind == "binary":
        assert reward in (0, 1)


@given(st.floats(0, 0.4999), st.lists(st.sampled_from("abc"), min_size=1))
def test_doing_nothing_earns_less_than_before(score, steps):
    failed = [{"name": f"{step}::u", "status": "failed"} for step in steps]
    assert weigh.weighed("fraction", score, failed) <= score / 2
    assert weigh.weighed("binary", score, failed) == 0


@pytest.fixture
def logs(tmp_path, monkeypatch):
    monkeypatch.setattr(weigh, "LOGS", tmp_path)
    monkeypatch.setattr(
        weigh, "own_units", lambda: [{"name": "g1a::u", "status": "passed", "duration": 0, "message": ""}]
    )
    monkeypatch.setattr("sys.argv", ["weigh.py", "fraction", "origin"])
    return tmp_path


def reported(logs):
    return {unit["name"]: unit["status"] for unit in json.loads((logs / "ctrf.json").read_text())["results"]["tests"]}


def test_text_stays_text_and_json_stays_json(logs):
    (logs / "reward.txt").write_text("0.5\r\n")
    weigh.main()
    assert float((logs / "reward.txt").read_text()) == 0.75
    assert reported(logs) == {"origin::reward": "failed", "g1a::u": "passed"}
    (logs / "reward.json").write_text('{"reward": 1, "speed": 3}')
    (logs / "ctrf.json").write_text(
        '{"results": {"tests": [{"name": "x", "status": "passed"}, {"name": "y", "status": "skipped"}]}}'
    )
    weigh.main()
    assert json.loads((logs / "reward.json").read_text()) == {"reward": 1, "speed": 3}
    assert reported(logs) == {"origin::x": "passed", "origin::reward": "passed", "g1a::u": "passed"}


@pytest.mark.parametrize("content", ["", "nan", "one", None])
def test_where_the_original_gave_no_reward_there_is_none(logs, content):
    if content is not None:
        (logs / "reward.txt").write_text(content)
    weigh.main()
    assert not (logs / "ctrf.json").exists()
    assert content is None or (logs / "reward.txt").read_text() == content


@pytest.mark.parametrize("content", ["3", '{"a": 1, "b": 2}', '{"reward": "x"}', "{"])
def test_ambiguous_json_is_left_alone(logs, content):
    (logs / "reward.json").write_text(content)
    weigh.main()
    assert (logs / "reward.json").read_text() == content
