"""What a task folder has to hold besides `task.toml`, and what is odd about how it holds it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sandbox.errors import TaskError
from sandbox.task.files import Finding, Listing, TaskFile, read_capped
from sandbox.task.toml import CONFIG_FILE, not_utf8

if TYPE_CHECKING:
    from pathlib import Path

    from sandbox.task.config import StepConfig, TaskConfig

INSTRUCTION: Final = "instruction.md"
MAX_INSTRUCTION_BYTES: Final = 1 << 20
_CANARY: Final = re.compile(r"(<!--.*canary.*-->|#.*canary.*)", re.IGNORECASE)
_IMAGE_FILES: Final = ("Dockerfile", "docker-compose.yaml")
_RUN_BY_HARBOR: Final = re.compile(r"(solution|tests|steps/[^/]+/(solution|tests|workdir))/")


@dataclass(frozen=True, slots=True)
class TaskStep:
    """One instruction with what verifies and solves it; a single-step task has exactly one.

    Attributes:
        name: Its name; "main" for a single-step task.
        folder: "steps/<name>", or "" for a single-step task, whose parts lie at the top.
        instruction: What the solver is told, canary lines stripped.
        config: Its `[[steps]]` table; `None` for a single-step task.
    """

    name: str
    folder: str
    instruction: str
    config: StepConfig | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """A checked folder: its steps and what is odd."""

    steps: tuple[TaskStep, ...]
    findings: tuple[Finding, ...]


def check_layout(root: Path, config: TaskConfig, listing: Listing) -> Layout:
    """Checks that all that Harbor needs is there and reads the instructions.

    Raises:
        TaskError: Something that Harbor needs is missing or cannot be used.
    """
    checker = _Checker(root, config, {file.path: file for file in listing.files})
    findings = _check_scripts(listing.windows_scripts)
    checker.check_environment()
    if config.steps:
        steps = tuple(checker.step(index, step) for index, step in enumerate(config.steps))
        if checker.has(INSTRUCTION):
            checker.report(INSTRUCTION, "not read: a task with [[steps]] has one instruction for each step")
    else:
        steps = (checker.only_step(),)
    checker.report_folders_without_table({step.name for step in config.steps})
    return Layout(steps, (*findings, *checker.findings))


def strip_canary(text: str) -> str:
    """Removes leading canary comment lines and the blank lines after them, as Harbor does."""
    lines = text.split("\n")
    start = 0
    while start < len(lines) and _CANARY.fullmatch(lines[start].strip()):
        start += 1
    while start < len(lines) and not lines[start].strip():
        start += 1
    return "\n".join(lines[start:])


def _check_scripts(windows_scripts: tuple[str, ...]) -> tuple[Finding, ...]:
    """CRLF breaks a script that Harbor runs; in files of the environment it may be the very point of the task."""
    for path in windows_scripts:
        if _RUN_BY_HARBOR.match(path):
            hint = f"bash cannot run it; convert it with `sed -i 's/\\r$//' {path}`"
            raise TaskError(f"has Windows (CRLF) line ends: {hint}", file=path)
    return tuple(Finding(path, "", "has Windows (CRLF) line ends: bash cannot run it") for path in windows_scripts)


class _Checker:
    """The checks of one folder; what is odd collects in `findings`."""

    def __init__(self, root: Path, config: TaskConfig, files: dict[str, TaskFile]) -> None:
        self.findings: list[Finding] = []
        self._root = root
        self._config = config
        self._files = files
        self._script = ".bat" if config.environment.os == "windows" else ".sh"
        self._folders = {path[:end] for path in files for end in range(len(path)) if path[end] == "/"}

    def has(self, path: str) -> bool:
        return path in self._files

    def report(self, file: str, message: str) -> None:
        self.findings.append(Finding(file, "", message))

    def check_environment(self) -> None:
        if self._config.environment.docker_image or self._bundles_image("environment"):
            return
        message = "missing: add a Dockerfile or docker-compose.yaml, or set [environment] docker_image in task.toml"
        raise TaskError(message, file="environment/Dockerfile")

    def only_step(self) -> TaskStep:
        text = self._instruction("")
        separate = self._config.verifier_mode() == "separate"
        if not (self.has(f"tests/test{self._script}") or (separate and self._brings_tests("tests", None))):
            raise TaskError(f"missing: {self._what_a_verifier_does()}", file=f"tests/test{self._script}")
        self._report_missing_solution("")
        return TaskStep("main", "", text)

    def step(self, index: int, step: StepConfig) -> TaskStep:
        folder = f"steps/{step.name}"
        if folder not in self._folders:
            message = f"step {step.name!r} has no folder: add {folder}/ with {INSTRUCTION}, tests/ and solution/"
            raise TaskError(message, file=CONFIG_FILE, field=f"steps[{index}].name")
        text = self._instruction(folder)
        tests = (f"{folder}/tests/test{self._script}", f"tests/test{self._script}")
        separate = self._config.verifier_mode(step) == "separate"
        if not (any(map(self.has, tests)) or (separate and self._brings_tests(f"{folder}/tests", step))):
            message = f"missing (and no tests/test{self._script} for all steps): {self._what_a_verifier_does()}"
            raise TaskError(message, file=tests[0])
        self._report_missing_solution(folder)
        return TaskStep(step.name, folder, text, step)

    def report_folders_without_table(self, named: set[str]) -> None:
        for folder in sorted(self._folders):
            parent, _, name = folder.rpartition("/")
            if parent == "steps" and name not in named:
                self.report(folder, f"not read: task.toml has no [[steps]] table with name = {name!r}")

    def _instruction(self, folder: str) -> str:
        path = f"{folder}/{INSTRUCTION}" if folder else INSTRUCTION
        file = self._files.get(path)
        if file is None:
            steps = "; for a multi-step task add [[steps]] tables to task.toml" if "steps" in self._folders else ""
            raise TaskError(f"missing: write what the solver is asked to do{steps}", file=path)
        if file.link:
            raise TaskError("is a symbolic link: make it a plain file", file=path)
        content = read_capped(self._root, path, MAX_INSTRUCTION_BYTES)
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise TaskError(not_utf8(error), file=path) from None
        text = strip_canary(text.replace("\r\n", "\n").replace("\r", "\n"))
        if not text.strip():
            raise TaskError("is empty: write what the solver is asked to do", file=path)
        return text

    def _bundles_image(self, folder: str) -> bool:
        return any(self.has(f"{folder}/{name}") for name in _IMAGE_FILES)

    def _brings_tests(self, folder: str, step: StepConfig | None) -> bool:
        """Whether a separate verifier has an image of its own, which then holds the tests."""
        own = step.verifier.environment if step else None
        for environment in (own, self._config.verifier.environment):
            if environment is not None and environment.docker_image:
                return True
        return self._bundles_image(folder) or self._bundles_image("tests")

    def _report_missing_solution(self, folder: str) -> None:
        script = f"solution/solve{self._script}"
        own = f"{folder}/{script}" if folder else script
        if not (self.has(own) or self.has(script)):
            self.report(own, "missing: nothing shows that the task can be solved")

    def _what_a_verifier_does(self) -> str:
        return "write a script that checks the work and writes /logs/verifier/reward.txt or reward.json"
