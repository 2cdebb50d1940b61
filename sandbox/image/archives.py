"""Reads archives of images: what `docker save` writes, an OCI layout (folder or tar), or a plain archive of a root.

Nothing of an archive is trusted: names of blobs are looked up, never used as paths; blobs have to have the digest they
are named by; sizes are bounded. The layers' contents are checked where they are unpacked.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import platform
import re
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol

from sandbox.errors import ImageError
from sandbox.image.compression import decompress_zstd, is_zstd
from sandbox.image.recipe import ImageConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_BYTES = 64 << 30
_MAX_JSON = 16 << 20
_CHUNK = 1 << 20
_DIGEST = re.compile(r"(sha256|sha512):([0-9a-f]{64,128})")
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_INDEX = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
_MAX_NESTING = 3
_BROKEN = (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, OSError)


@dataclass(frozen=True, slots=True)
class Blob:
    """A layer in an archive: the name of the file that holds it, and its digest (`sha256:…`; "" when not told)."""

    name: str
    digest: str = ""


@dataclass(frozen=True, slots=True)
class ImageArchive:
    """What an archive says: the layers, lowest first, and the image's configuration."""

    layers: tuple[Blob, ...]
    config: ImageConfig


class Files(Protocol):
    """The files of an image archive."""

    def open(self, name: str) -> IO[bytes]:
        """Opens one.

        Raises:
            ImageError: There is none of that name.
        """
        ...


class FolderFiles:
    """Those of a layout that is a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self, name: str) -> IO[bytes]:
        """See `Files.open`; a link that leads out is not followed."""
        path = self._folder / name
        if not path.resolve().is_relative_to(self._folder.resolve()) or not path.is_file():
            raise ImageError(f"{self._folder}: {name} is missing")
        return path.open("rb")

    def close(self) -> None:
        """Nothing is open."""


class TarFiles:
    """Those of an archive; it stays open."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._archive = tarfile.open(path)  # noqa: SIM115 - open as long as the layers are being read
            self._members = {_plain(member.name): member for member in self._archive}
        except _BROKEN as error:
            raise ImageError(f"{path}: cannot be unpacked: {error}") from error

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def open(self, name: str) -> IO[bytes]:
        """See `Files.open`; follows one link, as `docker save` writes them for layers that are equal."""
        member = self._members.get(name)
        if member is not None and (member.issym() or member.islnk()):
            parent = name.rpartition("/")[0] if member.issym() else ""
            member = self._members.get(_plain(f"{parent}/{member.linkname}"))
        content = self._archive.extractfile(member) if member is not None and member.isreg() else None
        if content is None:
            raise ImageError(f"{self._path}: {name} is missing")
        return content

    def close(self) -> None:
        """Closes the archive."""
        self._archive.close()


def is_layout(path: Path) -> bool:
    """Whether a folder is an OCI layout rather than a root."""
    return (path / "oci-layout").is_file() and (path / "index.json").is_file()


def opened(path: Path) -> FolderFiles | TarFiles | None:
    """The files of an image archive; `None` for a plain archive of a root.

    Raises:
        ImageError: It is no archive.
    """
    if path.is_dir():
        return FolderFiles(path)
    if path.stat().st_size and _first_bytes(path)[:4] == b"\x28\xb5\x2f\xfd":
        raise ImageError(f"{path}: an archive packed as a whole by zstd: unpack it first (zstd -d)")
    files = TarFiles(path)
    if "manifest.json" in files or ("oci-layout" in files and "index.json" in files):
        return files
    files.close()
    return None


def read_archive(files: FolderFiles | TarFiles, *, name: str = "") -> ImageArchive:
    """Reads what an image archive holds.

    Args:
        files: Its files.
        name: Which of several images is wanted; of one alone, any name will do.

    Raises:
        ImageError: It is broken, or holds several images and none of that name.
    """
    if isinstance(files, TarFiles) and "manifest.json" in files:
        entry = _chosen(_rows(_json(files, Blob("manifest.json"))), name)
        config = _json(files, Blob(str(entry.get("Config", ""))))
        layers = entry.get("Layers", [])
        names = [str(layer) for layer in layers] if isinstance(layers, list) else []
        return ImageArchive(tuple(Blob(_plain(layer)) for layer in names), config_of(_table(config)))
    manifest = _manifest(files, _json(files, Blob("index.json")), name, 0)
    config = _json(files, _blob(manifest.get("config")))
    return ImageArchive(tuple(_blob(row) for row in _rows(manifest.get("layers"))), config_of(_table(config)))


