"""Unpacks zstd, which Python knows from 3.14 on: by the package `zstandard`, or by the program `zstd`."""

from __future__ import annotations

import importlib
import shutil
import subprocess
from pathlib import Path
from typing import IO, Protocol, cast

from sandbox.errors import ImageError, SandboxError

_MAGIC = b"\x28\xb5\x2f\xfd"
_CHUNK = 1 << 20


class _Zstandard(Protocol):
    ZstdError: type[Exception]

    def open(self, path: Path, mode: str) -> IO[bytes]: ...


def is_zstd(path: Path) -> bool:
    """Whether a file begins as zstd's do."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def decompress_zstd(source: Path, target: Path, *, max_bytes: int) -> None:
    """Unpacks a file.

    Raises:
        ImageError: It is broken, or holds more than `max_bytes`.
        SandboxError: Nothing here can unpack it; says what to install.
    """
    try:
        package = cast("_Zstandard", importlib.import_module("zstandard"))
    except ImportError:
        _by_program(source, target, max_bytes)
        return
    try:
        with package.open(source, "rb") as unpacked, target.open("wb") as sink:
            _copy(unpacked, sink, source, max_bytes)
    except (package.ZstdError, EOFError) as error:
        raise ImageError(f"{source.name}: broken: {error}") from error


def _by_program(source: Path, target: Path, max_bytes: int) -> None:
    program = shutil.which("zstd")
    if program is None:
        raise SandboxError("a layer is packed by zstd: pip install zstandard, or install the program zstd")
    process = subprocess.Popen([program, "-dcq", str(source)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with process, target.open("wb") as sink:
        assert process.stdout is not None  # noqa: S101 - asked for
        assert process.stderr is not None  # noqa: S101 - likewise
        try:
            _copy(process.stdout, sink, source, max_bytes)
        except ImageError:
            process.kill()
            raise
        complaint = process.stderr.read().decode("utf-8", "replace").strip()
    if process.returncode:
        raise ImageError(f"{source.name}: broken: {complaint}")


def _copy(unpacked: IO[bytes], sink: IO[bytes], source: Path, max_bytes: int) -> None:
    left = max_bytes
    while data := unpacked.read(_CHUNK):
        left -= len(data)
        if left < 0:
            raise ImageError(f"{source.name}: unpacks to more than {max_bytes} bytes")
        sink.write(data)
