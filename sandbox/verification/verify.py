"""Runs a task's verifier so that nothing the agent left behind can touch it, and reads the reward.

What is done against an agent that cheats, in order:

1. Every process of the sandbox is killed, so nothing of the agent's runs beside the tests.
2. `/logs`, `/logs/verifier` and `/tests` are made real, empty folders: links and planted files are gone.
3. The tests come from the task, never from the sandbox.
4. The verifier sees the image's variables (the task's own), without those that load code, and none of the agent's.
5. Every process is killed again before the reward is read, and it is read out of band, with a cap.

What this does not protect against: programs of the image that the agent replaced (`/usr/local/bin/python3`), its
packages in the image's own site folder, and the agent's program rewriting the reward while the tests themselves run it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.errors import TransferError, UnsupportedTaskError
from sandbox.task.phase import verifier_env, verifier_timeout, verifier_user
from sandbox.verification.ctrf import Unit, parse_ctrf
from sandbox.verification.reward import MissingRewardError, Reward, RewardError, RewardFileError, parse_reward

if TYPE_CHECKING:
    from sandbox.protocol import ExecResult, Image, Sandbox
    from sandbox.task import Task, TaskStep

TESTS = "/tests"
LOGS = "/logs"
VERIFIER_LOGS = "/logs/verifier"
MAX_REWARD_BYTES = 64 * 1024
MAX_CTRF_BYTES = 4 * 1024 * 1024
MAX_OUTPUT = 32 * 1024
"""Characters of each output stream that a `Verification` keeps, the last ones."""

TIMEOUT = "timeout"
NO_TEST_SCRIPT = "no-test-script"

# Variables that make a shell, the loader or Python run code from a place of somebody's choice. An image may set PATH or
# PYTHONPATH for its own programs, and its tests rely on that; nothing honest relies on these.
CODE_LOADING = frozenset(
    {"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "LD_PRELOAD", "LD_AUDIT"}
)
PYTEST_SETTINGS = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "pyproject.toml", "tox.ini", "setup.cfg")


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of one run of a verifier.

    Attributes:
        step: The step that was verified ("main" in a single-step task).
        reward: The reward, or `None` when there is none to be had; then `error_code` says why.
        error_code: `missing`, `unparsable`, `scalar`, `not-a-file`, `timeout`, `no-test-script`, or "" with a reward.
        error: The same in words.
        units: The test units it reported, if it did.
        stdout: The end of its standard output.
        stderr: The end of its standard error.
        seconds: Wall-clock seconds, uploads included.
    """

    step: str
    reward: Reward | None
    error_code: str = ""
    error: str = ""
    units: tuple[Unit, ...] = ()
    stdout: str = ""
    stderr: str = ""
    seconds: float = 0.0


async def verify(task: Task, sandbox: Sandbox, *, step: TaskStep | None = None) -> Verification:
    """Runs the verifier of a task, or of one step of it, in the sandbox the agent has left.

    Whatever the verifier does ends in a `Verification`; its exit code counts for nothing, as in Harbor.

    Args:
        task: The task the tests are taken from.
        sandbox: Where the agent worked.
        step: The step to verify; may be left out for a single-step task.

    Raises:
        UnsupportedTaskError: The verifier wants an environment of its own, a variable this machine lacks, or a user the
            back end cannot give it.
        SandboxError: The sandbox failed.
    """
    step = step or _only_step(task)
    if task.config.verifier_mode(step.config) == "separate":
        raise UnsupportedTaskError('[verifier] environment_mode = "separate" is not supported: use "shared", or Harbor')
    began = time.monotonic()
    script = test_script(task, step)
    if script is None:
        return Verification(step.name, None, NO_TEST_SCRIPT, f"there is no {_tests_folder(step)}/test.sh")
    await sandbox.kill_processes()
    await clear_verifier_folders(sandbox)
    await _upload_tests(task, sandbox, step, script)
    ran = await _run(task, sandbox, step)
    await sandbox.kill_processes()
    reward, error_code, error = await _read_reward(sandbox, ran, verifier_timeout(task, step))
    return Verification(
        step=step.name,
        reward=reward,
        error_code=error_code,
        error=error,
        units=await _read_units(sandbox),
        stdout=ran.text[-MAX_OUTPUT:],
        stderr=ran.error_text[-MAX_OUTPUT:],
        seconds=time.monotonic() - began,
    )


def test_script(task: Task, step: TaskStep) -> str | None:
    """The path in the task of the `test.sh` that verifies a step: its own, else the task's; `None` if there is none."""
    for folder in dict.fromkeys((_tests_folder(step), "tests")):
        if task.has(f"{folder}/test.sh"):
            return f"{folder}/test.sh"
    return None


