"""Gate `alternative`: solutions that are right but different pass, so that the tests judge the result and not its form.

Three sources, each run only where it is there:

* solutions that lie in the task's folder `alternatives/` or in the folder of the settings: people say they are right,
  so one that fails is a finding;
* solutions that a model wrote (`Roles.author`): one that fails may well be wrong. It counts only where its outputs
  hold what the reference's hold and differ in nothing but a respect of form that the instruction leaves open; else it
  is noted, suppressed;
* variants of the reference's own outputs, made here: JSON with other blanks, key order or escapes, a last line end
  more or less, hexadecimal digits in upper case. A respect is tried only where the instruction says nothing about it
  (`alternative_wording`); all at once first, and one by one where that fails.
"""

from __future__ import annotations

import asyncio
import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Self

from evolution.gates.alternative_solutions import (
    contents,
    run_alternative,
    run_alternative_step,
    same_but_for_form,
    supplied,
)
from evolution.gates.alternative_variants import Form, independent, open_respects, respects_of, rewritten
from evolution.gates.errors import GateError
from evolution.gates.exploit_places import places
from evolution.gates.outcomes import account, finding, judged, listed, repeatable, tail
from evolution.gates.scripts import absolute_paths, holds_word
from evolution.gates.trials import together
from sandbox.errors import UnsupportedTaskError
from sandbox.task.phase import agent_user
from sandbox.trial.result import StepResult, trial_result
from sandbox.trial.steps import run_solution
from sandbox.verification.carrying import declared
from sandbox.verification.verify import declared_mode, verify

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from evolution.gates.alternative_wording import Respect
    from evolution.gates.exploit_places import Place
    from evolution.gates.roles import Alternative, AlternativeAuthor, Roles
    from evolution.gates.settings import GateSettings
    from evolution.verdict import Candidate, Finding, Verdict
    from sandbox.protocol import Sandbox
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task, TaskStep
    from sandbox.verification.verify import Verification

ASKED_OF_AUTHOR: Final = 2
SHOWN_DIFF: Final = 14
SHOWN_WIDTH: Final = 160
NOT_WRITTEN: Final = "its files cannot be written, which says nothing of the task"
NOT_THE_SAME: Final = "its outputs hold something else than the reference's: the solution may be the one that is wrong"
Contents = dict[str, bytes]


class AlternativeGate:
    """Runs solutions and writes outputs that are right, but not the reference's.

    Args:
        folder: A folder `<task name>/<alternative>/solve.sh` beside those in the tasks.
        author: Writes alternatives.
    """

    name: Final = "alternative"
    stage: Final = 3
    codes: ClassVar[Mapping[str, str]] = {
        "supplied": "a solution that people say is right fails",
        "author": "a solution by a model, with the reference's outputs but for their form, fails",
        "json-whitespace": "JSON with other blanks and line breaks fails, and the instruction asks for none",
        "json-key-order": "JSON objects with their keys in another order fail, and the instruction asks for none",
        "json-escapes": "JSON strings with other escapes for the same characters fail",
        "number-format": "JSON numbers fail once 1.0 is written 1",
        "final-newline": "a file fails with, or without, the end of its last line, and nobody asks for either",
        "letter-case": "hexadecimal digits in upper case fail, and the instruction does not ask for lower case",
        "several-respects": "outputs in another form fail, though in no single respect",
    }

    def __init__(self, folder: Path | None = None, author: AlternativeAuthor | None = None) -> None:
        self.folder = folder
        self.author = author

    @classmethod
    def configured(cls, settings: GateSettings, roles: Roles) -> Self:
        """As `GateSettings.alternatives` and `Roles.author` say.

        Raises:
            GateError: There is no such folder.
        """
        if settings.alternatives is not None and not settings.alternatives.is_dir():
            raise GateError(f"gate 'alternative': {settings.alternatives} is no folder of solutions (--alternatives)")
        return cls(settings.alternatives, roles.author)

    async def check(self, candidate: Candidate, sandboxes: Sandboxes) -> Verdict:
        """Judges the candidate; raises what a sandbox raises."""
        task = candidate.task
        given = supplied(task, self.folder)
        found = [f for f in await together([self._supplied(task, sandboxes, one) for one in given]) if f is not None]
        variants = 0
        written = await self.author.alternatives(task, ASKED_OF_AUTHOR) if self.author is not None else ()
        for step in task.steps:
            async with places(task, sandboxes, step) as place:
                forms = _Forms(self.name, task, step, place)
                found += await forms.findings()
                variants += forms.variants
        for one in written:
            found += [f for f in [await self._authored(task, sandboxes, one)] if f is not None]
        return judged(self.name, found, {"variants": float(variants), "solutions": float(len(given) + len(written))})

    async def _supplied(self, task: Task, sandboxes: Sandboxes, alternative: Alternative) -> Finding | None:
        async with sandboxes.running(task) as sandbox:
            result = await run_alternative(task, sandbox, alternative)
        if result.score is not None and result.score >= 1:
            return None
        return finding(self.name, "supplied", f"the alternative {alternative.name} fails\n{account(result)}")

    async def _authored(self, task: Task, sandboxes: Sandboxes, alternative: Alternative) -> Finding | None:
        author = self.author.name if self.author else "nobody"
        try:
            async with sandboxes.running(task) as sandbox:
                result = await run_alternative(task, sandbox, alternative)
        except GateError as error:
            said = f"the alternative {alternative.name} of {author} cannot be run: {error}"
            return finding(self.name, "author", said).model_copy(update={"suppressed": NOT_WRITTEN})
        if result.score is not None and result.score >= 1:
            return None
        failing = next((s for s in task.steps if not _step_passed(result.steps, s.name)), task.steps[-1])
        said = f"the alternative {alternative.name} of {author} fails\n{account(result)}"
        made = finding(self.name, "author", said)
        async with places(task, sandboxes, failing) as place:
            if await _same_results(task, failing, place, alternative):
                return made
        return made.model_copy(update={"suppressed": NOT_THE_SAME})


