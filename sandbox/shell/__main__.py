"""`python -m sandbox.shell TASK`: a person in the sandbox of a task, at a terminal, with the verifier at hand."""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.backends import load_backend
from sandbox.errors import SandboxError, TaskError
from sandbox.rooms import rooms_problem
from sandbox.sandboxes import Sandboxes
from sandbox.shell.interactive import as_interactive
from sandbox.shell.lines import LineShell
from sandbox.shell.terminal import at_terminal
from sandbox.task import Task
from sandbox.task.limits import task_limits
from sandbox.task.phase import agent_env, agent_user
from sandbox.trial.network import CHOICES, chosen_network
from sandbox.trial.steps import prepare_step, run_solution
from sandbox.verification.verify import verify

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.protocol import Sandbox, SandboxBackend
    from sandbox.task import TaskStep

_VERIFY = ":verify"


def main(arguments: Sequence[str] | None = None) -> int:
    """Opens a shell, or runs one command; returns its exit status, or 2 where there is none to be had."""
    problem = rooms_problem()
    if problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    given = list(sys.argv[1:] if arguments is None else arguments)
    end = given.index("--") if "--" in given else len(given)
    parser = _parser()
    options = parser.parse_args(given[:end], argparse.Namespace(command=given[end + 1 :]))
    try:
        task = Task.read(options.task)
        backend = load_backend(options.sandbox, base=options.base)
    except (TaskError, SandboxError, ValueError) as error:
        parser.error(str(error))
    try:
        return asyncio.run(_opened(task, backend, options))
    except (TaskError, SandboxError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sandbox.shell",
        usage="%(prog)s TASK [options] [-- COMMAND …]",
        description="Open a shell in a fresh sandbox of a task, as its agent; or run one command there.",
    )
    parser.add_argument("task", type=Path, help="a Harbor task folder")
    parser.add_argument("--sandbox", default="bubblewrap", metavar="NAME", help="back end, or module:Class")
    parser.add_argument("--base", action="append", default=[], metavar="IMAGE=DIR", help="what a FROM line stands for")
    parser.add_argument("--network", choices=CHOICES, default="task", help="default: what the task asks for")
    parser.add_argument("--user", metavar="U", help="who you are; default: the task's agent")
    parser.add_argument("--solved", action="store_true", help="run the reference solution first")
    return parser


async def _opened(task: Task, backend: SandboxBackend, options: argparse.Namespace) -> int:
    sandboxes = Sandboxes(backend)
    try:
        network, notes = chosen_network(task, options.network, await backend.capabilities())
        for note in notes:
            _say(f"note: {note.note}")
        image = await sandboxes.build(task)
        limits = task_limits(task, sandboxes.limits)
        async with sandboxes.running(image, limits=limits, network=network) as sandbox:
            visit = _Visit(task, sandbox, options)
            return await visit.run()
    finally:
        await backend.close()


class _Visit:
    """A person's stay in one sandbox."""

    def __init__(self, task: Task, sandbox: Sandbox, options: argparse.Namespace) -> None:
        self._task = task
        self._sandbox = sandbox
        self._options = options
        self._step = task.steps[0]
        self._user = agent_user(task, self._step) if options.user is None else options.user
        self._cwd = task.config.environment.workdir

    async def run(self) -> int:
        """Prepares the sandbox, then hands it to the person or runs the command."""
        for step in self._task.steps if self._options.solved else self._task.steps[:1]:
            await self._prepare(step)
        if self._options.command:
            return await self._command(shlex.join(self._options.command))
        self._greet()
        status = await self._at_terminal(["bash", "-i"])
        if status is not None:
            if await _asked("Run the verifier on what is there now?"):
                await self._verify()
            return status
        return await self._lines()

    async def _prepare(self, step: TaskStep) -> None:
        problem = await prepare_step(self._task, self._sandbox, step)
        if problem:
            _say(f"note: {problem}")
        self._step = step
        if self._options.solved:
            solved = await run_solution(self._task, self._sandbox, step)
            how = "has none" if solved is None else f"ended with status {solved.exit_code}"
            _say(f"note: the reference solution of step {step.name} {how}")

    def _greet(self) -> None:
        folder = self._task.root / self._step.folder if self._step.folder else self._task.root
        _say(f"{self._task.name}, step {self._step.name}: you are in a sandbox of its own, which goes when you leave.")
        _say(f"What is asked:  {folder / 'instruction.md'} (on this machine, not in the sandbox)")
        at_end = "you are asked when you leave" if os.isatty(0) else "you may ask at any time"
        _say(f"The verifier:   {at_end}; without a terminal the line `{_VERIFY}` runs it")
        _say("Leave with:     exit, or Ctrl-D")

    async def _command(self, command: str) -> int:
        status = await self._at_terminal(["bash", "-c", command])
        if status is not None:
            return status
        ran = await self._line_shell().run(command)
        return ran.exit_code

    async def _at_terminal(self, command: list[str]) -> int | None:
        """Runs a command at the person's terminal; `None` where one of the two sides has none."""
        sandbox = as_interactive(self._sandbox)
        if sandbox is None or not (os.isatty(0) and os.isatty(1)):
            return None
        env = {"TERM": os.environ.get("TERM", "xterm"), **agent_env(self._task)}
        return await at_terminal(sandbox, command, env=env, cwd=self._cwd, user=self._user)

    async def _lines(self) -> int:
        shell = self._line_shell()
        status = 0
        while True:
            line = await asyncio.to_thread(_read_line)
            if line is None:
                return status
            words = line.split()
            if words[:1] == ["exit"]:
                return int(words[1]) if len(words) > 1 and words[1].isdecimal() else status
            if words == [_VERIFY]:
                await self._verify()
            elif words:
                status = (await shell.run(line)).exit_code

    def _line_shell(self) -> LineShell:
        return LineShell(self._sandbox, user=self._user, env=agent_env(self._task), cwd=self._cwd)

    async def _verify(self) -> None:
        found = await verify(self._task, self._sandbox, step=self._step)
        if found.reward is None:
            print(f"no reward ({found.error_code}): {found.error}")
        else:
            rewards = sorted(found.reward.rewards.items())
            print(
                "\n".join(f"reward {value:g}" + ("" if name == "reward" else f" ({name})") for name, value in rewards)
            )
        for unit in found.units:
            print(f"  {unit.status:8} {unit.name}" + (f": {unit.message}" if unit.message else ""))


def _read_line() -> str | None:
    """The next line, or `None` at the end."""
    if os.isatty(0):
        print("sandbox> ", end="", file=sys.stderr, flush=True)
    line = sys.stdin.readline()
    return line.rstrip("\n") if line else None


async def _asked(question: str) -> bool:
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    answer = await asyncio.to_thread(sys.stdin.readline)
    return answer.strip().lower() in {"y", "yes"}


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    raise SystemExit(main())
