"""Verifies what an agent has done: in its sandbox, in a clean one, or in the verifier's own environment."""

from __future__ import annotations

import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from sandbox.errors import TransferError, UnsupportedTaskError
from sandbox.siblings import fork, fresh
from sandbox.verification import carrying
from sandbox.verification.folders import LOGS, TESTS, VERIFIER_LOGS, clear_verifier_folders, is_real_folder, planted
from sandbox.verification.isolate import MAX_OUTPUT, Run, isolated_env, run_verifier
from sandbox.verification.leftovers import Leftover
from sandbox.verification.looking import look, see
from sandbox.verification.second_opinion import lower, not_put_back, revert, settled
from sandbox.verification.separate import verifier_environment, verifier_network, verifier_sandbox, view_of
from sandbox.verification.tests_folder import Tests, test_script, tests_folder, tests_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.protocol import Sandbox
    from sandbox.task import Task, TaskStep
    from sandbox.verification.ctrf import Unit
    from sandbox.verification.leftovers import Scene
    from sandbox.verification.looking import Seen
    from sandbox.verification.reward import Reward

__all__ = [
    "MAX_OUTPUT",
    "TESTS",
    "VERIFIER_LOGS",
    "Leftover",
    "Mode",
    "Verification",
    "clear_verifier_folders",
    "declared_mode",
    "isolated_env",
    "test_script",
    "verify",
]

Mode = Literal["shared", "fresh", "separate"]

