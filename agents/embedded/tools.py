"""The host's tools as pieces of a script: each asks for what it needs and returns what came back."""

from __future__ import annotations

import base64
import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from agents.embedded.conversation import Batch, Call, CannotError, Result, Results

T = TypeVar("T")
Part: TypeAlias = Generator[Batch, Results, T]

PAGE: Final = 45_000  # bytes; a multiple of 3, so that pages of base64 join, and short enough for one tool result
PARTS: Final = ("environment", "solution", "steps", "tests")
_LISTED = re.compile(r"^(?P<path>.+?)  (?P<size>\d+) bytes(?P<executable>  executable)?$")
_CUT = re.compile(r"^\[\.\.\. \d+ more files left out", re.MULTILINE)
_STATUS = re.compile(r"^exit code: (-?\d+)$")


@dataclass(frozen=True, slots=True)
class Listed:
    """A file of a listing.

    Attributes:
        path: Relative to the task folder.
        size: Bytes.
        executable: Whether it has the run bit.
    """

    path: str
    size: int
    executable: bool


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command did.

    Attributes:
        status: Its exit code; `None` when it timed out or could not be run.
        text: The tool's whole answer.
    """

    status: int | None
    text: str

    @property
    def lines(self) -> list[str]:
        """The answer's lines, the status line left out."""
        return self.text.splitlines()[1:]


def listing() -> Part[dict[str, Listed]]:
    """The files of the task by path; where a listing of everything is cut, the parts are listed one by one."""
    (result,) = yield (Call("list_files", {"path": "."}),)
    if result.failed:
        raise CannotError(f"the task folder cannot be listed ({result.text})")
    answers = [result.text]
    if _CUT.search(result.text):
        results = yield tuple(Call("list_files", {"path": part}) for part in PARTS)
        answers += [part.text for part in results if not part.failed]
    found = [_LISTED.match(line) for answer in answers for line in answer.splitlines()]
    return {m["path"]: Listed(m["path"], int(m["size"]), bool(m["executable"])) for m in found if m}


def texts(paths: Sequence[str]) -> Part[dict[str, str]]:
    """Text files by path, as far as they exist and are text; the first 64 K characters of each."""
    if not paths:
        return {}
    results = yield tuple(Call("read_file", {"path": path}) for path in paths)
    return {path: result.text for path, result in zip(paths, results, strict=True) if not result.failed}


def contents(files: Sequence[Listed]) -> Part[dict[str, bytes]]:
    """Whole files by path, byte for byte.

    Raises:
        CannotError: One of them cannot be read.
    """
    pages = [(file, at) for file in files for at in range(0, max(file.size, 1), PAGE)]
    if not pages:
        return {}
    results = yield tuple(
        Call("read_file", {"path": file.path, "offset": at, "limit": PAGE, "encoding": "base64"}) for file, at in pages
    )
    found: dict[str, bytes] = {file.path: b"" for file in files}
    for (file, _), result in zip(pages, results, strict=True):
        if result.failed:
            raise CannotError(f"{file.path} cannot be read ({result.text})")
        found[file.path] += base64.b64decode(result.text)
    return found


def ran(result: Result) -> Ran:
    """Reads the answer of `run`."""
    first = _STATUS.match(result.text.split("\n", 1)[0])
    return Ran(int(first[1]) if first else None, result.text)


def runs(commands: Sequence[str], *, timeout: int = 120) -> Part[tuple[Ran, ...]]:
    """Runs commands one after the other in one message."""
    results = yield tuple(Call("run", {"command": command, "timeout": timeout}) for command in commands)
    return tuple(ran(result) for result in results)


def writing(path: str, content: bytes, *, executable: bool = False) -> Call:
    """The call that writes a file: as text where that is what it is, else as base64."""
    arguments: dict[str, object] = {"path": path}
    try:
        arguments["content"] = content.decode("utf-8")
    except UnicodeDecodeError:
        arguments |= {"content": base64.b64encode(content).decode("ascii"), "encoding": "base64"}
    if executable:
        arguments["executable"] = True
    return Call("write_file", arguments)
