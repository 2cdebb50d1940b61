"""Settings: the command line over YAML over defaults; wrong ones named, secrets refused."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evolution.config import MODES, RunConfig, read_config
from evolution.errors import ConfigError
from evolution.plan import Axis, Effort

NEEDED = {"seeds": ["tasks"], "out": "runs/one"}


def refusal(**settings):
    with pytest.raises(ConfigError) as caught:
        read_config(None, {**NEEDED, **settings})
    return str(caught.value)


def test_defaults_run_the_main_job_without_a_key():
    config = read_config(None, NEEDED)
    assert (config.generations, config.seed, config.model) == (3, 0, "embedded/author")
    assert (config.effort, config.axes) == (Effort.HIGH, tuple(Axis))
    assert config.budget_usd is None


def test_the_command_line_wins_over_yaml_and_yaml_over_defaults(tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text("generations: 5\neffort: low\nseeds: [from-yaml]\n")
    config = read_config(file, {"generations": 7}, {"effort": "max", "seed": 3, **NEEDED})
    assert config.generations == 7
    assert config.effort is Effort.LOW
    assert config.seed == 3
    assert config.seeds == (Path("from-yaml"),)


def test_an_unknown_setting_is_named_with_the_known_ones():
    message = refusal(generation=3)
    assert message.startswith("generation: ")
    assert "generations" in message.partition("known: ")[2]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("generations", 0),
        ("generations", "many"),
        ("axes", ["depth"]),
        ("axes", []),
        ("effort", "extreme"),
        ("mode", "shout"),
        ("seeds", []),
        ("seeds", "one-folder"),
        ("workers", 0),
        ("budget_usd", 0),
        ("budget_usd", float("nan")),
        ("budget_usd", float("inf")),
        ("gates", []),
        ("userns", "maybe"),
        ("reruns", 0),
    ],
)
def test_a_wrong_value_is_named(setting, value):
    assert setting in refusal(**{setting: value})
    assert repr(value[0] if setting == "axes" and value else value) in refusal(**{setting: value})


def test_every_wrong_setting_is_named_at_once():
    message = refusal(generations=0, effort="extreme", typo=1)
    assert all(name in message for name in ("generations", "effort", "typo"))


def test_a_wrong_item_of_a_list_is_told_once():
    assert refusal(axes=["depth"]).count("axes") == 1


def test_missing_settings_are_named():
    with pytest.raises(ConfigError, match="seeds: Field required"):
        read_config(None, {"out": "runs/one"})


@pytest.mark.parametrize("text", ["- a\n- b\n", "just words", "", "a: [", "\x00"])
def test_a_file_that_is_no_mapping_is_named(tmp_path, text):
    file = tmp_path / "run.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"run\.yaml: "):
        read_config(file, NEEDED)


def test_a_missing_or_binary_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"absent\.yaml: cannot be read"):
        read_config(tmp_path / "absent.yaml", NEEDED)
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(ConfigError, match=r"binary\.yaml: cannot be read"):
        read_config(tmp_path / "binary.yaml", NEEDED)


@pytest.mark.parametrize("setting", ["model", "proposer_model", "critic_model", "evolver_model", "api_base"])
@pytest.mark.parametrize(
    "secret",
    [
        "sk-abcdefghijklmnop0123",
        "openai/sk-proj-abcdefghijklmnop0123",
        "hf_abcdefghijklmnopqrst",
        "ghp_abcdefghijklmnopqrst",
        "https://me:hunter2@models.example/v1",
        "http://token@models.example/v1",
        "http://models.example/v1?api_key=hunter2",
        "http://models.example/v1?region=eu&token=hunter2",
    ],
)
def test_secrets_are_refused_and_not_repeated(setting, secret):
    message = refusal(**{setting: secret})
    assert message.startswith("settings: ")
    assert f"{setting} seems to hold a key or password" in message
    assert "hunter2" not in message
    assert "abcdefghijkl" not in message


@pytest.mark.parametrize(
    "model",
    [
        "embedded/author",
        "anthropic/claude-opus-5",
        "huggingface/hf-internal-testing/tiny-random-model",
        "openrouter/qwen/qwen3-coder:free",
        "hosted_vllm/task-evolver-with-a-long-name-2026",
        "bedrock/anthropic.claude-v2@eu-central-1",
    ],
)
def test_ordinary_model_strings_are_no_secrets(model):
    assert read_config(None, {**NEEDED, "model": model}).model == model


def test_a_plain_address_is_no_secret():
    assert read_config(None, {**NEEDED, "api_base": "http://127.0.0.1:8000/v1?version=2"}).api_base


def test_a_role_has_its_own_model_or_the_common_one():
    config = read_config(None, {**NEEDED, "model": "a/b", "critic_model": "c/d"})
    assert [config.model_for(role) for role in ("proposer", "critic", "evolver")] == ["a/b", "c/d", "a/b"]


def test_axes_are_a_set():
    config = read_config(None, {**NEEDED, "axes": ["length", "scenario", "length"]})
    assert config.axes == (Axis.SCENARIO, Axis.LENGTH)
    assert config.difference(read_config(None, {**NEEDED, "axes": ["scenario", "length"]})) == ()


configs = st.fixed_dictionaries(
    {
        "seeds": st.lists(st.text("abc/ é:#-", min_size=1), min_size=1, max_size=3),
        "out": st.text("abc/é:", min_size=1),
    },
    optional={
        "generations": st.integers(1, 1000),
        "seed": st.integers(),
        "model": st.sampled_from(["embedded/author", "123", "null", "yes", "a: b"]),
        "critic_model": st.none() | st.just("openai/gpt"),
        "axes": st.lists(st.sampled_from(list(Axis)), min_size=1),
        "effort": st.sampled_from(list(Effort)),
        "mode": st.sampled_from(MODES),
        "rubrics": st.one_of(st.none(), st.just(Path("rubrics.yaml"))),
        "budget_usd": st.none() | st.floats(0.01, 1e6),
        "base": st.lists(st.sampled_from(["*=host", "python:3=/a b"]), max_size=2),
    },
)


@given(configs)
def test_yaml_says_the_same(tmp_path_factory, settings):
    config = RunConfig.model_validate(settings)
    file = tmp_path_factory.getbasetemp() / "config.yaml"
    file.write_text(config.to_yaml(), encoding="utf-8")
    again = read_config(file, {})
    assert again == config
    assert again.difference(config) == ()
    assert isinstance(yaml.safe_load(config.to_yaml()), dict)


OTHER_VALUES = {
    "seeds": ("other",),
    "out": "elsewhere",
    "generations": 9,
    "seed": 9,
    "axes": ("skill",),
    "effort": "low",
    "mode": "prompt",
    "rubrics": Path("rubrics.yaml"),
    "gates": ("build",),
    "base": ("a=host",),
    "userns": "single",
    "workers": 9,
    "sandboxes": 9,
    "budget_usd": 9,
    "reruns": 9,
    "plan_attempts": 9,
    "repair_attempts": 9,
}
FREE = {"out", "workers", "sandboxes", "budget_usd", "generations", "api_base"}


@pytest.mark.parametrize("setting", RunConfig.model_fields)
def test_difference_names_what_changes_the_release(setting):
    given = {**NEEDED, "base": ("*=host",)}  # left out, it would go with the sandbox
    one = read_config(None, given)
    other = read_config(None, {**given, setting: OTHER_VALUES.get(setting, "other")})
    assert getattr(one, setting) != getattr(other, setting)
    assert one.difference(other) == other.difference(one) == (() if setting in FREE else (setting,))


@pytest.mark.parametrize(("sandbox", "base"), [("bubblewrap", ("*=host",)), ("docker", ()), ("mine:Backend", ())])
def test_only_bubblewrap_stands_on_this_machine_by_itself(sandbox: str, base: tuple[str, ...]) -> None:
    assert RunConfig(seeds=(Path("tasks"),), out=Path("run"), sandbox=sandbox).base == base