def extract_layer(files: Files, blob: Blob, target: Path, *, max_bytes: int = MAX_BYTES) -> None:
    """Writes one layer to a file: a tar archive, plain or packed by gzip, bzip2 or xz; zstd is unpacked here.

    Raises:
        ImageError: Its digest is another, it is too large, or it cannot be unpacked.
    """
    with files.open(blob.name) as source, target.open("wb") as sink:
        _copy_checked(source, sink, blob, max_bytes)
    if is_zstd(target):
        packed = target.with_name(f"{target.name}.zst")
        target.rename(packed)
        decompress_zstd(packed, target, max_bytes=max_bytes)
        packed.unlink()


def config_of(config: Mapping[str, object]) -> ImageConfig:
    """Reads an image's configuration, as OCI and Docker both write it."""
    inner = _table(config.get("config") or {})
    env = [str(pair) for pair in _list(inner.get("Env"))]
    return ImageConfig(
        dict(pair.split("=", 1) for pair in env if "=" in pair),
        str(inner.get("WorkingDir") or "/"),
        str(inner.get("User") or ""),
        tuple(str(trigger) for trigger in _list(inner.get("OnBuild"))),
    )


def _copy_checked(source: IO[bytes], sink: IO[bytes], blob: Blob, max_bytes: int) -> None:
    digest = hashlib.new(blob.digest.partition(":")[0]) if blob.digest else None
    left = max_bytes
    while data := _read(source, _CHUNK, blob):
        left -= len(data)
        if left < 0:
            raise ImageError(f"{blob.name}: more than {max_bytes} bytes")
        sink.write(data)
        if digest is not None:
            digest.update(data)
    if digest is not None and digest.hexdigest() != blob.digest.partition(":")[2]:
        raise ImageError(f"{blob.name}: damaged: its digest is {digest.hexdigest()}")


def _read(source: IO[bytes], most: int, blob: Blob) -> bytes:
    """Reads on; the archive around a file may be compressed, and that only now turns out to be damaged."""
    try:
        return source.read(most)
    except _BROKEN as error:
        raise ImageError(f"{blob.name}: cannot be unpacked: {error}") from error


def _manifest(files: Files, index: object, name: str, depth: int) -> Mapping[str, object]:
    """The manifest of the image that is wanted, found through an index and those it names."""
    rows = [row for row in _rows(_table(index).get("manifests")) if _fits(row)]
    wanted = [row for row in rows if name and _annotated(row) in (name, name.rpartition(":")[2])]
    rows = wanted or rows
    if len(rows) != 1 or depth > _MAX_NESTING:
        names = ", ".join(filter(None, map(_annotated, rows)))
        raise ImageError(f"index.json: {len(rows)} images for this machine{f' ({names})' if names else ''}, wanted one")
    found = _json(files, _blob(rows[0]))
    if rows[0].get("mediaType") in _INDEX or "manifests" in _table(found):
        return _manifest(files, found, name, depth + 1)
    return _table(found)


def _annotated(row: Mapping[str, object]) -> str:
    annotations = _table(row.get("annotations") or {})
    return str(annotations.get("org.opencontainers.image.ref.name", ""))


def _fits(row: Mapping[str, object]) -> bool:
    """Whether it is for this machine; build attestations are for none (`unknown`)."""
    wanted = _table(row.get("platform") or {})
    machine = platform.machine()
    architecture = _ARCHITECTURES.get(machine, machine)
    return str(wanted.get("os", "linux")) == "linux" and str(wanted.get("architecture", architecture)) == architecture


def _chosen(rows: list[Mapping[str, object]], name: str) -> Mapping[str, object]:
    if len(rows) == 1:
        return rows[0]
    for row in rows:
        if name and name in _list(row.get("RepoTags")):
            return row
    tags = ", ".join(str(tag) for row in rows for tag in _list(row.get("RepoTags")))
    raise ImageError(f"manifest.json: {len(rows)} images ({tags}), none of them named {name!r}: save one alone")


def _blob(row: object) -> Blob:
    digest = str(_table(row).get("digest", ""))
    match = _DIGEST.fullmatch(digest)
    if match is None:
        raise ImageError(f"a digest of another form than sha256:<hex>: {digest[:80]!r}")
    return Blob(f"blobs/{match[1]}/{match[2]}", digest)


def _json(files: Files, blob: Blob) -> object:
    with files.open(blob.name) as file:
        text = _read(file, _MAX_JSON + 1, blob)
    if len(text) > _MAX_JSON:
        raise ImageError(f"{blob.name}: larger than {_MAX_JSON} bytes")
    algorithm, _, wanted = blob.digest.partition(":")
    if wanted and hashlib.new(algorithm, text).hexdigest() != wanted:
        raise ImageError(f"{blob.name}: damaged: it has another digest")
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ImageError(f"{blob.name}: no JSON: {error}") from error
    return found


def _table(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ImageError(f"came {str(value)[:80]!r} where a JSON object was expected")
    return value


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _rows(value: object) -> list[Mapping[str, object]]:
    return [_table(row) for row in _list(value)]


def _plain(name: str) -> str:
    parts: list[str] = []
    for part in name.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(16)
