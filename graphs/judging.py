"""Judging a candidate once: finished verdicts are taken from the journal, others are made and recorded."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from evolution.gates.panel import judge
from evolution.verdict import Candidate, Verdict, VerdictClass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evolution.journal import CallJournal
    from evolution.verdict import Gate
    from sandbox.sandboxes import Sandboxes


async def judge_once(
    candidate: Candidate,
    sandboxes: Sandboxes,
    gates: Sequence[Gate],
    journal: CallJournal | None,
    *,
    key: str,
    on_verdict: Callable[[Verdict], None] | None = None,
) -> tuple[Verdict, ...]:
    """The gates' verdicts on a candidate, in gate order, up to and including the first failure.

    Args:
        candidate: What is judged.
        sandboxes: Where the gates run.
        gates: The gates.
        journal: Where finished verdicts are kept; `None` judges anew each time. Verdicts of class `infrastructure`
            are never kept: they say nothing of the candidate and are tried again.
        key: What the journal knows this judgement by; the candidate's content hash is added.
        on_verdict: Is told each verdict as it comes.
    """
    key = f"{key}/{candidate.task.content_hash[:16]}"
    known = await journal.finished(key) if journal else None
    if known is not None:
        return tuple(Verdict.model_validate(item) for item in json.loads(known))
    verdicts = await judge(candidate, sandboxes, gates, on_verdict=on_verdict)
    final = all(verdict.verdict_class is not VerdictClass.INFRASTRUCTURE for verdict in verdicts)
    if journal and final:
        value = json.dumps([verdict.model_dump(mode="json") for verdict in verdicts])
        await journal.record(key, value, kind="verdicts", seconds=sum(verdict.seconds for verdict in verdicts))
    return verdicts
