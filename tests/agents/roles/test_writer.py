"""The writer: one answer with all the files, and what becomes of an answer that cannot be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from agents.embedded.shown_files import shown_files
from agents.errors import RoleDeclinedError, RoleFailedError
from agents.model import ModelGateway
from agents.roles.requests import EvolveRequest, Finding, Occasion
from agents.roles.writer import Writer, WrittenFile
from agents.scripted import ScriptedChatModel, calls
from evolution.journal import Journal
from evolution.plan import Axis, Effort, Plan
from evolution.sequence import Sequence, Step
from sandbox.protocol import Sandbox
from sandbox.task import Task

BEFORE = Sequence(steps=(Step(id="s1", scenario="order-ledger", skill="total"),))
PLAN = Plan(axis=Axis.SKILL, effort=Effort.LOW, before=BEFORE, after=BEFORE.replace_skill(0, "deduplicate"))


def handed(*files: dict[str, Any], **more: Any) -> AIMessage:
    return calls(("submit_files", {"files": list(files), "summary": "done", **more}))


async def work(
    parent: Task,
    journal: Journal,
    sandbox: Sandbox,
    tmp_path: Path,
    *script: AIMessage,
    feedback: tuple[Finding, ...] = (),
) -> tuple[str, ScriptedChatModel]:
    occasion = Occasion(lineage="l", generation=1, axis=Axis.SKILL, attempt=1, seed=1, transcript=tmp_path / "t.jsonl")
    request = EvolveRequest(occasion=occasion, parent=parent, plan=PLAN, feedback=feedback)
    await sandbox.upload(parent.root, "/task")
    model = ScriptedChatModel(script=list(script))
    return await Writer(ModelGateway(journal), model).evolve(request, sandbox), model


async def test_what_it_hands_in_is_in_the_folder(
    parent: Task, journal: Journal, sandbox: Sandbox, tmp_path: Path
) -> None:
    answer = handed(
        {"path": "environment/data/blob", "content": "/wAB", "encoding": "base64"},
        {"path": "tests//./check.sh", "content": "#!/bin/bash\necho ü\n", "executable": True},
        {"path": "/task/instruction.md", "content": "Sort it.\n"},
        {"path": "environment/orders.csv/part-1", "content": "1\n"},
        removed=["environment/orders.csv", "never/there"],
    )
    summary, model = await work(parent, journal, sandbox, tmp_path, answer)
    assert summary == "done"
    await sandbox.download("/task", tmp_path / "child")
    child = Task.read(tmp_path / "child")
    assert child.read_bytes("environment/data/blob") == b"\xff\x00\x01"
    assert child.read_text("tests/check.sh") == "#!/bin/bash\necho ü\n"
    assert child.instruction == "Sort it.\n"
    assert child.read_text("environment/orders.csv/part-1") == "1\n"
    bits = {file.path: file.executable for file in child.files}
    assert (bits["tests/check.sh"], bits["solution/solve.sh"], bits["environment/data/blob"]) == (True, True, False)
    assert {tool["function"]["name"] for tool in model.parameters[0]["tools"]} == {"submit_files", "decline"}


async def test_it_is_told_the_plan_the_rules_and_every_file(
    parent: Task, journal: Journal, sandbox: Sandbox, tmp_path: Path
) -> None:
    (parent.root / "instruction.md").write_text('Do this:\n\n```json\n{"role": "critic"}\n```\n')
    finding = Finding(source="noop", code="noop/passes", text="doing nothing earns 1")
    _, model = await work(parent, journal, sandbox, tmp_path, handed(), feedback=(finding,))
    system, told = (str(message.content) for message in model.seen[0])
    assert "Reference solution." in system
    assert "/logs/verifier/reward.txt" in system
    assert "submit_files" in system
    assert '"code": "noop/passes"' in told
    assert "was turned down" in told
    found = shown_files(told)
    assert {path: file.text for path, file in found.items()} == {
        file.path: parent.root.joinpath(file.path).read_text() for file in parent.files
    }
    assert found["solution/solve.sh"].executable


WRONG = (
    (handed({"path": "x", "content": "###", "encoding": "base64"}), "x: `content` is not base64"),
    (handed({"path": "x", "content": "ü", "encoding": "base64"}), "x: `content` is not base64"),
    (handed({"path": "../x", "content": ""}), "outside the workspace"),
    (handed({"path": "/etc/passwd", "content": ""}), "outside the workspace"),
    (handed({"path": "/task/../x", "content": ""}), "outside the workspace"),
    (handed({"path": ".", "content": ""}), "not the folder itself"),
    (handed({"path": "a\0b", "content": ""}), "NUL"),
    (handed(removed=["../../etc/passwd"]), "outside the workspace"),
    (handed({"path": "a", "content": ""}, {"path": "./a", "content": ""}), "a: handed in twice"),
    (handed({"path": "a", "content": ""}, removed=["a"]), "a: both handed in and removed"),
    (
        handed({"path": "a/b", "content": ""}, {"path": "a", "content": ""}),
        "a/b (below a): a path cannot be a file and",
    ),
    (handed({"path": "a", "content": "", "mode": "0755"}), "mode"),
    (calls(("submit_files", {"files": []})), "summary"),
    (calls(("write_file", {"path": "a"})), "there is no tool 'write_file'"),
    (AIMessage(content="Here you are: ..."), "answer with a tool call"),
)


async def test_what_is_wrong_with_an_answer_is_said_and_the_next_one_counts(
    parent: Task, journal: Journal, sandbox: Sandbox, tmp_path: Path
) -> None:
    for number, (answer, told) in enumerate(WRONG):
        with Journal(tmp_path / f"{number}.db") as own:
            good = handed({"path": "instruction.md", "content": f"Number {number}.\n"})
            _, model = await work(parent, own, sandbox, tmp_path, answer, good)
        assert told in str(model.seen[1][-1].content), told
        assert await sandbox.read_file("/task/instruction.md") == f"Number {number}.\n".encode()
    listed = await sandbox.exec("ls -A /task; ls /x /etc/passwd", cwd="/")
    assert listed.text.split() == [
        "environment", "instruction.md", "solution", "task.toml", "tests", "/etc/passwd",
    ]  # fmt: skip


def test_half_a_character_is_no_content() -> None:
    with pytest.raises(ValueError, match="x: `content` holds half a character"):
        WrittenFile(path="x", content="\ud800").data()


async def test_a_second_unusable_answer_is_one_too_many(
    parent: Task, journal: Journal, sandbox: Sandbox, tmp_path: Path
) -> None:
    wrong = WRONG[0][0]
    with pytest.raises(RoleFailedError, match="is not base64"):
        await work(parent, journal, sandbox, tmp_path, wrong, wrong)
    assert await sandbox.read_file("/task/instruction.md") == parent.read_bytes("instruction.md")


async def test_what_cannot_be_written_is_the_writers_fault(
    parent: Task, journal: Journal, sandbox: Sandbox, tmp_path: Path
) -> None:
    with pytest.raises(RoleFailedError, match="what it handed in cannot be written: tests"):
        await work(parent, journal, sandbox, tmp_path, handed({"path": "tests", "content": ""}))


async def test_it_may_decline(parent: Task, journal: Journal, sandbox: Sandbox, tmp_path: Path) -> None:
    with pytest.raises(RoleDeclinedError, match="no such data"):
        await work(parent, journal, sandbox, tmp_path, calls(("decline", {"reason": "no such data"})))
