"""Trying a task out in the sandbox: which of its inputs its tests hang on, and what its solution makes."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agents.embedded.foreign.reading import Foreign, Input
from agents.embedded.foreign.sealing import program
from agents.embedded.task_settings import at
from agents.embedded.tools import Part, Ran, runs

LIMIT: Final = 300
MOST_SPOILT: Final = 3
_TEMPLATE = re.compile(r"\$\{[^}:]+(?::-(.*))?\}")
_TOP = frozenset({"/", "/bin", "/usr", "/etc", "/lib", "/var", "/tmp", "/root", "/home", "/opt", "/srv"})  # noqa: S108 - never saved whole


@dataclass(frozen=True, slots=True)
class Made:
    """A file that the solution wrote.

    Attributes:
        step: The step whose solution did, "." for a task with a single one.
        path: Where.
        sha256: Its digest.
        lines: How many of its lines are not blank.
    """

    step: str
    path: str
    sha256: str
    lines: int


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of one run.

    Attributes:
        rewards: The reward of each step that gave one.
        made: What the solutions wrote.
    """

    rewards: Mapping[str, float]
    made: tuple[Made, ...]

    def is_full(self, steps: Sequence[str]) -> bool:
        """Whether every step earned 1."""
        return all(self.rewards.get(step, 0.0) >= 1 for step in steps)


@dataclass(frozen=True, slots=True)
class Findings:
    """What trying has shown; all empty where it could not be tried.

    Attributes:
        tried: Whether the reference solution earned 1 here, so that the rest says something.
        needed: Inputs without which it does not.
        stable: Files that two runs left with the same bytes.
        made: Everything that the last run left.
    """

    tried: bool = False
    needed: tuple[Input, ...] = ()
    stable: tuple[Made, ...] = ()
    made: tuple[Made, ...] = ()


def try_out(task: Foreign, inputs: Sequence[Input]) -> Part[Findings]:
    """Runs the reference solution with each of the likeliest inputs made unreadable, then twice as it is.

    Those that should fail come first, while the sandbox is fresh. Where commands do not run as root nothing can be
    tried: `/tests` and `/solution` cannot be made.
    """
    (who,) = yield from runs(("id -u",))
    if who.lines[1:2] != ["0"]:
        return Findings()
    spoilt = list(inputs[:MOST_SPOILT])
    commands = [_command(task, each.path) for each in spoilt] + [_command(task, "")] * 2
    answers = yield from runs(commands, timeout=LIMIT)
    trials = [trial_of(answer) for answer in answers]
    steps = [_folder(name) for name in task.steps] or ["."]
    first, second = trials[-2:]
    if not first.is_full(steps) or not second.is_full(steps):
        return Findings()
    needed = tuple(each for each, trial in zip(spoilt, trials, strict=False) if not trial.is_full(steps))
    return Findings(True, needed, tuple(made for made in second.made if made in first.made), second.made)


def trial_of(answer: Ran) -> Trial:
    """Reads what `programs/try_task.sh` printed."""
    rewards: dict[str, float] = {}
    made = []
    for line in answer.lines if answer.status == 0 else ():
        kind, _, rest = line.partition(" ")
        if kind == "made" and len(words := rest.split(" ", 3)) == 4:  # noqa: PLR2004 - step, digest, lines, path
            made.append(Made(words[0], words[3], words[1], int(words[2]) if words[2].isdecimal() else 0))
        elif kind == "reward":
            step, _, content = rest.partition(" ")
            score = score_of(content)
            if score is not None:
                rewards[step] = score
    return Trial(rewards, tuple(made))


def score_of(content: str) -> float | None:
    """The one number of a reward file, or `None` when there is no one number."""
    try:
        value = json.loads(content) if content.lstrip().startswith("{") else float(content)
    except ValueError:
        return None
    if isinstance(value, dict):
        value = value.get("reward", next(iter(value.values())) if len(value) == 1 else None)
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def _command(task: Foreign, spoilt: str) -> str:
    steps = [_folder(name) for name in task.steps] or ["."]
    head = [
        f"FOLDERS=({_words(_folders(task))})",
        f"STEPS=({_words(steps)})",
        f"WORKDIR={shlex.quote(task.workdir)}",
        f"SPOILT={shlex.quote(spoilt)}",
        f"PLAIN=({_words([f'{name}={value}' for name, value in _variables(task).items()])})",
    ]
    return "\n".join([*head, program("try_task.sh").decode()])


def _folders(task: Foreign) -> list[str]:
    """What a solution is likely to change: copied folders, the working directory, where outputs go."""
    inner = [path.removeprefix("environment/") for path in task.files if path.startswith("environment/")]
    paths = [path.rpartition("/")[0] for path in (*task.dockerfile.placed(inner).values(), *task.outputs())]
    found: list[str] = []
    for path in sorted({*paths, task.workdir}):
        if path not in _TOP and path and not any(path.startswith(f"{other}/") for other in found):
            found.append(path)
    return found


def _variables(task: Foreign) -> dict[str, str]:
    """Declared variables; those that this side cannot know are left out."""
    found = {}
    for table in (("environment", "env"), ("solution", "env"), ("verifier", "env")):
        for name, value in (at(task.toml, *table) or {}).items():
            template = _TEMPLATE.fullmatch(str(value))
            if template is None or template[1] is not None:
                found[str(name)] = str(value) if template is None else template[1]
    return found


def _folder(step: str) -> str:
    return f"steps/{step}"


def _words(words: Sequence[str]) -> str:
    return " ".join(shlex.quote(word) for word in words)
