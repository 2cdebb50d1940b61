"""Executed truth: in a real sandbox the reference earns 1, nothing earns 0, and every section is needed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agents.embedded import library
from agents.embedded.library.framework import stream
from evolution.gates.leak import LeakGate
from evolution.gates.rubric import RubricGate
from evolution.gates.trials import fresh_noop, fresh_reference
from evolution.sequence import Sequence
from evolution.verdict import Candidate
from sandbox.sandboxes import Sandboxes
from sandbox.task import Task

from .conftest import PAIRS, sequence_of

Rendered = Callable[..., Task]


def chain(number: int, length: int) -> Sequence:
    """The `number`th chain of a fixed round trip through all pairs."""
    order = stream("truth").sample(PAIRS, len(PAIRS))
    return sequence_of(*(order[(number * length + i) % len(order)] for i in range(length)))


@pytest.mark.parametrize("number", range(4))
async def test_a_chain_is_sound(number: int, rendered: Rendered, sandboxes: Sandboxes) -> None:
    task = rendered(chain(number, 5), 40 + number, ("binary", "fraction")[number % 2])
    result = await fresh_reference(task, sandboxes)
    assert [unit for unit in result.units if unit.status != "passed"] == []
    assert result.score == 1
    assert (await fresh_noop(task, sandboxes)).score == 0
    for gate in (RubricGate(), LeakGate()):
        verdict = await gate.check(Candidate(task), sandboxes)
        assert verdict.passed, verdict.evidence


async def test_without_its_section_a_step_and_the_one_after_it_fail(rendered: Rendered, sandboxes: Sandboxes) -> None:
    task = rendered(chain(9, 4), 50, "fraction")
    for place, dropped in enumerate(("s1", "s2", "s3")):
        result = await fresh_reference(task, sandboxes, without=(dropped,))
        failed = {unit.name.partition("::")[0] for unit in result.units if unit.status == "failed"}
        # Nothing after it can be right either: each step reads what the one before it wrote.
        assert failed == {f"s{i}" for i in range(place + 1, 5)}
        assert result.score is not None
        assert result.score < 1


@pytest.mark.slow
@pytest.mark.parametrize("number", range((len(PAIRS) + 9) // 10))
async def test_every_pair_is_sound(number: int, rendered: Rendered, sandboxes: Sandboxes) -> None:
    """All pairs, ten at a time: a chain's reference earns 1 only when each of them does."""
    task = rendered(chain(number, 10), 60 + number)
    result = await fresh_reference(task, sandboxes)
    assert [unit for unit in result.units if unit.status != "passed"] == []
    assert result.score == 1
    assert (await fresh_noop(task, sandboxes)).score == 0


def test_the_round_trip_meets_every_pair() -> None:
    met = {(s.scenario, s.skill) for number in range((len(PAIRS) + 9) // 10) for s in chain(number, 10).steps}
    assert met == set(PAIRS)
    assert all(library.compatible(*pair) for pair in met)
