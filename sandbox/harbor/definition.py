"""The task that our back ends build an environment of Harbor's from."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import tomlkit

from sandbox.task import Task

if TYPE_CHECKING:
    from collections.abc import Iterator


class Definition(Protocol):
    """What is read of Harbor's `EnvironmentConfig`."""

    docker_image: str | None
    workdir: str | None


@contextmanager
def environment_task(folder: Path, config: Definition) -> Iterator[Task]:
    """A task whose environment is `folder`, with `config`.

    As a rule that is the task the folder lies in. An environment that a verifier has for itself (`tests/` with a
    Dockerfile, an image of its own) lies in none: a task is made around a copy of it, which is gone afterwards.

    Raises:
        TaskError: It is no task that can be used.
    """
    if folder.name == "environment" and (folder.parent / "task.toml").is_file():
        task = Task.read(folder.parent)
        if task.config.environment.docker_image == config.docker_image:
            yield task
            return
    with tempfile.TemporaryDirectory(prefix="envolve-environment-") as made:
        root = Path(made)
        (root / "environment").mkdir()
        if folder.is_dir():
            shutil.copytree(folder, root / "environment", symlinks=True, dirs_exist_ok=True)
        settings = {"docker_image": config.docker_image, "workdir": config.workdir}
        table = {"environment": {name: value for name, value in settings.items() if value}}
        (root / "task.toml").write_text(tomlkit.dumps(table), encoding="utf-8")
        (root / "instruction.md").write_text("An environment for a verifier.\n", encoding="utf-8")
        (root / "tests").mkdir()
        (root / "tests" / "test.sh").write_text("true\n", encoding="utf-8")
        yield Task.read(root)
