"""Builds images: applies a recipe in a sandbox of its base and keeps what that wrote as a layer."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from sandbox.bubblewrap.roots import Root
from sandbox.bubblewrap.skeleton import MOMENT
from sandbox.bubblewrap.store import StoredImage, base_name
from sandbox.errors import ImageError, TransferError, UnsupportedTaskError
from sandbox.image.bases import Base, recipe_key, recipe_of
from sandbox.image.context import FOLDER
from sandbox.image.dockerfile import Place, Unpack
from sandbox.protocol import Image
from sandbox.task.phase import resolved_env

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from sandbox.bubblewrap.client import Launcher
    from sandbox.bubblewrap.sandbox import BubblewrapSandbox
    from sandbox.bubblewrap.store import ImageStore
    from sandbox.image.bases import BaseMap
    from sandbox.image.dockerfile import Recipe
    from sandbox.task import Task

_MOST_PLANNED = 256
_ROOT_NAMES = ("", "root", "0", "0:0", "root:root")


class ImageBuilder:
    """Builds each image once.

    Args:
        store: Where images are kept.
        bases: What `FROM` stands for.
        launcher: Copies layers.
        users: Whether sandboxes have users other than root.
        own_files: Whether root inside owns this machine's files.
        start: Starts a sandbox of a root.
        userns: Makes a user name space.
    """

    def __init__(
        self,
        store: ImageStore,
        bases: BaseMap,
        launcher: Launcher,
        *,
        users: bool,
        own_files: bool,
        start: Callable[[Root, Image], Awaitable[BubblewrapSandbox]],
        userns: Callable[[], Awaitable[int]],
    ) -> None:
        self._store = store
        self._bases = bases
        self._launcher = launcher
        self._users = users
        self._own_files = own_files
        self._start = start
        self._userns = userns
        self._known_bases: dict[Base, tuple[str, str, Root]] = {}
        self._preparing = asyncio.Lock()
        self._planned: dict[tuple[object, ...], tuple[Recipe, Image, Root]] = {}

    async def build(self, task: Task) -> Image:
        """See `SandboxBackend.build`."""
        recipe, image, root = await self._plan(task)
        if self._store.load(image.reference) is None:
            async with self._store.locked(image.reference):
                if self._store.load(image.reference) is None:
                    await self._make(task, recipe, image, root)
        return image

    async def _plan(self, task: Task) -> tuple[Recipe, Image, Root]:
        """What a task's image is made of; a task is run many times, and reading its recipe takes all its files."""
        env = resolved_env(task.config.environment.env)
        content = (task.content_hash, task.empty_folders, tuple(env.items()))
        planned = self._planned.get(content)
        if planned is None:
            recipe = await asyncio.to_thread(recipe_of, task, self._bases)
            self._check_users(recipe)
            key, record, root = await self._base(self._bases.resolve(recipe.image))
            image = Image(recipe_key(recipe, key), dict(recipe.env), recipe.workdir, recipe.user, record)
            if len(self._planned) >= _MOST_PLANNED:
                del self._planned[next(iter(self._planned))]
            planned = self._planned[content] = recipe, image, root
        return planned

    async def host_image(self) -> Image:
        """The `host` base as an image."""
        key, record, root = await self._base(Base("host"))
        if self._store.load(key) is None:
            self._store.save(key, StoredImage(root, record))
        return Image(key, base=record)

    def _check_users(self, recipe: Recipe) -> None:
        owners = [step.owner for step in recipe.steps if isinstance(step, Place)]
        for user in (recipe.user, *owners):
            if not self._users and user not in _ROOT_NAMES:
                raise UnsupportedTaskError(
                    f"the Dockerfile wants the user {user!r}, and sandboxes of this user have root only: give it "
                    "subordinate ids (userns=range: apt install uidmap, a line in /etc/subuid and /etc/subgid), run as "
                    "root, or use the docker back end (--sandbox docker)"
                )

    async def _base(self, base: Base) -> tuple[str, str, Root]:
        """A base's key, its name for the record, and its root."""
        async with self._preparing:
            if base not in self._known_bases:
                self._known_bases[base] = await self._prepare_base(base)
        return self._known_bases[base]

    async def _prepare_base(self, base: Base) -> tuple[str, str, Root]:
        if base.kind == "host" or base.path is None:
            async with self._store.locked("host"):
                key, root = await asyncio.to_thread(self._store.host_base, own_files=self._own_files)
            return key, "host", root
        record = await asyncio.to_thread(base_name, base)
        if base.kind == "dir":
            return f"{record}:{base.path}", record, Root((("/", (base.path,)),))
        place = self._store.folder / "bases" / record.replace(":", "-")
        if not place.exists():
            async with self._store.locked(place.name):
                if not place.exists():
                    await self._unpack(base.path, place)
        return record, record, Root((("/", (place / "root",)),))

    async def _unpack(self, archive: Path, place: Path) -> None:
        aside = self._store.aside()
        (aside / "root").mkdir(parents=True)  # its owner may become another; the folder around it stays ours to rename
        userns, fd = await self._userns(), os.open(archive, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fds = {"userns": userns, "archive": fd}
            await self._launcher.call("unpack", fds, target=str(aside / "root"), users=self._users)
        except TransferError as error:
            raise ImageError(f"{archive}: cannot be unpacked: {error}") from error
        finally:
            os.close(userns)
            os.close(fd)
        aside.rename(place)

    async def _make(self, task: Task, recipe: Recipe, image: Image, root: Root) -> None:
        sandbox = await self._start(root, image)
        try:
            for step in recipe.steps:
                await self._apply(task, step, sandbox)
            fds = {"userns": sandbox.parts.userns}
            aside, layer = self._store.aside(), self._store.layer(image.reference)
            await self._launcher.call("freeze", fds, target=str(aside), parts=sandbox.written())
            if layer.exists():  # its description was lost, or its base has moved
                await self._launcher.call("remove", fds, paths=[str(layer)])
            aside.rename(layer)
        finally:
            await sandbox.stop()
        self._store.save(image.reference, StoredImage(Root(root.base, (layer,)), image.base))

    async def _apply(self, task: Task, step: Place | Unpack, sandbox: BubblewrapSandbox) -> None:
        context = task.root / FOLDER
        fds = {"init": sandbox.parts.init}
        try:
            if isinstance(step, Place):
                entries = [list(entry.row()) for entry in step.entries]
                body = {"context": str(context), "entries": entries, "owner": step.owner, "moment": MOMENT}
                await self._launcher.call("place", fds, **body)
                return
            archive = os.open(context / step.source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                body = {"target": step.target, "users": self._users}
                await self._launcher.call("unpack", {**fds, "archive": archive}, **body)
            finally:
                os.close(archive)
        except (TransferError, OSError) as error:
            raise ImageError(f"{task.name}: the image does not build: {error}") from error
