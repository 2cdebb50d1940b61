"""Bases made ready: what an image name stands for, as a root that a sandbox can be stacked on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.bubblewrap.roots import Root
from sandbox.bubblewrap.store import StoredImage
from sandbox.image.bases import DEFAULT_BASES, Base, BaseMap, canonical, not_mapped
from sandbox.image.digests import base_name
from sandbox.image.recipe import ImageConfig

if TYPE_CHECKING:
    from pathlib import Path

    from sandbox.bubblewrap.importing import Importer
    from sandbox.bubblewrap.store import ImageStore


@dataclass(frozen=True, slots=True)
class PreparedBase:
    """A base that can be used.

    Attributes:
        key: Its part of the keys of images on it.
        record: Its name for the record.
        root: Its files.
        config: What it says of its commands.
    """

    key: str
    record: str
    root: Root
    config: ImageConfig


class Bases:
    """Finds and prepares bases.

    Args:
        store: Where those that have to be unpacked are kept.
        bases: What image names stand for. Names imported into the store count as well: before the map where that is
            the default one, else behind the names it lists as they are, and before its patterns.
        importer: Unpacks archives.
        own_files: Whether root inside owns this machine's files.
        ids: Tells apart ways of mapping user ids.
    """

    def __init__(self, store: ImageStore, bases: BaseMap, importer: Importer, *, own_files: bool, ids: str) -> None:
        self._store = store
        self._map = bases
        self._default = bases == BaseMap.parse(DEFAULT_BASES)
        self._importer = importer
        self._own_files = own_files
        self._suffix = f"-{ids}" if ids else ""
        self._known: dict[Base, PreparedBase] = {}
        self._preparing = asyncio.Lock()

    async def find(self, image: str) -> PreparedBase | None:
        """The base that an image name stands for, if any."""
        exact = None if self._default else self._map.exact(image)
        if exact is None:
            key = self._store.named(self._name(image))
            stored = self._store.use(key) if key else None
            if key and stored:
                return PreparedBase(key, stored.base, stored.root, stored.config)
        base = exact or self._map.find(image)
        return await self._prepared(base, image) if base is not None else None

    async def of(self, image: str) -> PreparedBase:
        """The base that an image name stands for.

        Raises:
            UnsupportedTaskError: None; says how to list one.
            ImageError: It is an archive that cannot be unpacked.
        """
        found = await self.find(image)
        if found is None:
            raise not_mapped(image)
        return found

    async def host(self) -> PreparedBase:
        """The `host` base."""
        return await self._prepared(Base("host"), "")

    async def import_archive(self, name: str, archive: Path) -> PreparedBase:
        """Unpacks an archive, once per content, and makes an image name stand for it."""
        found = await self._unpacked(Base("tar", archive), name)
        self._store.name(self._name(name), found.key)
        return found

    def _name(self, image: str) -> str:
        return canonical(image) + self._suffix

    async def _prepared(self, base: Base, image: str) -> PreparedBase:
        async with self._preparing:
            if base not in self._known:
                self._known[base] = await self._prepare(base, image)
        return self._known[base]

    async def _prepare(self, base: Base, image: str) -> PreparedBase:
        if base.kind == "host" or base.path is None:
            async with self._store.locked("host"):
                key, root = await asyncio.to_thread(self._store.host_base, own_files=self._own_files)
            return PreparedBase(key, "host", root, ImageConfig())
        if base.kind == "tar":
            return await self._unpacked(base, image)
        record = await asyncio.to_thread(base_name, base)
        root = Root((("/", (base.path,)),))
        return PreparedBase(f"{record}:{base.path}{self._suffix}", record, root, ImageConfig())

    async def _unpacked(self, base: Base, image: str) -> PreparedBase:
        assert base.path is not None  # noqa: S101 - of a `tar` there is one
        record = await asyncio.to_thread(base_name, base)
        key = record.replace(":", "-") + self._suffix
        stored = self._store.use(key)
        if stored is None:
            async with self._store.locked(key):
                stored = self._store.use(key)
                if stored is None:
                    config = await self._importer.unpack(base.path, key, name=canonical(image) if image else "")
                    stored = StoredImage(Root((("/", (self._store.flat(key) / "root",)),)), record, config)
                    await asyncio.to_thread(self._store.save, key, stored)
                    self._store.use(key)
        return PreparedBase(key, record, stored.root, stored.config)