def isolated_env(image: Image) -> dict[str, str]:
    """The image's variables that a verifier may see, and those that keep Python from the agent's files.

    Only what cannot change an honest score: bytecode of the agent's is never written beside the tests, and packages in
    the home folder are ignored where the image does not itself work there (as an image with a user of its own may).
    """
    kept = {name: value for name, value in image.env.items() if name not in CODE_LOADING}
    if image.user in {"", "0", "root"}:
        kept["PYTHONNOUSERSITE"] = "1"
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1"}


def _only_step(task: Task) -> TaskStep:
    if task.is_multi_step:
        names = ", ".join(step.name for step in task.steps)
        raise ValueError(f"{task.name} has several steps ({names}): say which one to verify")
    return task.steps[0]


def _tests_folder(step: TaskStep) -> str:
    return f"{step.folder}/tests" if step.folder else "tests"


async def clear_verifier_folders(sandbox: Sandbox) -> None:
    """Makes `/logs` a real folder and `/logs/verifier`, `/tests` real and empty ones.

    What else is in a real `/logs` (artifacts the tests may read) stays.
    """
    try:
        await sandbox.read_file(LOGS, max_bytes=1)
    except IsADirectoryError:
        pass
    except (FileNotFoundError, TransferError):
        await sandbox.remake_directory(LOGS)
    else:
        await sandbox.remake_directory(LOGS)
    # Open to all: the verifier may run as a user of its own.
    await sandbox.remake_directory(VERIFIER_LOGS, mode=0o777)
    await sandbox.remake_directory(TESTS)


async def _upload_tests(task: Task, sandbox: Sandbox, step: TaskStep, script: str) -> None:
    """The task's tests, those of the step laid over them."""
    own = _tests_folder(step)
    if task.under("tests"):
        await sandbox.upload(task.root / "tests", TESTS)
    elif own != "tests" and task.under(own):
        await sandbox.upload(task.root / own, TESTS)
    if own != "tests" and task.under("tests"):
        for file in task.under(own):
            path = f"{TESTS}{file.path.removeprefix(own)}"
            await sandbox.write_file(path, task.read_bytes(file.path), mode=0o755 if file.executable else 0o644)
    await sandbox.write_file(f"{TESTS}/test.sh", task.read_bytes(script), mode=0o755)
    # pytest looks for its settings from the tests upwards, so the agent could plant /pytest.ini, and /conftest.py with
    # it. An empty one in /tests ends the search where it would have ended on a clean machine.
    if not any(task.has(f"{folder}/{name}") for folder in ("tests", own) for name in PYTEST_SETTINGS):
        await sandbox.write_file(f"{TESTS}/pytest.ini", b"")


async def _run(task: Task, sandbox: Sandbox, step: TaskStep) -> ExecResult:
    # As Harbor runs it: through bash, so that a script without a #! line works and one with keeps its interpreter.
    return await sandbox.exec(
        ["bash", "-c", f"{TESTS}/test.sh"],
        cwd=task.config.environment.workdir,
        env={**isolated_env(sandbox.image), **verifier_env(task, step)},
        user=verifier_user(task, step),
        timeout=verifier_timeout(task, step),
        clean_env=True,
    )


async def _read_reward(sandbox: Sandbox, ran: ExecResult, timeout: float) -> tuple[Reward | None, str, str]:
    """The reward, or the code and the words of why there is none."""
    if ran.timed_out:
        return (
            None,
            TIMEOUT,
            f"the verifier was stopped after {timeout:g} s; a reward it may have written does not count",
        )
    try:
        json_text = await _read(sandbox, "reward.json")
        text = await _read(sandbox, "reward.txt") if json_text is None else None
        reward = parse_reward(text, json_text)
    except MissingRewardError as error:
        return None, error.code, f"{error} (exit status {ran.exit_code})"
    except RewardError as error:
        return None, error.code, str(error)
    return reward, "", ""


async def _read(sandbox: Sandbox, name: str) -> bytes | None:
    try:
        return await sandbox.read_file(f"{VERIFIER_LOGS}/{name}", max_bytes=MAX_REWARD_BYTES)
    except FileNotFoundError:
        return None
    except IsADirectoryError as error:
        raise RewardFileError(f"{name} is a folder") from error
    except TransferError as error:
        raise RewardFileError(f"{name} is larger than {MAX_REWARD_BYTES} bytes, a link, or no plain file") from error


async def _read_units(sandbox: Sandbox) -> tuple[Unit, ...]:
    try:
        return parse_ctrf(await sandbox.read_file(f"{VERIFIER_LOGS}/ctrf.json", max_bytes=MAX_CTRF_BYTES))
    except (FileNotFoundError, IsADirectoryError, TransferError):
        return ()
