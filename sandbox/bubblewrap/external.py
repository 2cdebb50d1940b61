"""Images made by an image builder, kept in the store as whole roots."""

from __future__ import annotations

import asyncio
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.bubblewrap.roots import Root
from sandbox.bubblewrap.skeleton import MOMENT
from sandbox.bubblewrap.store import StoredImage
from sandbox.errors import UnsupportedTaskError
from sandbox.image.context import FOLDER
from sandbox.image.engines import BuildRequest, CommandEngine, build_by_any
from sandbox.image.instructions import DOCKERFILE
from sandbox.image.stages import builder_key
from sandbox.task.writing import copy_files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.bubblewrap.importing import Importer
    from sandbox.bubblewrap.prepared import Bases, PreparedBase
    from sandbox.bubblewrap.store import ImageStore
    from sandbox.image.engines import ImageEngine
    from sandbox.image.stages import Stages
    from sandbox.task import Task

_BASE_NAME = "localhost/envolve-base"


@dataclass(frozen=True, slots=True)
class ExternalBuild:
    """What an image builder is asked for.

    Attributes:
        key: Of what it makes.
        text: The Dockerfile, mapped images exchanged for `names`.
        names: What the bases are called in the builder.
        record: What the images that it names stand for.
        why: Why it takes an image builder.
    """

    key: str
    text: str
    names: tuple[tuple[str, PreparedBase], ...]
    record: str
    why: UnsupportedTaskError


class ExternalBuilder:
    """Has images built, and unpacks them.

    Args:
        store: Where they are kept.
        bases: What image names stand for; those that stand for nothing are the builder's to pull.
        importer: Unpacks.
        engines: Names of builders in order of preference.
    """

    def __init__(self, store: ImageStore, bases: Bases, importer: Importer, engines: tuple[str, ...]) -> None:
        self._store = store
        self._bases = bases
        self._importer = importer
        self._engines = engines

    async def works(self, engines: Sequence[str]) -> bool:
        """Whether one of these builders works here."""
        for name in engines:
            if not await CommandEngine(name).missing():
                return True
        return False

    async def plan(self, task: Task, stages: Stages, why: UnsupportedTaskError) -> ExternalBuild:
        """What to ask for.

        Raises:
            UnsupportedTaskError: An image stands for `host`, which no image builder can build on.
        """
        names: dict[str, str] = {}
        used: dict[str, PreparedBase] = {}
        records = []
        for image in stages.images:
            base = await self._bases.find(image)
            if base is None:
                records.append(image)
                continue
            if base.record == "host":
                raise UnsupportedTaskError(
                    f"{why}\n(And {image} stands for `host`, this machine's own /usr, which no image builder can build "
                    f"on: map it to a root folder or an archive, --base {image}=DIR.)"
                ) from why
            names[image] = f"{_BASE_NAME}:{base.record.replace(':', '-')}"
            used[names[image]] = base
            records.append(base.record)
        text = stages.with_images(names)
        key = builder_key(task, text)
        return ExternalBuild(key, text, tuple(sorted(used.items())), "+".join(records) or "scratch", why)

    async def build(self, task: Task, wanted: ExternalBuild) -> StoredImage:
        """Builds and unpacks; once, whoever else wants the same.

        Raises:
            ImageError: The Dockerfile's own failure.
            UnsupportedTaskError: No image builder works here.
            SandboxError: The builder's failure.
        """
        async with self._store.locked(wanted.key):
            stored = self._store.use(wanted.key)
            if stored is not None:
                return stored
            aside = self._store.aside()
            aside.mkdir()
            try:
                await asyncio.to_thread(_write_context, task, wanted.text, aside)

                async def prepare(engine: ImageEngine) -> BuildRequest:
                    return await self._request(engine, task, wanted, aside)

                await build_by_any(self._engines, prepare, aside / "image.tar", wanted.why)
                config = await self._importer.unpack(aside / "image.tar", wanted.key)
            finally:
                await asyncio.to_thread(shutil.rmtree, aside)
            root = Root((("/", (self._store.flat(wanted.key) / "root",)),))
            stored = StoredImage(root, wanted.record, config)
            await asyncio.to_thread(self._store.save, wanted.key, stored)
            self._store.use(wanted.key)
        return stored

    async def _request(self, engine: ImageEngine, task: Task, wanted: ExternalBuild, aside: Path) -> BuildRequest:
        """The request, with archives of those bases that the builder does not have yet."""
        bases: dict[str, Path] = {}
        for number, (name, base) in enumerate(wanted.names):
            archive = aside / f"base-{number}.tar"
            if not await engine.has(name):
                bases[name] = archive
                if not archive.exists():
                    (_mount, (folder,)), *_ = base.root.base
                    await self._importer.pack(folder, base.config, archive, name=name)
        timeout = task.config.environment.build_timeout_sec
        return BuildRequest(wanted.key, aside / FOLDER, aside / "Dockerfile", timeout, bases)


def _write_context(task: Task, dockerfile: str, to: Path) -> None:
    """Writes `environment/` as it was read, with one time stamp, and beside it the Dockerfile to use."""
    empty = [path for path in task.empty_folders if path.startswith(f"{FOLDER}/")]
    copy_files(task.root, task.under(FOLDER), empty, to, replaced={})
    (to / FOLDER).mkdir(exist_ok=True)
    (to / "Dockerfile").write_text(dockerfile)
    ignored = to / f"{DOCKERFILE}.dockerignore"
    if ignored.is_file():  # belongs to the Dockerfile, and goes where that goes
        shutil.copyfile(ignored, to / "Dockerfile.dockerignore")
    for parent, folders, names in os.walk(to / FOLDER, topdown=False):
        for name in (*folders, *names):
            os.utime(Path(parent, name), (MOMENT, MOMENT), follow_symlinks=False)
