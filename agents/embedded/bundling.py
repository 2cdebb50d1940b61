"""Many files at once: a task's data goes over as one archive that is unpacked in the workspace, the rest file by file.

A library step brings dozens of small data files; written one by one they are most of a conversation's tool calls.
"""

from __future__ import annotations

import base64
import io
import tarfile
from collections.abc import Mapping, Sequence
from typing import Final

from agents.embedded.conversation import Call
from agents.embedded.library import FileContent
from agents.embedded.tools import Part, ran, writing

ARCHIVE: Final = ".bundle.tar"
FEW: Final = 4
DATA: Final = "environment/"


def write_all(paths: Sequence[str], files: Mapping[str, FileContent]) -> Part[None]:
    """Writes `files[path]` for each path; falls back on single files where the image has no tar."""
    if not paths:
        return
    data = [path for path in paths if path.startswith(DATA)]
    bundled = data if len(data) > FEW else []
    single = [path for path in paths if path not in bundled]
    if single:
        yield _each(single, files)
    if not bundled:
        return
    unpack = f"tar --no-same-owner -xf {ARCHIVE}; code=$?; rm -f {ARCHIVE}; exit $code"
    packed = base64.b64encode(archive(bundled, files)).decode("ascii")
    write = Call("write_file", {"path": ARCHIVE, "content": packed, "encoding": "base64"})
    _, unpacked = yield (write, Call("run", {"command": unpack, "timeout": 60}))
    if ran(unpacked).status != 0:
        yield _each(bundled, files)


def archive(paths: Sequence[str], files: Mapping[str, FileContent]) -> bytes:
    """The files as a tar archive; the same bytes for the same files."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in sorted(paths):
            entry = tarfile.TarInfo(path)
            entry.size = len(files[path].content)
            entry.mode = 0o755 if files[path].executable else 0o644
            tar.addfile(entry, io.BytesIO(files[path].content))
    return stream.getvalue()


def _each(paths: Sequence[str], files: Mapping[str, FileContent]) -> tuple[Call, ...]:
    return tuple(writing(path, files[path].content, executable=files[path].executable) for path in paths)