NO_TEST_SCRIPT: Final = "no-test-script"
NO_ARTIFACTS: Final = "no-artifacts"
TOO_LARGE: Final = "artifacts-too-large"


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of verifying one step.

    Attributes:
        step: The step that was verified ("main" in a single-step task).
        reward: The reward, or `None` when there is none to be had; then `error_code` says why.
        error_code: `missing`, `unparsable`, `scalar`, `not-a-file`, `timeout`, `no-test-script`, `no-artifacts` (the
            mode is "fresh" and nothing is declared), `artifacts-too-large`, `replaced-tool` (there was a reward only
            with what the agent had put in place of the image's own), or "" with a reward.
        error: The same in words.
        units: The test units it reported, if it did.
        stdout: The end of its standard output.
        stderr: The end of its standard error.
        seconds: Wall-clock seconds, uploads included.
        leftovers: What the agent left that could have reached the verifier, and what the verifier itself left running.
        tests_sha256: SHA-256 (hex) over the paths, run bits and bytes of the tests; "" where there are none.
        mode: How it was verified.
    """

    step: str
    reward: Reward | None
    error_code: str = ""
    error: str = ""
    units: tuple[Unit, ...] = ()
    stdout: str = ""
    stderr: str = ""
    seconds: float = 0.0
    leftovers: tuple[Leftover, ...] = ()
    tests_sha256: str = ""
    mode: Mode = "shared"


async def verify(
    task: Task, sandbox: Sandbox, *, step: TaskStep | None = None, mode: Mode | None = None
) -> Verification:
    """Verifies a task, or one step of it, of the sandbox that the agent has left.

    Whatever the verifier does ends in a `Verification`; its exit code counts for nothing, as in Harbor. Afterwards
    every process of the sandbox is dead, and `/logs/verifier` holds what the run that counts has written.

    Args:
        task: The task the tests are taken from.
        sandbox: Where the agent worked.
        step: The step to verify; may be left out for a single-step task.
        mode: How; what the task declares when left out.

    Raises:
        UnsupportedTaskError: The verifier wants a variable this machine lacks, or a user, an environment or a service
            that the back end cannot give it.
        TaskError: A file of the tests is not what it was when the task was read.
        ImageError: The verifier's own environment does not build.
        SandboxError: The sandbox failed.
    """
    step = step or _only_step(task)
    mode = mode or declared_mode(task, step)
    began = time.monotonic()
    tests = tests_of(task, step)
    if tests is None:
        return Verification(step.name, None, NO_TEST_SCRIPT, f"there is no {tests_folder(step)}/test.sh", mode=mode)
    if mode == "fresh" and not carrying.declared(task, step):
        said = (
            'verification is "fresh", and nothing would be carried to the verifier: list the files and folders that '
            'the tests read under artifacts in task.toml, as in artifacts = ["/app/out"]'
        )
        return Verification(step.name, None, NO_ARTIFACTS, said, tests_sha256=tests.sha256, mode=mode)
    with tempfile.TemporaryDirectory(prefix="envolve-verify-") as folder:
        judge = _Judge(task, sandbox, step, tests, Path(folder))
        run = await (judge.shared() if mode == "shared" else judge.elsewhere(mode))
    return Verification(
        step=step.name,
        reward=run.reward,
        error_code=run.error_code,
        error=run.error,
        units=run.units,
        stdout=run.stdout,
        stderr=run.stderr,
        seconds=time.monotonic() - began,
        leftovers=tuple(judge.leftovers),
        tests_sha256=tests.sha256,
        mode=mode,
    )


def declared_mode(task: Task, step: TaskStep) -> Mode:
    """Harbor's "separate" where it is declared, else "fresh" where `[metadata] verification` says so, else "shared"."""
    if task.config.verifier_mode(step.config) == "separate":
        return "separate"
    return "fresh" if task.config.metadata.get("verification") == "fresh" else "shared"


class _Judge:
    """One verification: the runs it takes, and what was found on the way.

    Args:
        task: The task.
        sandbox: Where the agent worked.
        step: The step.
        tests: Its tests.
        folder: An empty folder on this machine, for archives.
    """

    def __init__(self, task: Task, sandbox: Sandbox, step: TaskStep, tests: Tests, folder: Path) -> None:
        self._task = task
        self._sandbox = sandbox
        self._step = step
        self._tests = tests
        self._folder = folder
        self.leftovers: list[Leftover] = []

    async def shared(self) -> Run:
        """In the agent's sandbox; first in a copy without what is suspicious, where there is such a thing."""
        seen = await self._end_agent(("/",))
        scene, found = await look(self._task, self._sandbox, self._step, self._tests, seen)
        self.leftovers += found
        suspicious = [leftover for leftover in found if leftover.suspicious]
        without = await self._without(scene, suspicious) if suspicious else None
        if without is not None and (settled(without) or without.error_code == "replaced-tool"):
            return await self._counted(without, "without")
        # Every process is dead: what was seen of /logs holds still.
        real_logs = is_real_folder(LOGS, seen.changes or {})
        as_is = await run_verifier(self._task, self._sandbox, self._step, self._tests, real_logs=real_logs)
        self._note_survivors(as_is)
        if without is None:
            return as_is
        run = lower(as_is, without, suspicious)
        return run if run.reward is None or run.reward == as_is.reward else await self._counted(run, "without")

    async def elsewhere(self, mode: Literal["fresh", "separate"]) -> Run:
        """In a sandbox to which only the artifacts are carried."""
        await carrying.run_hooks(self._task, self._sandbox, self._step)
        entries = carrying.carried_entries(self._task, self._step, self._workdir())
        seen = await self._end_agent((*(entries if mode == "fresh" else ()), LOGS, TESTS))
        await clear_verifier_folders(self._sandbox)
        try:
            carried = await carrying.collect(self._sandbox, entries, self._folder, image_links=mode == "fresh")
        except TransferError as error:
            return Run(None, TOO_LARGE, f"the artifacts ({', '.join(entries)}) cannot be carried: {error}")
        self.leftovers += carried.leftovers
        if mode == "separate":
            return await self._separate(carried)
        scene, found = await look(self._task, self._sandbox, self._step, self._tests, seen)
        self.leftovers += found
        suspicious = [leftover for leftover in found if leftover.suspicious]
        without = await self._fresh(carried, "without", scene, suspicious) if suspicious else None
        if without is not None and (settled(without) or without.error_code == "replaced-tool"):
            return await self._counted(without, "without")
        as_is = await self._fresh(carried, "as-is")
        run = as_is if without is None else lower(as_is, without, suspicious)
        return await self._counted(run, "as-is" if run.reward == as_is.reward else "without")

    async def _end_agent(self, under: Sequence[str]) -> Seen:
        """Kills what the agent left running; notes it and what it put into the verifier's folders.

        Returns:
            What differs from the image at or below some paths, those folders among them.
        """
        killed = await self._sandbox.kill_processes()
        if killed:
            self.leftovers.append(Leftover("process", "", f"{killed} still ran"))
        seen = await see(self._sandbox, under)
        self.leftovers += await planted(self._sandbox, seen.changes)
        return seen

    async def _without(self, scene: Scene, suspicious: Sequence[Leftover]) -> Run | None:
        """The verifier's run in a copy of the agent's sandbox, what is suspicious put back to the image's."""
        async with AsyncExitStack() as stack:
            try:
                copy = await stack.enter_async_context(fork(self._sandbox))
            except UnsupportedTaskError as error:
                self.leftovers.append(Leftover("unseen", "", f"there was no second run without them: {error}"))
                return None
            return await self._reverted(copy, scene, suspicious)

    async def _reverted(self, copy: Sandbox, scene: Scene, suspicious: Sequence[Leftover]) -> Run:
        try:
            await revert(copy, suspicious, scene)
        except TransferError as error:
            return not_put_back(error, suspicious)
        run = await run_verifier(self._task, copy, self._step, self._tests)
        await carrying.pack_logs(copy, self._logs("without"))
        return run

    async def _fresh(
        self, carried: carrying.Carried, name: str, scene: Scene | None = None, suspicious: Sequence[Leftover] = ()
    ) -> Run:
        """The verifier's run in a clean sandbox with the artifacts in it."""
        async with fresh(self._sandbox) as clean:
            await carrying.deliver(carried, clean, absent_too=True)
            if scene is not None:
                return await self._reverted(clean, scene, suspicious)
            run = await run_verifier(self._task, clean, self._step, self._tests)
            await carrying.pack_logs(clean, self._logs(name))
        self._note_survivors(run)
        return run

    async def _separate(self, carried: carrying.Carried) -> Run:
        """The verifier's run in its own environment."""
        environment = verifier_environment(self._task, self._step)
        view = view_of(self._task, environment, self._folder / "view")
        network, note = await verifier_network(self._task, view, self._sandbox)
        if note:
            self.leftovers.append(Leftover("network-narrowed", "", note))
        async with verifier_sandbox(view, self._sandbox, network) as own:
            await carrying.deliver(carried, own, absent_too=False)
            run = await run_verifier(view, own, self._step, self._tests, upload=not environment.bundled)
            await carrying.pack_logs(own, self._logs("separate"))
        self._note_survivors(run)
        return await self._counted(run, "separate")

    async def _counted(self, run: Run, name: str) -> Run:
        """Puts the logs of a run into the agent's sandbox, where a trial looks for them."""
        await clear_verifier_folders(self._sandbox)
        await carrying.bring_logs_back(self._logs(name), self._sandbox)
        return run

    def _note_survivors(self, run: Run) -> None:
        if run.survivors:
            self.leftovers.append(Leftover("survivor", "", f"{run.survivors} of the verifier's own run still ran"))

    def _logs(self, name: str) -> Path:
        return self._folder / f"logs-{name}.tar"

    def _workdir(self) -> str:
        return self._task.config.environment.workdir or self._sandbox.image.workdir


def _only_step(task: Task) -> TaskStep:
    if task.is_multi_step:
        names = ", ".join(step.name for step in task.steps)
        raise ValueError(f"{task.name} has several steps ({names}): say which one to verify")
    return task.steps[0]
