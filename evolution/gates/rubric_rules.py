"""The static rules of gate `rubric`: each takes a task and yields what it finds, quoting file and line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evolution.gates.scripts import (
    Line,
    absolute_paths,
    code_lines,
    holds_word,
    is_below,
    lines_of,
    numbered_lines,
    solution_of,
    tests_of,
    text_of,
)
from sandbox.verification.verify import test_script

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandbox.task import Task

SHORTEST = 40
"""Characters below which an instruction cannot say what to do, where, and how it is checked."""
LONGEST = 30_000
LONGEST_TIMEOUT = 24 * 3600

_HARNESS = re.compile(
    r"(?<![\w./-])/(?:tests|solution|logs/verifier)(?![\w-])|\b(?:solve|test)\.sh\b|\breward\.(?:txt|json)\b|\bctrf\.json\b"
)
# `date` where a command stands, and not a name that only looks like it (`date = …`, `(date TEXT)` in a here-document).
_DATE = re.compile(
    r"(?P<before>^|[;&|`]|(?:^|[\s$<])\()\s*(?:[A-Z_]{1,60}=\S{1,200}\s{1,80}){0,8}"
    r"date(?=\s*(?:$|[)`|;&<>'\"])|\s+[+-])(?P<arguments>[^;|&)`]*)"
)
_DATE_IS_GIVEN = re.compile(r"(?:^|\s)(?:-u?[drf]|--date|--reference|--file|--help|--version)")
_DEFAULT = re.compile(r"\$\{\w+:?[-=]\"?\$?\(?$")
"""Before the date that an argument or a variable has where nobody gives another one."""
_MOST_BEFORE = 120
"""Characters before a date in which `_DEFAULT` is looked for."""
_STOPWATCH = re.compile(r"\btime\.time(?:_ns)?\(\)(?!\)?\s*(?:%|//|[<>]))")
"""What Python tests take the time with, for the start and length of a test; `rerun` moves the clock all the same."""
_CLOCK = re.compile(
    r"\bdatetime\.(?:datetime\.)?(?:now|utcnow|today)\(|\bdate\.today\(|\btime\.(?:time|time_ns|localtime|ctime)\(|\btime\.gmtime\(\)|"
    r"\$\{?EPOCH(?:SECONDS|REALTIME)\b|\bprintf\s+['\"]?%\([^)]{0,80}\)T|(?:\btime\.|(?<![\w.)]))strftime\(\s*[\"'][^\"']*[\"']\s*\)|"
    r"\bnew Date\(\)|\bDate\.now\("
)
_RANDOM = re.compile(
    r"\$\{?S?RANDOM\b|/dev/u?random\b|\bos\.urandom\(|\buuid\.uuid[14]\(|\buuidgen\b|\bsecrets\.\w+\(|"
    r"\bopenssl\s+rand\b|\bMath\.random\("
)
_SHUF = re.compile(
    r"(?:^|[;&|(]\s*|\$\(\s*)(?:shuf\b|sort\s{1,80}(?:\S{1,200}\s{1,80}){0,24}?(?:-\w{0,20}R|--random-sort))"
)
_RANDOM_SOURCE = "--random-source"
_PYTHON_RANDOM = re.compile(r"\brandom\.(?:random|randint|randrange|choice|choices|shuffle|sample|uniform|gauss)\(")
_SEEDED = re.compile(r"\brandom\.(?:seed\(|Random\(\s*[^)\s])|default_rng\(\s*[^)\s]")
_DOWNLOADER = re.compile(r"\b(?:curl|wget)\b")
_ELSEWHERE = re.compile(r"\bhttps?://(?!localhost|127\.|0\.0\.0\.0|\[::1\])")
_PIP = re.compile(r"\bpip3?\s+install\b")
_NO_INDEX = "--no-index"
_FETCHES = re.compile(
    r"\b(?:apt|apt-get|apk|dnf|yum)\s{1,80}(?:-\S{1,200}\s{1,80}){0,16}(?:install|add|update)\b|"
    r"\bnpm\s+(?:install|ci|i)\b|\buvx?\s+(?:pip|-p|-w|--with)|"
    r"\bgit\s+clone\s{1,80}(?:\S{1,200}\s{1,80}){0,24}?(?:https?|ssh|git)[:@]|"
    r"\bcargo\s+install\b|\bgo\s+(?:get|install)\b"
)
_REWARD = re.compile(r"\breward\.(?:txt|json)\b")
_EXIT = re.compile(r"(?:^|[;&|{]\s*|\bthen\s+|\belse\s+)exit\b")
_OWN_FOLDER = re.compile(r"(?:^|[;&|]\s*)cd\s+[\"']?/(?:tests|tmp|logs)\b\S*\s*\|\|\s*exit\b[^;&|]*")
"""Only a broken machine keeps the tests out of a folder of their own."""
_TRAP = re.compile(r"\btrap\b")
_AT_EXIT = re.compile(r"\bEXIT\b")
_ERREXIT = re.compile(r"^\s*set\s+(?:-\w*e|-o\s+errexit|.*\s-o\s+errexit)")
_MAY_FAIL = re.compile(
    r"^(?:pytest|python3?|uvx|diff|cmp|grep|test|\[|bash|sh|jq|sha256sum|make|node)\b(?!.*(?:\|\||&&))"
)
_INTO_VERIFIER = re.compile(r"(?<![\w./-])/(?:logs/verifier|tests)(?![\w-])")


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule has found.

    Attributes:
        what: The code after `rubric/`.
        message: What is wrong, where, and what to do.
    """

    what: str
    message: str