def _step_passed(steps: tuple[StepResult, ...], name: str) -> bool:
    score = trial_result("alternative", [step for step in steps if step.name == name], None).score
    return score is not None and score >= 1


async def _same_results(task: Task, step: TaskStep, place: Place, alternative: Alternative) -> bool:
    """Whether an alternative's outputs are the reference's but for open respects of form."""
    async with place() as sandbox:
        await run_solution(task, sandbox, step)
        right = await outputs_of(task, step, sandbox)
    async with place() as sandbox:
        await run_alternative_step(task, sandbox, step, alternative)
        theirs = await contents(sandbox, right)
    if not right or right == theirs or set(right) != set(theirs):
        return False
    return await asyncio.to_thread(_same_but_for_forms, step.instruction, right, theirs)


def _same_but_for_forms(instruction: str, right: Contents, theirs: Contents) -> bool:
    return all(
        same_but_for_form(content, theirs[path], open_respects(instruction, path, content))
        for path, content in right.items()
    )


def _open_ones(instruction: str, outputs: Contents) -> dict[str, frozenset[Respect]]:
    """The respects that each output leaves open; without those that leave none."""
    found = {path: open_respects(instruction, path, content) for path, content in independent(outputs).items()}
    return {path: respects for path, respects in found.items() if respects}


def _in_other_forms(outputs: Contents, forms: Mapping[str, Form]) -> Contents:
    """Outputs in other forms, as far as they have one."""
    written = {path: rewritten(path, outputs[path], form) for path, form in forms.items()}
    return {path: content for path, content in written.items() if content != outputs[path]}


async def outputs_of(task: Task, step: TaskStep, sandbox: Sandbox) -> Contents:
    """The files that a solution added and the instruction names or an artifact holds; not those of repositories."""
    try:
        changes = await sandbox.changed_files()
    except UnsupportedTaskError:
        return await contents(sandbox, absolute_paths(step.instruction))
    artifacts = tuple(entry.source.rstrip("/") for entry in declared(task, step) if entry.source.startswith("/"))
    repositories = {change.path.partition("/.git/")[0] for change in changes if "/.git/" in change.path}
    named = [
        change.path
        for change in changes
        if change.kind == "added"
        and not change.path.startswith(("/solution/", "/tests/", "/logs/"))
        and not any(change.path.startswith(f"{folder}/") for folder in repositories)
        and _is_named(change.path, step.instruction, artifacts)
    ]
    return await contents(sandbox, named)


def _is_named(path: str, instruction: str, artifacts: tuple[str, ...]) -> bool:
    in_artifact = any(path == folder or path.startswith(f"{folder}/") for folder in artifacts)
    return in_artifact or path in instruction or holds_word(instruction, path.rpartition("/")[2])


@dataclass(frozen=True, slots=True)
class _Failure:
    """Outputs in another form that fail."""

    written: Contents
    score: float | None
    verification: Verification


