"""Writes an image of the store as an archive for other machines: an OCI layout that `docker load` takes as well."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from sandbox.errors import TransferError
from sandbox.image.layouts import write_layout
from sandbox.image.recipe import ImageConfig

if TYPE_CHECKING:
    from pathlib import Path

    from sandbox.bubblewrap.backend import BubblewrapBackend
    from sandbox.protocol import Image


async def export_image(backend: BubblewrapBackend, image: Image, target: Path, *, name: str) -> None:
    """Writes an image, its base included, as one layer; the file appears whole or not at all.

    Args:
        backend: Whose image it is.
        image: Which one.
        target: Where to.
        name: What it is called in the archive, with a tag.

    Raises:
        TransferError: The file cannot be written.
    """
    layer, aside = (target.with_name(f".{target.name}.{part}") for part in ("layer", "part"))
    sandbox = await backend.start(image)
    try:
        out = os.open(layer, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            parts = sandbox.parts
            await parts.launcher.call("pack_root", {"init": parts.init, "out": out})
        finally:
            os.close(out)
        config = ImageConfig(image.env, image.workdir, image.user)
        await asyncio.to_thread(write_layout, layer, config, aside, name=name)
        aside.replace(target)
    except OSError as error:
        raise TransferError(f"export to {target}: {error}") from error
    finally:
        await sandbox.stop()
        for path in (layer, aside):
            path.unlink(missing_ok=True)