def instruction_rules(task: Task) -> Iterator[Finding]:
    """An instruction says enough, not too much, and nothing of how it is checked."""
    for step in task.steps:
        file = f"{step.folder}/instruction.md" if step.folder else "instruction.md"
        size = len(step.instruction.strip())
        if size < SHORTEST:
            yield Finding("instruction-short", f"{file}: {size} characters cannot say what to do and where to put it")
        if size > LONGEST:
            yield Finding("instruction-long", f"{file}: {size} characters, more than {LONGEST}; move data into files")
        for number, text in numbered_lines(step.instruction):
            named = _HARNESS.search(text)
            if named:
                line = Line(file, number, text)
                yield Finding(
                    "mentions-harness", f"{line}\n  names {named[0]}: a solver must not be told of the verifier"
                )


def output_rules(task: Task) -> Iterator[Finding]:
    """Every path that the solution makes and the tests look at is named in the instruction."""
    solution = "\n".join(line.text for line in code_lines(task, solution_of(task)))
    made = set(absolute_paths(solution))
    named = absolute_paths(task.instruction)
    seen: set[str] = set()
    for line in code_lines(task, tests_of(task)):
        for path in absolute_paths(line.text):
            if path in seen or path not in made or any(is_below(other, path) for other in named):
                continue
            seen.add(path)
            base = path.rpartition("/")[2]
            if not holds_word(task.instruction, base) and not _is_input(task, base):
                yield Finding("unnamed-output", f"{line}\n  checks {path}, which the instruction never names")


def clock_rules(task: Task) -> Iterator[Finding]:
    """Neither solution nor tests depend on when they run, nor on chance."""
    files = (*solution_of(task), *tests_of(task))
    seeded = {file.path for file in files if _SEEDED.search(text_of(task, file) or "")}
    for line in code_lines(task, files):
        python = line.file.endswith(".py")
        dates = any(_is_of_today(date, line.text) for date in _DATE.finditer(line.text))
        text = _STOPWATCH.sub("", line.text) if python else line.text
        if (dates and not python) or _CLOCK.search(text):
            yield Finding(
                "clock", f"{line}\n  depends on the time of day: take a fixed time, or one from the task's data"
            )
        by_chance = _PYTHON_RANDOM.search(line.text) and line.file not in seeded
        if by_chance or _RANDOM.search(line.text) or _not_before(_SHUF, line.text, _RANDOM_SOURCE):
            yield Finding("randomness", f"{line}\n  depends on chance: give the generator a fixed seed")


def _is_of_today(date: re.Match[str], text: str) -> bool:
    if _DATE_IS_GIVEN.search(date["arguments"]):
        return False
    end = date.end("before")
    return not _DEFAULT.search(text, max(0, end - _MOST_BEFORE), end)


