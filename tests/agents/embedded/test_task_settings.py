"""Edits of task.toml leave the rest of it as it was, byte for byte."""

import tomllib

import pytest

from agents.embedded.conversation import CannotError
from agents.embedded.task_settings import at, carried_over, with_artifacts, with_steps, with_tools

TOML = """# ours
schema_version = "1.4"   # as of spring
[task]
name = "a/b"

[metadata]
tools = ["git"]
level = 3

[[steps]]
name = "one"
[steps.agent]
timeout_sec = 5

[[steps]]
name = "two"
"""


def test_tools_are_added_once():
    edited = with_tools(TOML, ["awk", "git"])
    assert tomllib.loads(edited)["metadata"]["tools"] == ["awk", "git"]
    assert edited.replace('["awk", "git"]', '["git"]') == TOML
    assert with_tools(TOML, ["git"]) == TOML
    assert tomllib.loads(with_tools('schema_version = "1.4"\n', ["awk"]))["metadata"] == {"tools": ["awk"]}


def test_an_artifact_is_added_where_the_verifier_sees_nothing_else():
    fresh = '# ours\nartifacts = ["/app/result"]\n[metadata]\nverification = "fresh"\n'
    edited = with_artifacts(fresh, "/app/out")
    assert edited == fresh.replace('["/app/result"]', '["/app/result", "/app/out"]')
    assert with_artifacts(edited, "/app/out") == edited
    assert with_artifacts(fresh.replace("/app/result", "/app"), "/app/out").count("/app") == 1
    assert with_artifacts(TOML, "/app/out") == TOML
    steps = '[metadata]\nverification = "fresh"\n[[steps]]\nname = "one"\nartifacts = ["/x"]\n'
    assert tomllib.loads(with_artifacts(steps, "/app/out"))["artifacts"] == ["/app/out"]


def test_steps_go_before_and_behind():
    edited = with_steps(TOML, ["g1a", "g1b"], ["g1c"])
    parsed = tomllib.loads(edited)
    assert [step["name"] for step in parsed["steps"]] == ["g1a", "g1b", "one", "two", "g1c"]
    assert parsed["steps"][0]["min_reward"] == 1.0
    assert parsed["steps"][2] == {"name": "one", "agent": {"timeout_sec": 5}}
    for line in TOML.splitlines():
        assert line in edited
    with pytest.raises(CannotError, match=r"\[\[steps\]\]"):
        with_steps('steps = [{name = "one"}]\n', ["g1a"], [])


def test_only_what_two_renderings_differ_in_is_carried_over():
    before = '[task]\nname = "x/y"\n[metadata]\nlevel = 3\nkind = "a"\n[metadata.evolution]\nseed = 1\n'
    after = before.replace("level = 3", "level = 4").replace("seed = 1", "seed = 2").replace("x/y", "x/z")
    edited = carried_over(TOML, before, after)
    assert edited == TOML.replace("level = 3", "level = 4")
    assert at(tomllib.loads(edited), "metadata", "evolution") is None
