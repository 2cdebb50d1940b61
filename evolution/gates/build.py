"""Gate `build`: the environment builds and is healthy, the declared tools are there, the scripts can run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final

from evolution.gates.outcomes import finding, invalid, judged, repeatable, tail
from evolution.gates.scripts import MAX_TEXT_BYTES, solution_of, tests_of
from sandbox.errors import ImageError
from sandbox.task.phase import agent_env, agent_user
from sandbox.task.reference import solution_folder
from sandbox.trial.healthcheck import run_healthcheck
from sandbox.verification.tests_folder import test_script
from sandbox.verification.verify import declared_mode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evolution.verdict import Candidate, Finding, Verdict
    from sandbox.protocol import Sandbox
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task

_TOOL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_FIND_MISSING: Final = 'for tool in "$@"; do command -v -- "$tool" >/dev/null || printf "%s\\n" "$tool"; done'
_SHELLS: Final = re.compile(rb"#![ \t]*(?:\S*/)?(?:env[ \t]+(?:-S[ \t]+)?)?(?:ba|da|k)?sh(?:[ \t\r]|$)")
_SHEBANG: Final = re.compile(rb"#![ \t]*(\S+)(?:[ \t]+(?:-S[ \t]+)?([^\s=-][^\s=]*))?")


class BuildGate:
    """Builds the environment and looks into a sandbox of it: declared tools, health check, and what runs the scripts.

    Run bits of `test.sh` and `solve.sh` do not matter: whoever uploads these sets them, as Harbor does.
    """

    name: Final = "build"
    stage: Final = 1
    codes: ClassVar[Mapping[str, str]] = {
        "fails": "the environment does not build",
        "bad-tools": "[metadata] tools is no list of program names",
        "missing-tool": "a declared tool is not in the environment",
        "unhealthy": "the health check fails",
        "syntax": "bash cannot parse a script",
        "no-interpreter": "the program that a script's #! line names is not in the environment",
        "crlf": "a #! line ends with a carriage return, so the program it names is never found",
    }

    async def check(self, candidate: Candidate, sandboxes: Sandboxes) -> Verdict:
        """Judges the candidate; raises what a sandbox raises."""
        task = candidate.task
        try:
            image = await sandboxes.build(task)
        except ImageError as error:
            return invalid(self.name, "fails", f"the environment does not build: {repeatable(str(error))}")
        names = declared_tools(task)
        if isinstance(names, str):
            return invalid(self.name, "bad-tools", names)
        async with sandboxes.running(image) as sandbox:
            findings = [*await self._tools(task, names, sandbox), *await self._health(task, sandbox)]
            findings += [one for path in _scripts(task) for one in await self._script(task, path, sandbox)]
        findings += self._carriage_returns(task)
        return judged(self.name, findings)

    def _carriage_returns(self, task: Task) -> list[Finding]:
        """Programs with Windows line ends; shell scripts with them are no task for `Task.read`."""
        found: list[Finding] = []
        for file in (*tests_of(task), *solution_of(task)):
            if file.link or not file.executable or file.size > MAX_TEXT_BYTES:
                continue
            first = task.read_bytes(file.path).split(b"\n", 1)[0]
            if first.startswith(b"#!") and first.endswith(b"\r"):
                fix = f"convert it with `sed -i 's/\\r$//' {file.path}`"
                said = f"{file.path}:1: the #! line ends with a carriage return, nobody finds such a program: {fix}"
                found.append(finding(self.name, "crlf", said, f"{file.path}:1"))
        return found

    async def _tools(self, task: Task, names: tuple[str, ...], sandbox: Sandbox) -> list[Finding]:
        if not names:
            return []
        missing = await _missing(task, names, sandbox)
        return [finding(self.name, "missing-tool", missing, "task.toml")] if missing else []

    async def _health(self, task: Task, sandbox: Sandbox) -> list[Finding]:
        check = task.config.environment.healthcheck
        if check is None:
            return []
        cwd, user = task.config.environment.workdir, agent_user(task, task.steps[0])
        ran = await run_healthcheck(sandbox, check, cwd=cwd, env=agent_env(task), user=user)
        if ran.ok:
            return []
        how = "ran out of time" if ran.timed_out else f"ended with status {ran.exit_code}"
        said = f"the health check `{check.command}` {how}\n{tail(ran.error_text or ran.text)}".rstrip()
        return [finding(self.name, "unhealthy", said, "task.toml")]

    async def _script(self, task: Task, path: str, sandbox: Sandbox) -> list[Finding]:
        """What keeps a script from being run; one that has no #! line is run by bash."""
        content = task.read_bytes(path)
        first = content.split(b"\n", 1)[0]
        program = _SHEBANG.match(first)
        if program is not None:
            name = (program[2] if program[1].endswith(b"/env") and program[2] else program[1]).decode(
                "utf-8", "replace"
            )
            looked = await sandbox.exec(["bash", "-c", _FIND_MISSING, "tools", name], env=agent_env(task))
            if looked.ok and looked.text.strip():
                said = f"{path}:1: `{first.decode('utf-8', 'replace')}` names {name}, which the environment lacks"
                return [finding(self.name, "no-interpreter", said, f"{path}:1")]
        if program is not None and not _SHELLS.match(first):
            return []
        # With the options on that would change how bash reads what follows: here nothing of the script is run.
        parsed = await sandbox.exec(["bash", "-O", "extglob", "-n"], stdin=content, env=agent_env(task), timeout=60)
        if parsed.exit_code in {0, 127} or parsed.timed_out:
            return []
        said = tail(re.sub(r"(?m)^(?:bash|/\S+/bash): ", f"{path}: ", parsed.error_text))
        return [finding(self.name, "syntax", f"bash cannot parse {path}:\n{said}", path)]


def _scripts(task: Task) -> Iterator[str]:
    """The scripts that are run in the task's own environment: solutions, and tests unless they have another one."""
    found: dict[str, None] = {}
    for step in task.steps:
        folder = solution_folder(task, step)
        if folder is not None:
            found[f"{folder}/solve.sh"] = None
        script = test_script(task, step)
        if script is not None and declared_mode(task, step) != "separate":
            found[script] = None
    yield from found


def declared_tools(task: Task) -> tuple[str, ...] | str:
    """The program names in `[metadata] tools`, or what is wrong with it."""
    tools = task.config.metadata.get("tools", [])
    if not isinstance(tools, list):
        return f"task.toml [metadata] tools: came {tools!r}, expected a list of program names"
    for tool in tools:
        if not (isinstance(tool, str) and _TOOL.fullmatch(tool)):
            return f"task.toml [metadata] tools: {tool!r} is no program name"
    return tuple(tools)


async def _missing(task: Task, names: tuple[str, ...], sandbox: Sandbox) -> str:
    """Which of the tools the environment lacks, in a sentence; "" when it has them all."""
    user = agent_user(task, task.steps[0])
    looked = await sandbox.exec(["bash", "-c", _FIND_MISSING, "tools", *names], env=agent_env(task), user=user)
    if not looked.ok:
        return f"bash does not run:\n{tail(looked.error_text)}"
    missing = looked.text.split()
    if not missing:
        return ""
    return (
        f"task.toml [metadata] tools names {', '.join(missing)}, which the built environment lacks: install it in "
        "environment/Dockerfile, choose a base that has it, or do without"
    )
