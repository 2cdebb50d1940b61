"""Tasks on templates: recipes applied once and kept, what a recipe cannot hold refused, and a whole trial."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox.e2b.backend import E2BBackend
from sandbox.errors import ImageError, UnsupportedTaskError
from sandbox.sandboxes import Sandboxes
from sandbox.task import Task
from sandbox.trial.steps import run_noop, run_reference

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.sandbox.e2b.server import Cloud

SEED = Path(__file__).parents[3] / "examples" / "seeds" / "terminal" / "release-references"
DOCKERFILE = """FROM python:3.12-bookworm
ENV FROM_IMAGE=yes
WORKDIR /app
COPY --chown=12:34 data/ /app/data/
COPY tool.sh /usr/local/bin/tool
COPY <<EOF /etc/written
here
EOF
ADD packed.tar /unpacked/
RUN id -un > /ran && echo "$FROM_IMAGE $PWD" >> /ran
USER nobody
"""


@pytest.fixture
def write_task(tmp_path: Path) -> Callable[..., Task]:
    """Writes a task folder around a Dockerfile and files of `environment/`."""

    def written(dockerfile: str, files: dict[str, bytes] | None = None, toml: str = "") -> Task:
        root = tmp_path / "task"
        plain = {
            "task.toml": f'schema_version = "1.4"\n[task]\nname = "tests/small"\n{toml}'.encode(),
            "instruction.md": b"Nothing to do.\n",
            "solution/solve.sh": b"#!/bin/bash\n",
            "tests/test.sh": b"#!/bin/bash\n",
            "environment/Dockerfile": dockerfile.encode(),
            **{f"environment/{path}": content for path, content in (files or {}).items()},
        }
        for path, content in plain.items():
            place = root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
            place.chmod(0o755 if path.endswith(".sh") else 0o644)
        return Task.read(root)

    return written


def packed() -> bytes:
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w") as archive:
        member = tarfile.TarInfo("inside")
        member.size = 3
        archive.addfile(member, io.BytesIO(b"abc"))
    return memory.getvalue()


async def test_a_recipe_is_applied_once_and_kept_in_the_cloud(
    ours: E2BBackend, cloud: Cloud, write_task: Callable[..., Task]
) -> None:
    files = {"data/a": b"A", "data/sub/b": b"B", "tool.sh": b"#!/bin/bash\necho tool\n", "packed.tar": packed()}
    task = write_task(DOCKERFILE, files)
    image = await ours.build(task)
    assert (image.workdir, image.user, image.env["FROM_IMAGE"], image.base) == ("/app", "nobody", "yes", "base")
    made = len(cloud.snapshots)
    assert await ours.build(task) == image
    assert await E2BBackend(template="base").build(task) == image
    assert len(cloud.snapshots) == made
    sandbox = await ours.start(image)
    script = "cat data/a data/sub/b /etc/written /ran /unpacked/inside; tool; stat -c '%u %g %a' data/sub/b; pwd"
    said = (await sandbox.exec(script, user="root")).text
    assert said == "ABhere\nroot\nyes /app\nabctool\n12 34 644\n/app\n"
    assert await sandbox.changed_files(("/app", "/etc", "/unpacked")) == ()
    await sandbox.exec("echo more >> data/a", user="root")
    assert [change.path for change in await sandbox.changed_files(("/app",))] == ["/app/data/a"]


async def test_a_failing_run_is_the_tasks_fault(ours: E2BBackend, write_task: Callable[..., Task]) -> None:
    with pytest.raises(ImageError, match="status 3"):
        await ours.build(write_task("FROM x\nRUN echo why; exit 3\n"))


async def test_an_image_without_a_rule_is_refused_with_the_rule_to_write(
    cloud: Cloud, write_task: Callable[..., Task]
) -> None:
    with pytest.raises(UnsupportedTaskError, match="--base other/image=TEMPLATE"):
        await E2BBackend().build(write_task("FROM other/image\n"))
    image = await E2BBackend(base=("other/*=base",)).build(write_task("FROM other/image\n"))
    assert image.reference == "base"
    with pytest.raises(ValueError, match="IMAGE=TEMPLATE"):
        E2BBackend(base=("other",))


async def test_more_than_a_recipe_is_refused_and_says_how_to_go_on(
    ours: E2BBackend, write_task: Callable[..., Task]
) -> None:
    with pytest.raises(UnsupportedTaskError, match="give the template by --base IMAGE=TEMPLATE"):
        await ours.build(write_task("FROM a AS b\nRUN true\nFROM c\nCOPY --from=b /x /y\n"))


async def test_the_service_builds_a_dockerfile_when_told_to(cloud: Cloud, write_task: Callable[..., Task]) -> None:
    backend = E2BBackend(build=True)
    task = write_task("FROM any/image\nWORKDIR /app\nCOPY data /app/data\nRUN cat data/a > out\n", {"data/a": b"A"})
    image = await backend.build(task)
    assert (image.reference, image.workdir, image.user) == (image.base, "/app", "")
    sandbox = await backend.start(image)
    assert (await sandbox.exec("cat out; id -un; pwd")).text == "Aroot\n/app\n"
    await E2BBackend(build=True).build(task)
    assert sum(1 for request in cloud.requests if "/builds/" in request and "POST" in request) == 1
    await backend.close()


async def test_a_dockerfile_that_the_service_cannot_build_is_the_tasks_fault(
    cloud: Cloud, write_task: Callable[..., Task]
) -> None:
    with pytest.raises(ImageError, match="status 5"):
        await E2BBackend(build=True).build(write_task("FROM any/image\nRUN exit 5\n"))


async def test_a_seed_task_is_solved_by_its_reference_and_not_by_doing_nothing(ours: E2BBackend) -> None:
    task = Task.read(SEED)
    sandboxes = Sandboxes(ours, concurrency=2)
    async with sandboxes.running(task) as sandbox:
        assert (await run_noop(task, sandbox)).score == 0
    async with sandboxes.running(task) as sandbox:
        assert (await run_reference(task, sandbox)).score == 1
