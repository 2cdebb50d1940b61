"""A foreign task as the author has read it, and what can be tied to it."""

from __future__ import annotations

import fnmatch
import hashlib
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from agents.embedded.conversation import CannotError
from agents.embedded.foreign.dockerfile import Dockerfile, filled, parse
from agents.embedded.task_settings import at
from agents.embedded.tools import Listed, Part, listing, texts

ENVIRONMENT: Final = "environment/"
DOCKERFILE: Final = "environment/Dockerfile"
INSERTED: Final = "environment/handover/"
IGNORED: Final = "environment/.dockerignore"
LIKELY: Final = 2
SMALLEST, LARGEST = 16, 90_000
SEED: Final = "handover/seed.txt"
MOST_READ: Final = 40
LARGEST_SCRIPT, LARGEST_DATA = 60_000, 8_000
SCRIPTS: Final = (".md", ".sh", ".py")

_PATH = re.compile(r"(?<![\w./~$}:-])/(?:[\w.@+-]+/)*[\w.@+-]*\w")
_SYSTEM = r"/(bin|usr|etc|proc|sys|dev|tmp|var|tests|solution|logs|lib|lib64|run|srv/handover)(/|$)"
_HARMLESS = re.compile(
    r"^(?:set\b|mkdir\b|chmod\b|chown\b|apt\b|apt-get\b|pip3?\b|useradd\b|adduser\b|groupadd\b|rm -rf /var/lib/apt)"
)

Place = Literal["front", "end"]


@dataclass(frozen=True, slots=True)
class Input:
    """A file of the environment that the task's solution reads.

    Attributes:
        file: The file in the task folder.
        path: Where it lies in the image.
        evidence: How strongly the task's texts point at it, 1 to 3.
    """

    file: Listed
    path: str
    evidence: int


@dataclass(frozen=True, slots=True)
class Foreign:
    """What was read.

    Attributes:
        toml: `task.toml`, parsed.
        files: The listing.
        texts: Text files by path: Dockerfile, instructions, solutions, tests.
        dockerfile: The Dockerfile.
    """

    toml: Mapping[str, Any]
    files: Mapping[str, Listed]
    texts: Mapping[str, str]
    dockerfile: Dockerfile

    @property
    def steps(self) -> tuple[str, ...]:
        """Names of the steps of a multi-step task; empty for a task with a single one."""
        steps = at(self.toml, "steps")
        return tuple(str(at(step, "name")) for step in steps) if isinstance(steps, list) else ()

    @property
    def user(self) -> str:
        """Who the solver works as, "" for root."""
        declared = at(self.toml, "agent", "user")
        user = self.dockerfile.user if declared is None else str(declared)
        return "" if user.partition(":")[0] in {"", "0", "root"} else user

    @property
    def workdir(self) -> str:
        """Where commands start."""
        declared = at(self.toml, "environment", "workdir")
        return declared if isinstance(declared, str) else self.dockerfile.workdir

    @property
    def instruction(self) -> str:
        """All instructions."""
        return self._joined("instruction.md")

    @property
    def solution(self) -> str:
        """All text of the reference solution."""
        return self._joined("solution/")

    @property
    def tests(self) -> str:
        """All text of the tests."""
        return self._joined("tests/")

    @property
    def data_seed(self) -> int:
        """The seed of inserted data: the one kept beside its tests, else the task's own, else a new one."""
        kept = next((text for path, text in sorted(self.texts.items()) if f"/{path}".endswith(f"/tests/{SEED}")), "")
        if kept.strip().isdecimal():
            return int(kept)
        recorded = at(self.toml, "metadata", "evolution", "seed")
        if isinstance(recorded, int):
            return recorded
        return int.from_bytes(hashlib.sha256(self.instruction.encode()).digest()[:4], "big") >> 1

    def places(self) -> tuple[Place, ...]:
        """Where a step can be tied in: in front of the task, behind it.

        Raises:
            CannotError: Nowhere; the reason.
        """
        if self.steps and at(self.toml, "multi_step_reward_strategy") == "final":
            # Behind the last step, one of ours would be the only one whose reward counts.
            if not self.likely_inputs():
                raise CannotError(
                    "only the last step of this task is scored, and no input of its first ones could be sealed"
                )
            return ("front",)
        if self.outputs():
            return ("front", "end") if self.likely_inputs() or not self.steps else ("end",)
        if self.likely_inputs():
            return ("front",)
        raise CannotError("this task has neither an input file that could be sealed nor an output that is named")

    def inputs(self) -> list[Input]:
        """Files that a step in front can give away, the likeliest first.

        A file must be copied into the image as it is, be small, be hinted at by the solution or the instruction, not be
        needed to build the image, and be writable by the solver: it is unsealed in place.
        """
        own = [path for path in self.files if path.startswith(ENVIRONMENT) and not path.startswith(INSERTED)]
        context = {path.removeprefix(ENVIRONMENT): self.files[path] for path in own}
        ignored = [line.strip() for line in self.texts.get(IGNORED, "").splitlines()]
        placed = self.dockerfile.placed(
            path for path in context if not any(fnmatch.fnmatchcase(path, p) for p in ignored)
        )
        found = []
        for inner, path in placed.items():
            file = context[inner]
            evidence = self._evidence(path)
            if evidence and SMALLEST <= file.size <= LARGEST and self._can_be_taken(inner, path):
                found.append(Input(file, path, evidence))
        return sorted(found, key=lambda each: (-each.evidence, -each.file.size, each.path))

    def likely_inputs(self) -> list[Input]:
        """The inputs that can be relied on untried: the task's texts name them, or their folder and their kind."""
        return [each for each in self.inputs() if each.evidence >= LIKELY]

    @property
    def shipped(self) -> frozenset[str]:
        """Paths in the image of the files that the environment brings."""
        inner = [path.removeprefix(ENVIRONMENT) for path in self.files if path.startswith(ENVIRONMENT)]
        return frozenset(self.dockerfile.placed(inner).values())

    def outputs(self) -> list[str]:
        """Absolute paths that the instruction names and that the solution or the tests mention, in its order.

        New files first; files of the environment, which a task may ask to change, after them.
        """
        shipped = self.shipped
        checked = f"{self.solution}\n{self.tests}"
        named = [match[0] for match in _PATH.finditer(filled(self.instruction, self.dockerfile.env))]
        made = [
            path
            for path in dict.fromkeys(named)
            if _is_file(path) and (path in checked or posixpath.basename(path) in checked)
        ]
        made = [
            path for path in made if not re.match(_SYSTEM, path) and not any(s.startswith(f"{path}/") for s in shipped)
        ]
        tested = [path for path in made if path not in shipped or path in self.tests or f"> {path}" in self.solution]
        return sorted(tested, key=lambda path: path in shipped)

    def _joined(self, part: str) -> str:
        return "\n".join(self.texts[path] for path in sorted(self.texts) if f"/{part}" in f"/{path}")

    def _evidence(self, path: str) -> int:
        said = f"{self.instruction}\n{self.solution}"
        name, folder = posixpath.basename(path), posixpath.basename(posixpath.dirname(path))
        suffix = posixpath.splitext(name)[1]
        if _mentions(said, name):
            return 3
        if _mentions(said, folder):
            return 2 if suffix and suffix in said else 1
        return 0

    def _can_be_taken(self, inner: str, path: str) -> bool:
        parts = inner.split("/")
        in_repository = any(
            f"{ENVIRONMENT}{'/'.join([*parts[:i], '.git', 'HEAD'])}" in self.files for i in range(len(parts))
        )
        if in_repository or ".git" in parts or parts[-1] in {"Dockerfile", ".dockerignore", ".keep", ".gitkeep"}:
            return False
        if any(_needs(run, path) for run in self.dockerfile.runs):
            return False
        twins = [each for each in self.files if each.startswith(ENVIRONMENT) and posixpath.basename(each) == parts[-1]]
        return len(twins) == 1 and self._is_writable(inner)

    def _is_writable(self, inner: str) -> bool:
        if not self.user:
            return True
        copies = [copy for copy in self.dockerfile.copies if inner in Dockerfile("", (copy,)).placed([inner])]
        return bool(copies) and copies[-1].owner.partition(":")[0] == self.user.partition(":")[0]


