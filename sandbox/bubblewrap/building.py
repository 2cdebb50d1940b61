"""Builds images: by a recipe, applied in a sandbox of its base and kept as a layer; or by an image builder.

A Dockerfile of one stage is a recipe: what it copies is placed, what it runs is run in a sandbox (`run_steps`). All
others, and those on a base that only an image builder can pull, are built by the first builder that works here (see
`sandbox.image.engines`) and kept as a whole root. Either is kept under a key of its content, so a machine that finds
the image in the store needs no builder.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.bubblewrap.external import ExternalBuild, ExternalBuilder
from sandbox.bubblewrap.importing import Importer
from sandbox.bubblewrap.prepared import Bases
from sandbox.bubblewrap.roots import Root
from sandbox.bubblewrap.run_steps import run_step
from sandbox.bubblewrap.skeleton import MOMENT
from sandbox.bubblewrap.store import StoredImage
from sandbox.errors import ImageError, TransferError, UnsupportedTaskError
from sandbox.image.bases import ready_image, recipe_key, recipe_of
from sandbox.image.context import FOLDER
from sandbox.image.engines import DEFAULT_ENGINES, OWN_ENGINE
from sandbox.image.instructions import DOCKERFILE
from sandbox.image.recipe import Place, Run, Unpack
from sandbox.image.stages import Stages
from sandbox.protocol import Image
from sandbox.task.phase import resolved_env

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from sandbox.bubblewrap.client import Launcher
    from sandbox.bubblewrap.prepared import PreparedBase
    from sandbox.bubblewrap.sandbox import BubblewrapSandbox
    from sandbox.bubblewrap.store import ImageStore
    from sandbox.image.bases import BaseMap
    from sandbox.image.recipe import Recipe, Step
    from sandbox.task import Task

_MOST_PLANNED = 256
_ROOT_NAMES = ("", "root", "0", "0:0", "root:root")


@dataclass(frozen=True, slots=True)
class Plan:
    """How a task's image can come about; at least one of the two is there.

    Attributes:
        recipe: The recipe, its image, and the base it is applied to.
        external: What an image builder would be asked for, and why a recipe does not do.
    """

    recipe: tuple[Recipe, Image, PreparedBase] | None = None
    external: ExternalBuild | None = None


class ImageBuilder:
    """Builds each image once.

    Args:
        store: Where images are kept.
        bases: What `FROM` stands for.
        launcher: Copies layers.
        users: Whether sandboxes have users other than root.
        own_files: Whether root inside owns this machine's files.
        start: Starts a sandbox of a root for building; the last argument says whether commands will be run in it.
        userns: Makes a user name space.
        engines: Who may build, in order of preference: `bubblewrap` (this builder's own way), `docker`, `buildah`,
            `podman`. Where sandboxes have root only, `bubblewrap` runs commands only if no other works.
        ids: Tells apart ways of mapping user ids, "" for root's own.
    """

    def __init__(
        self,
        store: ImageStore,
        bases: BaseMap,
        launcher: Launcher,
        *,
        users: bool,
        own_files: bool,
        start: Callable[[Root, Image, bool], Awaitable[BubblewrapSandbox]],
        userns: Callable[[], Awaitable[int]],
        engines: Sequence[str] = DEFAULT_ENGINES,
        ids: str = "",
    ) -> None:
        self._store = store
        self._map = bases
        self._launcher = launcher
        self._users = users
        self._start = start
        self._own = OWN_ENGINE in engines
        self.importer = Importer(store, launcher, userns, ids=users)
        self.bases = Bases(store, bases, self.importer, own_files=own_files, ids=ids)
        others = [name for name in engines if name != OWN_ENGINE]
        before = [] if not self._own or not users else others[: list(engines).index(OWN_ENGINE)]
        self._preferred = tuple(others if self._own and not users else before)
        self._external = ExternalBuilder(store, self.bases, self.importer, tuple(others))
        self._planned: dict[tuple[object, ...], Plan] = {}

    async def build(self, task: Task) -> Image:
        """See `SandboxBackend.build`."""
        plan = await self._plan(task)
        for wanted in (plan.recipe, plan.external):
            if isinstance(wanted, ExternalBuild):
                stored = self._store.use(wanted.key)
                if stored is not None:
                    return _described(task, wanted.key, stored)
            elif wanted is not None and self._store.use(wanted[1].reference) is not None:
                return wanted[1]
        if plan.recipe is not None and not await self._prefers_other(plan):
            recipe, image, base = plan.recipe
            async with self._store.locked(image.reference):
                if self._store.use(image.reference) is None:
                    await self._make(task, recipe, image, base)
                    self._store.use(image.reference)
            return image
        assert plan.external is not None  # noqa: S101 - see Plan
        stored = await self._external.build(task, plan.external)
        return _described(task, plan.external.key, stored)

    async def host_image(self) -> Image:
        """The `host` base as an image."""
        base = await self.bases.host()
        if self._store.use(base.key) is None:
            self._store.save(base.key, StoredImage(base.root, base.record))
        return Image(base.key, base=base.record)

    async def import_archive(self, name: str, archive: Path) -> Image:
        """Unpacks an archive into the store, and makes an image name stand for it.

        Raises:
            ImageError: The archive is broken.
        """
        base = await self.bases.import_archive(name, archive)
        return Image(base.key, dict(base.config.env), base.config.workdir, base.config.user, base.record)

    async def _plan(self, task: Task) -> Plan:
        """What a task's image is made of; a task is run many times, and reading its recipe takes all its files."""
        env = resolved_env(task.config.environment.env)
        content = (task.content_hash, task.empty_folders, tuple(env.items()))
        planned = self._planned.get(content)
        if planned is None:
            planned = await self._make_plan(task)
            if len(self._planned) >= _MOST_PLANNED:
                del self._planned[next(iter(self._planned))]
            self._planned[content] = planned
        return planned

    async def _make_plan(self, task: Task) -> Plan:
        ready = ready_image(task, self._map)
        if not ready and not task.has(DOCKERFILE):
            raise ImageError(f"{DOCKERFILE}: missing, and task.toml names no [environment] docker_image")
        stages = Stages(f"FROM {ready}\n" if ready else task.read_text(DOCKERFILE))
        try:
            recipe, base = await self._recipe(task, stages)
        except UnsupportedTaskError as why:
            return Plan(external=await self._external.plan(task, stages, why))
        for owner in (recipe.user, *(_user_of(step) for step in recipe.steps)):
            self._check_user(owner)
        image = Image(recipe_key(recipe, base.key), dict(recipe.env), recipe.workdir, recipe.user, base.record)
        external = None
        if recipe.runs and base.record != "host" and (self._preferred or not self._own):
            allowed = UnsupportedTaskError(f"{DOCKERFILE}: RUN, and bubblewrap is not among the image builders allowed")
            external = await self._external.plan(task, stages, allowed)
            if not self._own:
                return Plan(external=external)
        return Plan((recipe, image, base), external)

    async def _recipe(self, task: Task, stages: Stages) -> tuple[Recipe, PreparedBase]:
        if len(stages.images) != 1 or stages.count != 1:
            recipe = await asyncio.to_thread(recipe_of, task, self._map)  # says which line it is
            raise UnsupportedTaskError(f"{DOCKERFILE}: FROM {recipe.image} is no base of a recipe")
        base = await self.bases.of(stages.images[0])
        recipe = await asyncio.to_thread(recipe_of, task, self._map, lambda _image: base.config)
        runs = next((step for step in recipe.steps if isinstance(step, Run)), None)
        if runs is not None and not self._own and base.record == "host":
            raise UnsupportedTaskError(
                f"{DOCKERFILE}:{runs.line}: RUN on the base `host` needs bubblewrap, which `engines` leaves out"
            )
        return recipe, base

    async def _prefers_other(self, plan: Plan) -> bool:
        """Whether another builder comes before our own way, and works here."""
        return plan.external is not None and await self._external.works(self._preferred)

    def _check_user(self, user: str) -> None:
        if not self._users and user not in _ROOT_NAMES:
            raise UnsupportedTaskError(
                f"the Dockerfile wants the user {user!r}, and sandboxes of this user have root only: give it "
                "subordinate ids (userns=range: apt install uidmap, a line in /etc/subuid and /etc/subgid), run as "
                "root, or use the docker back end (--sandbox docker)"
            )

    async def _make(self, task: Task, recipe: Recipe, image: Image, base: PreparedBase) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + task.config.environment.build_timeout_sec
        sandbox = await self._start(base.root, image, recipe.runs)
        try:
            for step in recipe.steps:
                if isinstance(step, Run):
                    await run_step(sandbox, step, seconds=deadline - loop.time(), users=self._users)
                else:
                    await self._apply(task, step, sandbox)
            fds = {"userns": sandbox.parts.userns}
            aside, layer = self._store.aside(), self._store.layer(image.reference)
            await self._launcher.call("freeze", fds, target=str(aside), parts=sandbox.written())
            if layer.exists():  # its description was lost, or its base has moved
                await self._launcher.call("remove", fds, paths=[str(layer)])
            aside.rename(layer)
        finally:
            await sandbox.stop()
        stored = StoredImage(Root(base.root.base, (*base.root.layers, layer)), image.base, base.config)
        await asyncio.to_thread(self._store.save, image.reference, stored)

    async def _apply(self, task: Task, step: Place | Unpack, sandbox: BubblewrapSandbox) -> None:
        context = task.root / FOLDER
        fds = {"init": sandbox.parts.init}
        try:
            if isinstance(step, Place):
                await self._place(step, context, fds)
                return
            archive = os.open(context / step.source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                body = {"target": step.target, "users": self._users}
                await self._launcher.call("unpack", {**fds, "archive": archive}, **body)
            finally:
                os.close(archive)
        except (TransferError, OSError) as error:
            raise ImageError(f"{task.name}: the image does not build: {error}") from error

    async def _place(self, step: Place, context: Path, fds: dict[str, int]) -> None:
        if step.texts:
            context = self._store.aside()
            await asyncio.to_thread(_write_texts, step, context)
        try:
            entries = [list(entry.row()) for entry in step.entries]
            body = {"context": str(context), "entries": entries, "owner": step.owner, "moment": MOMENT}
            await self._launcher.call("place", fds, **body)
        finally:
            if step.texts:
                await asyncio.to_thread(shutil.rmtree, context)


def _described(task: Task, key: str, stored: StoredImage) -> Image:
    """The image that an image builder made, with what the task itself says of its commands."""
    environment = task.config.environment
    env = {**stored.config.env, **resolved_env(environment.env)}
    return Image(key, env, environment.workdir or stored.config.workdir, stored.config.user, stored.base)


def _user_of(step: Step) -> str:
    if isinstance(step, Place):
        return step.owner
    return step.user if isinstance(step, Run) else ""


def _write_texts(step: Place, folder: Path) -> None:
    folder.mkdir()
    for name, text in step.texts.items():
        (folder / name).write_bytes(text.encode())
