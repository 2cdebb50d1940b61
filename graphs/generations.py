"""A whole run: seeds are checked, lineages evolve side by side, and each generation is released when all are done."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from pydantic import BaseModel, ConfigDict

from agents.errors import BudgetExceededError, DrainedError, ModelAccessError, ModelError
from evolution.errors import ReleaseError
from evolution.intake import Refusal, Seed, read_seeds
from evolution.lineage import Member, task_id
from evolution.metadata import read_evolution
from evolution.plan import Plan
from evolution.progress import Event, Listener, silent
from evolution.release import Entry, release_folder, write_release
from evolution.run_folder import prune
from evolution.verdict import Candidate, Verdict, VerdictClass
from graphs.events import ModelWaits
from graphs.judging import judge_once
from graphs.state import Attempt
from sandbox.errors import SandboxError
from sandbox.task import Task

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evolution.reference import Reference
    from evolution.run_folder import RunFolder
    from evolution.verdict import Gate
    from graphs.evolve import Graph
    from graphs.state import LineageState
    from sandbox.sandboxes import Sandboxes


class Result(BaseModel):
    """What became of one generation of one lineage.

    Attributes:
        lineage: Which.
        generation: Which.
        outcome: `accepted`, `rejected` (every axis failed: the branch ends) or `infrastructure`.
        reason: Why not, when not accepted.
        entry: The accepted child as it goes into the release.
        history: Every attempt that was made.
    """

    model_config = ConfigDict(frozen=True)

    lineage: str
    generation: int
    outcome: str
    reason: str = ""
    entry: Entry | None = None
    history: tuple[Attempt, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to.

    Attributes:
        releases: The folders of the generations that hold at least one environment, in order.
        results: One per lineage and generation that was tried.
        refusals: Seeds that could not be used, and why.
        drained: Whether it stopped before it was through.
        limit: What stopped it, in words: a limit of the budget, a refused key; "" when it was asked to stop, or is
            through.
    """

    releases: tuple[Path, ...]
    results: tuple[Result, ...]
    refusals: tuple[Refusal, ...]
    drained: bool = False
    limit: str = ""


