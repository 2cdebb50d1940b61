"""Steps put before and behind the steps of a multi-step task: each gets a folder of its own under `steps/`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from agents.embedded import library
from agents.embedded.conversation import CannotError
from agents.embedded.foreign import wording
from agents.embedded.foreign.drafting import RULES_HEADING, Draft
from agents.embedded.foreign.lengthening import seal, splice
from agents.embedded.foreign.placing import FOLDER, rendered, rules
from agents.embedded.foreign.reading import ENVIRONMENT, Foreign
from agents.embedded.foreign.ties import Tie
from agents.embedded.library import RenderedStep
from evolution.sequence import Step


def add_in_front(
    draft: Draft, task: Foreign, steps: Sequence[Step], tie: Tie, held: bytes, *, beside: Step, own: Step
) -> None:
    """Adds step folders before the task's; the last of them opens the sealed input. Arguments as `put_in_front`.

    Raises:
        CannotError: The step behind was written by the library but its files do not say what the library wrote.
    """
    del own
    draft.open_folder(unseal=False)
    if tie.sealed is None:
        new = splice(draft, task, steps, beside, f"steps/{beside.id}/")
        if new is None:
            raise CannotError(f"the files of step {beside.id} were changed by hand, no step can be linked to it")
        for step in new:
            folder(draft, task, step)
        return
    new = rendered(steps, task.data_seed)
    for step in new[:-1]:
        folder(draft, task, step)
    last, point = new[-1], new[-1].checkpoint
    seal(draft, task, tie, held, last)
    told, solved = wording.told_unsealing(tie.path, point), wording.unsealing(tie.path, point)
    check = wording.restored_check(tie.path, hashlib.sha256(held).hexdigest())
    folder(draft, task, last, told=told, solved=solved, check=check)


def add_behind(draft: Draft, task: Foreign, steps: Sequence[Step], tie: Tie, *, own: Step) -> None:
    """Adds step folders behind the task's; the first hangs on a figure, or the last countersigns."""
    del own
    draft.open_folder(unseal=False)
    new = rendered(steps, task.data_seed, tie.entry)
    for step in new:
        if tie.kind != "countersigned" or step is not new[-1]:
            folder(draft, task, step)
            continue
        target = wording.countersign_target(step.step.id)
        folder(
            draft,
            task,
            step,
            told=wording.told_countersign(tie.path, step.checkpoint, target),
            solved=wording.countersigning(tie.path, step.checkpoint, target),
            check=wording.countersign_check(step.step.id, tie.path, step.checkpoint, target),
        )


def folder(
    draft: Draft, task: Foreign, step: RenderedStep, *, told: str = "", solved: str = "", check: str = ""
) -> None:
    """Writes the folder of one step: what is asked, solved and checked besides the step's own comes last."""
    place = f"steps/{step.step.id}"
    if draft.has(f"{place}/instruction.md"):
        raise CannotError(f"the task already has a step {step.step.id}")
    parts = [wording.told(step), told, f"{RULES_HEADING}\n\n{rules()}"]
    draft.put(f"{place}/instruction.md", "\n\n".join(part for part in parts if part) + "\n")
    note = "# Reference solution of this step."
    draft.put(f"{place}/solution/solve.sh", f"#!/bin/bash\n{note}\n\n{wording.section(step)}{solved}", executable=True)
    draft.merge(ENVIRONMENT, step.environment)
    tests = f"{place}/tests/{FOLDER}"
    draft.merge(f"{tests}/", step.tests)
    draft.put(f"{tests}/run_checks.py", library.harness("binary")["run_checks.py"].content)
    draft.put(f"{tests}/seed.txt", f"{task.data_seed}\n")
    script = f"#!/bin/bash\nexec python3 -I -S /tests/{FOLDER}/run_checks.py binary\n"
    draft.put(f"{place}/tests/test.sh", script, executable=True)
    if check:
        draft.add_check(f"{tests}/checks/{step.step.id}.py", check)
