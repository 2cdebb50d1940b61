"""Your own graph out of our parts: a critic that is a rule, one more gate, and no command line.

    .venv/bin/python examples/own_graph.py examples/seeds/terminal/<a seed>

evolves one task by one generation along the `length` axis and prints where the child lies.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from agents.model import ModelGateway
from agents.roles.evolver import Evolver
from agents.roles.proposer import Proposer
from agents.roles.requests import Review, ReviewRequest
from evolution.gates.registry import default_gates
from evolution.journal import Journal
from evolution.plan import Axis
from evolution.reference import shipped
from evolution.verdict import Candidate, Verdict, VerdictClass
from graphs.environment_loop import build_environment_loop
from graphs.evolve import build_evolve
from graphs.plan_loop import build_plan_loop
from sandbox.backends import load_backend
from sandbox.sandboxes import Sandboxes


class ShortPlans:
    """A critic without a model: at most two new steps at a time."""

    async def review(self, request: ReviewRequest) -> Review:
        """Accepts plans of up to two edits."""
        edits = len(request.plan.edited_steps)
        return Review(accepted=edits <= 2, findings=() if edits <= 2 else (f"{edits} new steps; two are enough",))


class SmallTasks:
    """A gate of one's own: the task folder stays below one megabyte."""

    name = "small"
    stage = 0

    async def check(self, candidate: Candidate, sandboxes: Sandboxes) -> Verdict:
        """Adds the files up."""
        size = sum(file.size for file in candidate.task.files)
        if size < 1_000_000:
            return Verdict(gate=self.name, passed=True, verdict_class=VerdictClass.ACCEPTED)
        return Verdict(
            gate=self.name,
            passed=False,
            verdict_class=VerdictClass.INVALID,
            code="small/too-large",
            evidence=f"the task folder has {size} bytes; keep it below 1,000,000",
        )


async def main(seed: Path) -> int:
    """Evolves one generation of one task; returns the exit code."""
    work = Path(tempfile.mkdtemp(prefix="own-graph-"))
    backend = load_backend("bubblewrap", base=("*=host",))
    sandboxes = Sandboxes(backend)
    try:
        with Journal(work / "run.db") as journal:
            gateway = ModelGateway(journal)
            plan_loop = build_plan_loop(Proposer(gateway, "embedded/author"), ShortPlans(), reference=shipped())
            environment_loop = build_environment_loop(
                Evolver(gateway, "embedded/author"), [*default_gates(), SmallTasks()], sandboxes, journal=journal
            )
            graph = build_evolve(plan_loop, environment_loop, axes=[Axis.LENGTH]).compile()
            final = await graph.ainvoke(
                {
                    "lineage": seed.name,
                    "generation": 1,
                    "seed": 0,
                    "parent": str(seed),
                    "work": str(work),
                    "effort": "high",
                }
            )
    finally:
        await backend.close()
    print(final["outcome"], final.get("candidate") or final.get("reason"))
    return 0 if final["outcome"] == "accepted" else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(asyncio.run(main(Path(sys.argv[1]).resolve())))