def _not_before(pattern: re.Pattern[str], text: str, excuse: str) -> bool:
    """Whether a pattern matches where `excuse` does not follow; as a lookahead this would go over a line many times."""
    excused = text.rfind(excuse)
    return any(match.end() > excused for match in pattern.finditer(text))


def _one_after_the_other(first: re.Pattern[str], second: re.Pattern[str], text: str) -> bool:
    """Whether both match in this order; written as one pattern this would go over a line many times."""
    found = first.search(text)
    return found is not None and second.search(text, found.end()) is not None


def _fetches(text: str) -> bool:
    """Whether a line of code gets something from another machine."""
    downloads = _one_after_the_other(_DOWNLOADER, _ELSEWHERE, text) or _not_before(_PIP, text, _NO_INDEX)
    return downloads or _FETCHES.search(text) is not None


def network_rules(task: Task) -> Iterator[Finding]:
    """Where the environment has no network, nothing is fetched."""
    if task.config.environment.network_mode != "no-network":
        return
    for line in code_lines(task, (*solution_of(task), *tests_of(task))):
        if _fetches(line.text):
            yield Finding("network", f'{line}\n  fetches something, but [environment] network_mode is "no-network"')


def verifier_rules(task: Task) -> Iterator[Finding]:
    """There is a verifier, and it writes a reward whatever happens."""
    for step in task.steps:
        script = test_script(task, step)
        if script is None:
            continue  # reading the task has refused it already, unless the verifier has an image of its own
        lines = list(code_lines(task, task.under(script)))
        if not lines:
            yield Finding("test-script-empty", f"{script}: holds no command, so there is never a reward")
            continue
        if not any(_REWARD.search(line.text) for line in lines_of(task, tests_of(task))):
            yield Finding(
                "no-reward-written", f"{script}: neither it nor a file beside it writes reward.txt or reward.json"
            )
            continue
        yield from _paths_without_reward(lines)


def solution_rules(task: Task) -> Iterator[Finding]:
    """The reference solution earns its reward by work."""
    for line in code_lines(task, solution_of(task)):
        if _INTO_VERIFIER.search(line.text):
            yield Finding(
                "solution-touches-verifier", f"{line}\n  a solution has no business in /tests or /logs/verifier"
            )


def timeout_rules(task: Task) -> Iterator[Finding]:
    """Times are positive and below a day."""
    tables = {"agent": task.config.agent.timeout_sec, "verifier": task.config.verifier.timeout_sec}
    for step in task.config.steps:
        tables[f"steps.{step.name}.agent"] = step.agent.timeout_sec
        tables[f"steps.{step.name}.verifier"] = step.verifier.timeout_sec
    for table, seconds in tables.items():
        if seconds is not None and not 0 < seconds <= LONGEST_TIMEOUT:
            wanted = f"expected more than 0 and at most {LONGEST_TIMEOUT}"
            yield Finding("timeout", f"task.toml [{table}] timeout_sec: came {seconds:g}, {wanted}")


def _paths_without_reward(lines: list[Line]) -> Iterator[Finding]:
    """Ways through a `test.sh` that end before its first line about the reward; a `trap … EXIT` covers them all."""
    first = next((index for index, line in enumerate(lines) if _REWARD.search(line.text)), None)
    if first is None or any(_one_after_the_other(_TRAP, _AT_EXIT, line.text) for line in lines):
        return
    errexit = False
    for line in lines[:first]:
        errexit = errexit or bool(_ERREXIT.match(line.text))
        if _EXIT.search(_OWN_FOLDER.sub("", line.text)):
            yield Finding("exit-before-reward", f"{line}\n  ends before a reward is written: write 0 first")
        elif errexit and _MAY_FAIL.match(line.text):
            yield Finding("stops-before-reward", f"{line}\n  under `set -e` a failure here ends it without a reward")


def _is_input(task: Task, base: str) -> bool:
    """Whether the environment ships a file of that name, so that the solution changes it rather than makes it."""
    return any(file.path.rpartition("/")[2] == base for file in task.under("environment"))
