"""The author as a writer: one answer that gives the same folder as the loop, with mistakes or without."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from agents.errors import RoleDeclinedError
from agents.model import ModelGateway
from agents.roles.evolver import Evolver
from agents.roles.requests import EvolveRequest, Finding, Occasion
from agents.roles.writer import Writer
from evolution.faults.planting import kinds
from evolution.journal import Journal
from evolution.metadata import read_evolution
from evolution.plan import Axis, Effort, Plan
from sandbox.task import Task

SEEDS = sorted(path for path in (Path(__file__).parents[3] / "examples/seeds/terminal").iterdir() if path.is_dir())


class Desk:
    """Lets roles work on a parent."""

    def __init__(self, sandboxes, folder: Path) -> None:
        self.sandboxes, self.folder = sandboxes, folder

    async def work(
        self, kind, parent: Task, plan: Plan, name: str, *, model="embedded/author", seed=11, draft=None, feedback=()
    ):
        """The folder that comes of it."""
        occasion = Occasion("l", 1, plan.axis, 1, seed, self.folder / f"{name}.jsonl")
        request = EvolveRequest(occasion=occasion, parent=parent, plan=plan, feedback=feedback)
        with Journal(self.folder / f"{name}.db") as journal:
            async with self.sandboxes.running(parent) as sandbox:
                await sandbox.upload(draft or parent.root, "/task")
                self.summary = await kind(ModelGateway(journal), model).evolve(request, sandbox)
                await sandbox.download("/task", self.folder / name)
        return self.folder / name

    def transcript(self, name: str) -> list[dict]:
        return [json.loads(line) for line in (self.folder / f"{name}.jsonl").read_text().split("\n") if line]


def bytes_of(folder: Path) -> dict[str, tuple[bytes, bool]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), bool(path.stat().st_mode & 0o100))
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def desk(sandboxes, tmp_path) -> Desk:
    return Desk(sandboxes, tmp_path)


async def same_folder(desk, host, parent: Task, axis: Axis) -> None:
    sequence = read_evolution(parent).sequence
    plan = await host.plan(parent, axis, Effort.HIGH, seed=3, sequence=sequence)
    written = await desk.work(Writer, parent, plan, f"{axis}-written")
    evolved = await desk.work(Evolver, parent, plan, f"{axis}-evolved")
    assert bytes_of(written) == bytes_of(evolved)
    assert bytes_of(written) != bytes_of(parent.root)
    assert [line["turn"] for line in desk.transcript(f"{axis}-written")][-1] == 1


async def test_it_gives_the_folder_that_the_loop_gives(desk, host, library_task):
    await same_folder(desk, host, library_task, Axis.LENGTH)


@pytest.mark.slow
@pytest.mark.parametrize("axis", list(Axis))
@pytest.mark.parametrize("seed", SEEDS, ids=lambda path: path.name)
async def test_it_gives_the_folder_that_the_loop_gives_on_every_seed(desk, host, seed, axis):
    await same_folder(desk, host, Task.read(seed), axis)


async def test_a_task_of_somebody_elses_is_declined(desk, foreign, two_steps):
    plan = Plan(axis=Axis.SKILL, effort=Effort.LOW, before=two_steps, after=two_steps.replace_skill(0, "top-k-ties"))
    with pytest.raises(RoleDeclinedError, match="not the library's own"):
        await desk.work(Writer, foreign("access-log-digest"), plan, "child")


@pytest.mark.slow
async def test_a_mistake_is_made_again_and_told_nowhere(desk, host, library_task):
    plan = await host.plan(library_task, Axis.SKILL, Effort.LOW, seed=3)
    sound = bytes_of(await desk.work(Writer, library_task, plan, "sound"))
    model = "embedded/author?faults=1"
    for number in range(4):
        first = bytes_of(await desk.work(Writer, library_task, plan, f"a{number}", model=model, seed=number))
        told = [desk.summary, *(str(line["content"]) for line in desk.transcript(f"a{number}") if line["turn"])]
        assert first != sound
        assert first == bytes_of(await desk.work(Writer, library_task, plan, f"b{number}", model=model, seed=number))
        assert not re.search(rf"\b({'|'.join(kinds())})\b|mistake|fault", "\n".join(told))


@pytest.mark.slow
async def test_a_repair_mends_what_the_feedback_speaks_of(desk, host, library_task):
    plan = await host.plan(library_task, Axis.SKILL, Effort.LOW, seed=3)
    sound = await desk.work(Writer, library_task, plan, "sound")
    output = re.search(r"/app/out/s1-[\w.-]*\w", (sound / "instruction.md").read_text())[0]
    draft = await desk.work(Writer, library_task, plan, "draft")
    (draft / "solution" / "solve.sh").write_text("false\n")
    (draft / "environment" / "data" / "left-over").write_text("x\n")
    own = Finding("oracle", "oracle/below-one", f"reward 0\n  failed: {output} is missing")
    other = Finding("oracle", "oracle/below-one", "reward 0\n  failed: /app/out/s1-of-another.csv is missing")
    for finding, repaired in ((other, False), (Finding("gates", "", "It was rejected."), False), (own, True)):
        name = f"repaired-{finding.code.partition('/')[0]}-{repaired}-{len(finding.text)}"
        found = await desk.work(Writer, library_task, plan, name, draft=draft, feedback=(finding,))
        assert bytes_of(found) == bytes_of(sound if repaired else draft)


@pytest.mark.slow
async def test_the_loop_finds_by_trying_what_running_shows(desk, host, library_task):
    plan = await host.plan(library_task, Axis.SKILL, Effort.LOW, seed=3)
    sound = bytes_of(await desk.work(Evolver, library_task, plan, "sound"))
    model = "embedded/author?faults=1"
    mended = spoilt = 0
    for seed in range(12):
        written = bytes_of(await desk.work(Writer, library_task, plan, f"w{seed}", model=model, seed=seed))
        spoilt += written != sound
        # Its repairs go wrong as often as its drafts do where they can, so what is left is not always sound.
        looped = bytes_of(await desk.work(Evolver, library_task, plan, f"l{seed}", model=model, seed=seed))
        mended += looped != written
        said = [
            desk.summary,
            *(json.dumps(line.get("tool_calls")) for line in desk.transcript(f"l{seed}") if line["turn"]),
        ]
        assert not re.search(rf"\b({'|'.join(kind for kind in kinds() if '-' in kind)})\b", desk.summary)
        assert "self_test" not in said[0]
    assert spoilt == 12
    assert mended >= 4
