"""Inputs that once broke a parser, each with the error that it gets now."""

import bz2
import contextlib
import gzip
import json
import lzma
import time

import pytest
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from agents.answer import Answer
from agents.roles.tool_calls import read_calls
from evolution.gates.rubric_fields import fields_read
from evolution.gates.scripts import absolute_paths
from sandbox.docker.compose_yaml import read_yaml
from sandbox.docker.interpolation import InterpolationError, interpolate
from sandbox.errors import ImageError, TaskError
from sandbox.image.context import _glob
from sandbox.image.words import fill
from sandbox.task.toml import parse_config, parse_toml
from sandbox.verification.ctrf import parse_ctrf
from sandbox.verification.reward import RewardParseError, parse_reward_json
from tests.fuzz import packed
from tests.fuzz.parsers import IMAGE, in_file, look_at_dockerfile, look_at_image, look_at_script

MOST_SECONDS = 20.0
"""Of processor time, for what took minutes or did not end."""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f'[environment]\nmemory = "{"9" * 400}G"', r"\[environment.memory\]: came .* expected a size"),
        (f"[agent]\nuser = 0x{'f' * 5000}", r"\[agent.user\]: a whole number of 20000 bits"),
        (f"[agent]\ntimeout_sec = 1{'0' * 400}", r"\[agent.timeout_sec\]: a whole number of \d+ bits"),
        ("[metadata]\na" + ".a" * 9000 + " = 1", "line 2: a key of more than 100 parts"),
        ("[" + "a." * 200 + "a]", "line 1: a key of more than 100 parts"),
        ("steps = [{" + "a." * 99 + "a = {" + "b." * 99 + "b = 1}}]", "nested more than 100 deep"),
        (
            "[metadata]\na = " + "[" * 150 + "]" * 150,
            r"\[metadata.a\[0\]…\]: arrays or tables are nested more than 100",
        ),
    ],
)
def test_toml(text, told):
    with pytest.raises(TaskError, match=told) as caught:
        parse_config(text.encode())
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("text", ['a = "' + "x." * 300 + 'x"', f"a = {2**128 - 1}", "a" + ".a" * 90 + " = 1"])
def test_toml_that_is_only_long_is_read(text):
    assert set(parse_toml(text.encode())) == {"a"}


def test_half_a_surrogate_pair_is_no_key_of_a_reward():
    with pytest.raises(RewardParseError, match="half of a character"):
        parse_reward_json(b'{"\\ud800": 1}')
    assert dict(parse_reward_json(b'{"\\ud83d\\ude00": 1}').rewards) == {"\U0001f600": 1}


def test_units_can_be_written_down_and_have_a_known_status():
    row = b'{"name": "a\\ud800", "status": "\\udfff", "message": "\\ud800"}'
    (unit,) = parse_ctrf(b'{"results": {"tests": [' + row + b"]}}")
    assert (unit.name, unit.status, unit.message) == ("a?", "other", "?")


def test_brackets_of_a_dockerfile_are_no_json_for_that():
    read = in_file("environment/Dockerfile", look_at_dockerfile)
    read(b"FROM debian:12\nRUN " + b"[" * 100_000 + b"\n")
    with pytest.raises(ImageError, match="is not in the build context"):
        read(b"FROM debian:12\nCOPY " + b"[" * 3000 + b" /x\n")


@pytest.mark.parametrize("name", ["Dockerfile", ".dockerignore"])
def test_a_pattern_that_runs_backwards(name):
    content = b"FROM debian:12\nCOPY [z-a] /x\n" if name == "Dockerfile" else b"# a\n[z-a]\n"
    with pytest.raises(ImageError, match=rf"environment/{name}:2: .*the range z-a runs backwards"):
        in_file(f"environment/{name}", look_at_dockerfile)(content)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: !!int ''", "does not fit its type"),
        ("a: 2020-99-99", "does not fit its type"),
        ("a: !!timestamp x", "does not fit its type"),
        ("a: !!bool x", "does not fit its type"),
        ("a: " + "[" * 3000, "nested more than 50 deep"),
        ("- " * 3000, "nested more than 50 deep"),
        ("a: &a [*a]", "nested more than 50 deep"),
        (
            "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 9}]\n" for n in range(1, 12)),
            "more than 20000",
        ),
        ("a: 0x" + "f" * 5000, "a whole number of 20000 bits"),
        ("a" * (257 << 10), "more than 262144"),
    ],
)
def test_yaml(text, told):
    with pytest.raises(ValueError, match=told):
        read_yaml(text)