def read_foreign(toml: Mapping[str, Any]) -> Part[Foreign]:
    """Reads what has to be known of a task.

    Raises:
        CannotError: Nothing can be tied to this task; the reason.
    """
    files = yield from listing()
    if DOCKERFILE not in files:
        raise CannotError(
            "this task's environment is not built from environment/Dockerfile: no file can be put into it"
        )
    separate = at(toml, "verifier", "environment_mode") == "separate" or at(toml, "verifier", "environment") is not None
    if separate:
        raise CannotError(
            "this task is verified in an environment of its own, which sees none of the files that a step makes"
        )
    if at(toml, "environment", "os") == "windows":
        raise CannotError("this task runs on Windows, the steps that can be inserted are bash scripts")
    wanted = [DOCKERFILE, *([IGNORED] if IGNORED in files else []), *_told(files)]
    read = yield from texts(wanted)
    return Foreign(toml, files, read, parse(read.get(DOCKERFILE, "")))


def _told(files: Mapping[str, Listed]) -> Sequence[str]:
    """Instructions, solution and test files that are worth reading, the scripts first."""
    parts = [path for path in files if re.search(r"(^|/)(instruction\.md|solution/.*|tests/.*)$", path)]
    own = [path for path in parts if not path.startswith(ENVIRONMENT)]
    small = [path for path in own if files[path].size <= (LARGEST_SCRIPT if path.endswith(SCRIPTS) else LARGEST_DATA)]
    return sorted(small, key=lambda path: (not path.endswith((*SCRIPTS, SEED)), path))[:MOST_READ]


def _mentions(text: str, name: str) -> bool:
    return bool(name) and re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text) is not None


def _needs(run: str, path: str) -> bool:
    """Whether a command of the image's build or start may read a file."""
    commands = re.split(r"&&|;|\|\|", run)
    telling = [command for command in commands if not _HARMLESS.match(command.strip())]
    names = (posixpath.basename(path), posixpath.dirname(path))
    return any(
        _mentions(command, name) or (name.startswith("/") and name in command) for command in telling for name in names
    )


def _is_file(path: str) -> bool:
    return "." in posixpath.basename(path)
