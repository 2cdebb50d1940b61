"""What is generated: seeds out of the library, and one plan for each, the same for every way to generate."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agents.errors import RoleDeclinedError, RoleFailedError
from agents.model import ModelGateway
from agents.roles.proposer import Proposer
from agents.roles.requests import Occasion, ProposalRequest
from benchmarks.library_tasks import drawn_sequence, write_task
from evolution.journal import CallJournal
from evolution.plan import Axis, Effort, Plan
from evolution.randomness import derive_seed, generator
from evolution.reference import shipped, surprisals
from evolution.sequence import Sequence
from sandbox.task import Task

SEED = 0


@dataclass(frozen=True)
class Assignment:
    """A parent and the plan to make it harder by."""

    lineage: str
    parent: Path
    plan: Plan

    def state(self, work: Path) -> dict[str, object]:
        """What the environment loop begins with."""
        return {
            "lineage": self.lineage,
            "generation": 1,
            "seed": SEED,
            "parent": str(self.parent),
            "work": str(work),
            "effort": str(self.plan.effort),
            "axis": str(self.plan.axis),
            "plan": self.plan.model_dump(mode="json"),
        }

    def seed_of(self, attempt: int) -> int:
        """The seed that the author is sent at an attempt (see `graphs.plan_loop.occasion`)."""
        return derive_seed(SEED, self.lineage, 1, self.plan.axis, "evolver", attempt)


async def assignments(folder: Path, count: int, journal: CallJournal) -> AsyncIterator[Assignment]:
    """`count` of them; the axes take turns, and where the author has no plan along one the next is asked for."""
    proposer = Proposer(ModelGateway(journal), "embedded/author")
    number = found = 0
    while found < count:
        number += 1
        name = f"seed-{number:04d}"
        parent = folder / name
        if not parent.is_dir() and not _rendered(parent, number):
            continue
        kept = folder / f"{name}.json"
        if not kept.exists():
            plan = await _plan(proposer, Task.read(parent), name, found)
            kept.write_text("null" if plan is None else plan.model_dump_json(), encoding="utf-8")
        read = json.loads(kept.read_text(encoding="utf-8"))
        if read is not None:
            found += 1
            yield Assignment(name, parent, Plan.model_validate(read))


async def _plan(proposer: Proposer, parent: Task, name: str, turn: int) -> Plan | None:
    axes = tuple(Axis)
    recorded = _sequence(int(name.rpartition("-")[2]))
    figures: dict[str, Any] = surprisals(shipped("terminal"))
    for place in range(len(axes)):
        axis = axes[(turn + place) % len(axes)]
        seed = derive_seed(SEED, name, 1, axis, "proposer", 1)
        transcript = parent.root.parent / f"{name}-{axis}.jsonl"
        request = ProposalRequest(
            occasion=Occasion(name, 1, axis, 1, seed, transcript),
            parent=parent,
            effort=Effort.HIGH,
            sequence=recorded,
            **figures,
        )
        try:
            return await proposer.propose(request)
        except (RoleDeclinedError, RoleFailedError):
            continue
    return None


def _sequence(number: int) -> Sequence:
    return drawn_sequence(generator("generation-modes", number), (1, 1, 2))


def _rendered(target: Path, number: int) -> bool:
    reward: Literal["binary", "fraction"] = "fraction" if number % 2 else "binary"
    return write_task(target, _sequence(number), 70_000 + number, name=f"benchmark/{target.name}", reward=reward)
