"""The main job as a program: what is refused before anything is started or written, and what a dry run says."""

import io
from pathlib import Path
from typing import Any

import pytest

from evolution.config import RunConfig
from evolution.errors import EvolutionError
from evolution.generation import main, settings
from graphs.assembly import check
from graphs.console import dry_run, run
from graphs.forecast import unlimited_models

SEED = Path(__file__).parents[1] / "data" / "foreign" / "layered-settings"


@pytest.fixture
def config(tmp_path: Path) -> Any:
    def make(**changes: Any) -> RunConfig:
        return RunConfig.model_validate({"seeds": [SEED], "out": tmp_path / "run", **changes})

    return make


WRONG = [
    ({"gates": ["nosuch"]}, "no gate 'nosuch'"),
    ({"gates": ["os:getcwd"]}, "has to have name, stage and check"),
    ({"sandbox": "nosuch"}, "--sandbox nosuch: no sandbox back end"),
    ({"sandbox": "os:getcwd"}, "is no class"),
    ({"base": ["wrong"]}, "--base wrong: expected IMAGE=DIR"),
    ({"base": ["a=/nowhere/at/all"]}, "--base a=/nowhere/at/all"),
    ({"domain": "nosuch"}, "nosuch.json"),
    ({"critic_model": "nosuch/model"}, "the critic's model: .*no provider 'nosuch'"),
    ({"rubrics": "nowhere.yaml"}, "nowhere.yaml: there is no such file"),
    ({"gates": ["build", "rubric-judge"]}, "needs a model that reads"),
    ({"gates": ["build", "rubric-judge"], "judge_model": "nosuch/model"}, "the judge's model"),
    ({"model": "embedded/nobody"}, "the proposer's model: no embedded model 'nobody'"),
]


@pytest.mark.parametrize(("wrong", "said"), WRONG)
def test_what_cannot_be_had_is_refused_before_a_folder_is_made(config: Any, wrong: dict[str, Any], said: str) -> None:
    for start in (run, dry_run):
        with pytest.raises(EvolutionError, match=said):
            start(config(**wrong))
    assert not config().out.exists()


def test_what_can_be_had_passes(config: Any) -> None:
    check(config())


def test_a_dry_run_says_what_is_known_of_the_price_and_starts_nothing(config: Any) -> None:
    def said(**changes: Any) -> str:
        out = io.StringIO()
        assert dry_run(config(generations=2, **changes), out=out) == 0
        return out.getvalue()

    assert "up to 2 environments" in said()
    assert "about $0.00 if every first attempt holds" in said()
    priced = said(model="openai/gpt-4o", evolver_model="openai/unheard-of")
    assert "openai/gpt-4o: about 5 calls a session, about $0." in priced
    assert "without openai/unheard-of: no known price" in priced
    prompted = said(model="openai/gpt-4o", mode="prompt", gates=["build", "rubric-judge"])
    assert "mode         prompt\n" in prompted
    assert "evolver      openai/gpt-4o: about 1 calls" in prompted
    assert "judge        openai/gpt-4o: about" in prompted
    assert "judge " not in priced
    assert "dollars      not known" in said(model="openai/unheard-of")
    assert not config().out.exists()


def test_a_budget_that_cannot_hold_a_model_back_is_told(config: Any) -> None:
    mixed = {"model": "openai/gpt-4o", "critic_model": "hosted_vllm/mine"}
    assert unlimited_models(config(budget_usd=1, **mixed)) == ("hosted_vllm/mine",)
    assert unlimited_models(config(**mixed)) == ()


def test_paths_are_kept_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = {"seeds": ["tasks"], "out": "runs/x", "base": ["a=root", "b=host", "wrong"]}
    kept = settings(given)
    assert (kept.seeds, kept.out) == ((tmp_path / "tasks",), tmp_path / "runs" / "x")
    assert kept.base == (f"a={tmp_path}/root", "b=host", "wrong")


def test_a_flag_that_is_given_twice_adds_to_itself(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["--seeds", str(SEED), "--seeds", str(SEED.parent / "flag-rollout"), "--axes", "length", "--axes", "skill"]
    assert main([*words, "--out", str(tmp_path / "run"), "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "2 readable" in said
    assert "axes         skill, length" in said
