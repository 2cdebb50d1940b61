"""State that one run leaves for the next in the same sandbox."""
# ruff: noqa: E501 - lines of scripts are as long as they are

from __future__ import annotations

from typing import TYPE_CHECKING

from evolution.faults.fault import Fault
from evolution.faults.independent.parts.checks import no_points
from evolution.faults.independent.parts.look import inputs, is_fresh, results
from evolution.faults.independent.parts.script import edit_solution, edit_tests, one_of

if TYPE_CHECKING:
    from random import Random

    from evolution.faults.draft import Draft

_FOLDERS = ("/var/tmp", "/var/cache", "/opt", "/var/lib")  # noqa: S108 - where such state is left


def _gathered_result(draft: Draft, rng: Random) -> bool:
    """What the solution writes is gathered over all its runs."""
    paths = results(draft)
    if not paths:
        return False
    path = rng.choice(paths)
    kept = f"{rng.choice(_FOLDERS)}/{rng.choice(('collected', 'all-parts', 'history', 'so-far'))}.{path.rsplit('.', 1)[-1]}"
    text = rng.choice(
        (f"cat {path} >> {kept}\ncp {kept} {path}", f"tee -a {kept} < {path} > /dev/null\ncat {kept} > {path}")
    )
    return edit_solution(draft, f"\n# Collect the parts.\n{text}\n", end=True)


def _used_up_inputs(draft: Draft, rng: Random) -> bool:
    """The solution starts clean and takes its inputs away when it is done."""
    found, paths = inputs(draft), results(draft)
    if not found or not paths:
        return False
    path = rng.choice(found)
    take = rng.choice((f"mv {path} {path}.done", f"rm -rf {path}", f"mkdir -p /var/archive && mv {path} /var/archive/"))
    return edit_solution(draft, f"\n# All of it is processed.\n{take}\n", end=True) and edit_solution(
        draft, f"\nrm -f {' '.join(paths)}\n", end=False
    )


def _lock_left_behind(draft: Draft, rng: Random) -> bool:
    """The solution starts clean and leaves a lock that a second run respects."""
    paths = [path for path in results(draft) if path.rsplit("/", 1)[-1] not in _environment_names(draft)]
    if not paths:
        return False
    lock = f"{rng.choice(_FOLDERS)}/{rng.choice(('report.lock', '.busy', 'export.pid', 'run.lck'))}"
    wait = rng.choice(
        (
            f'if ! mkdir {lock} 2> /dev/null; then\n    echo "another run is under way" >&2\n    exit 1\nfi',
            f'if [ -e {lock} ]; then\n    echo "locked by $(cat {lock})" >&2\n    exit 75\nfi\necho $$ > {lock}',
            f"(set -o noclobber; : > {lock}) 2> /dev/null || exit 1",
        )
    )
    return edit_solution(draft, f"\nrm -f {' '.join(paths)}\n{wait}\n", end=False)


def _second_time_differs(draft: Draft, rng: Random) -> bool:
    """The solution keeps the result of its first run apart, so that a later run ends with another."""
    paths = results(draft)
    if not paths:
        return False
    path = rng.choice(paths)
    count = f"{rng.choice(_FOLDERS)}/{rng.choice(('runs', 'generation', 'serial', 'attempt'))}"
    text = (
        f"n=$(cat {count} 2> /dev/null || echo 0)\necho $((n + 1)) > {count}\n"
        f"# Do not overwrite an earlier export: number this one.\n"
        f"if [ $n -gt 0 ]; then mv {path} {path}.$n; fi"
    )
    return edit_solution(draft, f"\n{text}\n", end=True)


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


def _environment_names(draft: Draft) -> set[str]:
    return {path.rsplit("/", 1)[-1] for path in draft.files if path.startswith("environment/")}


FAULTS: tuple[Fault, ...] = (
    Fault(
        "hidden-state",
        "A run of the verifier or of the reference solution leaves something behind that changes the next one's outcome.",
        "running",
        one_of(
            _gathered_result,
            _used_up_inputs,
            _lock_left_behind,
            _second_time_differs,
            _cached_verdict,
            _consumed_result,
            _one_attempt,
        ),
        independent=True,
    ),
)
