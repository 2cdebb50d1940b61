"""Every parser reads thousands of broken inputs and raises nothing but its own errors, in time and in little memory.

A failure names its seed; `PARSERS[…].input(seed)` is the input again.
"""

from pathlib import Path

import pytest

from tests.fuzz import feeding
from tests.fuzz.feeding import SHARE, Parser, feed
from tests.fuzz.inputs import mutated
from tests.fuzz.parsers import PARSERS


@pytest.mark.parametrize("parser", PARSERS, ids=str)
def test_sample(parser):
    feed(parser, range(parser.count // SHARE))


@pytest.mark.slow
@pytest.mark.parametrize("parser", PARSERS, ids=str)
def test_mass(parser):
    feed(parser, range(parser.count // SHARE, parser.count))


def test_the_mass_is_large_enough():
    counts = {parser.name: parser.count for parser in PARSERS}
    assert sum(counts.values()) >= 100_000
    assert min(counts[name] for name in ("toml", "reward", "ctrf", "dockerfile", "archive", "git")) >= 10_000


def test_inputs_come_again_and_differ():
    for parser in PARSERS:
        inputs = [parser.input(seed) for seed in range(12)]
        assert inputs == [parser.input(seed) for seed in range(12)]
        assert len(set(inputs)) > 8, parser.name


def _endless(content):
    while content:
        pass


def _raise(error):
    raise error


@pytest.mark.parametrize(
    ("read", "told"),
    [
        (lambda _content: _raise(KeyError("a")), "KeyError: .* escaped at .*test_mass.py"),
        (_endless, "HangError"),
        (lambda _content: len([0] * (16 << 20)), "the process has grown"),
        (lambda _content: _raise(ValueError("\ud800")), "whose message is no text"),
        (lambda _content: _raise(ValueError("a" * 99_999)), "a message of 99999 characters"),
        (lambda _content: _raise(ValueError), "without a message"),
    ],
)
def test_a_broken_parser_is_told_with_its_seed(read, told, monkeypatch):
    if told == "HangError":
        monkeypatch.setattr(feeding, "SECONDS", 0.2)
    monkeypatch.setattr(feeding, "MOST_MEMORY_KIB", 64 << 10)
    if "grown" in told:
        _forget_largest()
    broken = Parser("broken", lambda random: mutated(random, b'{"a": 1}') or b"-", read, (ValueError,), 9)
    with pytest.raises(AssertionError, match=rf"broken, seed \d+: [\s\S]*{told}"):
        feed(broken, range(9))


def _forget_largest():
    """Makes the process forget how large it once was."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pytest.skip("this machine does not let a process forget how large it was")
