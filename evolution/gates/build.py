"""Gate `build`: the environment builds, the tools it declares are there, its health check passes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evolution.gates.outcomes import accepted, invalid, repeatable, tail
from sandbox.errors import ImageError
from sandbox.task.phase import agent_env, agent_user
from sandbox.trial.healthcheck import run_healthcheck

if TYPE_CHECKING:
    from evolution.verdict import Candidate, Verdict
    from sandbox.protocol import Sandbox
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task

_TOOL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_FIND_MISSING: Final = 'for tool in "$@"; do command -v -- "$tool" >/dev/null || printf "%s\\n" "$tool"; done'


class BuildGate:
    """Builds the environment and looks into a sandbox only when the task declares something to look for.

    Codes: `build/fails`, `build/bad-tools`, `build/missing-tool`, `build/unhealthy`.
    """

    name: Final = "build"
    stage: Final = 1

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
        if not names and task.config.environment.healthcheck is None:
            return accepted(self.name)
        async with sandboxes.running(image) as sandbox:
            return await self._look(task, names, sandbox)

    async def _look(self, task: Task, names: tuple[str, ...], sandbox: Sandbox) -> Verdict:
        env, user = agent_env(task), agent_user(task, task.steps[0])
        if names:
            looked = await sandbox.exec(["bash", "-c", _FIND_MISSING, "tools", *names], env=env, user=user)
            if not looked.ok:
                return invalid(self.name, "missing-tool", f"bash does not run:\n{tail(looked.error_text)}")
            missing = looked.text.split()
            if missing:
                return invalid(self.name, "missing-tool", _missing(missing))
        check = task.config.environment.healthcheck
        if check is not None:
            ran = await run_healthcheck(sandbox, check, cwd=task.config.environment.workdir, env=env, user=user)
            if not ran.ok:
                how = "ran out of time" if ran.timed_out else f"ended with status {ran.exit_code}"
                said = tail(ran.error_text or ran.text)
                return invalid(self.name, "unhealthy", f"the health check `{check.command}` {how}\n{said}".rstrip())
        return accepted(self.name)


def declared_tools(task: Task) -> tuple[str, ...] | str:
    """The program names in `[metadata] tools`, or what is wrong with it."""
    tools = task.config.metadata.get("tools", [])
    if not isinstance(tools, list):
        return f"task.toml [metadata] tools: came {tools!r}, expected a list of program names"
    for tool in tools:
        if not (isinstance(tool, str) and _TOOL.fullmatch(tool)):
            return f"task.toml [metadata] tools: {tool!r} is no program name"
    return tuple(tools)


def _missing(names: list[str]) -> str:
    return (
        f"task.toml [metadata] tools names {', '.join(names)}, which the built environment lacks: install it in "
        "environment/Dockerfile, choose a base that has it, or do without"
    )
