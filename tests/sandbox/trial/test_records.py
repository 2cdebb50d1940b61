"""Trajectories and results as they are written down."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.trial.agent import Observation, ToolCall, Turn, Usage
from sandbox.trial.atif import AtifAgent, trajectory
from sandbox.trial.fetched import move_fetched

texts = st.text(st.sampled_from("a\u00e9\ud800\0\n\x1b\U0001f600"), max_size=6)
values = st.recursive(st.none() | st.booleans() | st.integers() | texts, lambda inner: st.lists(inner, max_size=3))
calls = st.lists(st.builds(ToolCall, st.uuids().map(str), st.just("bash"), st.dictionaries(texts, values)), max_size=3)


@st.composite
def turns(draw: st.DrawFn) -> Turn:
    if draw(st.booleans()):
        return Turn(draw(st.sampled_from(["user", "system"])), draw(texts))
    made = tuple(draw(calls))
    seen = tuple(Observation(draw(texts), call.id) for call in made)
    return Turn("agent", draw(texts), draw(texts), made, seen, usage=draw(st.none() | st.builds(Usage)))


@given(st.lists(turns(), min_size=1, max_size=5))
def test_every_trajectory_is_json_whose_steps_count_from_one(told: list[Turn]) -> None:
    written = trajectory(AtifAgent(name="a", version="1"), told, None)
    read = json.loads(written.as_json().encode())
    assert read["schema_version"] == "ATIF-v1.8"
    assert [step["step_id"] for step in read["steps"]] == list(range(1, len(told) + 1))
    for step, turn in zip(read["steps"], told, strict=True):
        assert [call["tool_call_id"] for call in step.get("tool_calls", ())] == [call.id for call in turn.calls]


def test_the_whole_usage_stands_at_the_end() -> None:
    told = [Turn("agent", usage=Usage(5, 2, 1, 0.1), at=1.5)]
    written = json.loads(trajectory(AtifAgent(name="a", version="1"), told, Usage(9, 3, 2, 0.2)).as_json())
    assert written["final_metrics"] == {
        "total_prompt_tokens": 9,
        "total_completion_tokens": 2,
        "total_cached_tokens": 3,
        "total_cost_usd": 0.2,
        "total_steps": 1,
    }
    assert written["steps"][0]["metrics"]["cached_tokens"] == 2
    assert written["steps"][0]["timestamp"] == "1970-01-01T00:00:01.500000+00:00"


@pytest.mark.parametrize("links", [True, False])
def test_what_was_fetched_is_moved_without_links_that_lead_out(tmp_path: Path, links: bool) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "folder").mkdir(parents=True)
    (source / "plain").write_text("new")
    (source / "folder" / "deep").write_text("deep")
    for name, to in {"in": "plain", "folder/up": "../plain", "out": "../other", "far": "/etc/passwd"}.items():
        (source / name).symlink_to(to)
    os.mkfifo(source / "pipe")
    (target / "plain").mkdir(parents=True)  # a folder is in the way
    dropped = move_fetched(source, target, links=links)
    assert (target / "plain").read_text() == "new"
    assert (target / "folder" / "deep").read_text() == "deep"
    assert dropped == (("far", "out", "pipe") if links else ("far", "folder/up", "in", "out", "pipe"))
    assert (target / "in").is_symlink() is links
    assert not source.exists()
