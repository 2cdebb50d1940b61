"""A person in a task's sandbox, at a real terminal and without one."""

from __future__ import annotations

import fcntl
import os
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox.backends import load_backend
from sandbox.shell.interactive import Interactive

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
TASK = {
    "task.toml": '[environment]\nenv = { GREETING = "hello" }\n',
    "instruction.md": "Write ab to /app/out.\n",
    "environment/Dockerfile": "FROM python:3.12-bookworm\nWORKDIR /app\n",
    "solution/solve.sh": "printf ab > /app/out\n",
    "tests/test.sh": '[ "$(cat /app/out)" = ab ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n',
}
PATIENCE = 60


@pytest.fixture
def task(tmp_path: Path, sandboxes) -> Path:  # `sandboxes`: skips where this machine has none
    for path, text in TASK.items():
        (tmp_path / "task" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "task" / path).write_text(text)
    return tmp_path / "task"


def command(task: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "sandbox.shell", str(task), "--base", "*=host", *arguments]


class Person:
    """Sits at a terminal of 40 lines and 100 columns."""

    def __init__(self, task: Path, *arguments: str) -> None:
        self.ours, theirs = os.openpty()
        self.resize(40, 100)
        self.process = subprocess.Popen(
            command(task, *arguments),
            cwd=ROOT,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            preexec_fn=lambda: os.login_tty(theirs),  # noqa: PLW1509 - one thread, and no other way
            env={**os.environ, "PS1": "", "TERM": "dumb"},
        )
        os.close(theirs)
        self.seen = ""

    def resize(self, lines: int, columns: int) -> None:
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def types(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def sees(self, pattern: str) -> str:
        """Waits for a piece of text, and returns all that came up to its end."""
        until = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, self.seen)):
            assert time.monotonic() < until, f"no {pattern!r} in {self.seen!r}"
            if select.select([self.ours], [], [], 0.2)[0]:
                try:
                    self.seen += os.read(self.ours, 65536).decode("utf-8", "replace")
                except OSError:
                    assert re.search(pattern, self.seen), f"the program ended; it showed {self.seen!r}"
        before, self.seen = self.seen[: found.end()], self.seen[found.end() :]
        return before

    def leaves(self) -> int:
        return self.process.wait(PATIENCE)


@pytest.fixture
def sits_down(task: Path) -> Iterator[type]:
    people: list[Person] = []

    def sit(*arguments: str) -> Person:
        people.append(Person(task, *arguments))
        return people[-1]

    yield sit
    for person in people:
        person.process.kill()
        person.process.wait()
        os.close(person.ours)


def test_a_terminal_has_a_size_ctrl_c_and_an_exit_status(sits_down) -> None:
    person = sits_down()
    person.sees(r"instruction\.md")
    person.sees("Ctrl-D")
    person.types("stty size; echo $GREETING-$PWD\n")
    person.sees("40 100")
    person.sees("hello-/app")
    person.resize(50, 120)
    person.types("sleep 0.2; stty size\n")
    person.sees("50 120")
    person.types("sh -c 'echo be\"\"gun; exec sleep 1000'\n")
    person.sees("begun")
    person.types("\x03")
    person.types("echo stopped-$?\n")
    person.sees("stopped-130")
    person.types("exit 7\n")
    person.sees(r"verifier.*\[y/N\]")
    person.types("n\n")
    assert person.leaves() == 7


def test_on_leaving_the_verifier_runs_if_wanted(sits_down) -> None:
    person = sits_down()
    person.types("printf ab > out; exit\n")
    person.sees(r"\[y/N\]")
    person.types("y\n")
    person.sees("reward 1")
    assert person.leaves() == 0


def test_one_command_at_a_terminal(sits_down) -> None:
    person = sits_down("--solved", "--", "sh", "-c", "test -t 0 && cat out; exit 3")
    person.sees("ab")
    assert person.leaves() == 3


def run(task: Path, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(task, *arguments), cwd=ROOT, input=typed, capture_output=True, text=True, check=False, timeout=120
    )


def test_without_a_terminal_lines_keep_folder_and_variables(task: Path) -> None:
    typed = "cd /tmp\nexport A='x y'\nB=lost\necho $PWD:$A:$B:$GREETING\n:verify\nfalse\nexit\n"
    done = run(task, typed=typed)
    assert done.stdout == "/tmp:x y::hello\nreward 0\n"
    assert done.returncode == 1


def test_one_command_without_a_terminal(task: Path) -> None:
    done = run(task, "--", "sh", "-c", "echo out; echo err >&2; exit 5")
    assert (done.stdout, done.returncode) == ("out\n", 5)
    assert "err\n" in done.stderr


def test_wrong_use_is_told(task: Path) -> None:
    done = run(task.parent / "nothing")
    assert done.returncode == 2
    assert "does not exist" in done.stderr
    done = run(task, "--user", "nobody-of-that-name", "--", "true")
    assert done.returncode == 2
    assert "nobody-of-that-name" in done.stderr


async def test_bubblewrap_offers_terminals(sandboxes) -> None:
    backend = load_backend(base=("*=host",))
    try:
        sandbox = await backend.start(await backend.host_image())
        assert isinstance(sandbox, Interactive)
    finally:
        await backend.close()
