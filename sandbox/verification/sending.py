"""Sends a folder of a task into a sandbox with some of its files in another form, in as few uploads as it takes."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sandbox.errors import TransferError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.protocol import Sandbox
    from sandbox.task import Task

MAX_COPIED: Final = 4 << 20
"""Bytes of a folder up to which it is copied on this machine, to be sent with its changes as one."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A file as it is to arrive.

    Attributes:
        content: Its bytes.
        runs: Whether it may be run.
    """

    content: bytes
    runs: bool = False


async def send_folder(task: Task, sandbox: Sandbox, folder: str, target: str, changed: Mapping[str, Sent]) -> None:
    """Uploads a folder of a task to a path in a sandbox, `changed` over the files that it has.

    Args:
        task: The task.
        sandbox: Where to.
        folder: The folder in the task.
        target: Where it goes; nothing, or an empty folder.
        changed: Files by their path in the folder: new ones, and ones that take the place of the task's.

    Raises:
        TransferError: A link leaves the folder, or a file is to lie where a folder lies, or below a file.
        TaskError: A file is not what it was when the task was read.
    """
    if not changed:
        await sandbox.upload(task.root / folder, target)
        return
    small = sum(file.size for file in task.under(folder)) <= MAX_COPIED
    with tempfile.TemporaryDirectory(prefix="envolve-send-") as shut:  # nobody else on this machine looks into it
        aside = Path(shut) / "folder"
        try:
            await asyncio.to_thread(_write, task, folder if small else "", changed, aside)
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            raise TransferError(f"{folder}: a file is to lie where a folder lies, or below a file: {error}") from error
        if not small:
            await sandbox.upload(task.root / folder, target)
        await sandbox.upload(aside, target)


def _write(task: Task, folder: str, changed: Mapping[str, Sent], aside: Path) -> None:
    """Writes the changed files, and the folder's other ones where it is named; links last, so none leads elsewhere."""
    files, links, empty = dict(changed), {}, []
    if folder:
        for file in task.under(folder):
            path = file.path.removeprefix(f"{folder}/")
            if path in changed:
                continue
            if file.link:
                links[path] = file.link
            else:
                files[path] = Sent(task.read_bytes(file.path), file.executable)
        empty = [path.removeprefix(f"{folder}/") for path in task.empty_folders if path.startswith(f"{folder}/")]
    _make_folder(aside)
    for path in empty:
        _make_folder(aside / path)
    for path, sent in files.items():
        place = aside / path
        _make_folder(place.parent)
        with place.open("xb") as opened:
            opened.write(sent.content)
        place.chmod(0o755 if sent.runs else 0o644)  # whatever the umask: a back end may keep all of the mode
    for path, link in links.items():
        _make_folder((aside / path).parent)
        (aside / path).symlink_to(link)


def _make_folder(path: Path) -> None:
    if path.is_dir():
        return
    if not path.parent.exists():
        _make_folder(path.parent)
    path.mkdir()
    path.chmod(0o755)
