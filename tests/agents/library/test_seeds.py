"""The seed tasks of `examples/seeds/terminal/` are what their script writes, and sound."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from evolution.gates.leak import LeakGate
from evolution.gates.rubric import RubricGate
from evolution.gates.trials import fresh_noop, fresh_reference
from evolution.verdict import Candidate
from sandbox.sandboxes import Sandboxes
from sandbox.task import Task

EXAMPLES = Path(__file__).parents[3] / "examples"
SEEDS = sorted(path.name for path in (EXAMPLES / "seeds/terminal").iterdir() if path.is_dir())


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("write_terminal_seeds", EXAMPLES / "write_terminal_seeds.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def bytes_of(folder: Path) -> dict[str, tuple[bool, bytes]]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): (bool(path.stat().st_mode & 0o100), path.read_bytes()) for path in files}


def test_the_script_writes_what_is_there(tmp_path: Path) -> None:
    module = script()
    for seed in module.SEEDS:
        module.write(seed, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == SEEDS
    for name in SEEDS:
        assert bytes_of(tmp_path / name) == bytes_of(EXAMPLES / "seeds/terminal" / name), name


def test_seeds_are_of_many_kinds() -> None:
    tasks = [Task.read(EXAMPLES / "seeds/terminal" / name) for name in SEEDS]
    sequences = [task.evolution["sequence"] for task in tasks]
    assert len(tasks) == 8
    assert {len(sequence) for sequence in sequences} == {1, 2}
    assert [task.evolution["reward"] for task in tasks].count("fraction") == 2
    assert len({task.evolution["seed"] for task in tasks}) == 8
    assert sum("git" in task.config.metadata["tools"] for task in tasks) == 1
    assert len({step["scenario"] for sequence in sequences for step in sequence}) >= 8
    assert len({step["skill"] for sequence in sequences for step in sequence}) >= 8


@pytest.mark.slow
@pytest.mark.parametrize("name", SEEDS)
async def test_a_seed_is_sound(name: str, sandboxes: Sandboxes) -> None:
    task = Task.read(EXAMPLES / "seeds/terminal" / name)
    assert task.findings == ()
    assert (await fresh_reference(task, sandboxes)).score == 1
    assert (await fresh_noop(task, sandboxes)).score == 0
    for gate in (RubricGate(), LeakGate()):
        verdict = await gate.check(Candidate(task), sandboxes)
        assert verdict.passed, verdict.evidence
