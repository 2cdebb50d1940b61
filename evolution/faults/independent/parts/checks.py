"""Adds a check to a verifier, whatever it is written in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evolution.faults.independent.parts.look import has_python, texts
from evolution.faults.independent.parts.script import edit_tests, indented

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from evolution.faults.draft import Draft

_NAMES = ("environment", "preconditions", "consistency", "sanity", "stability", "integrity", "provenance", "setup")
_COMMENTS = (
    "# Before anything else, see that the conditions hold.",
    "# Sanity check.",
    "# Guard against accidental passes.",
    "# Make sure we grade what we think we grade.",
    "# Requested in review.",
    "# See the notes of the last maintenance round.",
)


@dataclass(frozen=True, slots=True)
class Check:
    """A condition that the verifier is to demand.

    Attributes:
        message: What is said when it does not hold.
        bash: Commands; the status of the last decides. May be empty.
        python: Statements that raise when it does not hold. May be empty.
    """

    message: str
    bash: str = ""
    python: str = ""


def add_check(draft: Draft, rng: Random, checks: Sequence[Check]) -> bool:
    """Adds one of the checks in one of the places that the verifier offers for it; whether there was any."""
    if draft.test_script not in draft.files:
        return False
    for check in rng.sample(checks, len(checks)):
        places = _places(draft, check)
        for place in rng.sample(places, len(places)):
            before = dict(draft.files)
            if place(draft, rng, check):
                return True
            draft.files = before
    return False


def no_points(draft: Draft) -> str:
    """The command that writes a reward of 0 as this verifier writes it."""
    tests = texts(draft, draft.tests)
    if "reward.json" in tests and "reward.txt" not in tests:
        return "echo '{\"reward\": 0}' > /logs/verifier/reward.json"
    return "echo 0 > /logs/verifier/reward.txt"


def _places(draft: Draft, check: Check) -> list[Callable[[Draft, Random, Check], bool]]:
    found: list[Callable[[Draft, Random, Check], bool]] = []
    if check.python:
        found += [_in_library, _in_library, _in_pytest, _in_asserting_script]
    if check.bash:
        found += [_gate, _override]
    if check.python and has_python(draft):
        found += [_companion, _inline_python]
    return found


def _in_library(draft: Draft, rng: Random, check: Check) -> bool:
    files = [path for path in draft.below(f"{draft.tests}/checks") if path.endswith(".py")]
    if not files:
        return False
    name = rng.choice(_NAMES)
    function = f"def check_{name}():\n{indented(check.python)}\n"
    if rng.random() < 0.3:  # noqa: PLR2004 - now and then in a file of its own
        draft.write(f"{draft.tests}/checks/{name}.py", function)
        return True
    path = rng.choice(files)
    text = draft.text(path)
    first = text.find("def check_")
    at_first = first >= 0 and rng.random() < 0.4  # noqa: PLR2004 - some write it first
    draft.write(path, f"{text[:first]}{function}\n\n{text[first:]}" if at_first else f"{text.rstrip()}\n\n\n{function}")
    return True


def _in_pytest(draft: Draft, rng: Random, check: Check) -> bool:
    files = [
        path
        for path in draft.below(draft.tests)
        if path.endswith(".py") and re.search(r"^def test_\w+\(\)", draft.text(path), re.MULTILINE)
    ]
    if not files:
        return False
    path = rng.choice(files)
    function = f"def test_{rng.choice(_NAMES)}():\n{indented(check.python)}\n"
    draft.write(path, f"{draft.text(path).rstrip()}\n\n\n{function}")
    return True


def _in_asserting_script(draft: Draft, rng: Random, check: Check) -> bool:
    script = draft.text(draft.test_script)
    files = [
        path
        for path in draft.below(draft.tests)
        if path.endswith(".py")
        and path.rsplit("/", 1)[-1] in script
        and re.search(r"^ *assert |^raise SystemExit|sys\.exit", draft.text(path), re.MULTILINE)
        and "def " not in draft.text(path)
        and "reward" not in draft.text(path)
    ]
    if not files:
        return False
    path = rng.choice(files)
    draft.write(path, f"{draft.text(path).rstrip()}\n\n# {check.message}\n{check.python.strip()}\n")
    return True


def _gate(draft: Draft, rng: Random, check: Check) -> bool:
    name, zero = f"check_{rng.choice(_NAMES)}", no_points(draft)
    refuse = f'echo "{check.message}"\nmkdir -p /logs/verifier\n{zero}\nexit 0'
    body = check.bash.strip("\n")
    if rng.random() < 0.5 and "\n" not in body and "<<" not in body:  # noqa: PLR2004 - either way
        text = f"{rng.choice(_COMMENTS)}\nif ! {{ {body}; }}; then\n{indented(refuse)}\nfi"
    else:
        text = f"{rng.choice(_COMMENTS)}\n{name}() (\n{_kept(body)}\n)\n{name} || {{\n{indented(refuse)}\n}}"
    return edit_tests(draft, f"\n{text}\n")


def _override(draft: Draft, rng: Random, check: Check) -> bool:
    """At the end, on top of the verdict; not where something there may change the script's way out."""
    body, zero = check.bash.strip("\n"), no_points(draft)
    name = rng.choice(("extra", "last", "also_required", "final_check"))
    text = f'{rng.choice(_COMMENTS)}\n{name}() (\n{_kept(body)}\n)\n{name} || {{ echo "{check.message}"; {zero}; }}'
    script = draft.text(draft.test_script)
    if re.search(r"\bexit\b|\btrap\b", script) or re.search(r"^set -\w*e", script, re.MULTILINE):
        return False
    return edit_tests(draft, f"\n{text}\n", end=True)


def _companion(draft: Draft, rng: Random, check: Check) -> bool:
    name = f"{rng.choice(('check', 'assert', 'verify', 'probe'))}_{rng.choice(_NAMES)}.py"
    path = f"{draft.tests}/{name}"
    if path in draft.files:
        return False
    draft.write(path, f'"""{check.message}"""\n\n{check.python.strip()}\n')
    refuse = f"mkdir -p /logs/verifier\n{no_points(draft)}\nexit 0"
    return edit_tests(draft, f"\nif ! python3 -I /tests/{name}; then\n{indented(refuse)}\nfi\n")


def _inline_python(draft: Draft, rng: Random, check: Check) -> bool:
    mark = rng.choice(("PY", "END", "PYTHON"))
    refuse = f"mkdir -p /logs/verifier\n{no_points(draft)}\nexit 0"
    text = f"if ! python3 -I - <<'{mark}'\n{check.python.strip()}\n{mark}\nthen\n{indented(refuse)}\nfi"
    return edit_tests(draft, f"\n{rng.choice(_COMMENTS)}\n{text}\n")


def _kept(body: str) -> str:
    """Indented, unless a here-document forbids it."""
    return body if "<<" in body else indented(body)
