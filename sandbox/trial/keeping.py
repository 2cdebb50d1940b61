"""Keeps trials on disk, one folder each, laid out as Harbor lays out its own.

    DIR/result.json                     of the whole run (Harbor's JobResult)
    DIR/<trial>/result.json             TrialResult       DIR/<trial>/config.json   TrialConfig
    DIR/<trial>/findings.json           what is worth knowing beside the reward
    DIR/<trial>/agent/                  trajectory.json (ATIF) and what the agent left in /logs/agent
    DIR/<trial>/verifier/               reward.txt or reward.json, ctrf.json, … and test-stdout.txt
    DIR/<trial>/artifacts/              what was left in /logs/artifacts
    DIR/<trial>/steps/<step>/           the three folders above, for each step of a multi-step task

A trial's folder appears whole or not at all. What comes out of a sandbox is foreign: links in it are dropped.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sandbox.errors import TransferError
from sandbox.trial.atif import AtifAgent, solution_turns, trajectory
from sandbox.trial.fetched import make_way, move_fetched
from sandbox.trial.harbor_result import (
    HarborAgent,
    HarborAgentConfig,
    HarborConfig,
    HarborEnvironmentConfig,
    HarborModel,
    HarborTask,
    HarborTrial,
    harbor_job,
    harbor_trial,
)
from sandbox.trial.result import TrialFinding
from sandbox.trial.steps import AGENT_LOGS, ARTIFACTS
from sandbox.verification.verify import VERIFIER_LOGS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import JsonValue

    from sandbox.protocol import Sandbox
    from sandbox.task import Task
    from sandbox.trial.agent import Agent, Turn
    from sandbox.trial.agents import AgentChoice
    from sandbox.trial.result import StepResult, TrialResult

MAX_LOG_BYTES: Final = 64 << 20
LOGS_NOT_KEPT: Final = "logs-not-kept"


@dataclass(frozen=True, slots=True)
class Setting:
    """How the trials of a run were asked for: what `config.json` says.

    Attributes:
        choice: The agent.
        sandbox: Name of the back end.
        base: What `FROM` stood for.
    """

    choice: AgentChoice
    sandbox: str
    base: tuple[str, ...] = ()


class TrialFolder:
    """The folder of one trial while it runs; `finish` makes it appear.

    Args:
        parent: Where it will appear.
        name: Its name.
        task: The task.
        setting: How the trial was asked for.
    """

    def __init__(self, parent: Path, name: str, task: Task, setting: Setting) -> None:
        self.target = parent / name
        self._task = task
        self._setting = setting
        self._aside = parent / f".{name}.{os.getpid()}.partial"
        self._agent: Agent | None = None
        self.record: HarborTrial | None = None
        self.agent_logs = self._aside / "agent"
        self.agent_logs.mkdir(parents=True)

    def made(self, agent: Agent) -> None:
        """Tells who acts."""
        self._agent = agent

    async def keep(self, sandbox: Sandbox, step: StepResult) -> tuple[TrialFinding, ...]:
        """Takes the logs of a step that was just verified out of the sandbox; what could not be had is a finding."""
        home = self._aside if step.name == "main" else self._aside / "steps" / step.name
        found = []
        for source, name in ((AGENT_LOGS, "agent"), (VERIFIER_LOGS, "verifier"), (ARTIFACTS, "artifacts")):
            fetched = home / f".fetched-{name}"
            try:
                await sandbox.download(source, fetched, max_bytes=MAX_LOG_BYTES)
            except TransferError as error:
                found.append(TrialFinding(LOGS_NOT_KEPT, source, str(error)))
            else:
                await asyncio.to_thread(move_fetched, fetched, home / name)
        await asyncio.to_thread(self._write_step, home, step)
        return tuple(found)

    def finish(self, result: TrialResult) -> None:
        """Writes the result, as Harbor's record too (`record`), and makes the folder appear."""
        record = harbor_trial(result, self._config(), self._who(result.agent), self._task.content_hash)
        findings = [dataclasses.asdict(finding) for finding in result.findings]
        _write(self._aside / "findings.json", json.dumps(findings, indent=2))
        _write(self._aside / "config.json", record.config.model_dump_json(indent=4))
        _write(self._aside / "result.json", record.model_dump_json(indent=4))
        if result.steps and result.steps[0].name != "main":
            shutil.rmtree(self.agent_logs, ignore_errors=True)  # emptied into the steps
        self._aside.rename(self.target)
        self.record = record

    def drop(self) -> None:
        """Removes what was kept so far, unless the folder has appeared."""
        shutil.rmtree(self._aside, ignore_errors=True)

    def _write_step(self, home: Path, step: StepResult) -> None:
        if home != self._aside:
            move_fetched(self.agent_logs, home / "agent")
            self.agent_logs.mkdir()
        if not (home / "agent" / "trajectory.json").is_file():  # a Harbor agent may have written its own
            instruction = next(one.instruction for one in self._task.steps if one.name == step.name)
            who, turns = self._who(self._setting.choice.name), self._turns(instruction, step)
            agent = AtifAgent(
                name=who.name, version=who.version, model_name=who.model_info.name if who.model_info else None
            )
            written = trajectory(agent, turns, step.run.usage if step.run else None, session=self.target.name)
            _write(home / "agent" / "trajectory.json", written.as_json())
        verification = step.verification
        if verification is None:
            return
        _write(home / "verifier" / "test-stdout.txt", verification.stdout + verification.stderr)
        kept = (home / "verifier" / "reward.txt", home / "verifier" / "reward.json")
        if verification.reward is not None and not any(path.is_file() for path in kept):
            # Verified in a sandbox of its own, which is gone.
            _write(kept[1], json.dumps(dict(verification.reward.rewards)))

    def _turns(self, instruction: str, step: StepResult) -> tuple[Turn, ...]:
        turns = step.run.turns if step.run else ()
        return turns or solution_turns(instruction, step.solution)

    def _who(self, name: str) -> HarborAgent:
        model = str(getattr(self._agent, "model", None) or "")
        return HarborAgent(
            name=self._agent.name if self._agent else name,
            version=(self._agent.version if self._agent else "") or "unknown",
            model_info=HarborModel(name=model) if model else None,
        )

    def _config(self) -> HarborConfig:
        choice = self._setting.choice
        agent = (
            HarborAgentConfig(import_path=choice.reference, kwargs=_json(choice.options))
            if choice.reference
            else HarborAgentConfig(name=choice.name)
        )
        base: list[JsonValue] = list(self._setting.base)
        environment = HarborEnvironmentConfig(kwargs={"sandbox": self._setting.sandbox, "base": base})
        return HarborConfig(
            task=HarborTask(path=self._task.root),
            trial_name=self.target.name,
            trials_dir=self.target.parent.absolute(),
            agent=agent,
            environment=environment,
        )


