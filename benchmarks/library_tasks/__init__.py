"""Tasks out of the embedded author's library, drawn by seed: what benchmarks judge and evolve."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence as Choices
from pathlib import Path
from typing import Literal

from agents.embedded import library
from evolution.sequence import Sequence, Step


def drawn_sequence(draw: random.Random, lengths: Choices[int]) -> Sequence:
    """Steps of any scenario, each with a skill that goes with it; how many is drawn from `lengths`."""
    steps = []
    for place in range(1, draw.choice(lengths) + 1):
        scenario = draw.choice(sorted(library.scenario_names()))
        skills = [skill for skill in sorted(library.skill_names()) if library.compatible(scenario, skill)]
        steps.append(Step(id=f"s{place}", scenario=scenario, skill=draw.choice(skills)))
    return Sequence(steps=tuple(steps))


def write_task(
    target: Path, sequence: Sequence, seed: int, *, name: str, reward: Literal["binary", "fraction"]
) -> bool:
    """Writes the task of a sequence, whole or not at all; says whether the library can write it."""
    try:
        files = library.render_task(sequence, seed, name=name, reward=reward)
    except library.LibraryError:
        return False
    aside = target.with_name(f".{target.name}.partial")
    shutil.rmtree(aside, ignore_errors=True)
    for path, file in files.items():
        place = aside / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.content)
        place.chmod(0o755 if file.executable else 0o644)
    aside.rename(target)
    return True
