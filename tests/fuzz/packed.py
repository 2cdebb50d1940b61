"""Packed inputs that are almost right: archives, git objects, git packs, and archives of images."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import struct
import tarfile
import zipfile
import zlib
from functools import lru_cache
from typing import TYPE_CHECKING

from tests.fuzz.inputs import json_like, mutated, noise, text

if TYPE_CHECKING:
    from random import Random

_BOMB = 3 << 20  # bytes a bomb unpacks to: more would only make the tests slow


def archive(random: Random) -> bytes:
    """A zip, a tar or a compressed file, perhaps inside another; damaged more often than not."""
    kind = random.random()
    if kind < 0.1:
        head = random.choice(
            (b"PK\x03\x04", b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\0", b"\0" * 257 + b"ustar", b"blob\n")
        )
        return head + noise(random)
    made = _packed(random, 0 if random.random() < 0.6 else 2)
    return mutated(random, made) if kind < 0.75 else made


def _packed(random: Random, depth: int) -> bytes:
    content = _content(random) if depth == 0 else _packed(random, depth - 1)
    kind = random.choice(("zip", "tar", "pax", "gz", "bz2", "xz", "export"))
    if kind == "zip":
        return _zip(random, content)
    if kind in ("tar", "pax"):
        return _tar(random, content, tarfile.PAX_FORMAT if kind == "pax" else tarfile.GNU_FORMAT)
    if kind == "gz":
        return gzip.compress(content, mtime=0)
    if kind == "bz2":
        return bz2.compress(content, 1)
    if kind == "xz":
        return lzma.compress(content, preset=0)
    name = text(random).encode("utf-8", "replace")
    return b"blob\nmark :1\ndata 2\nhi\ncommit refs/heads/x\nM 100644 :1 " + name + b"\nD x\n"


def _content(random: Random) -> bytes:
    if random.random() < 0.02:
        return b"\0" * _BOMB
    return random.choice((b"", b"hello", noise(random), text(random).encode("utf-8", "replace")))


def _zip(random: Random, content: bytes) -> bytes:
    stream = io.BytesIO()
    method = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
    with zipfile.ZipFile(stream, "w", method, strict_timestamps=False) as made:
        for number in range(random.randint(0, 4)):
            made.writestr(zipfile.ZipInfo(_name(random) + str(number)), content, method)
    return stream.getvalue()


def _tar(random: Random, content: bytes, form: int) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=form, errors="surrogateescape") as made:
        for _ in range(random.randint(0, 4)):
            info = tarfile.TarInfo(_name(random))
            info.type = random.choice(
                (tarfile.REGTYPE, tarfile.REGTYPE, tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE)
            )
            info.linkname = _name(random) if info.type in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
            info.size = len(content) if info.type == tarfile.REGTYPE else 0
            if form == tarfile.PAX_FORMAT and random.random() < 0.3:
                key = random.choice(("size", "mtime", "path", "GNU.sparse.map", "GNU.sparse.size", "uid", "hdrcharset"))
                info.pax_headers = {key: random.choice(("x", "-1", "9" * 30, "1,2,3", "nan", "BINARY"))}
            made.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def _name(random: Random) -> str:
    name = text(random).encode("utf-8", "replace").decode().replace("\0", "")
    return ((name or "x") * random.choice((1, 1, 1, 60)))[:6000]


def git(random: Random) -> bytes:
    """A git pack, a bundle, or a loose object."""
    kind = random.random()
    made = random.choice((_pack, _bundle, _loose))(random)
    if kind < 0.1:
        made = random.choice((b"PACK\0\0\0\2", b"# v2 git bundle\n", b"x\x9c")) + noise(random)
    elif kind < 0.7:
        made = mutated(random, made)
    return made


def _object(random: Random) -> tuple[int, bytes]:
    kind = random.choice((1, 2, 2, 3, 3, 4))
    if kind == 2:
        rows = [
            random.choice((b"100644 ", b"40000 ", b"120000 ", b"160000 ", b"0 ", b""))
            + _name(random).encode("utf-8", "replace")
            + b"\0"
            + random.randbytes(random.choice((20, 20, 20, 3, 0)))
            for _ in range(random.randint(0, 5))
        ]
        return kind, b"".join(rows)
    if kind == 3:
        return kind, _content(random)
    return kind, b"tree " + b"0" * 40 + b"\nparent " + b"f" * 40 + b"\nauthor A <a@b> 1 +0000\n\n" + noise(random)


def _loose(random: Random) -> bytes:
    kind, body = _object(random)
    size = random.choice((len(body), len(body), 0, -1, 10**30))
    return zlib.compress(b"%b %d\0" % ((b"", b"commit", b"tree", b"blob", b"tag")[kind], size) + body)


def _pack(random: Random) -> bytes:
    rows = [_entry(random) for _ in range(random.randint(0, 6))]
    count = random.choice((len(rows), len(rows), len(rows), 0, 2**32 - 1))
    made = b"PACK" + struct.pack(">II", random.choice((2, 2, 2, 3, 9)), count) + b"".join(rows)
    return made + hashlib.sha1(made, usedforsecurity=False).digest()


def _entry(random: Random) -> bytes:
    kind, body = _object(random)
    base = b""
    if random.random() < 0.3:
        kind = random.choice((5, 6, 6, 7, 7))
        base = random.choice((b"\x01", b"\x80\x00", b"\xff" * 12 + b"\x7f")) if kind == 6 else random.randbytes(20)
        if random.random() < 0.5:
            body = b"\x05\x05" + random.choice((b"\x90\x05", b"\x05hello", b"\xff" * 8, b"\x00", b"\x91\x10\x05"))
    size = random.choice((len(body), len(body), len(body), 0, 2**70))
    head = [(kind << 4) | (size & 15)]
    size >>= 4
    while size:
        head[-1] |= 0x80
        head.append(size & 0x7F)
        size >>= 7
    return bytes(head) + base + zlib.compress(body)


def _bundle(random: Random) -> bytes:
    return b"# v2 git bundle\n-" + b"0" * 40 + b" x\n" + b"f" * 40 + b" refs/heads/main\n\n" + _pack(random)


@lru_cache(maxsize=1)
def image() -> bytes:
    """An image as `docker save` and OCI both write it."""
    layer = _plain_tar({"etc/os-release": b"ID=x\n"})
    config = json.dumps(
        {"config": {"Env": ["A=1", "B"], "WorkingDir": "/w", "User": "u", "OnBuild": ["RUN x"]}}
    ).encode()
    manifest = json.dumps({"config": _row(config), "layers": [_row(layer)]}).encode()
    index = json.dumps({"manifests": [{**_row(manifest), "platform": {"os": "linux"}}]}).encode()
    rows = [{"Config": f"blobs/sha256/{_sha(config)}", "RepoTags": ["x:1"], "Layers": [f"blobs/sha256/{_sha(layer)}"]}]
    blobs = {f"blobs/sha256/{_sha(blob)}": blob for blob in (config, layer, manifest)}
    head = {"oci-layout": b"{}", "index.json": index, "manifest.json": json.dumps(rows).encode()}
    return _plain_tar({**head, **blobs})


_IMAGE_KEYS = [
    "Config",
    "Layers",
    "RepoTags",
    "manifests",
    "config",
    "layers",
    "digest",
    "mediaType",
    "platform",
    "os",
    "architecture",
    "annotations",
    "Env",
    "WorkingDir",
    "User",
    "OnBuild",
    "org.opencontainers.image.ref.name",
]


def image_archive(random: Random) -> bytes:
    """An archive of an image: a good one damaged, or one whose JSON is almost right."""
    kind = random.random()
    if kind < 0.1:
        return noise(random)
    if kind < 0.5:
        made = image()
        if random.random() < 0.3:
            made = random.choice((lambda content: gzip.compress(content, mtime=0), bz2.compress, lzma.compress))(made)
        return mutated(random, made)
    config, layer = json_like(random, _IMAGE_KEYS).encode(), _content(random)
    manifest = json_like(random, _IMAGE_KEYS).encode()
    if random.random() < 0.6:
        manifest = json.dumps({"config": _row(config), "layers": [_row(layer)]}).encode()
    rows = json_like(random, _IMAGE_KEYS)
    if random.random() < 0.6:
        rows = f'[{{"Config": "c", "Layers": ["l", {json_like(random, _IMAGE_KEYS, 1)}], "RepoTags": {rows}}}]'
    index = json_like(random, _IMAGE_KEYS)
    if random.random() < 0.6:
        index = json.dumps({"manifests": [_row(manifest)] * random.choice((1, 1, 2))})
    files = {f"blobs/sha256/{_sha(blob)}": blob for blob in (config, layer, manifest)}
    files |= {"c": config, "l": layer, "index.json": index.encode(), "oci-layout": b"{}"}
    if random.random() < 0.6:
        files["manifest.json"] = rows.encode()
    return _plain_tar(files)


def _plain_tar(files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as made:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            made.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def _sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _row(content: bytes) -> dict[str, object]:
    return {"digest": f"sha256:{_sha(content)}", "size": len(content)}
