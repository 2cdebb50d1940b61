"""The evolver at work in a real sandbox: its tools, and what it hands in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from agents.errors import RoleFailedError
from agents.model import ModelGateway
from agents.roles.evolver import Evolver
from agents.roles.requests import EvolveRequest, Finding, Occasion
from agents.roles.session import SessionLimits
from agents.scripted import ScriptedChatModel, calls
from evolution.journal import Journal
from evolution.plan import Axis, Effort, Plan
from evolution.sequence import Sequence, Step
from sandbox.protocol import Sandbox
from sandbox.task import Task

BEFORE = Sequence(steps=(Step(id="s1", scenario="order-ledger", skill="total"),))
PLAN = Plan(axis=Axis.SKILL, effort=Effort.LOW, before=BEFORE, after=BEFORE.replace_skill(0, "deduplicate"))
SUBMIT = ("submit", {"summary": "done"})


def request(parent: Task, tmp_path: Path, *feedback: Finding) -> EvolveRequest:
    occasion = Occasion(lineage="l", generation=1, axis=Axis.SKILL, attempt=1, seed=1, transcript=tmp_path / "t.jsonl")
    return EvolveRequest(occasion=occasion, parent=parent, plan=PLAN, feedback=feedback)


async def work(
    parent: Task,
    journal: Journal,
    sandbox: Sandbox,
    tmp_path: Path,
    *script: AIMessage,
    feedback: tuple[Finding, ...] = (),
) -> tuple[str, ScriptedChatModel]:
    await sandbox.upload(parent.root, "/task")
    model = ScriptedChatModel(script=list(script))
    return await Evolver(ModelGateway(journal), model).evolve(request(parent, tmp_path, *feedback), sandbox), model


async def answers(
    parent: Task, journal: Journal, sandbox: Sandbox, tmp_path: Path, *asked: tuple[str, dict[str, Any]]
) -> list[str]:
    """What the tools answer to the calls of one message."""
    _, model = await work(parent, journal, sandbox, tmp_path, calls(*asked), calls(SUBMIT))
    return [str(message.content) for message in model.seen[-1] if isinstance(message, ToolMessage)]


async def test_edits_reach_the_folder(parent: Task, journal: Journal, sandbox: Sandbox, tmp_path: Path) -> None:
    summary, _ = await work(
        parent,
        journal,
        sandbox,
        tmp_path,
        calls(
            ("write_file", {"path": "environment/data/blob", "content": "/wAB", "encoding": "base64"}),
            ("write_file", {"path": "tests/check.sh", "content": "#!/bin/bash\n", "executable": True}),
            ("edit_file", {"path": "solution/solve.sh", "old": "step s2\ntrue", "new": "step s2\necho ü"}),
            ("run", {"command": "rm environment/orders.csv"}),
        ),
        calls(SUBMIT),
    )
    assert summary == "done"
    await sandbox.download("/task", tmp_path / "child")
    child = Task.read(tmp_path / "child")
    assert child.read_bytes("environment/data/blob") == b"\xff\x00\x01"
    assert not child.has("environment/orders.csv")
    assert child.read_text("solution/solve.sh").endswith("# envolve: step s2\necho ü\n")
    bits = {file.path: file.executable for file in child.files}
    assert bits["tests/check.sh"]
    assert bits["solution/solve.sh"]
    assert not bits["environment/data/blob"]


async def test_what_the_tools_answer(parent: Task, journal: Journal, sandbox: Sandbox, tmp_path: Path) -> None:
    found = await answers(
        parent,
        journal,
        sandbox,
        tmp_path,
        ("list_files", {"path": "solution"}),
        ("read_file", {"path": "/task/instruction.md"}),
        ("run", {"command": "pwd; echo oops >&2; exit 3"}),
        ("run", {"command": r"printf 'a\033[2Jb\000\xff'"}),
        ("run", {"command": "sleep 60", "timeout": 1}),
        ("run", {"command": "head -c 100000 /dev/zero | tr '\\0' x; echo end"}),
        ("write_file", {"path": "a b/ü", "content": ""}),
        ("list_files", {"path": "a b"}),
    )
    assert found[0] == "solution/solve.sh  60 bytes  executable"
    assert found[1].startswith("Write the total")
    assert found[2] == "exit code: 3\nstdout:\n/task\n\nstderr:\noops\n"
    assert found[3] == "exit code: 0\nstdout:\na\\x1b[2Jb\\x00\ufffd"
    assert found[4].startswith("timed out after 1 s, killed")
    assert "characters left out; write it to a file" in found[5]
    assert found[5].endswith("xend\n")
    assert found[7] == "a b/ü  0 bytes"


WRONG = (
    (
        ("edit_file", {"path": "solution/solve.sh", "old": "true", "new": "x"}),
        "`old` occurs 2 times, it must occur once",
    ),
    (("edit_file", {"path": "nothing", "old": "a", "new": "b"}), "no such file"),
    (("read_file", {"path": "tests"}), "a folder, not a file"),
    (("list_files", {"path": "nowhere"}), "cannot be listed"),
    (("write_file", {"path": "/etc/passwd", "content": ""}), "outside the workspace"),
    (("write_file", {"path": "../x", "content": ""}), "outside the workspace"),
    (("write_file", {"path": ".", "content": ""}), "name a file in the workspace"),
    (("write_file", {"path": "tests", "content": ""}), "tests: cannot be written"),
    (("write_file", {"path": "x", "content": "###", "encoding": "base64"}), "`content` is not base64"),
)


async def test_errors_say_what_to_do(parent: Task, journal: Journal, sandbox: Sandbox, tmp_path: Path) -> None:
    found = await answers(parent, journal, sandbox, tmp_path, *(call for call, _ in WRONG))
    for text, (_, told) in zip(found, WRONG, strict=True):
        assert text.startswith("error: ")
        assert told in text


async def test_feedback_is_told_with_the_plan(parent: Task, journal: Journal, sandbox: Sandbox, tmp_path: Path) -> None:
    finding = Finding(source="noop", code="noop/passes", text="doing nothing earns 1")
    _, model = await work(parent, journal, sandbox, tmp_path, calls(SUBMIT), feedback=(finding,))
    told = str(model.seen[0][1].content)
    assert "holds what the last attempt left" in told
    assert '"code": "noop/passes"' in told
    assert "order-ledger/total" in told
    assert len(re.findall("^```json$", told, re.MULTILINE)) == 1
    assert {tool["function"]["name"] for tool in model.parameters[0]["tools"]} == {
        "decline",
        "list_files",
        "read_file",
        "write_file",
        "edit_file",
        "run",
        "submit",
    }


async def test_an_evolver_that_never_submits_fails(
    parent: Task, journal: Journal, sandbox: Sandbox, tmp_path: Path
) -> None:
    await sandbox.upload(parent.root, "/task")
    model = ScriptedChatModel(script=lambda _: calls(("list_files", {})))
    evolver = Evolver(ModelGateway(journal), model, limits=SessionLimits(turns=2))
    with pytest.raises(RoleFailedError, match="did not call submit within the limit of 2 turns"):
        await evolver.evolve(request(parent, tmp_path), sandbox)


async def test_an_interrupted_conversation_does_its_work_again_from_the_journal(
    parent: Task, journal: Journal, sandbox: Sandbox, tmp_path: Path
) -> None:
    written = calls(("write_file", {"path": "new", "content": "x"}))
    await sandbox.upload(parent.root, "/task")
    with pytest.raises(IndexError):
        await Evolver(ModelGateway(journal), ScriptedChatModel(script=[written])).evolve(
            request(parent, tmp_path), sandbox
        )
    await sandbox.remake_directory("/task")
    summary, model = await work(parent, journal, sandbox, tmp_path, calls(SUBMIT))
    assert summary == "done"
    assert len(model.seen) == 1
    assert await sandbox.read_file("/task/new") == b"x"
