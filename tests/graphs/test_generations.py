"""The run over lineages and generations: what is released, remembered, left out, and taken up again."""

import json
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import END, START, StateGraph
from tenacity import AsyncRetrying, stop_after_attempt, wait_fixed

from agents.errors import BudgetExceededError, ModelAccessError, ModelUnavailableError
from evolution.config import RunConfig
from evolution.errors import ReleaseError
from evolution.metadata import Evolution, stamp
from evolution.plan import Axis, Effort, Plan
from evolution.progress import Event
from evolution.reference import FrequencyTable
from evolution.run_folder import open_run
from evolution.sequence import Sequence, Step
from graphs.closing import Closing, closing_lines
from graphs.events import ModelWaits
from graphs.generations import Outcome, Run
from graphs.state import LineageState
from sandbox.task import Task

FOREIGN = Path(__file__).parents[1] / "data" / "foreign"
REFERENCE = FrequencyTable("terminal", {"logs": {"count": 9, "join": 1}}, "made up")
NAMES = ("access-log-digest", "flag-rollout")


def sequence(length: int) -> Sequence:
    return Sequence(steps=tuple(Step(id=f"s{i}", scenario="logs", skill="count") for i in range(length)))


def accept(state: LineageState) -> dict[str, Any]:
    """What the real graph does, without models and sandboxes: a longer sequence and a stamped copy of the parent."""
    parent = Task.read(Path(state["parent"]))
    generation = state["generation"]
    plan = Plan(axis=Axis.LENGTH, effort=Effort.HIGH, before=sequence(generation), after=sequence(generation + 1))
    target = Path(state["work"]) / "length" / "environment-1" / "task"
    shutil.rmtree(target, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    evolution = Evolution(
        lineage=state["lineage"],
        generation=generation,
        parent=parent.content_hash,
        axis=plan.axis,
        effort=plan.effort,
        seed=1,
        sequence=plan.after,
    )
    child = stamp(parent, evolution, target, name=f"corpus/{state['lineage']}-{generation}")
    return {"outcome": "accepted", "candidate": str(child.root), "plan": plan.model_dump(mode="json"), "verdicts": []}


class Lineages:
    """Runs `Run` in one folder, again and again, with a graph made of one function."""

    def __init__(self, tmp_path: Path) -> None:
        self.tmp_path = tmp_path
        self.calls: list[tuple[str, int]] = []

    async def run(
        self,
        node: Callable[[LineageState], dict[str, Any]],
        *,
        generations: int = 2,
        drain_at: int = 0,
        seeds: tuple[Path, ...] = tuple(FOREIGN / name for name in NAMES),
    ) -> tuple[Outcome, list[str]]:
        config = RunConfig(seeds=seeds, out=self.tmp_path / "run", generations=generations, workers=1)

        def counted(state: LineageState) -> dict[str, Any]:
            self.calls.append((state["lineage"], state["generation"]))
            if len(self.calls) == drain_at:
                run.drain()
            return node(state)

        graph = StateGraph(LineageState)
        graph.add_node("only", counted)
        graph.add_edge(START, "only")
        graph.add_edge("only", END)
        with open_run(config) as folder:
            run = Run(folder=folder, graph=graph, seed_gates=(), sandboxes=None, reference=REFERENCE)
            outcome = await run.run()
            return outcome, list(closing_lines(Closing(folder, outcome, 1.0)))

    def released(self, generation: int) -> list[str]:
        manifest = self.tmp_path / "run" / "releases" / f"generation-{generation:03d}" / "manifest.json"
        return [entry["lineage"] for entry in json.loads(manifest.read_text())["tasks"]]


@pytest.fixture
def lineages(tmp_path: Path) -> Lineages:
    return Lineages(tmp_path)


async def test_each_generation_starts_from_the_release_before_it(lineages: Lineages) -> None:
    outcome, _ = await lineages.run(accept)
    assert [path.name for path in outcome.releases] == ["generation-001", "generation-002"]
    first, second = (json.loads((path / "manifest.json").read_text())["tasks"] for path in outcome.releases)
    assert [entry["parent"] for entry in second] == [entry["content_hash"] for entry in first]
    graph = json.loads((outcome.releases[1] / "lineage.json").read_text())
    assert len(graph["nodes"]) == 6
    assert len(graph["edges"]) == 4


async def test_candidates_are_pruned_once_released(lineages: Lineages) -> None:
    await lineages.run(accept)
    assert not list((lineages.tmp_path / "run" / "work").rglob("task.toml"))


async def test_what_is_finished_is_not_done_again(lineages: Lineages) -> None:
    await lineages.run(accept)
    before = len(lineages.calls)
    outcome, _ = await lineages.run(accept)
    assert len(lineages.calls) == before
    assert len(outcome.results) == 4
    await lineages.run(accept, generations=3)
    assert lineages.calls[before:] == [(name, 3) for name in sorted(NAMES)]


async def test_a_branch_that_ended_stays_ended_and_the_others_go_on(lineages: Lineages) -> None:
    def one_ends(state: LineageState) -> dict[str, Any]:
        if state["lineage"] == NAMES[0]:
            return {"outcome": "rejected", "reason": "every axis failed"}
        return accept(state)

    _, lines = await lineages.run(one_ends)
    assert lineages.released(1) == lineages.released(2) == [NAMES[1]]
    assert any("lineage ended" in line and "every axis failed" in line for line in lines)
    await lineages.run(accept, generations=3)
    assert lineages.released(3) == [NAMES[1]]


async def test_a_model_that_is_down_stops_one_lineage_and_a_later_start_takes_it_up(lineages: Lineages) -> None:
    def down(state: LineageState) -> dict[str, Any]:
        raise ModelUnavailableError("503")

    outcome, lines = await lineages.run(down)
    assert outcome.releases == ()
    assert {result.outcome for result in outcome.results} == {"infrastructure"}
    assert any("Nothing was released" in line and "503" in line for line in lines)
    outcome, _ = await lineages.run(accept)
    assert lineages.released(2) == sorted(NAMES)


async def test_a_release_that_stands_is_not_changed_by_a_lineage_that_was_down(lineages: Lineages) -> None:
    def half_down(state: LineageState) -> dict[str, Any]:
        if state["lineage"] == NAMES[0]:
            raise ModelUnavailableError("503")
        return accept(state)

    await lineages.run(half_down, generations=1)
    assert lineages.released(1) == [NAMES[1]]
    await lineages.run(accept, generations=2)
    assert lineages.released(1) == lineages.released(2) == [NAMES[1]]


async def test_a_spent_budget_ends_the_run_and_says_so(lineages: Lineages) -> None:
    def spent(state: LineageState) -> dict[str, Any]:
        raise BudgetExceededError("the next call would pass the limit of dollars 1")

    outcome, lines = await lineages.run(spent)
    assert len(lineages.calls) == 1
    assert outcome.drained
    assert any(line.startswith("Stopped: the next call would pass the limit of dollars 1") for line in lines)


@pytest.mark.parametrize("error", [BudgetExceededError("limit of dollars 1"), ModelAccessError("access refused")])
async def test_a_generation_that_a_limit_cut_short_is_not_released_without_the_rest(
    lineages: Lineages, error: Exception
) -> None:
    def second_stops(state: LineageState) -> dict[str, Any]:
        if state["lineage"] == NAMES[1]:
            raise error
        return accept(state)

    outcome, lines = await lineages.run(second_stops)
    assert outcome.releases == ()
    assert any(line.startswith(f"Stopped: {error} Saved in") and "1 finished steps" in line for line in lines)
    outcome, _ = await lineages.run(accept)
    assert lineages.released(1) == lineages.released(2) == sorted(NAMES)
    assert lineages.calls.count((NAMES[0], 1)) == 1


async def test_seeds_that_could_not_be_read_are_taken_in_by_a_later_start(lineages: Lineages) -> None:
    outcome, lines = await lineages.run(accept, seeds=(lineages.tmp_path / "not-yet",))
    assert outcome.releases == ()
    assert any("no seed could be used" in line and "not-yet" in line for line in lines)
    shutil.copytree(FOREIGN / NAMES[0], lineages.tmp_path / "not-yet" / "one")
    outcome, _ = await lineages.run(accept, seeds=(lineages.tmp_path / "not-yet",))
    assert lineages.released(2) == [NAMES[0]]


async def test_a_released_task_that_was_changed_is_named(lineages: Lineages) -> None:
    outcome, _ = await lineages.run(accept, generations=1)
    task = next((outcome.releases[0] / "tasks").iterdir())
    (task / "instruction.md").write_text("something else")
    with pytest.raises(ReleaseError, match=f"{task.name} was accepted, but its folder in .* is gone or changed"):
        await lineages.run(accept, generations=2)


async def test_the_commands_at_the_end_can_be_typed_as_they_are(lineages: Lineages) -> None:
    lineages.tmp_path /= "a folder"
    lineages.tmp_path.mkdir()
    outcome, lines = await lineages.run(accept)
    trial = next(line.partition(":")[2] for line in lines if line.startswith("Run one of them"))
    further = next(line.partition(":")[2] for line in lines if line.startswith("Harden further"))
    python, _, module, task, *_ = shlex.split(trial)
    assert (python, module) == (sys.executable, "sandbox.trial")
    assert Path(task).parent == outcome.releases[-1] / "tasks"
    assert shlex.split(further)[3:] == ["--config", f"{lineages.tmp_path}/run/config.yaml", "--generations", "3"]


async def test_where_every_lineage_ended_nothing_more_is_offered(lineages: Lineages) -> None:
    def first_only(state: LineageState) -> dict[str, Any]:
        return accept(state) if state["generation"] == 1 else {"outcome": "rejected", "reason": "every axis failed"}

    _, lines = await lineages.run(first_only)
    assert any(line.startswith("Every lineage has ended") for line in lines)
    assert not any(line.startswith("Harden further") for line in lines)


async def test_a_drain_lets_the_step_finish_and_starts_no_other(lineages: Lineages) -> None:
    outcome, lines = await lineages.run(accept, drain_at=1)
    assert outcome.drained
    assert len(lineages.calls) == 1
    assert any(line.startswith("Interrupted. Saved in") for line in lines)
    outcome, _ = await lineages.run(accept)
    assert not outcome.drained
    assert lineages.released(2) == sorted(NAMES)


async def test_a_wait_for_the_model_is_told_where_the_lineage_is() -> None:
    told: list[Event] = []
    waits = ModelWaits(told.append, Event("l", 2, "plan", axis="length", attempt=1, gate="oracle"))
    async for attempt in AsyncRetrying(
        stop=stop_after_attempt(2), wait=wait_fixed(3), before_sleep=waits.on_retry, sleep=_at_once
    ):
        with attempt:
            if attempt.retry_state.attempt_number == 1:
                raise ModelUnavailableError("503 from the provider")
    (event,) = told
    assert (event.lineage, event.generation, event.axis, event.gate) == ("l", 2, "length", "")
    assert event.message == "waits 3 s for the model: request 1 failed: 503 from the provider"


async def _at_once(seconds: float) -> None:
    return None
