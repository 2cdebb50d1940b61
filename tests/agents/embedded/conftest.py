"""A host for the embedded author: holds a conversation with `respond` and runs the tools for real."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool

from agents.embedded import library
from agents.embedded.author import respond
from agents.tools import reading_tools, working_tools
from agents.workspace import FolderWorkspace, SandboxWorkspace
from evolution.plan import Axis, Effort, Plan
from evolution.sequence import Sequence as Steps
from evolution.sequence import Step
from sandbox.sandboxes import Sandboxes
from sandbox.task import Task

FOREIGN = Path(__file__).parents[2] / "data" / "foreign"
SEED = 1234

Respond = Callable[[list[dict[str, Any]], list[dict[str, Any]], int | None], Mapping[str, Any]]


@dataclass(frozen=True)
class Ended:
    """How a conversation ended: what was submitted, or the last words."""

    submitted: dict[str, Any] | None
    said: str
    messages: list[dict[str, Any]]


class Host:
    """Talks to a model and runs what it calls."""

    def __init__(self, model: Respond = respond) -> None:
        self.model = model

    async def converse(
        self,
        facts: Mapping[str, Any],
        tools: Sequence[BaseTool],
        submit: str,
        *,
        seed: int = 7,
        refuse: Sequence[str] = (),
    ) -> Ended:
        """Until the work is submitted, or there is nothing left to say; the first submissions get the errors of `refuse`."""
        messages: list[dict[str, Any]] = [{"role": "system", "content": "You are at work."}, asked(facts)]
        known = {tool.name: tool for tool in tools}
        left = list(refuse)
        for _ in range(40):
            message = dict(self.model(messages, [spec(name) for name in (*known, submit)], seed))
            messages.append(message)
            if not message.get("tool_calls"):
                return Ended(None, message["content"], messages)
            for call in message["tool_calls"]:
                name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
                if name == submit and not left:
                    return Ended(arguments, "", messages)
                if name == submit:
                    text = f"error: {left.pop(0)}"
                else:
                    made = {"type": "tool_call", "name": name, "args": arguments, "id": call["id"]}
                    text = str((await known[name].ainvoke(made)).content)
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
        raise AssertionError("the conversation does not end")

    async def propose(self, task: Task, axis: Axis, effort: Effort, **more: Any) -> Ended:
        sequence, generation = more.pop("sequence", None), more.pop("generation", 1)
        facts = {
            "role": "proposer",
            "axis": str(axis),
            "effort": str(effort),
            "task": task.name,
            "generation": generation,
            "sequence": sequence.model_dump(mode="json") if sequence else None,
            "new_step_ids": [f"g{generation}{letter}" for letter in "abcdef"],
            "reference": more.pop("reference", {"scenario": {}, "skill": {}}),
            "feedback": more.pop("feedback", []),
        }
        return await self.converse(facts, reading_tools(FolderWorkspace(task.root)), "submit_plan", **more)

    async def plan(self, task: Task, axis: Axis, effort: Effort, **more: Any) -> Plan:
        """The proposed plan, validated; fails when there is none."""
        ended = await self.propose(task, axis, effort, **more)
        assert ended.submitted is not None, ended.said
        return Plan(axis=axis, effort=effort, **ended.submitted)

    async def evolve(self, sandboxes: Sandboxes, parent: Task, plan: Plan, target: Path, **more: Any) -> Ended:
        """Lets the evolver work on the parent (or on `draft`); the folder comes back to `target`."""
        facts = {
            "role": "evolver",
            "task": parent.name,
            "workspace": "/task",
            "generation": 1,
            "attempt": more.get("attempt", 1),
            "plan": plan.model_dump(mode="json"),
            "feedback": more.get("feedback", []),
        }
        async with sandboxes.running(parent) as sandbox:
            await sandbox.upload(more.get("draft", parent.root), "/task")
            ended = await self.converse(facts, working_tools(SandboxWorkspace(sandbox)), "submit")
            await sandbox.download("/task", target)
        return ended


def asked(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": f"The facts:\n\n```json\n{json.dumps(facts)}\n```\n\nGo on."}


def spec(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": "", "parameters": {"type": "object"}}}


@pytest.fixture
def host() -> Host:
    return Host()


@pytest.fixture
def host_of() -> type[Host]:
    """Makes hosts of other models than the one in process."""
    return Host


@pytest.fixture
def foreign() -> Callable[[str], Task]:
    """A task that was not written by the library."""
    return lambda name: Task.read(FOREIGN / name)


@pytest.fixture
def two_steps() -> Steps:
    return Steps(
        steps=(
            Step(id="s1", scenario="web-access-logs", skill="filter-and-total"),
            Step(id="s2", scenario="order-ledger", skill="top-k-ties"),
        )
    )


@pytest.fixture
def library_task(tmp_path: Path, two_steps: Steps) -> Task:
    """A task that the library wrote, with a file and a setting of somebody else's."""
    root = tmp_path / "library-task"
    for path, file in library.render_task(two_steps, SEED, name="tests/two-steps", reward="binary").items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.content)
        target.chmod(0o755 if file.executable else 0o644)
    (root / "README.md").write_text("Kept by hand.\n")
    with (root / "task.toml").open("a") as toml:
        toml.write("\n# ours\n[metadata.team]\nowner = 'tests'\n")
    return Task.read(root)
