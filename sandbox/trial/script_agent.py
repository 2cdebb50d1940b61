"""A shell script as an agent: the simplest way to try something on a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sandbox.trial.agent import Observation, ToolCall, Turn

if TYPE_CHECKING:
    from sandbox.trial.agent import AgentContext, AgentSandbox

FOLDER: Final = "/installed-agent"
INSTRUCTION: Final = f"{FOLDER}/instruction.md"


class ScriptAgent:
    """Runs one script for each step, as the agent's user, with the agent's variables and time.

    The step's instruction lies in `/installed-agent/instruction.md`, whose path is the script's only argument. What it
    prints is the trajectory; its exit status counts for nothing.

    Args:
        content: The script.
        name: Its name, for the record.
    """

    version = ""

    def __init__(self, content: bytes, name: str = "agent.sh") -> None:
        self.name = f"script:{name}"
        self._content = content

    async def act(self, instruction: str, sandbox: AgentSandbox, context: AgentContext) -> None:
        """See `Agent.act`."""
        context.record(Turn("user", instruction))
        await sandbox.write_file(INSTRUCTION, instruction.encode())
        await sandbox.write_file(f"{FOLDER}/agent.sh", self._content, mode=0o755)
        command = f"{FOLDER}/agent.sh {INSTRUCTION}"
        # Through bash, as Harbor runs scripts: one without a #! line works, one with keeps its interpreter.
        ran = await sandbox.exec(["bash", "-c", command], timeout=context.timeout)
        call = ToolCall("call-1", "bash", {"command": command})
        ended = "" if ran.exit_code == 0 else f"\n[exit status {ran.exit_code}]"
        seen = Observation(ran.text + ran.error_text + ended, call.id)
        context.record(Turn("agent", calls=(call,), observations=(seen,)))
        if ran.timed_out:
            context.ran_out_of_time()
