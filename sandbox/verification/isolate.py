"""One run of a verifier, apart from whatever an agent may have left in that sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sandbox.task.phase import verifier_env, verifier_timeout, verifier_user
from sandbox.verification import metering
from sandbox.verification.ctrf import Unit
from sandbox.verification.folders import TESTS, clear_verifier_folders, clear_verifier_logs
from sandbox.verification.leftovers import words
from sandbox.verification.reading import read_reward, read_units, written
from sandbox.verification.reward import AmbiguousRewardError, MissingRewardError, Reward, RewardError
from sandbox.verification.sending import Sent, send_folder
from sandbox.verification.tests_folder import SCRIPT

if TYPE_CHECKING:
    from collections.abc import Collection

    from sandbox.protocol import ExecResult, Image, Sandbox
    from sandbox.task import Task, TaskStep
    from sandbox.verification.tests_folder import Tests

MAX_OUTPUT: Final = 32 * 1024
"""Characters of each output stream that a `Verification` keeps, the last ones."""

TIMEOUT: Final = "timeout"

# Variables that make a shell, the loader, Python, perl or pytest run code from a place of somebody's choice. An image
# may set PATH or PYTHONPATH for its own programs, and its tests rely on that; nothing honest relies on these.
CODE_LOADING: Final = words(
    "BASH_ENV ENV SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND LD_PRELOAD LD_AUDIT PYTHONSTARTUP PYTHONINSPECT "
    "PYTHONBREAKPOINT PYTHONPYCACHEPREFIX PYTEST_ADDOPTS PYTEST_PLUGINS PERL5OPT PERL5DB RUBYOPT"
)
BYTECODE: Final = f"{TESTS}/.bytecode"
PYTEST_SETTINGS: Final = (
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "pyproject.toml",
    "tox.ini",
    "setup.cfg",
)


@dataclass(frozen=True, slots=True)
class Run:
    """What came of one run.

    Attributes:
        reward: The reward, or `None`; then `error_code` and `error` say why.
        error_code: See `Verification.error_code`.
        error: The same in words.
        units: The test units it reported.
        stdout: The end of its standard output.
        stderr: The end of its standard error.
        survivors: Processes of the run's own that were still there at its end.
    """

    reward: Reward | None
    error_code: str = ""
    error: str = ""
    units: tuple[Unit, ...] = ()
    stdout: str = ""
    stderr: str = ""
    survivors: int = 0

    @property
    def score(self) -> float | None:
        """The one number, where there is one."""
        try:
            return None if self.reward is None else self.reward.score
        except AmbiguousRewardError:
            return None


async def run_verifier(
    task: Task, sandbox: Sandbox, step: TaskStep, tests: Tests, *, upload: bool = True, real_logs: bool = False
) -> Run:
    """Clears the verifier's folders, uploads the tests, runs them, and reads the reward from outside.

    Args:
        task: The task the tests and the verifier's settings are taken from.
        sandbox: Where to run, every process of the agent's dead.
        step: The step to verify.
        tests: Its tests.
        upload: Whether the tests go to `/tests`; else the image has them there already.
        real_logs: Whether `/logs` is known to be a real folder.

    Raises:
        SandboxError: The sandbox failed, or cannot give the verifier its user.
    """
    if upload:
        await clear_verifier_folders(sandbox, real_logs=real_logs)
        await _upload_tests(task, sandbox, tests)
    else:
        await clear_verifier_logs(sandbox, real_logs=real_logs)
        await sandbox.exec(["chmod", "+x", f"{TESTS}/{SCRIPT}"], user=0, clean_env=True, timeout=60)
    # As Harbor runs it: through bash, so that a script without a #! line works and one with keeps its interpreter.
    ran = await sandbox.exec(
        ["bash", "-c", f"{TESTS}/{SCRIPT}"],
        cwd=task.config.environment.workdir,
        env={**isolated_env(sandbox.image), **verifier_env(task, step)},
        user=verifier_user(task, step),
        timeout=verifier_timeout(task, step),
        clean_env=True,
    )
    metering.count(ran.seconds)
    survivors = await sandbox.kill_processes()
    names = await written(sandbox)
    reward, error_code, error = await _reward(sandbox, ran, names, verifier_timeout(task, step))
    units = await read_units(sandbox, names)
    stdout, stderr = ran.text[-MAX_OUTPUT:], ran.error_text[-MAX_OUTPUT:]
    return Run(reward, error_code, error, units, stdout, stderr, survivors)


def isolated_env(image: Image) -> dict[str, str]:
    """The image's variables that a verifier may see, and those that keep Python from the agent's files.

    Only what cannot change an honest score: compiled modules are read and written in a folder of the tests' own, and
    packages in the home folder are ignored where the image does not itself work there (as an image with a user of its
    own may).
    """
    kept = {name: value for name, value in image.env.items() if name not in CODE_LOADING}
    if image.user in {"", "0", "root"}:
        kept["PYTHONNOUSERSITE"] = "1"
    return {**kept, "PYTHONPYCACHEPREFIX": BYTECODE}


async def _upload_tests(task: Task, sandbox: Sandbox, tests: Tests) -> None:
    """The task's tests, those of the step laid over them."""
    changed = {path: Sent(task.read_bytes(file.path), file.executable) for path, file in tests.over}
    # pytest looks for its settings from the tests upwards, so the agent could plant /pytest.ini, and /conftest.py with
    # it. An empty one in /tests ends the search where it would have ended on a clean machine.
    if not any(name in changed or task.has(f"{tests.folder}/{name}") for name in PYTEST_SETTINGS):
        changed["pytest.ini"] = Sent(b"")
    changed[SCRIPT] = Sent(task.read_bytes(tests.script), runs=True)
    await send_folder(task, sandbox, tests.folder, TESTS, changed)


async def _reward(
    sandbox: Sandbox, ran: ExecResult, names: Collection[str], timeout: float
) -> tuple[Reward | None, str, str]:
    """The reward, or the code and the words of why there is none."""
    if ran.timed_out:
        said = f"the verifier was stopped after {timeout:g} s; a reward it may have written does not count"
        return None, TIMEOUT, said
    try:
        return await read_reward(sandbox, names), "", ""
    except MissingRewardError as error:
        return None, error.code, f"{error} (exit status {ran.exit_code})"
    except RewardError as error:
        return None, error.code, str(error)
