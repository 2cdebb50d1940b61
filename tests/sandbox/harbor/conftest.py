"""Harbor in an environment of its own beside the checkout, and tasks to run in it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
HARBOR = ROOT / ".venv-harbor" / "bin"
DEBIAN = ROOT / ".outside" / "debian"

Write = Callable[[str, Mapping[str, str]], Path]


@pytest.fixture(scope="session")
def harbor_python() -> Path:
    """A Python that has Harbor and this checkout."""
    if not (HARBOR / "python").exists():
        pytest.skip("no environment with Harbor in .venv-harbor")
    return HARBOR / "python"


@pytest.fixture(scope="session")
def base() -> str:
    """What stands for every image."""
    if not DEBIAN.is_dir():
        pytest.skip("no Debian root in .outside/debian")
    return f"*={DEBIAN}"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a task folder below `tasks/`."""

    def written(name: str, files: Mapping[str, str]) -> Path:
        for path, text in files.items():
            file = tmp_path / "tasks" / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return tmp_path / "tasks" / name

    return written


def quiet(**more: str) -> dict[str, str]:
    """An environment in which nobody asks the network for prices of models."""
    return {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "HARBOR_TELEMETRY": "0", **more}


@pytest.fixture
def run_harbor(harbor_python: Path, base: str, tmp_path: Path) -> Callable[..., dict[str, dict[str, object]]]:
    """Runs `harbor run`; gives each task's result by the task's name."""

    def run(*arguments: str, path: Path, **env: str) -> dict[str, dict[str, object]]:
        jobs = tmp_path / f"jobs-{len(list(tmp_path.glob('jobs-*')))}"
        done = subprocess.run(
            [harbor_python.parent / "harbor", "run", "-q", "-p", path, "-o", jobs, *arguments, "--ek", f"base={base}"],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            cwd=tmp_path,
            env=quiet(**env),
        )
        assert done.returncode == 0, done.stdout + done.stderr
        found = {}
        for file in jobs.glob("*/*/result.json"):
            result = json.loads(file.read_text())
            found[Path(result["config"]["task"]["path"]).name] = {**result, "folder": file.parent}
        return found

    return run
