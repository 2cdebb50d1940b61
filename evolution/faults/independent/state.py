"""State that one run of the verifier leaves for the next in the same sandbox.

A solution that cannot run twice is no fault of a task: each rollout has a fresh sandbox.
"""
# ruff: noqa: E501 - lines of scripts are as long as they are

from __future__ import annotations

from typing import TYPE_CHECKING

from evolution.faults.fault import Fault
from evolution.faults.independent.parts.checks import no_points
from evolution.faults.independent.parts.look import is_fresh, results
from evolution.faults.independent.parts.script import edit_tests, one_of

if TYPE_CHECKING:
    from random import Random

    from evolution.faults.draft import Draft

_FOLDERS = ("/var/tmp", "/var/cache", "/opt", "/var/lib")  # noqa: S108 - where such state is left


def _cached_verdict(draft: Draft, rng: Random) -> bool:
    """The verifier keeps its first verdict."""
    if is_fresh(draft) or "trap" in draft.text(draft.test_script):
        return False
    kept = f"{rng.choice(_FOLDERS)}/{rng.choice(('verdict', '.graded', 'last-reward', 'score'))}"
    again = f"if [ -f {kept} ]; then\n    cp {kept} /logs/verifier/reward.{_form(draft)}\n    exit 0\nfi"
    return edit_tests(draft, f"\ncp /logs/verifier/reward.{_form(draft)} {kept}\n", end=True) and edit_tests(
        draft, f"\n# Grading is slow: once is enough.\nmkdir -p /logs/verifier\n{again}\n"
    )


def _consumed_result(draft: Draft, rng: Random) -> bool:
    """The verifier takes the results away."""
    paths = results(draft)
    if is_fresh(draft) or not paths or "trap" in draft.text(draft.test_script):
        return False
    listed = " ".join(paths)
    take = rng.choice(
        (
            f"rm -f {listed}",
            f"mkdir -p /var/graded && mv {listed} /var/graded/",
            f"for file in {listed}; do gzip -f $file; done",
            f"for file in {listed}; do : > $file; done",
        )
    )
    return edit_tests(draft, f"\n# Leave things tidy.\n{take}\n", end=True)


def _one_attempt(draft: Draft, rng: Random) -> bool:
    """The verifier counts how often it was asked."""
    if is_fresh(draft):
        return False
    count = f"{rng.choice(_FOLDERS)}/{rng.choice(('attempts', '.seen', 'submissions', 'tries'))}"
    refuse = f"mkdir -p /logs/verifier\n    {no_points(draft)}\n    exit 0"
    text = rng.choice(
        (
            f'echo x >> {count}\nif [ "$(wc -l < {count})" -gt 1 ]; then\n    {refuse}\nfi',
            f"if [ -e {count} ]; then\n    echo 'graded before'\n    {refuse}\nfi\ndate > {count}",
            f"n=$(($(cat {count} 2> /dev/null || echo 0) + 1))\necho $n > {count}\nif [ $n -ge 2 ]; then\n    {refuse}\nfi",
        )
    )
    return edit_tests(draft, f"\n# One submission each.\n{text}\n")


def _form(draft: Draft) -> str:
    return "json" if "reward.json" in no_points(draft) else "txt"


FAULTS: tuple[Fault, ...] = (
    Fault(
        "hidden-state",
        "A run of the verifier leaves something behind that changes the next one's outcome.",
        "running",
        one_of(
            _cached_verdict,
            _consumed_result,
            _one_attempt,
        ),
        independent=True,
    ),
)
