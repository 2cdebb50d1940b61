"""The one contract between this project and whatever runs a task: values, `Sandbox`, `SandboxBackend`.

Every back end keeps these promises, and callers rely on nothing else:

* A sandbox starts from an `Image` (a task's environment, built once per content hash) or a `Snapshot`.
* Changes made by one command are seen by the next; processes left in the background live on until `kill_processes`
  or `stop`.
* A command that outlasts its time-out is killed with everything it started, and the result says `timed_out`.
* A result never raises for what the command did; `SandboxError` is raised only for what the sandbox failed to do.
* `stop` may be called twice, never raises for a sandbox that is already gone, and leaves nothing behind.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from sandbox.task import Task

Network = Literal["none", "host"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a sandbox may use.

    Attributes:
        memory_mb: Memory of all its processes together, MiB; `None` leaves it unlimited.
        processes: Processes alive at once.
        file_size_mb: Size of a single file, MiB.
        cpus: CPU cores; `None` leaves it unlimited.
        output_bytes: Bytes kept of each output stream of a command: the first and the last half of it.
        timeout: Seconds for a command that names no time-out of its own.
    """

    memory_mb: int | None = 2048
    processes: int = 512
    file_size_mb: int = 1024
    cpus: float | None = None
    output_bytes: int = 1 << 20
    timeout: float = 600.0


@dataclass(frozen=True, slots=True)
class ExecResult:
    """What a command did.

    Attributes:
        stdout: Bytes of standard output; where it was cut, head and tail with a line between that says what is missing.
        stderr: The same of standard error.
        exit_code: The exit status; 128 + n when killed by signal n.
        timed_out: Whether it was killed because its time was up.
        truncated: Whether either stream was cut.
        seconds: Wall-clock seconds it ran.
    """

    stdout: bytes
    stderr: bytes
    exit_code: int
    timed_out: bool = False
    truncated: bool = False
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with status 0."""
        return self.exit_code == 0 and not self.timed_out

    @property
    def text(self) -> str:
        """Standard output as text; bytes that are not UTF-8 are shown as replacement characters."""
        return self.stdout.decode("utf-8", "replace")

    @property
    def error_text(self) -> str:
        """Standard error as text, likewise."""
        return self.stderr.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Image:
    """A task's environment, built: what a sandbox starts from.

    Attributes:
        reference: The back end's own name for it (a key in the image store, an image id, a template).
        env: Environment variables set by the image.
        workdir: Working directory of commands that name none.
        user: User of commands that name none: a name or a number, "" for the sandbox's root.
        base: What `FROM` resolved to, for the record ("host", "dir:<digest>", "tar:<digest>").
    """

    reference: str
    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str = "/"
    user: str = ""
    base: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The frozen files of a sandbox: start as many new sandboxes from it as you like.

    Attributes:
        reference: The back end's own name for it.
        image: The image the snapshotted sandbox was started from.
    """

    reference: str
    image: Image


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a back end can do on this machine; ask before you rely on it.

    Attributes:
        dockerfile_run: Builds Dockerfiles with `RUN`.
        users: Runs commands as users other than root.
        snapshot: Snapshots and forks.
        networks: Networks it offers.
        limits: Names of `Limits` fields it enforces.
    """

    dockerfile_run: bool = False
    users: bool = False
    snapshot: bool = False
    networks: frozenset[Network] = frozenset({"none"})
    limits: frozenset[str] = frozenset()


@runtime_checkable
class Sandbox(Protocol):
    """A running, isolated machine for one task."""

    @property
    def id(self) -> str:
        """A name unique on this machine."""
        ...

    @property
    def image(self) -> Image:
        """The image it was started from."""
        ...

    async def exec(
        self,
        command: str | Sequence[str],
        *,
        stdin: bytes | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | int | None = None,
        timeout: float | None = None,
        clean_env: bool = False,
    ) -> ExecResult:
        """Runs a command to its end.

        Args:
            command: A shell command (run by `bash -c`) or an argument vector.
            stdin: Bytes for standard input; nothing (end of file at once) when left out.
            cwd: Working directory, created when missing; the image's when left out.
            env: Variables on top of the image's.
            user: User name or number; the image's when left out.
            timeout: Seconds after which it is killed with all it started; the limits' when left out.
            clean_env: Leave the image's variables out: the command sees PATH, HOME, LANG and `env` alone.

        Raises:
            SandboxLostError: The sandbox is gone.
            UnsupportedTaskError: The user cannot be had on this back end.
        """
        ...

    async def upload(self, source: Path, target: str) -> None:
        """Copies a file or a whole folder to an absolute path, replacing what is there; keeps the run bits.

        Raises:
            TransferError: The source is missing, a link leaves it, or it is no plain file or folder.
        """
        ...

    async def download(self, source: str, target: Path, *, max_bytes: int = 1 << 30) -> None:
        """Copies a file or a folder out; symlinks are copied as links, never followed; no device, no `..`.

        Raises:
            TransferError: Nothing there, or larger than `max_bytes` in all.
        """
        ...

    async def read_file(self, path: str, *, max_bytes: int = 1 << 20) -> bytes:
        """Reads one plain file without following a link in its last component.

        Raises:
            FileNotFoundError: Nothing there.
            IsADirectoryError: It is a folder.
            TransferError: Larger than `max_bytes`, a link, or no plain file.
        """
        ...

    async def write_file(self, path: str, content: bytes, *, mode: int = 0o644) -> None:
        """Writes one file, its parents created, never through a link in its last component.

        Raises:
            TransferError: The path cannot be written.
        """
        ...

    async def remake_directory(self, path: str, *, mode: int = 0o755) -> None:
        """Removes whatever is at `path` (links are removed, not followed) and creates an empty real directory there."""
        ...

    async def kill_processes(self) -> None:
        """Kills every process in the sandbox that a command started; the sandbox itself lives on."""
        ...

    async def snapshot(self) -> Snapshot:
        """Freezes the files as they are now.

        Raises:
            UnsupportedTaskError: The back end has no snapshots.
        """
        ...

    async def stop(self) -> None:
        """Kills everything and removes all traces; safe to call twice."""
        ...


@runtime_checkable
class SandboxBackend(Protocol):
    """Makes sandboxes of one kind."""

    name: str

    async def capabilities(self) -> Capabilities:
        """What it can do here.

        Raises:
            SandboxUnavailableError: It cannot run on this machine.
        """
        ...

    async def build(self, task: Task) -> Image:
        """Builds the task's environment, once per content hash; later calls return the same image at once.

        Raises:
            ImageError: The environment does not build; the task's fault.
            UnsupportedTaskError: This back end cannot build it; not the task's fault.
        """
        ...

    async def start(
        self, origin: Image | Snapshot, *, limits: Limits | None = None, network: Network = "none"
    ) -> Sandbox:
        """Starts a sandbox.

        Raises:
            SandboxError: It could not be started.
        """
        ...

    async def sweep(self) -> int:
        """Removes what dead processes of this project left behind; returns how many sandboxes that were."""
        ...

    async def close(self) -> None:
        """Stops every sandbox it started; safe to call twice."""
        ...
