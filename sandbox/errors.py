"""What can go wrong with a task folder and with a sandbox: one tree of errors for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class TaskError(Exception):
    """A task folder is not a task: says which file, which field, what came and what was expected.

    Attributes:
        file: The offending file or folder, relative to the task folder where it lies inside it.
        field: The dotted field of a TOML file, or "" when the whole file is meant.
    """

    def __init__(self, message: str, *, file: Path | str = "", field: str = "") -> None:
        where = f"{file}" + (f" [{field}]" if field else "")
        super().__init__(f"{where}: {message}" if where else message)
        self.file = str(file)
        self.field = field


class SandboxError(Exception):
    """A sandbox could not do what it was asked; never the fault of the command that ran in it."""


class SandboxUnavailableError(SandboxError):
    """This machine cannot run the back end: names the setting that forbids it and the alternative."""


class UnsupportedTaskError(SandboxError):
    """This back end cannot run this task (a `RUN` line, several users, a network): names the back ends that can."""


class ImageError(SandboxError):
    """The task's own environment does not build: a missing file to copy, a bad Dockerfile, a base without a tool."""


class SandboxLostError(SandboxError):
    """The sandbox died under a command (killed from outside, the host ran out of memory)."""


class TransferError(SandboxError):
    """A file could not go in or out: missing, too large, a link that leaves the tree, not a plain file."""
