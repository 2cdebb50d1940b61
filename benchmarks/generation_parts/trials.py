"""Letting an author work through an assignment in one of the three ways, and remembering what came of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, cast

from agents.model import ModelGateway
from agents.roles.evolver import Evolver
from agents.roles.writer import Writer
from benchmarks.generation_parts.plans import Assignment
from benchmarks.generation_parts.soundness import digest_of_folder
from evolution.journal import Journal
from evolution.verdict import Gate
from graphs.environment_loop import build_environment_loop
from graphs.state import LineageState
from sandbox.sandboxes import Sandboxes

AUTHOR = "embedded/author"


@dataclass(frozen=True)
class Trial:
    """What came of one assignment; of what the author spoilt it knows nothing."""

    outcome: str
    results: tuple[str, ...]
    codes: tuple[str, ...]
    digest: str
    tokens_in: int
    tokens_out: int
    model_seconds: float
    gate_seconds: float
    feedback: tuple[dict[str, str], ...] = ()

    @property
    def accepted(self) -> bool:
        return self.outcome == "accepted"


class SharedVerdicts:
    """A run's journal that looks verdicts up in a journal of all runs, too: the same candidate is judged once.

    Its seconds count in each run that would have had to judge it.
    """

    def __init__(self, own: Journal, shared: Journal) -> None:
        self._own, self._shared = own, shared

    async def finished(self, key: str) -> str | None:
        known = await self._own.finished(key)
        if known is not None or "/verdicts/" not in key:
            return known
        found = await self._shared.finished(_content(key))
        if found is None:
            return None
        verdicts = json.loads(found)
        await self._own.record(key, found, kind="verdicts", seconds=sum(item["seconds"] for item in verdicts))
        return found

    async def record(self, key: str, value: str, *, kind: str, **figures: Any) -> None:
        if kind == "verdicts" and await self._shared.finished(_content(key)) is None:
            await self._shared.record(_content(key), value, kind=kind, seconds=figures.get("seconds", 0.0))
        await self._own.record(key, value, kind=kind, **figures)


def _content(key: str) -> str:
    """Lineage, generation, axis and content: everything that is in a verdict's key but the attempt."""
    place, _, rest = key.partition("/verdicts/")
    return f"{place}/verdicts/{rest.rpartition('/')[2]}"


@dataclass
class Way:
    """One way to generate at one fault rate: a run folder of its own.

    Attributes:
        folder: The run folder.
        mode: `loop`, `prompt+feedback` or `prompt`.
        faults: The author's fault rate.
        gates: What judges.
        sandboxes: Where.
        shared: Verdicts of all runs.
        attempts: Environments per plan.
    """

    folder: Path
    mode: str
    faults: float
    gates: Sequence[Gate]
    sandboxes: Sandboxes
    shared: Journal
    attempts: int
    _journal: Journal = field(init=False)

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._journal = Journal(self.folder / "run.db")
        return self

    def __exit__(self, *_: object) -> None:
        self._journal.close()

    async def trial(self, work: Assignment, begin: dict[str, Any] | None = None, *, keep: bool = False) -> Trial | None:
        """What comes of an assignment; `None` when this machine was at fault.

        Args:
            work: The assignment.
            begin: What is in the state beside the assignment: a draft and what was said of it.
            keep: Whether the folders of candidates are kept.
        """
        key = f"trial/{work.lineage}"
        known = await self._journal.finished(key)
        if known is not None:
            read: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in json.loads(known).items()}
            return Trial(**read)
        journal = SharedVerdicts(self._journal, self.shared)
        model = f"{AUTHOR}?faults={self.faults:g}"
        gateway = ModelGateway(journal)
        evolver = Evolver(gateway, model) if self.mode == "loop" else Writer(gateway, model)
        graph = build_environment_loop(
            evolver,
            self.gates,
            self.sandboxes,
            attempts=self.attempts,
            journal=journal,
            feedback=self.mode != "prompt",
        )
        candidates = self.folder / "work" / work.lineage
        state = cast("LineageState", {**work.state(candidates), **(begin or {})})
        final = cast("dict[str, Any]", await graph.compile().ainvoke(state, {"recursion_limit": 100}))
        if final["outcome"] == "infrastructure":
            return None
        trial = self._trial(work, final)
        if not keep:
            shutil.rmtree(candidates, ignore_errors=True)
        await self._journal.record(key, json.dumps(trial.__dict__), kind="trial")
        return trial

    def _trial(self, work: Assignment, final: dict[str, Any]) -> Trial:
        place = f"{work.lineage}/g001/{work.plan.axis}"
        models = self._journal.usage(f"{place}/evolver/")
        history = final["history"]
        return Trial(
            outcome=final["outcome"],
            results=tuple(attempt["result"] for attempt in history),
            codes=tuple(attempt["code"] for attempt in history),
            digest=digest_of_folder(Path(final["candidate"])) if final.get("candidate") else "",
            tokens_in=models.input_tokens,
            tokens_out=models.output_tokens,
            model_seconds=models.seconds,
            gate_seconds=self._journal.usage(f"{place}/verdicts/", kind="verdicts").seconds,
            feedback=tuple(dict(item) for item in final.get("feedback", ())),
        )
