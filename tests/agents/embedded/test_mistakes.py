"""Mistakes on order: as many as asked for, the same each time, and always something that running shows."""

from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.embedded import library
from agents.embedded.careless import repairs, with_slip
from agents.embedded.diagnosis import Finding
from agents.embedded.mistakes import slip
from agents.embedded.options import Options
from evolution.faults.planting import kinds
from evolution.sequence import Sequence, Step

STEPS = Sequence(steps=(Step(id="s1", scenario="order-ledger", skill="top-k-ties"),))
WANTED = library.render_task(STEPS, 5, name="tests/one-step", reward="binary")
MANY = 600
FINDING = Finding("oracle/below-one", "reward 0\n  s1::header: failed - /app/out/s1-")


@pytest.mark.parametrize("share", [0.15, 0.5, 0.9])
def test_their_share_is_as_asked_for(share):
    made = sum(slip(WANTED, share, seed) is not None for seed in range(MANY))
    assert abs(made / MANY - share) < 4 * sqrt(share * (1 - share) / MANY)


def test_no_share_means_none_and_the_whole_share_all():
    assert not any(slip(WANTED, 0.0, seed) for seed in range(MANY))
    found = [slip(WANTED, 1.0, seed) for seed in range(200)]
    assert all(found)
    assert {kinds()[mistake.kind].shown_by for mistake in found} == {"running"}
    assert len({mistake.kind for mistake in found}) > 12


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31 - 1), st.floats(0, 1))
def test_they_follow_from_the_seed_and_grow_with_the_share(seed, share):
    mistake = slip(WANTED, share, seed)
    assert mistake == slip(dict(reversed(WANTED.items())), share, seed)
    if mistake is not None:
        assert mistake.files != WANTED
        assert mistake == slip(WANTED, 1.0, seed)


def test_a_repair_writes_what_is_under_suspicion_and_no_more():
    draft = next(m.files for m in (slip(WANTED, 1.0, seed) for seed in range(99)) if m.kind == "wrong-reference")
    folder = {path: file.content for path, file in draft.items()}
    wrong = [path for path in WANTED if draft[path] != WANTED[path]]
    said = Finding("oracle/below-one", f"reward 0\n  {output(WANTED)} is not right")
    repair = repairs(WANTED, folder, wrong, [said], options=Options(), seed=1)
    assert {**draft, **repair.written} == WANTED
    for other in (Finding("leak/copy", said.text), Finding("oracle/below-one", "reward 0"), Finding("", "")):
        nothing = repairs(WANTED, folder, wrong, [other], options=Options(), seed=1)
        assert (nothing.written, nothing.removed) == ({}, ())


def test_a_repair_may_go_wrong_in_what_it_writes():
    folder = {path: file.content for path, file in WANTED.items()} | {"solution/solve.sh": b"false\n"}
    said = Finding("oracle/below-one", f"reward 0\n  {output(WANTED)} is missing")
    went_wrong = 0
    for seed in range(60):
        repair = repairs(WANTED, folder, ["solution/solve.sh"], [said], options=Options(1.0), seed=seed)
        spoilt = {path for path, file in repair.written.items() if WANTED.get(path) != file}
        assert {path for path in spoilt if path in WANTED} <= {"solution/solve.sh"}
        went_wrong += bool(spoilt)
        assert (
            repair.written
            == repairs(WANTED, folder, ["solution/solve.sh"], [said], options=Options(1.0), seed=seed).written
        )
    assert 0 < went_wrong < 60
    assert with_slip(WANTED, Options(), 1) is WANTED


def output(files):
    return next(
        word.strip("`.,") for word in files["instruction.md"].content.decode().split() if "/app/out/s1-" in word
    )
