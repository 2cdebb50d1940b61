"""Signs, in a task's code, that two runs may differ: what a reader would be wary of, and how wary."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evolution.gates.scripts import Line, numbered_lines, solution_of, tests_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sandbox.task import Task, TaskFile

STEADY: Final = 0.1
"""The prior probability that a task without any sign is flaky all the same."""

_CODE: Final = (
    ".sh",
    ".bash",
    ".py",
    ".pl",
    ".rb",
    ".js",
    ".ts",
    ".go",
    ".rs",
    ".c",
    ".cc",
    ".cpp",
    ".java",
    ".lua",
    ".awk",
)
_PYTHON: Final = (".py",)
_BEGIN: Final = r"(?:^|[|;&({`]|\bdo\b|\bthen\b|\belse\b)\s*"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of sign.

    Attributes:
        name: What it is called.
        weight: How likely it makes flakiness, for itself.
        pattern: What it looks like in a line of code.
        unless: What in the same file takes its meaning away.
        only: Endings of the files that it is looked for in; "" is a shell script.
        excuse: What further on in the same line takes its meaning away.
    """

    name: str
    weight: float
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None = None
    only: tuple[str, ...] = ()
    excuse: re.Pattern[str] | None = None

    def shows_in(self, line: str) -> bool:
        """Whether a line of code has this sign; in time linear in its length."""
        if self.excuse is None:
            return self.pattern.search(line) is not None
        excused = max((match.start() for match in self.excuse.finditer(line)), default=-1)
        return any(match.end() > excused for match in self.pattern.finditer(line))


@dataclass(frozen=True, slots=True)
class Sign:
    """One sign.

    Attributes:
        kind: Its kind.
        line: Where it was found first.
    """

    kind: Kind
    line: Line


_SEEDED = re.compile(
    r"\bseed\s*\(\s*[\w'\"]|Random\(\s*[\w'\"]|default_rng\(\s*\w|RandomState\(\s*\w|--random-source|srand\s*\(\s*\d"
)
_SHELL: Final = ("", ".sh", ".bash")
KINDS: Final = (
    Kind(
        "chance",
        0.85,
        re.compile(
            r"\$\{?S?RANDOM\b|\bRANDOM\s*%|/dev/u?random|\bgetrandom\b|"
            + _BEGIN
            + r"shuf\b|\bsort\s{1,80}(?:-\w{1,80}\s{1,80}){0,16}(?:-R|--random-sort)\b|"
            r"\brandom\.(?!seed|Random\()\w+\s*\(|\brand(?:int|range|om)?\s*\(|\bMath\.random|\bos\.urandom|\bsecrets\.\w+|"
            r"\bSystemRandom\b|\bopenssl\s+rand\b|\brandom\(\)|\bsrand\s*\(\s*\)"
        ),
        _SEEDED,
    ),
    Kind(
        "random names", 0.5, re.compile(r"\buuid[14]?\s*\(|\buuidgen\b|/proc/sys/kernel/random/uuid|\buuid\.uuid[14]\b")
    ),
    Kind(
        "processes side by side",
        0.6,
        re.compile(
            r"(?<![&>|<])&\s*(?:$|#|\)|;|wait\b|disown\b)|\bxargs\b.{0,200}?\s-P|--max-procs|"
            + _BEGIN
            + r"(?:parallel|nohup|setsid|coproc)\b"
        ),
        only=_SHELL,
    ),
    Kind(
        "threads or processes",
        0.6,
        re.compile(
            r"\bthreading\b|\bThreadPool|\bProcessPool|\bmultiprocessing\b|\bPopen\s*\(|\basyncio\.(?:gather|create_task|wait)\b|\bos\.fork\s*\("
        ),
    ),
    Kind(
        "waiting",
        0.5,
        re.compile(_BEGIN + r"(?:sleep|usleep)\s+[\d.$\"]|\btime\.sleep\s*\(|\bthread::sleep|\bsetTimeout\s*\("),
    ),
    Kind(
        "sockets",
        0.5,
        re.compile(
            r"\bsocket\.(?:socket|create_)|\bhttp\.server\b|\bHTTPServer\b|\blocalhost:\d|127\.0\.0\.1|/dev/tcp/|"
            + _BEGIN
            + r"(?:nc|ncat|socat)\s"
        ),
    ),
    Kind(
        "how long something takes",
        0.6,
        re.compile(
            r"\bperf_counter\b|\bmonotonic\s*\(|\$\{?SECONDS\b|\$\{?EPOCHREALTIME\b|\btimeit\b|%N\b|\btime_ns\s*\(|\bclock_gettime\b"
        ),
    ),
    Kind(
        "the time of day",
        0.15,
        re.compile(
            _BEGIN
            + r"date\s*(?:$|[)`|;>]|-u\b\s*(?:\+|$|[)`|;])|\+)|\btime\.time\s*\(|\bdatetime\.(?:now|today|utcnow)\s*\(|"
            r"\bdate\.today\s*\(|\bDate\.now\b|\$\{?EPOCHSECONDS\b|\btime\.(?:localtime|gmtime|strftime)\s*\([^,]{0,200}?\)"
        ),
    ),
    Kind("process numbers", 0.15, re.compile(r"\$\$(?!\w)|\$\{?BASHPID\b|\bos\.getpid\s*\(")),
    Kind(
        "temporary names",
        0.03,
        re.compile(r"\bmktemp\b|\btempfile\.|\bmkstemp\b|\bmkdtemp\b"),
    ),
    Kind(
        "the first of a set",
        0.7,
        re.compile(
            r"\b(?:iter|list|tuple|enumerate|print|join)\s*\(\s*\*?(?:set\s*\(|\{[^:{}]+\})|\bnext\s*\(\s*iter\s*\(|"
            r"\bfor\s+\w+\s+in\s+\{[^:{}]+\}|\bkey\s*=\s*hash\b|\*\{[^:{}]+\}"
        ),
    ),
    Kind(
        "order of sets",
        0.2,
        re.compile(
            r"\bfor\s+\w+\s+in\s+set\s*\(|\blist\s*\(\s*set\s*\(|\bjoin\s*\(\s*set\s*\(|(?<![\w.])hash\s*\(|\bpop\s*\(\s*\)\s*#\s*set"
        ),
        only=_PYTHON,
    ),
    Kind(
        "order of folders",
        0.08,
        re.compile(
            r"^(?!.*\bsorted\s*\().*(?:\bos\.(?:listdir|scandir|walk)\s*\(|\bglob\.i?glob\s*\(|\.(?:iterdir|r?glob)\s*\()|"
            + _BEGIN
            + r"ls\s+-\w*[Uf]"
        ),
    ),
    Kind(
        "order of folders",
        0.08,
        re.compile(_BEGIN + r"find\s"),
        excuse=re.compile(r"\|\s*(?:LC_\w{1,20}=\S{1,80}\s{1,80})?sort\b|-(?:delete|quit|exec)\b"),
    ),
)


