"""Fetches what a build put into an image, beyond the task's own files and beyond the base it stands on."""

from __future__ import annotations

import re
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evolution.gates.leak_listing import Listing, in_turns, listing, size_of
from sandbox.errors import ImageError, SandboxError, TransferError
from sandbox.image.dockerfile import from_words
from sandbox.image.instructions import DOCKERFILE, Instruction, instructions
from sandbox.image.words import words
from sandbox.task import Task

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sandbox.protocol import Sandbox
    from sandbox.sandboxes import Sandboxes

MOST_FILES: Final = 4000
MOST_BYTES: Final = 32 * 1024 * 1024
MOST_FILE_BYTES: Final = 8 * 1024 * 1024
SMALL: Final = 64 * 1024
_REMOTE = re.compile(r"(?:https?|ftp|git|ssh)://|git@")
_HARNESS = ("/tests/", "/solution/", "/logs/verifier/")
# Places that people and programs write to come before those that packages fill, should there be too much.
_LATER = ("/usr/lib", "/usr/share", "/usr/bin", "/usr/sbin", "/var/lib/dpkg", "/var/lib/apt", "/usr/include", "/lib")
_TOML: Final = 'schema_version = "1.4"\n[task]\nname = "leak/base"\n'


@dataclass(frozen=True, slots=True)
class Built:
    """Files of a built image, or of what stands in a sandbox now.

    Attributes:
        files: Contents by absolute path.
        left_out: How many there were no room for, or could not be had.
        example: One of those; "" for none.
    """

    files: dict[str, bytes]
    left_out: int = 0
    example: str = ""


def builds_files(task: Task) -> bool:
    """Whether an image may hold files that are neither the base's nor the task's own."""
    if not task.has(DOCKERFILE):
        return True
    try:
        found = instructions(task.read_text(DOCKERFILE))
    except (ImageError, ValueError):
        return True
    return sum(one.name == "FROM" for one in found) > 1 or any(_brings(one) for one in found)


async def base_listing(task: Task, sandboxes: Sandboxes, cache: dict[str, Listing]) -> Listing:
    """What the image that a task's last stage stands on holds; nothing where it is not known or cannot be had.

    Args:
        task: The task.
        sandboxes: Where a sandbox of the base is started.
        cache: Listings by the base's image; one is added.
    """
    image = _last_base(task)
    if not image or image == "scratch":
        return {}
    with tempfile.TemporaryDirectory(prefix="envolve-") as folder:
        bare = _bare_task(Path(folder), image)
        try:
            built = await sandboxes.build(bare)
            key = built.reference
            if key not in cache:
                async with sandboxes.running(built) as sandbox:
                    cache[key] = await listing(sandbox)
            return cache[key]
        except (ImageError, SandboxError):
            return {}  # then there is more to look at, that is all


async def built_files(sandbox: Sandbox, base: Listing) -> Built:
    """What a sandbox's image holds beyond its base, the telling places first.

    Raises:
        ListingError: Its `find` tells more than any image holds.
    """
    now = await listing(sandbox)
    if not now:
        return Built({}, 1, "all of them, since the image has no `find` that lists files")
    new = [path for path, stamp in now.items() if base.get(path) != stamp and not path.startswith(_HARNESS)]
    if not base:
        new = [path for path in new if not path.startswith(_LATER)]
    chosen, left = _chosen(new, now)
    files = await fetched(sandbox, chosen)
    missing = [*left, *(path for path in chosen if path not in files)]
    return Built(files, len(missing), missing[0] if missing else "")


def _chosen(paths: Iterable[str], sizes: Listing) -> tuple[list[str], list[str]]:
    """Which files are read, and which there is no room for."""
    chosen: list[str] = []
    left: list[str] = []
    room = MOST_BYTES
    ordered = sorted(paths)
    # Small files first: a few large ones would take all the room before the other folders have their turn.
    classes = [
        [path for path in ordered if path.startswith(_LATER) == is_later and (size_of(sizes[path]) > SMALL) == is_large]
        for is_later in (False, True)
        for is_large in (False, True)
    ]
    for path in (path for one in classes for path in in_turns(one)):
        size = size_of(sizes[path])
        if size <= MOST_FILE_BYTES and size <= room and len(chosen) < MOST_FILES:
            chosen.append(path)
            room -= size
        else:
            left.append(path)
    return chosen, left


async def fetched(sandbox: Sandbox, paths: Iterable[str]) -> dict[str, bytes]:
    """The contents of plain files, by path; those that cannot be had are left out."""
    wanted = sorted({path for path in paths if _is_text(path)})
    if not wanted:
        return {}
    with tempfile.TemporaryDirectory(prefix="envolve-") as folder:
        archive = Path(folder) / "files.tar"
        try:
            await sandbox.pack(wanted, archive, max_bytes=2 * MOST_BYTES + (MOST_FILES << 10))
            return dict(_members(archive))
        except TransferError:
            return {}


def _members(archive: Path) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(archive, "r:") as opened:
        for info in opened:
            stream = opened.extractfile(info) if info.isfile() else None
            if stream is not None:
                yield f"/{info.name.lstrip('/')}", stream.read(MOST_FILE_BYTES)


def _brings(instruction: Instruction) -> bool:
    if instruction.name in {"RUN", "ONBUILD"}:
        return True
    return instruction.name in {"COPY", "ADD"} and bool(
        instruction.heredocs or "--from=" in instruction.value or _REMOTE.search(instruction.value)
    )


def _last_base(task: Task) -> str:
    """The image that the last stage stands on, through stages it names; "" where that cannot be told."""
    stages: dict[str, str] = {}
    args: dict[str, str] = {}
    image = ""
    try:
        for one in instructions(task.read_text(DOCKERFILE) if task.has(DOCKERFILE) else ""):
            if one.name == "ARG" and not image:
                for word in words(one.value, args):
                    name, _, default = word.partition("=")
                    args[name] = default
            elif one.name == "FROM":
                named, stage = from_words(one, args)
                image = stages.get(named.lower(), named)
                stages[stage.lower()] = image
    except (ImageError, ValueError):
        return ""
    return image


def _bare_task(folder: Path, image: str) -> Task:
    texts = {
        "task.toml": _TOML,
        "instruction.md": "Nothing.\n",
        DOCKERFILE: f"FROM {image}\n",
        "tests/test.sh": "#!/bin/bash\n",
    }
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return Task.read(folder)


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
