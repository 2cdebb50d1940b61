"""Sequences over everything the library knows, and rendered tasks on disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import strategies as st

from agents.embedded import library
from evolution.sequence import Sequence, Step
from sandbox.task import Task

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PAIRS = [
    (scenario, skill)
    for scenario in library.scenario_names()
    for skill in library.skill_names()
    if library.compatible(scenario, skill)
]


def sequence_of(*pairs: tuple[str, str]) -> Sequence:
    """The pairs as steps s1, s2, …"""
    return Sequence(steps=tuple(Step(id=f"s{i}", scenario=a, skill=b) for i, (a, b) in enumerate(pairs, 1)))


sequences = st.lists(st.sampled_from(PAIRS), min_size=2, max_size=4).map(lambda pairs: sequence_of(*pairs))
seeds = st.integers(min_value=0, max_value=2**31)


def write(files: Mapping[str, library.FileContent], root: Path) -> Path:
    for path, file in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.content)
        target.chmod(0o755 if file.executable else 0o644)
    return root


@pytest.fixture
def rendered(tmp_path: Path) -> Callable[..., Task]:
    """Renders a sequence and reads it back as a task."""

    def render(sequence: Sequence, seed: int, reward: str = "binary") -> Task:
        folder = tmp_path / f"task-{seed}-{len(list(tmp_path.iterdir()))}"
        return Task.read(write(library.render_task(sequence, seed, name="tests/task", reward=reward), folder))

    return render
