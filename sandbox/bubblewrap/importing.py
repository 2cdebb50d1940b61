"""Makes a root of the store from an archive: of a root, or of an image in layers."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from sandbox.errors import ImageError, TransferError
from sandbox.image.archives import MAX_BYTES, extract_layer, opened, read_archive
from sandbox.image.layouts import write_layout
from sandbox.image.recipe import ImageConfig

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from sandbox.bubblewrap.client import Launcher
    from sandbox.bubblewrap.store import ImageStore


class Importer:
    """Unpacks archives into a store.

    Args:
        store: Where to.
        launcher: Unpacks.
        userns: Makes a user name space, whose ids the files will have.
        ids: Whether it has ids other than root's.
        max_bytes: What the files of one image may hold in all.
    """

    def __init__(
        self,
        store: ImageStore,
        launcher: Launcher,
        userns: Callable[[], Awaitable[int]],
        *,
        ids: bool,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._store = store
        self._launcher = launcher
        self._userns = userns
        self._ids = ids
        self._max_bytes = max_bytes

    async def unpack(self, archive: Path, key: str, *, name: str = "") -> ImageConfig:
        """Unpacks an archive to the place of a key, which appears whole or not at all.

        Args:
            archive: A root's archive, what `docker save` writes, or an OCI layout (folder or tar).
            key: Which place; to be called with its lock.
            name: Which image is meant, of an archive that holds several.

        Raises:
            ImageError: The archive is broken, hostile, or holds no image of that name; names the entry.
        """
        place, aside = self._store.flat(key), self._store.aside()
        await self._launcher.ready()
        userns = await self._userns()
        try:
            (aside / "root").mkdir(parents=True)  # its owner may become another; the folder around it stays ours
            try:
                config = await self._unpack(archive, aside, userns, name)
                if place.exists():  # its description was lost
                    await self._launcher.call("remove", {"userns": userns}, paths=[str(place)])
                aside.rename(place)
            except BaseException:
                await asyncio.shield(self._launcher.call("remove", {"userns": userns}, paths=[str(aside)]))
                raise
        except TransferError as error:
            raise ImageError(f"{archive}: cannot be unpacked: {error}") from error
        finally:
            os.close(userns)
        return config

    async def pack(self, root: Path, config: ImageConfig, target: Path, *, name: str) -> None:
        """Writes a root folder as an archive that image builders load under a name."""
        layer = self._store.aside()
        userns, out = await self._userns(), os.open(layer, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            await self._launcher.call("pack_root", {"userns": userns, "out": out}, source=str(root))
            labels = {"envolve.image": name.rpartition(":")[2]}
            await asyncio.to_thread(write_layout, layer, config, target, name=name, labels=labels)
        finally:
            os.close(userns)
            os.close(out)
            layer.unlink()

    async def _unpack(self, archive: Path, aside: Path, userns: int, name: str) -> ImageConfig:
        root = aside / "root"
        files = await asyncio.to_thread(opened, archive)
        if files is None:
            await self._lay(archive, root, userns, whiteouts=False)
            return ImageConfig()
        try:
            found = await asyncio.to_thread(read_archive, files, name=name)
            layer = aside / "layer.tar"
            for blob in found.layers:
                await asyncio.to_thread(extract_layer, files, blob, layer, max_bytes=self._max_bytes)
                await self._lay(layer, root, userns, whiteouts=True)
                layer.unlink()
        except ImageError as error:
            raise ImageError(f"{archive}: {error}") from error
        finally:
            files.close()
        return found.config

    async def _lay(self, archive: Path, root: Path, userns: int, *, whiteouts: bool) -> None:
        fd = os.open(archive, os.O_RDONLY | os.O_CLOEXEC)
        try:
            body = {"target": str(root), "ids": self._ids, "whiteouts": whiteouts, "max_bytes": self._max_bytes}
            await self._launcher.call("lay", {"userns": userns, "archive": fd}, **body)
        finally:
            os.close(fd)