@dataclass
class Run:
    """Runs the graph over all lineages, generation by generation.

    Attributes:
        folder: The open run folder.
        graph: One generation of one lineage, uncompiled (`build_evolve`).
        seed_gates: Gates a seed must pass before it is evolved.
        sandboxes: Where they run.
        reference: Measures D_T for the manifest.
        listen: Is told what happens.
        on_drain: Called when a drain is asked for, so that no new model call is started.
    """

    folder: RunFolder
    graph: Graph
    seed_gates: Sequence[Gate]
    sandboxes: Sandboxes
    reference: Reference
    listen: Listener = silent
    on_drain: Callable[[], None] | None = None
    _controls: set[RunControl] = field(default_factory=set, init=False)
    _draining: bool = field(default=False, init=False)
    _limit: str = field(default="", init=False)

    @property
    def draining(self) -> bool:
        """Whether a drain was asked for."""
        return self._draining

    def drain(self) -> None:
        """Lets the model calls under way come to their end, and starts nothing new."""
        self._draining = True
        if self.on_drain is not None:
            self.on_drain()
        for control in self._controls:
            control.request_drain("interrupted")

    async def run(self) -> Outcome:
        """Runs until every generation is released, every lineage has ended, or a drain was asked for."""
        config = self.folder.config
        seeds, refusals = self._take_in(config.seeds)
        checked = await self._bounded([self._check(seed) for seed in seeds])
        refusals = (*refusals, *(item for item in checked if isinstance(item, Refusal)))
        members = tuple(item for item in checked if isinstance(item, Member))
        parents = {m.lineage: self.folder.seeds / m.lineage for m in members}
        releases: list[Path] = []
        results: list[Result] = []
        for generation in range(1, config.generations + 1):
            if not parents:
                break
            # What is released never changes: a lineage that had ended by then is not taken up again.
            settled = release_folder(self.folder.releases, generation).is_dir()
            work = [self._evolve(name, generation, parents[name], settled=settled) for name in sorted(parents)]
            done = [item for item in await self._bounded(work) if isinstance(item, Result)]
            results += done
            if len(done) < len(work):  # drained: what is not finished is taken up at the next start
                break
            accepted = [item.entry for item in done if item.entry is not None]
            parents = {}
            if accepted:
                release = self._release(generation, accepted, members)
                releases.append(release)
                members = (*members, *(entry.member for entry in accepted))
                parents = {e.member.lineage: release / "tasks" / e.member.task_id for e in accepted}
        return Outcome(tuple(releases), tuple(results), refusals, drained=self._draining, limit=self._limit)

    def _take_in(self, folders: tuple[Path, ...]) -> tuple[tuple[Seed, ...], tuple[Refusal, ...]]:
        """Reads the seeds; keeps copies in the run folder, which later starts use instead."""
        kept = self.folder.seeds
        if kept.is_dir():
            seeds, refusals = read_seeds((kept,))
            seeds = tuple(replace(seed, lineage=seed.task.root.name) for seed in seeds)
            return seeds, tuple(r for r in refusals if r.folder != kept)
        seeds, refusals = read_seeds(folders)
        if not seeds:  # a later start, when the folders are in order, takes them in
            return (), refusals
        aside = kept.with_name(".seeds.partial")
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir()
        for seed in seeds:
            seed.task.write(aside / seed.lineage)
        aside.rename(kept)
        return tuple(Seed(seed.lineage, Task.read(kept / seed.lineage)) for seed in seeds), refusals

    async def _bounded(self, work: list[Any]) -> list[Any]:
        """Runs coroutines, at most `workers` at once; one that was drained gives `None`."""
        slots = asyncio.Semaphore(self.folder.config.workers)

        async def one(item: Any) -> Any:
            async with slots:
                if self._draining:
                    item.close()
                    return None
                return await item

        tasks = [asyncio.ensure_future(one(item)) for item in work]
        try:
            return await asyncio.gather(*tasks)
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise

    async def _check(self, seed: Seed) -> Member | Refusal:
        """A seed that passes its gates becomes the root of its lineage."""
        self.listen(Event(seed.lineage, 0, "seed", message="checking"))
        verdicts = await judge_once(
            Candidate(seed.task),
            self.sandboxes,
            self.seed_gates,
            self.folder.journal,
            key=f"{seed.lineage}/seed/verdicts",
        )
        failed = next((verdict for verdict in verdicts if not verdict.passed), None)
        if failed is not None:
            self.listen(Event(seed.lineage, 0, "seed", gate=failed.gate, message=f"rejected: {failed.code}"))
            kind = "ours, not the task's" if failed.verdict_class is VerdictClass.INFRASTRUCTURE else "the task's"
            return Refusal(seed.task.root, f"{failed.code}: {failed.evidence} (the fault is {kind})")
        recorded = read_evolution(seed.task)
        return Member(
            task_id=seed.lineage,
            lineage=seed.lineage,
            generation=0,
            content_hash=seed.task.content_hash,
            sequence=recorded.sequence if recorded else None,
        )

    async def _evolve(self, lineage: str, generation: int, parent: Path, *, settled: bool) -> Result | None:
        """One generation of one lineage, from the journal when it is there (or can be no more: `settled`)."""
        key = f"{lineage}/g{generation:03d}/result"
        work = self.folder.work(lineage, generation)
        known = await self.folder.journal.finished(key)
        if known is not None:
            result = Result.model_validate_json(known)
            if settled or result.entry is None or self._child(result.entry) is not None:
                return result
        if settled:
            reason = f"generation {generation} was released without it"
            return Result(lineage=lineage, generation=generation, outcome="infrastructure", reason=reason)
        state: LineageState = {
            "lineage": lineage,
            "generation": generation,
            "seed": self.folder.config.seed,
            "parent": str(parent),
            "work": str(work),
            "effort": str(self.folder.config.effort),
        }
        try:
            final = await self._stream(state)
        except (GraphDrained, DrainedError):
            return None
        except (BudgetExceededError, ModelAccessError) as error:  # no other call would come through either
            self._limit = str(error)
            self.drain()
            self._stopped(state, str(error))
            return None
        except (ModelError, SandboxError) as error:
            return self._stopped(state, str(error))
        result = _result(final)
        if result.outcome != "infrastructure":  # which says nothing of the environment: a later start tries again
            await self.folder.journal.record(key, result.model_dump_json(), kind="result")
        return result

    def _stopped(self, state: LineageState, reason: str) -> Result:
        """A lineage that something of ours stopped; a later start takes it up again."""
        self.listen(Event(state["lineage"], state["generation"], "done", message=f"ended: {reason}"))
        return Result(lineage=state["lineage"], generation=state["generation"], outcome="infrastructure", reason=reason)

    async def _stream(self, state: LineageState) -> LineageState:
        """Runs the graph, passing its events on."""
        control = RunControl()
        self._controls.add(control)
        waits = ModelWaits(self.listen, Event(state["lineage"], state["generation"], "plan"))
        final: dict[str, Any] = {}
        try:
            stream = self.graph.compile().astream(
                state,
                {"recursion_limit": 500, "callbacks": [waits]},
                stream_mode=["custom", "values"],
                subgraphs=True,
                control=control,
            )
            async for namespace, mode, value in stream:
                if mode == "custom":
                    waits.at = cast("Event", value)
                    self.listen(waits.at)
                elif not namespace:
                    final = cast("dict[str, Any]", value)
        finally:
            self._controls.discard(control)
        return cast("LineageState", final)

    def _child(self, entry: Entry) -> Task | None:
        """The accepted child's folder, in the release or still among the candidates."""
        member = entry.member
        released = release_folder(self.folder.releases, member.generation) / "tasks" / member.task_id
        work = self.folder.work(member.lineage, member.generation)
        for place in (released, *sorted(work.glob("*/environment-*/task"))):
            if place.is_dir() and (task := Task.read(place)).content_hash == member.content_hash:
                return task
        return None

    def _release(self, generation: int, accepted: list[Entry], ancestors: tuple[Member, ...]) -> Path:
        pairs = []
        for entry in accepted:
            task = self._child(entry)
            if task is None:
                raise ReleaseError(
                    f"{entry.member.task_id} was accepted, but its folder in {self.folder.root} is gone or changed: "
                    "put it back, or start anew with --fresh"
                )
            pairs.append((entry, task))
        release = write_release(self.folder.releases, generation, tuple(pairs), ancestors, self.reference)
        for entry in accepted:
            prune(self.folder.work(entry.member.lineage, generation), self.folder.transcripts(entry.member.task_id))
        return release


def _result(state: LineageState) -> Result:
    common = {
        "lineage": state["lineage"],
        "generation": state["generation"],
        "outcome": state["outcome"],
        "history": tuple(state.get("history", ())),
    }
    if state["outcome"] != "accepted":
        return Result(**common, reason=state.get("reason", ""))
    task = Task.read(Path(state["candidate"]))
    recorded = read_evolution(task)
    plan = Plan.model_validate(state["plan"])
    member = Member(
        task_id=task_id(state["lineage"], state["generation"], task.content_hash),
        lineage=state["lineage"],
        generation=state["generation"],
        content_hash=task.content_hash,
        parent=recorded.parent if recorded else "",
        axis=plan.axis,
        effort=plan.effort,
        sequence=plan.after,
    )
    verdicts = tuple(Verdict.model_validate(item) for item in state["verdicts"])
    return Result(**common, entry=Entry(member=member, plan=plan, verdicts=verdicts, base=state.get("base", "")))
