"""Writes an image as one archive that Docker, Podman, Buildah and this project can load: an OCI layout in a tar.

It also holds the `manifest.json` by which `docker load` finds its way.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sandbox.image.recipe import ImageConfig

_CHUNK = 1 << 20
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_OCI = "application/vnd.oci.image"


def write_layout(
    layer: Path, config: ImageConfig, target: Path, *, name: str, labels: Mapping[str, str] | None = None
) -> None:
    """Writes the archive; the same bytes for the same layer, configuration and name.

    Args:
        layer: A tar archive of the whole root.
        config: Of the image.
        target: Where to.
        name: The image's, with a tag.
        labels: The image's.
    """
    layer_digest = _digest(layer)
    machine = platform.machine()
    described = {
        "architecture": _ARCHITECTURES.get(machine, machine),
        "os": "linux",
        "config": {
            "Env": [f"{key}={value}" for key, value in config.env.items()],
            "WorkingDir": config.workdir,
            "User": config.user,
            "Labels": dict(labels or {}),
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer_digest}"]},
        "history": [{"created_by": "envolve"}],
    }
    config_blob = _bytes(described)
    manifest = _bytes(
        {
            "schemaVersion": 2,
            "mediaType": f"{_OCI}.manifest.v1+json",
            "config": _row("config.v1+json", hashlib.sha256(config_blob).hexdigest(), len(config_blob)),
            "layers": [_row("layer.v1.tar", layer_digest, layer.stat().st_size)],
        }
    )
    row = _row("manifest.v1+json", hashlib.sha256(manifest).hexdigest(), len(manifest))
    index = {"schemaVersion": 2, "manifests": [{**row, "annotations": {"org.opencontainers.image.ref.name": name}}]}
    config_name = f"blobs/sha256/{hashlib.sha256(config_blob).hexdigest()}"
    legacy = [{"Config": config_name, "RepoTags": [name], "Layers": [f"blobs/sha256/{layer_digest}"]}]
    with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as archive:
        _add(archive, "oci-layout", _bytes({"imageLayoutVersion": "1.0.0"}))
        _add(archive, "index.json", _bytes(index))
        _add(archive, "manifest.json", _bytes(legacy))
        _add(archive, config_name, config_blob)
        _add(archive, f"blobs/sha256/{hashlib.sha256(manifest).hexdigest()}", manifest)
        member = tarfile.TarInfo(f"blobs/sha256/{layer_digest}")
        member.size = layer.stat().st_size
        with layer.open("rb") as file:
            archive.addfile(member, file)


def _row(kind: str, digest: str, size: int) -> dict[str, object]:
    return {"mediaType": f"{_OCI}.{kind}", "digest": f"sha256:{digest}", "size": size}


def _bytes(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def _digest(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(_CHUNK):
            found.update(data)
    return found.hexdigest()
