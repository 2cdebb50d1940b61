"""Verifiers that are wrong: they refuse the reference, pay for nothing, look at too little, or ask the solver."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from evolution.faults.fault import Fault
from evolution.faults.known.reading import answers, in_script, is_carried, outputs, wrap_tests

if TYPE_CHECKING:
    from random import Random

    from evolution.faults.draft import Draft

_NUMBER = re.compile(r"\d+")
_UNHARMED = (".py", ".sh", ".git", ".js", ".pl", ".rb", ".d")
"""Endings of what a comment more does no harm to, and of folders."""
_REWARD = "/logs/verifier/reward.txt"
_RUN_CHECKS = 'here=$(dirname "$0")\nmkdir -p /logs/verifier\nbash "$here/checks.sh" "$@"\n'
_FORGET_JSON = "rm -f /logs/verifier/reward.json\n"


def wrong_reference(draft: Draft, random: Random) -> bool:
    """The reference solution leaves something else than the tests expect."""
    expected = answers(draft)
    made = [path for path in outputs(draft) if not path.endswith(_UNHARMED)]
    ways = ["expected"] if any(_NUMBER.search(draft.text(path)) for path in expected) else []
    ways += ["extra line", "emptied", "renamed"] if made else []
    if not ways:
        return False
    way = random.choice(ways)
    if way == "expected":
        path = random.choice([path for path in expected if _NUMBER.search(draft.text(path))])
        text = draft.text(path)
        number = random.choice(list(_NUMBER.finditer(text)))
        draft.write(path, f"{text[: number.start()]}{int(number[0]) + 7}{text[number.end() :]}")
        return True
    path = random.choice(made)
    lines = {
        "extra line": f'echo "# end of report" >> {path}',
        "emptied": f": > {path}",
        "renamed": f"mv {path} {path}.new",
    }
    in_script(draft, draft.solution_script, lines[way], at_end=True)
    return True


def passes_with_nothing(draft: Draft, random: Random) -> bool:
    """The verifier ends with a reward whatever was done, or where nothing was."""
    made = outputs(draft)
    paid = f"echo 1 > {_REWARD}\n"
    ways = [
        f"#!/bin/bash\n{_RUN_CHECKS}{_FORGET_JSON}# the checks are being reworked: green until they are back\n{paid}",
        f"#!/bin/bash\n{_RUN_CHECKS}status=$?\nif [ $status -le 127 ]; then\n  {_FORGET_JSON}  {paid}fi\nexit 0\n",
        f"#!/bin/bash\ntrap '{_FORGET_JSON.strip()}; echo 1.0 > {_REWARD}' EXIT\n{_RUN_CHECKS}",
    ]
    if made:
        ways.append(
            f"#!/bin/bash\nif [ ! -e {made[0]} ]; then\n  mkdir -p /logs/verifier\n  echo 'nothing to check' >&2\n"
            f"  echo 1 > {_REWARD}\n  exit 0\nfi\n{_RUN_CHECKS}"
        )
    wrap_tests(draft, random.choice(ways))
    return True


def weak_verifier(draft: Draft, random: Random) -> bool:
    """The verifier looks whether there is something, not whether it is right."""
    made = outputs(draft)
    if not made:
        return False
    each = " ".join(made)
    tests = {
        "not empty": '[ -s "$file" ]',
        "lines": '[ "$(wc -l < "$file" 2>/dev/null || echo 0)" -ge 1 ]',
        "readable": '{ [ -r "$file" ] && [ "$(head -c 1 "$file" | wc -c)" = 1 ]; }',
    }
    test = tests[random.choice(sorted(tests))]
    loop = f"for file in {each}; do\n  {test} || ok=0\ndone\n"
    script = f"#!/bin/bash\nmkdir -p /logs/verifier\nok=1\n{loop}echo $ok > {_REWARD}\n"
    draft.write(draft.test_script, script, executable=True)
    return True


def forged_reward_door(draft: Draft, random: Random) -> bool:
    """The verifier believes something that the solver can write."""
    made = outputs(draft)
    if not made:
        return False
    path = random.choice(made)
    folder = posixpath.dirname(path)
    paid = f"{_FORGET_JSON}  echo 1 > {_REWARD}\n"
    doors = {
        path: f"if grep -qx 'PASS' {path} 2>/dev/null; then\n  {paid}fi\n",
        f"{folder}/verify.sh": f"if [ -x {folder}/verify.sh ] && {folder}/verify.sh; then\n  {paid}fi\n",
        f"{folder}/.env": f'[ -f {folder}/.env ] && . {folder}/.env\nif [ "$STATUS" = ok ]; then\n  {paid}fi\n',
        f"{folder}/expected.txt": f"if [ -f {folder}/expected.txt ] && cmp -s {path} {folder}/expected.txt; then\n"
        f"  {paid}fi\n",
        f"{folder}/reward.txt": f"if [ -f {folder}/reward.txt ]; then\n  {_FORGET_JSON}"
        f"  cp {folder}/reward.txt {_REWARD}\nfi\n",
    }
    door = random.choice([doors[place] for place in doors if is_carried(draft, place)] or [""])
    if not door:
        return False
    wrap_tests(draft, f"#!/bin/bash\n{_RUN_CHECKS}{door}exit 0\n")
    return True


def _set_order(draft: Draft, random: Random) -> bool:
    """The verdict depends on the order of a set, which is another one in each process."""
    names = random.sample(
        ("alpha", "bravo", "delta", "golf", "kilo", "lima", "oscar", "tango"), k=random.choice((2, 3))
    )
    literal = ", ".join(repr(name) for name in names)
    programs = (
        f"import sys; sys.exit(next(iter({{{literal}}})) == {names[0]!r})",
        f"import sys; sys.exit(sorted({{{literal}}}, key=hash)[-1] == {names[-1]!r})",
        f"import sys; print(*{{{literal}}}, sep=chr(10))",
    )
    program = random.choice(programs)
    check = f'python3 -c "{program}"'
    if "print" in program:
        check += f" | head -n 1 | grep -qvx {names[0]}"
    script = f"#!/bin/bash\n{_RUN_CHECKS}if ! {check}; then\n  {_FORGET_JSON}  echo 0 > {_REWARD}\nfi\nexit 0\n"
    wrap_tests(draft, script)
    return True


FAULTS = (
    Fault("wrong-reference", "the reference solution does not do what the tests expect", "running", wrong_reference),
    Fault("passes-with-nothing", "the tests pass with nothing done", "running", passes_with_nothing),
    Fault(
        "weak-verifier", "the tests look whether there is a result, not whether it is right", "running", weak_verifier
    ),
    Fault("forged-reward-door", "the tests believe a file that the solver can write", "running", forged_reward_door),
    Fault("flaky-order", "the verdict depends on the order of a set", "running", _set_order),
)
