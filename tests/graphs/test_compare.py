"""The three ways to generate over the same seeds, for real."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evolution.config import MODES, read_config
from evolution.generation import bundled_seeds, parser, settings
from evolution.journal import Journal
from evolution.rubrics import add_rubric
from graphs.compare import compare
from sandbox.sandboxes import Sandboxes

SEEDS = sorted(path for path in bundled_seeds().iterdir() if path.is_dir())[:2]


def test_the_way_is_a_setting(tmp_path: Path) -> None:
    assert settings({"seeds": [str(tmp_path)]}).mode == "loop"
    for mode in MODES:
        assert settings(vars(parser().parse_args(["--mode", mode]))).mode == mode
    with pytest.raises(SystemExit):
        parser().parse_args(["--mode", "guess"])
    one, other = (read_config(None, {"seeds": ["s"], "out": "o", "mode": mode}) for mode in ("loop", "prompt"))
    assert one.difference(other) == ("mode",)


@pytest.mark.slow
async def test_all_three_ways_over_two_seeds(sandboxes: Sandboxes, tmp_path: Path) -> None:
    rubrics = tmp_path / "rubrics.yaml"
    add_rubric(rubrics, "No file is called zebra.")
    config = read_config(
        None,
        {
            "seeds": [str(path) for path in SEEDS],
            "out": str(tmp_path / "runs"),
            "generations": 1,
            "evolver_model": "embedded/author?faults=0.7",
            "gates": ["leak", "build", "oracle", "noop"],
            "axes": ["skill"],
            "rubrics": str(rubrics),
        },
    )
    found = await compare(config)
    assert [item.mode for item in found] == list(MODES)
    for item in found:
        folder = config.out / item.mode.replace("+", "-")
        assert item.outcome.results
        attempts = item.spending.attempts
        assert {attempt.attempt for attempt in attempts} <= {1, 2, 3}
        assert all(attempt.usage.calls >= 1 and attempt.usage.input_tokens > 0 for attempt in attempts)
        most = 1 if item.mode != "loop" else 100
        assert all(attempt.usage.calls <= most for attempt in attempts)
        with Journal(folder / "run.db") as journal:
            assert item.spending.whole == journal.usage()
        assert "mode: " + item.mode in (folder / "config.yaml").read_text()
        talks = [*folder.glob("work/*/*/*/*.jsonl"), *folder.glob("transcripts/*/*.jsonl")]
        critics = [talk for talk in talks if "critic" in talk.name]
        assert critics
        assert all(
            "No file is called zebra." in json.loads(talk.read_text().split("\n")[0])["content"] for talk in critics
        )
    rubrics.unlink()  # each run goes by its copy
    again = await compare(config)
    assert [item.spending for item in again] == [item.spending for item in found]
    assert [item.outcome.results for item in again] == [item.outcome.results for item in found]