SIDE_BY_SIDE: Final = frozenset(
    ["processes side by side", "threads or processes", "waiting", "sockets", "how long something takes"]
)
"""Kinds of signs of a race."""


def signs(task: Task) -> tuple[Sign, ...]:
    """The first sign of each kind in the solution, the tests and the environment's programs."""
    files = [*solution_of(task), *tests_of(task), *task.under("environment")]
    files += [file for step in task.steps if step.folder for file in task.under(f"{step.folder}/workdir")]
    found: dict[str, Sign] = {}
    for file in files:
        text = text_of(task, file) if _may_be_code(file) else None
        if text is None or (_ending(file) == "" and not text.startswith("#!")):
            continue
        for kind in KINDS:
            if kind.name not in found and (line := _first(kind, file, text)) is not None:
                found[kind.name] = Sign(kind, line)
    return tuple(found.values())


def weight(found: Sequence[Sign]) -> float:
    """The prior probability that a task with these signs is flaky: each may be the one that makes it so."""
    steady = 1 - STEADY
    for sign in found:
        elsewhere = sign.line.file.startswith("environment/")  # it may never run
        steady *= 1 - sign.kind.weight * (0.5 if elsewhere else 1)
    return 1 - steady


def runs_test_cases(task: Task) -> bool:
    """Whether the tests are cases of pytest or unittest."""
    texts = (text_of(task, file) or "" for file in tests_of(task))
    return any(re.search(r"\bpytest\b|\bunittest\b", text) for text in texts)


def _may_be_code(file: TaskFile) -> bool:
    return _ending(file) in _CODE or (_ending(file) == "" and file.executable)


def _ending(file: TaskFile) -> str:
    name = file.path.rpartition("/")[2]
    return name[name.rindex(".") :] if "." in name.lstrip(".") else ""


def _first(kind: Kind, file: TaskFile, text: str) -> Line | None:
    if (kind.only and _ending(file) not in kind.only) or (kind.unless is not None and kind.unless.search(text)):
        return None
    return next((Line(file.path, number, line) for number, line in _code(text) if kind.shows_in(line)), None)


def _code(text: str) -> Iterable[tuple[int, str]]:
    lines = numbered_lines(text)
    return ((number, line) for number, line in lines if line.strip() and not line.lstrip().startswith(("#", "//")))
