"""What a sequence is rendered to: the same bytes always, each step apart, and an edit that stays where it is made."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from agents.embedded import library
from evolution.sequence import Sequence, Step

from .conftest import PAIRS, seeds, sequence_of, sequences

# Sequences are short as they are; shrinking one would take minutes.
FEW = settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow], phases=[Phase.reuse, Phase.generate]
)

DIGEST = """
import hashlib, sys
from agents.embedded import library
from evolution.sequence import Sequence, Step
whole = hashlib.sha256()
for scenario in library.scenario_names():
    for skill in library.skill_names():
        if library.compatible(scenario, skill):
            sequence = Sequence(steps=(Step(id="s1", scenario=scenario, skill=skill),))
            for path, file in library.render_task(sequence, 77, name="tests/all", reward="binary").items():
                whole.update(f"{path} {file.executable} {hashlib.sha256(file.content).hexdigest()}\\n".encode())
print(whole.hexdigest())
"""


def test_another_process_with_another_hash_seed_renders_the_same_bytes() -> None:
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", DIGEST],
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": locale},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed, zone, locale in (("1", "UTC", "C.UTF-8"), ("2", "America/Lima", "C"))
    ]
    first, second = (run.communicate()[0] for run in runs)
    assert len(first.strip()) == 64
    assert first == second


@FEW
@given(sequences, seeds)
def test_steps_keep_to_themselves(sequence: Sequence, seed: int) -> None:
    steps = library.render_steps(sequence, seed)
    assert steps == library.render_steps(sequence, seed)
    assert len({step.output_path for step in steps}) == len(steps)
    for step in steps:
        own = step.step.id
        assert all(path.startswith(f"data/{own}/") for path in step.environment)
        assert set(step.tests) == {f"checks/{own}.py", f"expected/{own}.json"}
        assert 3 <= len(step.units) <= 7
        assert all(unit.startswith(f"{own}::") for unit in step.units)
        assert [f"{own}::{name}" for name in check_names(step.test_code)] == list(step.units)
        assert step.output_path.startswith(f"/app/out/{own}-")
        assert step.output_path in step.paragraph
        assert step.checkpoint.path == step.output_path
        assert step.checkpoint.value


def check_names(code: str) -> list[str]:
    return [line.removeprefix("def check_").partition("(")[0] for line in code.splitlines() if line.startswith("def ")]


@FEW
@given(sequences, seeds, st.data())
def test_an_edit_changes_its_step_and_the_next_ones_link_alone(
    sequence: Sequence, seed: int, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(sequence) - 1))
    old = sequence.steps[place]
    other = data.draw(st.sampled_from([p for p in PAIRS if (p[0] == old.scenario) != (p[1] == old.skill)]))
    new = Step(id=old.id, scenario=other[0], skill=other[1])
    edited = Sequence(steps=(*sequence.steps[:place], new, *sequence.steps[place + 1 :]))
    before, after = library.render_steps(sequence, seed), library.render_steps(edited, seed)
    routing = ("bands.csv", "pointers.txt", "rota.tsv", "roster.txt")
    for i, (a, b) in enumerate(zip(before, after, strict=True)):
        if i == place:
            assert a.tests != b.tests
            if new.scenario == old.scenario:
                assert without(a.environment, ()) == without(b.environment, ())
        elif i == place + 1:
            assert a.tests == b.tests
            assert without(a.environment, routing) == without(b.environment, routing)
        else:
            assert a == b


def without(files: dict[str, library.FileContent], names: tuple[str, ...]) -> dict[str, library.FileContent]:
    return {path: file for path, file in files.items() if path.rpartition("/")[2] not in names}


@FEW
@given(sequences, seeds, st.sampled_from(PAIRS), st.data())
def test_an_inserted_step_leaves_the_others_data_and_answers(sequence: Sequence, seed: int, pair, data) -> None:
    place = data.draw(st.integers(0, len(sequence)))
    longer = sequence.insert(place, (Step(id="x1", scenario=pair[0], skill=pair[1]),))
    before = {step.step.id: step for step in library.render_steps(sequence, seed)}
    for step in library.render_steps(longer, seed):
        if step.step.id != "x1":
            assert step.tests == before[step.step.id].tests
            assert step.units == before[step.step.id].units


@pytest.mark.parametrize("scenario", library.scenario_names())
def test_every_lot_has_answers_of_its_own(scenario: str) -> None:
    """`render_steps` refuses a pair in which two lots share an answer; over some seeds none is refused."""
    for seed in range(1000, 1003):
        for pair in PAIRS:
            if pair[0] == scenario:
                library.render_steps(sequence_of(pair), seed)


def test_a_step_can_hang_on_something_foreign() -> None:
    entry = library.ExternalLink(
        "/app/report.txt", "number of lines in `/app/report.txt`", "wc -l < /app/report.txt", "42"
    )
    sequence = sequence_of(("dns-zones", "top-k-ties"), ("order-ledger", "percentile-report"))
    alone, hanging = library.render_steps(sequence, 5), library.render_steps(sequence, 5, entry=entry)
    assert "number of lines in `/app/report.txt`" in hanging[0].paragraph
    assert "wc -l < /app/report.txt" in hanging[0].solution
    assert hanging[0].tests == alone[0].tests
    assert hanging[1] == alone[1]


def test_a_task_has_everything_and_is_small() -> None:
    pairs = [PAIRS[i * 17 % len(PAIRS)] for i in range(10)]
    files = library.render_task(sequence_of(*pairs), 9, name="tests/ten", reward="fraction")
    assert {"task.toml", "instruction.md", "environment/Dockerfile", "solution/solve.sh", "tests/test.sh"} <= set(files)
    assert files["solution/solve.sh"].executable
    assert files["tests/test.sh"].executable
    assert files["solution/solve.sh"].content.count(b"\n# envolve: step ") == 10
    assert sum(len(file.content) for file in files.values()) < 600_000
    assert len(files["instruction.md"].content) < 30_000
    text = files["instruction.md"].content.decode()
    assert "test.sh" not in text
    assert "solve.sh" not in text


def test_expected_values_are_not_in_the_environment() -> None:
    """Long values of an expectation would give the answer away; names of rows are held as digests."""
    for step in library.render_steps(sequence_of(*PAIRS[::9]), 21):
        own = next(file.content for path, file in step.tests.items() if path.startswith("expected/"))
        haystack = b"".join(file.content for file in step.environment.values())
        long = [word for word in own.decode().split('"') if len(word) >= 32 and word.encode() in haystack]
        assert long == [], step.step


def test_digests_are_those_of_the_checker() -> None:
    from agents.embedded.library import framework, run_checks

    for row in ("a", ["a", "1"], [1, "é"], [["a"], 2]):
        assert framework.row_digest(row) == run_checks.row_digest(row)
    assert framework.row_digest("a") == hashlib.sha256(b'"a"').hexdigest()[:12]
