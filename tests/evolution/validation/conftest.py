"""Tiny tasks, plug-ins that misbehave, and the command as a user gives it, with a state folder of its own."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from evolution import validate
from sandbox.backends import load_backend
from sandbox.errors import SandboxUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).parents[3]
BASICS = ("--gates", "build", "oracle", "noop")
Files = dict[str, str]

PLUGINS = '''
import os
from pathlib import Path

from evolution.gates.outcomes import accepted, finding, judged
from sandbox.bubblewrap.backend import BubblewrapBackend
from sandbox.errors import SandboxLostError

PLACE = Path(__file__).parent


class Crashing:
    name, stage = "crashing", 1
    codes = {}

    async def check(self, candidate, sandboxes):
        if "crash" in candidate.task.name:
            raise KeyError("lost")
        return accepted(self.name)


class Silent:
    name, stage = "silent", 1

    async def check(self, candidate, sandboxes):
        return None


class Counting:
    """Notes each task it is asked about."""

    name, stage = "counting", 0

    async def check(self, candidate, sandboxes):
        with (PLACE / "asked").open("a") as file:
            file.write(candidate.task.name + "\\n")
        return accepted(self.name)


class Picky:
    """Finds two things in every task, in the name of gate `build`, whose place it takes."""

    name, stage = "build", 1
    codes = {"one": "the first", "two": "the second"}

    async def check(self, candidate, sandboxes):
        return judged(self.name, [finding(self.name, "one", "first\\x1b[31m", "a:1"), finding(self.name, "two", "second", "b:2")])


class Failing(BubblewrapBackend):
    """Loses as many sandboxes as the file `failures` says."""

    async def start(self, *given, **named):
        file = PLACE / "failures"
        left = int(file.read_text())
        if left:
            file.write_text(str(left - 1))
            raise SandboxLostError("the sandbox was lost")
        return await super().start(*given, **named)
'''


def tiny(name: str, **changed: str | None) -> Files:
    """The files of a sound task; `None` leaves one out."""
    files = {
        "task.toml": f'schema_version = "1.4"\n[task]\nname = "{name}"\n[agent]\ntimeout_sec = 20\n[verifier]\ntimeout_sec = 20\n',
        "instruction.md": f"For {name}: copy the text of the file /app/a to the file /app/b, byte for byte.\n",
        "environment/Dockerfile": "FROM python:3.12-bookworm\nWORKDIR /app\nCOPY a /app/a\n",
        "environment/a": f"one {name}\n",
        "solution/solve.sh": "#!/bin/bash\ncp /app/a /app/b\n",
        "tests/test.sh": "#!/bin/bash\necho 0 > /logs/verifier/reward.txt\ncmp /app/a /app/b && echo 1 > /logs/verifier/reward.txt\n",
    }
    short = {
        "toml": "task.toml",
        "dockerfile": "environment/Dockerfile",
        "solve": "solution/solve.sh",
        "test": "tests/test.sh",
    }
    for key, content in changed.items():
        if content is None:
            del files[short[key]]
        else:
            files[short[key]] = content
    return files


def write(folder: Path, files: Files) -> Path:
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8")
        target.chmod(0o755 if path.endswith(".sh") else 0o644)
    return folder


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., Path]:
    """Writes a tiny task: `put("good")`, `put("bad", solve="exit 1")`."""
    return lambda folder, name="", **changed: write(
        tmp_path / "tasks" / folder, tiny(name or f"tests/{folder}", **changed)
    )


@dataclass(frozen=True)
class Answer:
    """What the command came to."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def by_task(self) -> dict[str, dict[str, Any]]:
        return {line["task"]: line for line in self.lines}


@dataclass(frozen=True)
class Command:
    """`python -m evolution.validate`, in this process or in one of its own."""

    place: Path
    capture: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str | Path, plain: bool = True) -> Answer:
        self.capture.readouterr()
        code = validate.main(self.words(arguments, plain=plain))
        said = self.capture.readouterr()
        return Answer(code, said.out, said.err)

    def words(self, arguments: Sequence[str | Path], *, plain: bool = True) -> list[str]:
        given = [str(argument) for argument in arguments]
        out = [] if "--out" in given else ["--out", str(self.place / "out")]
        return [*given, *out, *(["--plain"] if plain else [])]

    def start(self, *arguments: str | Path, **streams: Any) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(self.place)])}
        command = [sys.executable, "-m", "evolution.validate", *self.words(arguments)]
        piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
        return subprocess.Popen(command, cwd=ROOT, env=environment, text=True, **piped)

    def finish(self, process: subprocess.Popen[str]) -> Answer:
        out, err = process.communicate(timeout=300)
        return Answer(process.returncode, out, err)

    def stale(self) -> tuple[Any, ...]:
        """What dead processes left of sandboxes."""
        return asyncio.run(_asked("stale"))


async def _asked(what: str) -> Any:
    backend = load_backend(base=("*=host",))
    try:
        return await getattr(backend, what)()
    finally:
        await backend.close()


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command; skipped where this machine has no sandboxes."""
    monkeypatch.setenv("ENVOLVE_STATE", str(tmp_path / "state"))
    (tmp_path / "misbehaving.py").write_text(PLUGINS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "misbehaving", raising=False)
    try:
        asyncio.run(_asked("capabilities"))
    except SandboxUnavailableError as error:
        pytest.skip(f"no sandbox on this machine: {error}")
    return Command(tmp_path, capsys)