@dataclass(slots=True)
class KeptTrials:
    """The folders of a whole run.

    Attributes:
        folder: Where they appear.
        setting: How the trials were asked for.
    """

    folder: Path
    setting: Setting
    _names: dict[str, int] = field(default_factory=dict)

    def names(self, tasks: Sequence[Task], attempts: int) -> list[list[str]]:
        """For each task the names of its trials: the task's short name, made unique, and the number of the attempt.

        Raises:
            FileExistsError: One of the folders is there already.
        """
        found = []
        for task in tasks:
            short = task.name.rpartition("/")[2][:48] or "task"
            again = self._names.get(short, 0) + 1
            self._names[short] = again
            own = short if again == 1 else f"{short}-{again}"
            found.append([f"{own}__{attempt}" for attempt in range(1, attempts + 1)])
        for name in (name for names in found for name in names):
            if os.path.lexists(self.folder / name):
                raise FileExistsError(f"{self.folder / name} is there already: give --out another folder")
        return found

    def trial(self, name: str, task: Task) -> TrialFolder:
        """The folder of one trial."""
        return TrialFolder(self.folder, name, task, self.setting)

    def finish(self, trials: Sequence[HarborTrial]) -> None:
        """Writes the result of the whole run."""
        if trials:
            _write(self.folder / "result.json", harbor_job(trials).model_dump_json(indent=4))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    make_way(path)
    aside = path.with_name(f".{path.name}.new")
    aside.write_text(text, encoding="utf-8", errors="replace")
    aside.replace(path)


def _json(options: Mapping[str, object]) -> dict[str, JsonValue]:
    """Options as they can be written down: what is no JSON value is written as text."""
    plain: dict[str, JsonValue] = json.loads(json.dumps(dict(options), default=str))
    return plain
