"""A reward is parsed as Harbor parses it, and what Harbor refuses is an error with a code, never a 0."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.verification.reward import (
    AmbiguousRewardError,
    MissingRewardError,
    Reward,
    RewardError,
    RewardParseError,
    RewardScalarError,
    parse_reward,
)

finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("text", "score"), [(b"1\r\n", 1.0), (b"7", 7.0), (b"-3.5", -3.5), (b"1_0", 10.0), (b" 0.25 \n", 0.25)]
)
def test_text_is_what_float_accepts(text: bytes, score: float) -> None:
    assert parse_reward(text, None).score == score


@pytest.mark.parametrize(
    "text",
    [b"", b"\n", b"nan", b"inf", b"-Infinity", b"1e309", b"one", b"1\n0\n", b"\xef\xbb\xbf1", b"\xff", b"0x1", b"1,0"],
)
def test_text_that_is_no_finite_number(text: bytes) -> None:
    with pytest.raises(RewardParseError) as caught:
        parse_reward(text, None)
    assert caught.value.code == "unparsable"
    assert repr(text)[2:-1] in str(caught.value) if text else "empty" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "rewards"),
    [
        (b'{"reward": true}', {"reward": 1.0}),
        (b'{"reward": 0.5, "style": 2}', {"reward": 0.5, "style": 2.0}),
        (b"{}", {}),
        (b' {"only": -1}\r\n', {"only": -1.0}),
        (b'{"reward": 0, "reward": 1}', {"reward": 1.0}),
    ],
)
def test_json_objects_of_numbers(text: bytes, rewards: dict[str, float]) -> None:
    assert dict(parse_reward(None, text).rewards) == rewards


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b'"1"',
        b"null",
        b"[1]",
        b'{"reward": "1"}',
        b'{"reward": null}',
        b'{"reward": {"a": 1}}',
        b'{"reward": NaN}',
        b'{"reward": 1e309}',
        b'\xef\xbb\xbf{"reward": 1}',
        b"NaN",
        b"[" * 200_000,
        b'{"reward": ' + b"9" * 400 + b"}",
    ],
)
def test_json_that_is_no_object_of_finite_numbers(text: bytes) -> None:
    with pytest.raises(RewardParseError):
        parse_reward(None, text)


@pytest.mark.parametrize("text", [b"1", b"0.5", b"true"])
def test_a_bare_number_in_json_has_its_own_error(text: bytes) -> None:
    with pytest.raises(RewardScalarError, match="bare number"):
        parse_reward(None, text)


def test_json_beats_text_even_when_it_is_broken() -> None:
    assert parse_reward(b"0", b'{"reward": 1}').score == 1.0
    with pytest.raises(RewardParseError, match=r"reward\.json"):
        parse_reward(b"1", b"")


def test_nothing_written_is_missing_and_not_zero() -> None:
    with pytest.raises(MissingRewardError) as caught:
        parse_reward(None, None)
    assert caught.value.code == "missing"


def test_the_error_quotes_the_first_bytes_only() -> None:
    with pytest.raises(RewardParseError) as caught:
        parse_reward(b"AB" * 4000, None)
    assert "ABAB" in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("rewards", [{}, {"a": 1.0, "b": 0.0}])
def test_without_a_reward_key_or_a_single_one_there_is_no_score(rewards: dict[str, float]) -> None:
    with pytest.raises(AmbiguousRewardError):
        _ = Reward(rewards).score


@given(finite)
def test_every_finite_float_comes_back(value: float) -> None:
    assert parse_reward(repr(value).encode(), None).score == value
    assert parse_reward(None, json.dumps({"reward": value}).encode()).score == value


@given(st.dictionaries(st.text(), finite | st.integers(-(2**60), 2**60) | st.booleans()))
def test_every_object_of_numbers_is_kept_whole(rewards: dict[str, float]) -> None:
    parsed = parse_reward(None, json.dumps(rewards).encode())
    assert dict(parsed.rewards) == {key: float(value) for key, value in rewards.items()}


@given(st.binary(max_size=64), st.booleans())
def test_any_bytes_give_finite_numbers_or_a_reward_error(content: bytes, as_json: bool) -> None:
    code = ""
    try:
        reward = parse_reward(None, content) if as_json else parse_reward(content, None)
    except RewardError as error:
        code = error.code
    assert code in {"unparsable", "scalar"} or all(math.isfinite(value) for value in reward.rewards.values())
