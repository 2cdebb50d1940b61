"""Verifiers that break on some way through and leave no reward."""
# ruff: noqa: E501 - lines of scripts are as long as they are

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evolution.faults.fault import Fault
from evolution.faults.independent.parts.look import has_python, json_results, results
from evolution.faults.independent.parts.script import edit_tests, one_of

if TYPE_CHECKING:
    from random import Random

    from evolution.faults.draft import Draft


def _absent(paths: tuple[str, ...], draft: Draft) -> tuple[str, ...]:
    """Results that are not there before the work is done."""
    given = {path.rsplit("/", 1)[-1] for path in draft.files if path.startswith("environment/")}
    return tuple(path for path in paths if path.rsplit("/", 1)[-1] not in given)


def _no_early_zero(draft: Draft) -> bool:
    """Takes out what writes a reward before the work is looked at; False where a trap writes one in any case."""
    text = draft.text(draft.test_script)
    if re.search(r"^\s*trap\b.*(reward|EXIT)", text, re.MULTILINE):
        return False
    first = re.search(r"^echo ['\"]?0(\.0)?['\"]? > \S*reward\.txt[\"']?\n", text, re.MULTILINE)
    if first:
        draft.write(draft.test_script, text[: first.start()] + text[first.end() :])
    return True


def _strict_shell(draft: Draft, rng: Random) -> bool:
    """The shell gives up at the first look at a missing result."""
    paths = _absent(results(draft), draft)
    if not paths or not _no_early_zero(draft):
        return False
    path = rng.choice(paths)
    name = rng.choice(("size", "lines", "bytes", "found"))
    look = rng.choice(
        (
            f'{name}=$(wc -c < {path})\necho "{name}: ${name}"',
            f"ls -l {path}",
            f'{name}=$(stat -c %s "{path}")\necho "${name} bytes"',
            f"head -c 300 {path}; echo",
            f"sha256sum {path}",
            f"cp {path} $(mktemp -d)",
        )
    )
    return edit_tests(
        draft, f"\n{rng.choice(('set -e', 'set -euo pipefail', 'set -eu', 'set -o errexit'))}\n{look}\nset +e\n"
    )


def _leaves_early(draft: Draft, rng: Random) -> bool:
    """Nothing to grade, so it goes without a word to the one who waits for a reward."""
    paths = _absent(results(draft), draft)
    if not paths or not _no_early_zero(draft):
        return False
    path = rng.choice(paths)
    leave = rng.choice(
        (
            f'[ -s {path} ] || {{ echo "nothing to grade"; exit 1; }}',
            f'if [ ! -f "{path}" ]; then\n    echo "{path}: not found" >&2\n    exit 2\nfi',
            f"test -r {path} || exit 66",
            f"cd {path.rsplit('/', 1)[0]} && : < {path} || exit\ncd - > /dev/null",
        )
    )
    return edit_tests(draft, f"\n{leave}\n")


def _parses_first(draft: Draft, rng: Random) -> bool:
    """Work that is no JSON ends it."""
    paths = _absent(json_results(draft), draft)
    if not paths or not has_python(draft) or not _no_early_zero(draft):
        return False
    path = rng.choice(paths)
    parse = rng.choice(
        (
            f"python3 -m json.tool {path} > /dev/null || exit 1",
            f"python3 -c 'import json, sys; json.load(open(sys.argv[1]))' {path} || exit",
            f'keys=$(python3 -c \'import json; print(len(json.load(open("{path}"))))\') || exit $?\necho "$keys entries"',
        )
    )
    return edit_tests(draft, f"\n{parse}\n")


def _fewer_excuses(draft: Draft, rng: Random) -> bool:
    """The runner no longer catches what checks raise about bad work."""
    paths = [path for path in draft.below(draft.tests) if path.endswith(".py")]
    for path in paths:
        text = draft.text(path)
        named = re.search(r"^FAULTS = \([^)]*\)", text, re.MULTILINE)
        if named:
            new = rng.choice(
                (
                    "FAULTS = (LookupError, TypeError, ValueError)",
                    "FAULTS = ()",
                    "FAULTS = (OSError, ValueError, KeyError)",
                )
            )
            draft.write(path, text[: named.start()] + new + text[named.end() :])
            return True
        caught = re.search(r"^( *)except (\([^)]*\)|\w+(?:\.\w+)*)( as \w+)?:", text, re.MULTILINE)
        if caught and "OSError" in caught[2]:
            new = rng.choice(("KeyError", "IndexError", "ZeroDivisionError"))
            draft.write(
                path, f"{text[: caught.start()]}{caught[1]}except {new}{caught[3] or ''}:{text[caught.end() :]}"
            )
            return True
    return False


def _loads_at_import(draft: Draft, rng: Random) -> bool:
    """A check file loads its result when it is read, where nobody catches what goes wrong."""
    paths = [path for path in draft.below(f"{draft.tests}/checks") if "load_json(out)" in draft.text(path)]
    if not paths:
        return False
    path = rng.choice(paths)
    name = rng.choice(("answer", "loaded", "submitted", "document"))
    lines = draft.text(path).split("\n")
    place = next((i for i, line in enumerate(lines) if line.startswith("def ")), None)
    if place is None:
        return False
    rest = "\n".join(lines[place:]).replace("load_json(out)", name)
    draft.write(path, "\n".join(lines[:place]).rstrip("\n") + f"\n{name} = load_json(out)\n\n\n{rest}")
    return True


def _only_success(draft: Draft, rng: Random) -> bool:
    """A reward is written for good work only."""
    path = draft.test_script
    text = draft.text(path)
    zero = re.search(r"^( *)echo ['\"]?0(\.0)?['\"]? > \S*reward\.txt\n", text, re.MULTILINE)
    if not zero or "trap" in text:
        return False
    told = rng.choice(('echo "the task was not solved"', "echo FAILED >&2", ":"))
    draft.write(path, f"{text[: zero.start()]}{zero[1]}{told}\n{text[zero.end() :]}")
    return True


FAULTS: tuple[Fault, ...] = (
    Fault(
        "no-reward",
        "Where work is missing or malformed the verifier breaks off and writes no reward.",
        "running",
        one_of(
            _strict_shell,
            _strict_shell,
            _leaves_early,
            _leaves_early,
            _parses_first,
            _fewer_excuses,
            _loads_at_import,
            _only_success,
        ),
        independent=True,
    ),
)
