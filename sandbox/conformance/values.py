"""Values: what a sandbox says about itself, what an image holds, what is built once."""

from __future__ import annotations

import dataclasses
import shutil
from typing import TYPE_CHECKING

from sandbox.conformance.checks import check, expect, expect_equal, expect_error
from sandbox.conformance.stage import LIMITS, TASK_FOLDER
from sandbox.errors import ImageError, SandboxError, UnsupportedTaskError
from sandbox.protocol import Image, Limits, Sandbox, SandboxBackend, Snapshot
from sandbox.task import Task

if TYPE_CHECKING:
    from pathlib import Path

    from sandbox.conformance.stage import Stage

_WORKDIR = "/tmp/envolve-conformance"  # noqa: S108 - inside, as in the built-in task's Dockerfile


@check("values.protocol", "A back end and its sandboxes have every method and property of the protocol.")
async def has_the_protocol(stage: Stage) -> None:
    """Names what is missing."""
    async with stage.sandbox() as sandbox:
        for thing, protocol in ((stage.backend, SandboxBackend), (sandbox, Sandbox)):
            wanted = {name for name in (*vars(protocol), *protocol.__annotations__) if not name.startswith("_")}
            lacking = sorted(name for name in wanted if not hasattr(thing, name))
            expect(
                not lacking,
                f"{type(thing).__name__} to have all of {protocol.__name__}",
                f"no {', '.join(lacking)}",
                f"add what sandbox.protocol.{protocol.__name__} lists",
            )
    expect(stage.backend.name, "a name", repr(stage.backend.name), "set `name`")


@check("values.sandbox", "A sandbox says which image, limits, network and back end it was started with.")
async def says_what_it_is(stage: Stage) -> None:
    """Compares each with what was asked for."""
    limits = dataclasses.replace(LIMITS, timeout=77.0)
    async with stage.sandbox(limits) as sandbox:
        for name, wanted in (("image", stage.image), ("limits", limits), ("network", stage.network)):
            expect_equal(getattr(sandbox, name), wanted, f"`{name}` to be", "keep what `start` was given")
        expect(sandbox.backend is stage.backend, "`backend` to be its maker", sandbox.backend, "keep a reference to it")


@check("values.ids", "The id of a sandbox is unique.")
async def ids_are_unique(stage: Stage) -> None:
    """Starts two."""
    async with stage.sandbox() as one, stage.sandbox() as two:
        expect(one.id and one.id != two.id, "two ids that differ", f"{one.id!r} and {two.id!r}", "number or draw them")


@check("values.built_once", "Building the same task again gives the same image.")
async def built_once(stage: Stage) -> None:
    """Builds the built-in task and a copy of it that lies elsewhere."""
    again = await stage.backend.build(Task.read(TASK_FOLDER))
    expect_equal(again, stage.image, "the image of a second build to be", "key images by content")
    copy = await stage.backend.build(Task.read(_copied_task(stage.folder / "copy")))
    expect_equal(copy, stage.image, "the image of the same task at another path to be", "leave paths out of the key")


@check("values.image", "An image carries the Dockerfile's variables and working directory.")
async def image_fields(stage: Stage) -> None:
    """Compares with the built-in Dockerfile."""
    expect_equal(stage.image.env.get("FROM_IMAGE"), "yes", "Image.env to have FROM_IMAGE", "read ENV")
    expect_equal(stage.image.workdir, _WORKDIR, "Image.workdir to be", "read WORKDIR")


@check("values.copied", "What a Dockerfile copies lies in the sandbox, run bits kept.", needs=("isolation",))
async def copied_files(stage: Stage) -> None:
    """Reads one file and runs another."""
    async with stage.sandbox() as sandbox:
        content = await sandbox.read_file(f"{_WORKDIR}/plain.txt")
        expect_equal(content, b"from the build context\n", "the copied file to hold", "apply COPY")
        result = await sandbox.exec([f"{_WORKDIR}/run.sh"])
        expect_equal(result.stdout, b"run bit kept\n", "the copied script to say", "keep the run bits of COPY")


@check(
    "values.bad_task", "A task that copies a file it does not have is refused with ImageError.", needs=("isolation",)
)
async def bad_task(stage: Stage) -> None:
    """Builds one."""
    folder = _copied_task(stage.folder / "bad", "FROM python:3.12-bookworm\nCOPY not-there /x\n")
    work = stage.backend.build(Task.read(folder))
    await expect_error(work, ImageError, "a COPY of a missing file", "the task is at fault: raise ImageError")


@check("values.run_built", "A Dockerfile's RUN is carried out.", needs=("dockerfile_run",))
async def run_is_built(stage: Stage) -> None:
    """Builds one with a RUN that writes a file."""
    folder = _copied_task(stage.folder / "run", "FROM python:3.12-bookworm\nRUN echo built >/opt/built\n")
    async with stage.sandbox(origin=await stage.backend.build(Task.read(folder))) as sandbox:
        expect_equal(await sandbox.read_file("/opt/built"), b"built\n", "the file that RUN wrote to hold", "apply RUN")


@check(
    "values.run_refused",
    "A back end that can't carry out RUN refuses such a task with UnsupportedTaskError.",
    needs=("isolation",),
    lacks=("dockerfile_run",),
)
async def run_is_refused(stage: Stage) -> None:
    """Builds one."""
    folder = _copied_task(stage.folder / "run", "FROM python:3.12-bookworm\nRUN echo built >/opt/built\n")
    work = stage.backend.build(Task.read(folder))
    await expect_error(work, UnsupportedTaskError, "a Dockerfile with RUN", "refuse it; never leave it out silently")


@check("values.unknown_origin", "Starting from an image or a snapshot that does not exist raises SandboxError.")
async def unknown_origin(stage: Stage) -> None:
    """Tries both."""
    unknown = Image("envolve-conformance-no-such-image")
    for origin in (unknown, Snapshot("envolve-conformance-no-such-snapshot", unknown)):
        work = stage.backend.start(origin, limits=Limits(), network=stage.network)
        await expect_error(work, SandboxError, f"start({origin.reference})", "say that it is not known here")


@check("values.frozen", "Results are values: nothing in them can be set.")
async def results_are_frozen(stage: Stage) -> None:
    """Looks at a result and at the capabilities."""
    async with stage.sandbox() as sandbox:
        result = await sandbox.exec("true")
    for value in (result, stage.capabilities, stage.image):
        parameters = getattr(type(value), "__dataclass_params__", None)
        expect(
            parameters is not None and parameters.frozen,
            f"{type(value).__name__} to be a frozen dataclass of sandbox.protocol",
            type(value).__qualname__,
            "return the protocol's own types",
        )


def _copied_task(target: Path, dockerfile: str = "") -> Path:
    """A copy of the built-in task, with another Dockerfile if one is given."""
    shutil.copytree(TASK_FOLDER, target)
    if dockerfile:
        (target / "environment" / "Dockerfile").write_text(dockerfile)
    return target