class _Forms:
    """The reference's outputs of one step, written in other forms and verified."""

    def __init__(self, gate: str, task: Task, step: TaskStep, place: Place) -> None:
        self._gate = gate
        self._task = task
        self._step = step
        self._place = place
        self.variants = 0

    async def findings(self) -> list[Finding]:
        async with self._place() as sandbox:
            await run_solution(self._task, sandbox, self._step)
            await sandbox.kill_processes()
            outputs = await outputs_of(self._task, self._step, sandbox)
            open_ones = await asyncio.to_thread(_open_ones, self._step.instruction, outputs)
            respects = respects_of(open_ones.values())
            for way in (0, 1):
                forms = {path: Form(found, way) for path, found in open_ones.items()}
                if await self._fails(sandbox, outputs, forms, screening=True) is not None:
                    return await self._one_by_one(sandbox, outputs, open_ones, respects, way)
        return []

    async def _one_by_one(
        self,
        sandbox: Sandbox,
        outputs: Contents,
        open_ones: Mapping[str, frozenset[Respect]],
        respects: tuple[Respect, ...],
        way: int,
    ) -> list[Finding]:
        """What fails, respect by respect; nothing where the reference's own outputs fail here as well."""
        found = []
        for respect in respects:
            forms = {path: Form(frozenset({respect}), way) for path, ones in open_ones.items() if respect in ones}
            failure = await self._fails(sandbox, outputs, forms)
            if failure is not None:
                found.append(await asyncio.to_thread(self._finding, respect, outputs, failure))
        if not found:
            forms = {path: Form(ones, way) for path, ones in open_ones.items()}
            failure = await self._fails(sandbox, outputs, forms)
            if failure is not None:
                found.append(await asyncio.to_thread(self._finding, "several-respects", outputs, failure))
        return found if found and (await self._verified(sandbox))[0] == 1 else []

    async def _fails(
        self, sandbox: Sandbox, outputs: Contents, forms: Mapping[str, Form], *, screening: bool = False
    ) -> _Failure | None:
        """Writes outputs in other forms, verifies, and puts them back; `None` when that passes or changes nothing."""
        written = await asyncio.to_thread(_in_other_forms, outputs, forms)
        if not written:
            return None
        self.variants += 1
        await self._write(sandbox, written)
        score, verification = await self._verified(sandbox, screening=screening)
        await self._write(sandbox, {path: outputs[path] for path in written})
        return _Failure(written, score, verification) if score is None or score < 1 else None

    async def _write(self, sandbox: Sandbox, files: Contents) -> None:
        """As the agent, so that owner and permissions stay."""
        for path, content in files.items():
            await sandbox.exec(
                ["bash", "-c", 'cat > "$1"', "write", path], stdin=content, user=agent_user(self._task, self._step)
            )

    async def _verified(self, sandbox: Sandbox, *, screening: bool = False) -> tuple[float | None, Verification]:
        # What passes where the agent worked passes elsewhere too, and is cheaper to see.
        mode = "shared" if screening and declared_mode(self._task, self._step) == "fresh" else None
        verification = await verify(self._task, sandbox, step=self._step, mode=mode)  # type: ignore[arg-type]
        return trial_result("alternative", [StepResult("main", None, verification)], None).score, verification

    def _finding(self, what: str, outputs: Contents, failure: _Failure) -> Finding:
        verification = failure.verification
        failed = [unit for unit in verification.units if not unit.passed]
        output = verification.stdout if verification.stdout.strip() else verification.stderr
        told = (
            f"test units that fail:\n{listed(failed)}" if failed else f"end of the verifier's output:\n{tail(output)}"
        )
        earned = "no reward" if failure.score is None else f"a reward of {failure.score:g}"
        step = f" in step {self._step.name}" if self._task.is_multi_step else ""
        diffs = "\n".join(_diff(path, outputs[path], content) for path, content in sorted(failure.written.items()))
        means = AlternativeGate.codes[what]
        advice = "let the tests read the values, or say in the instruction what is wanted"
        said = f"{means}{step}: {earned} for\n{diffs}\n{told}\n{advice}"
        return finding(self._gate, what, said, where=min(failure.written))


def _diff(path: str, ours: bytes, theirs: bytes) -> str:
    old, new = (repeatable(content.decode("utf-8", "replace")) for content in (ours, theirs))
    lines = list(
        difflib.unified_diff(
            _lines(old), _lines(new), f"{path} (the reference's)", f"{path} (the variant)", n=1, lineterm=""
        )
    )
    shown = [line if len(line) <= SHOWN_WIDTH else f"{line[:SHOWN_WIDTH]}…" for line in lines[:SHOWN_DIFF]]
    return "\n".join(f"  {line}" for line in [*shown, *(["…"] if len(lines) > SHOWN_DIFF else [])])


def _lines(text: str) -> list[str]:
    """Lines, the end of the last one shown where it lacks."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else [*lines[:-1], f"{lines[-1]}\\ (no end of line)"]
