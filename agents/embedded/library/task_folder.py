"""A whole Harbor task out of rendered steps: every file of its folder."""

from __future__ import annotations

import json
from importlib import resources
from typing import TYPE_CHECKING, Literal

from agents.embedded.library import registry
from agents.embedded.library.compose import OUT, render_steps
from agents.embedded.library.framework import FileContent
from agents.embedded.library.story import introduction, organisation, output_rules

if TYPE_CHECKING:
    from agents.embedded.library.framework import RenderedStep
    from evolution.sequence import Sequence

Reward = Literal["binary", "fraction"]

_DOCKERFILE = "FROM python:3.12-bookworm\n\nCOPY data/ /app/data/\n\nWORKDIR /app\n"
_SOLUTION_HEAD = "#!/bin/bash\n# Reference solution: one section a step, each reads what the one before it wrote.\n"
_LEVELS = ((5, "easy"), (12, "medium"))


def harness(reward: Reward) -> dict[str, FileContent]:
    """The checker without any step: path below `tests/` → file."""
    program = resources.files("agents.embedded.library").joinpath("run_checks.py").read_bytes()
    script = f"#!/bin/bash\nexec python3 -I -S /tests/run_checks.py {reward}\n"
    return {"run_checks.py": FileContent(program), "test.sh": FileContent(script.encode(), executable=True)}


def render_task(sequence: Sequence, seed: int, *, name: str, reward: Reward) -> dict[str, FileContent]:
    """Writes a whole task.

    Args:
        sequence: What it takes a solver through.
        seed: The lineage's data seed.
        name: The task's name, `organisation/name`.
        reward: "binary" (1 when every check passes, else 0) or "fraction" (the share of checks that pass).

    Returns:
        Relative path → file, in the order of the paths.

    Raises:
        LibraryError: A step cannot be rendered.
    """
    steps = render_steps(sequence, seed)
    files = {f"environment/{path}": file for step in steps for path, file in step.environment.items()}
    files |= {f"tests/{path}": file for step in steps for path, file in step.tests.items()}
    files |= {f"tests/{path}": file for path, file in harness(reward).items()}
    files["environment/Dockerfile"] = FileContent(_DOCKERFILE.encode())
    files["instruction.md"] = FileContent(instruction(steps, seed).encode())
    files["solution/solve.sh"] = FileContent(solution(steps).encode(), executable=True)
    files["task.toml"] = FileContent(_toml(steps, seed, name, reward).encode())
    return dict(sorted(files.items()))


def instruction(steps: tuple[RenderedStep, ...], seed: int) -> str:
    """The instruction: who asks, a section a step, and the rules for results."""
    words = [registry.scenarios()[step.step.scenario].words for step in steps]
    org = organisation(seed)
    parts = [f"# {_title(steps)}", introduction(org, words, seed)]
    for place, step in enumerate(steps, 1):
        parts.append(f"## {place}. {step.heading}\n\n{step.paragraph}" if len(steps) > 1 else step.paragraph)
    parts.append(f"## Results\n\n{output_rules()}")
    return "\n\n".join(parts) + "\n"


def solution(steps: tuple[RenderedStep, ...]) -> str:
    """The reference solution: a marked section a step."""
    return _SOLUTION_HEAD + "".join(f"\n# envolve: step {step.step.id}\n{step.solution}" for step in steps)


def _title(steps: tuple[RenderedStep, ...]) -> str:
    if len(steps) == 1:
        return steps[0].heading
    return f"{steps[0].heading}, and what follows from it"


def _toml(steps: tuple[RenderedStep, ...], seed: int, name: str, reward: str) -> str:
    tools = sorted({tool for step in steps for tool in step.tools})
    keywords = sorted({word for step in steps for word in (step.step.scenario, step.step.skill)})
    weight = sum(registry.rarity(step.step.scenario) + registry.rarity(step.step.skill) for step in steps)
    level = next((level for most, level in _LEVELS if weight <= most), "hard")
    lines = [
        'schema_version = "1.4"',
        # All that the checks read. In "fresh" verification nothing else of a solver's reaches them.
        f"artifacts = {json.dumps([OUT])}",
        "",
        "[task]",
        f"name = {json.dumps(name)}",
        f"description = {json.dumps(_description(steps, seed))}",
        f"keywords = {json.dumps(keywords)}",
        "",
        "[[task.authors]]",
        'name = "envolve embedded author"',
        "",
        "[metadata]",
        f'difficulty = "{level}"',
        'category = "data-processing"',
        f"tools = {json.dumps(tools)}",
        'license = "Apache-2.0"',
        'source = "agents.embedded.library"',
        'verification = "fresh"',
        "",
        "[metadata.evolution]",
        f"seed = {seed}",
        f'reward = "{reward}"',
    ]
    for step in steps:
        lines += ["", "[[metadata.evolution.sequence]]", f'id = "{step.step.id}"', f'scenario = "{step.step.scenario}"']
        lines.append(f'skill = "{step.step.skill}"')
    lines += ["", "[agent]", "timeout_sec = 1800.0", "", "[verifier]", "timeout_sec = 120.0", ""]
    lines += [
        "[environment]",
        'network_mode = "no-network"',
        "build_timeout_sec = 600.0",
        "cpus = 1",
        "memory_mb = 2048",
    ]
    return "\n".join(lines) + "\n"


def _description(steps: tuple[RenderedStep, ...], seed: int) -> str:
    places = ", then ".join(step.heading[0].lower() + step.heading[1:] for step in steps)
    return f"{organisation(seed).name}: {places}."
