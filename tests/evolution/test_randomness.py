"""Randomness derives from what a decision is about."""

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from evolution.randomness import derive_seed, generator

parts = st.lists(st.integers(0, 99) | st.text("abc-", min_size=1), min_size=1, max_size=5)


def test_is_the_same_number_for_ever():
    assert derive_seed(0, "csv-report", 1) == 1567356340


def test_is_the_same_in_another_process():
    program = "from evolution.randomness import derive_seed; print(derive_seed(7, 'lineage', 'axes'))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(run.stdout) == derive_seed(7, "lineage", "axes")


@given(parts)
def test_fits_31_bits_and_repeats(parts):
    assert 0 <= derive_seed(*parts) < 2**31
    assert generator(*parts).sample(range(100), 10) == generator(*parts).sample(range(100), 10)


@given(parts, parts)
def test_depends_on_every_part_and_their_order(one, other):
    same = [str(part) for part in one] == [str(part) for part in other]
    assert (derive_seed(*one) == derive_seed(*other)) == same


def test_parts_do_not_run_together():
    assert derive_seed("ab", "c") != derive_seed("a", "bc")