def test_tables_that_take_in_tables_stay_small():
    rows = "".join(f"a{n}: &a{n} {{<<: [{f'*a{n - 1}, ' * 9}]}}\n" for n in range(1, 12))
    # Older versions of PyYAML keep a pair each time it is met: that is too many of them.
    with contextlib.suppress(ValueError):
        assert read_yaml(f"a0: &a0 {{k: 1}}\n{rows}") == {f"a{n}": {"k": 1} for n in range(12)}


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ("networks: [{a: 1}]", "services.main"),
        ("mem_limit: " + "9" * 400 + "g", "fits into 64 bits"),
        ("command: '" + "${A:-" * 3000 + "'", "nested too deeply"),
    ],
)
def test_services(part, told):
    from sandbox.docker.composition import read_composition

    text = f"services:\n  main:\n    {part}\n"
    with pytest.raises(IMAGE, match=told):
        in_file("environment/docker-compose.yaml", read_composition)(text.encode())


def test_a_volume_is_a_table():
    from sandbox.docker.composition import read_composition

    with pytest.raises(ImageError, match=r"volumes\.a: expected a table"):
        in_file("environment/docker-compose.yaml", read_composition)(b"services: {}\nvolumes: {a: 1}\n")


def test_many_variables_take_no_time_of_their_own():
    began = time.process_time()
    assert interpolate("$$" * 100_000, {}) == "$" * 100_000
    with pytest.raises(InterpolationError, match="nested too deeply"):
        interpolate("${A:-" * 5000, {})
    assert time.process_time() - began < MOST_SECONDS


def _answered(args):
    call = {"name": "x", "args": args, "id": "1", "type": "tool_call"}
    message = AIMessage(
        content=[{"type": "tool_use", "input": args}, {"type": "text", "text": "so"}], tool_calls=[call]
    )
    return Answer.of(ChatResult(generations=[ChatGeneration(message=message)]), seconds=1, unpriced=None)


def test_arguments_too_deep_for_the_journal_have_to_be_sent_again():
    deep: object = 1
    for _ in range(5000):
        deep = [deep]
    message = Answer.from_json(_answered({"a": deep}).to_json()).message
    assert (message.content, message.tool_calls) == ("so", [])
    (request,) = read_calls(message, 1)
    assert "nested more than 100 deep" in request.broken
    plain = Answer.from_json(_answered({"a": [1]}).to_json()).message
    assert [call["args"] for call in plain.tool_calls] == [{"a": [1]}]


def test_arguments_that_json_gives_up_on_are_told():
    call = {"name": "x", "args": "[" * 100_000, "id": "1", "error": None, "type": "invalid_tool_call"}
    (request,) = read_calls(AIMessage(content="", invalid_tool_calls=[call]), 1)
    assert "nested too deeply" in request.broken


@pytest.mark.parametrize(
    "source", ["-" * 90_000 + "1", "(" * 300, "x" + "[0]" * 5000, "'\\d'", "\0", "x" + ".get(1)" * 800]
)
def test_python_that_the_parser_gives_up_on_has_no_fields(source):
    assert fields_read("tests/test_a.py", source) == ()


def test_fields_in_here_documents_after_ones_without_end():
    text = "python3 - <<A\npython3 - <<B\nimport json\nx = json.load(f)\nx['k']\nB\njq '.z' f\n"
    assert fields_read("tests/test.sh", text) == ((5, "k"), (7, "z"))


@pytest.mark.parametrize(
    "content",
    [
        b"python3 <<E\n" * 4000,
        b"@/" * 20_000,
        b"jq '" * 20_000,
        b"printf '%(" * 9000,
        b"".join(b"a%d = a%d\n" % (n, n + 1) for n in range(1500)) + b"a1500 = json.load(f)\n",
    ],
    ids=lambda content: content[:8].decode(),
)
def test_scripts_that_took_too_long(content):
    began = time.process_time()
    look_at_script(content)
    absolute_paths(content.decode())
    assert time.process_time() - began < MOST_SECONDS


@pytest.mark.parametrize(
    ("pattern", "path"), [("*a" * 40 + "b", "a" * 255), ("**/a/" * 40 + "b", "a/" * 600), ("[" * 20_000, "a")]
)
def test_patterns_that_took_too_long(pattern, path):
    import re

    began = time.process_time()
    assert not re.fullmatch(_glob(pattern), path)
    assert time.process_time() - began < MOST_SECONDS


def test_variables_of_here_documents_that_took_too_long():
    began = time.process_time()
    text = "${a:-" * 20_000
    assert fill(text, {}) == text
    assert time.process_time() - began < MOST_SECONDS


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_a_compressed_image_that_is_damaged(compress):
    whole = compress(packed.image())
    for place in range(40, len(whole), 37):
        with contextlib.suppress(ImageError):
            look_at_image(whole[:place] + b"\xff\x00" + whole[place + 2 :])
            look_at_image(whole[:place])


def test_a_reward_with_many_keys_has_a_short_error():
    from sandbox.verification.reward import AmbiguousRewardError

    reward = parse_reward_json(json.dumps({"k" * 900 + str(n): n for n in range(900)}).encode())
    with pytest.raises(AmbiguousRewardError) as caught:
        _ = reward.score
    assert len(str(caught.value)) < 2000
