"""Reading the text files of a task without running them: lines of code, absolute paths, file names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from evolution.gates.outcomes import shown_safely

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sandbox.task import Task, TaskFile

MAX_TEXT_BYTES = 2 * 1024 * 1024
MAX_QUOTED = 160
MAX_LINE = 10_000
"""Characters of a line that are read: nobody writes longer ones by hand, and patterns may go over a line many times."""

_PATH = re.compile(r"(?<![\w./~$}:-])/(?:[A-Za-z0-9_.@+-]+/){0,32}[A-Za-z0-9_.@+-]*[A-Za-z0-9_]")
# Endings of files, so that `json.load`, `os.path` or "e.g." is no file name.
_ENDINGS = (
    "txt|text|md|rst|csv|tsv|json|jsonl|ndjson|xml|html?|css|ya?ml|toml|ini|cfg|conf|env|log|sql|db|sqlite3?|parquet|"
    "bin|dat|data|out|err|tar|t?gz|bz2|xz|zst|zip|7z|patch|diff|png|jpe?g|gif|svg|pdf|wav|py|sh|c|h|cc|cpp|hpp|rs|go|js|"
    "ts|java|rb|pl|lua|r|so|o|a|pem|key|crt|csr|pub|asc|sig|sha256|md5|lock|list|map|report|result"
)
_FILE_NAME = re.compile(rf"(?<![\w/.$@-])[A-Za-z0-9_][\w-]*(?:\.[\w-]+)*\.(?:{_ENDINGS})(?![\w/(-]|\.\w)")
# Paths that are no output of a task: the system's, passing ones, and those that Harbor itself uses.
_SYSTEM = ("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/local/bin", "/lib", "/lib64")
_PASSING = ("/proc", "/sys", "/dev", "/run", "/tmp", "/var/tmp")  # noqa: S108 - nothing is written there
_HARNESS = ("/tests", "/solution", "/logs")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a file of the task.

    Attributes:
        file: The file's path in the task.
        number: From 1.
        text: Without its end.

    As a string it is fit for evidence: cut, and without what a terminal would obey.
    """

    file: str
    number: int
    text: str

    def __str__(self) -> str:
        shown = self.text.strip()
        shown = shown if len(shown) <= MAX_QUOTED else shown[:MAX_QUOTED] + "…"
        return shown_safely(f"{self.file}:{self.number}: {shown}")


def text_of(task: Task, file: TaskFile) -> str | None:
    """The text of a file, or `None` for a link, something binary, or something huge."""
    if file.link or file.size > MAX_TEXT_BYTES:
        return None
    content = task.read_bytes(file.path)
    if b"\0" in content:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Numbers, from 1, and lines of a text; of a line only the first `MAX_LINE` characters."""
    for number, line in enumerate(text.split("\n"), start=1):
        yield number, line[:MAX_LINE].rstrip("\r")


def with_plain_line_ends(text: str) -> str:
    r"""`text` with `\n` for `\r\n` and for `\r` alone, so that its lines are those that Python's parser counts."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def lines_of(task: Task, files: Iterable[TaskFile]) -> Iterator[Line]:
    """Every line of the text files among `files`; of a line only the first `MAX_LINE` characters."""
    for file in files:
        for number, line in numbered_lines(text_of(task, file) or ""):
            yield Line(file.path, number, line)


def code_lines(task: Task, files: Iterable[TaskFile]) -> Iterator[Line]:
    """The lines that are neither blank nor a comment (`#` as the first character); cut as in `lines_of`."""
    return (line for line in lines_of(task, files) if line.text.strip() and not line.text.lstrip().startswith("#"))


def tests_of(task: Task) -> tuple[TaskFile, ...]:
    """The files of the verifier, of all steps."""
    return _parts(task, "tests")


def solution_of(task: Task) -> tuple[TaskFile, ...]:
    """The files of the reference solution, of all steps."""
    return _parts(task, "solution")


def absolute_paths(text: str) -> tuple[str, ...]:
    """Absolute paths in a text, each once, in order; not those of the system, of `/tests`, `/solution` or `/logs`."""
    found = dict.fromkeys(match[0] for match in _PATH.finditer(text))
    return tuple(
        path for path in found if not any(is_below(path, folder) for folder in (*_SYSTEM, *_PASSING, *_HARNESS))
    )


def file_names(text: str) -> tuple[str, ...]:
    """Bare file names in a text (`report.csv`), each once, in order; not parts of a longer path."""
    return tuple(dict.fromkeys(match[0] for match in _FILE_NAME.finditer(text)))


def is_below(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or lies in it."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


@lru_cache(maxsize=512)
def word(name: str) -> re.Pattern[str]:
    """Matches `name` where no letter, digit, `_` or `-` continues it."""
    return re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")


def holds_word(text: str, name: str) -> bool:
    """Whether `word(name)` matches somewhere; most texts that do not hold it are told without a regular expression."""
    return name in text and word(name).search(text) is not None


def _parts(task: Task, part: str) -> tuple[TaskFile, ...]:
    folders = [part, *(f"{step.folder}/{part}" for step in task.steps if step.folder)]
    return tuple(file for folder in folders for file in task.under(folder))
