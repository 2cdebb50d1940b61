"""The one contract between this project and whatever runs a task: values, `Sandbox`, `SandboxBackend`.

Every back end keeps these promises, and callers rely on nothing else:

* A sandbox starts from an `Image` (a task's environment, built once per content hash) or a `Snapshot`.
* Changes made by one command are seen by the next; processes left in the background live on until `kill_processes`
  or `stop`.
* A command that outlasts its time-out is killed with everything it started, and the result says `timed_out`.
* A result never raises for what the command did; `SandboxError` is raised only for what the sandbox failed to do.
* Where a limit or a network that was asked for cannot be had, `start` refuses and names it; nothing is silently less.
* `stop` may be called twice, never raises for a sandbox that is already gone, and leaves nothing behind.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from sandbox.task import Task

NetworkMode = Literal["none", "allowlist", "public", "host"]
Stream = Literal["stdout", "stderr"]


@dataclass(frozen=True, slots=True)
class Network:
    """What a sandbox may reach.

    Attributes:
        mode: `none` is a loopback of its own and nothing else: no DNS, no IPv6, no metadata address. `allowlist`
            reaches `allowed_hosts` through an HTTP(S) proxy named by `HTTP_PROXY` and `HTTPS_PROXY`, and nothing else.
            `public` is the internet, but not this machine's own loopback. `host` shares this machine's network with all
            that listens on it.
        allowed_hosts: For `allowlist`: host names, or patterns such as `*.example.org`.
    """

    mode: NetworkMode = "none"
    allowed_hosts: tuple[str, ...] = ()


NO_NETWORK = Network()


@dataclass(frozen=True, slots=True)
class Limits:
    """What a sandbox may use.

    Attributes:
        memory_mb: Memory of all its processes together, MiB; `None` leaves it unlimited.
        processes: Processes alive at once.
        file_size_mb: Size of a single file, MiB.
        cpus: CPU cores; `None` leaves it unlimited.
        storage_mb: All that the sandbox writes, MiB; `None` leaves it to the disk. A back end that can't stop a write
            beyond it kills the processes within seconds of one; the next command works.
        open_files: Files a process may have open.
        output_bytes: Bytes kept of each output stream of a command: the first and the last half of it.
        timeout: Seconds for a command that names no time-out of its own.
    """

    memory_mb: int | None = 2048
    processes: int = 512
    file_size_mb: int = 1024
    cpus: float | None = None
    storage_mb: int | None = None
    open_files: int = 16_384
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
        networks: Modes of network it offers.
        limits: Names of `Limits` fields it enforces.
    """

    dockerfile_run: bool = False
    users: bool = False
    snapshot: bool = False
    networks: frozenset[NetworkMode] = frozenset({"none"})
    limits: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Change:
    """A path that differs from the image.

    Attributes:
        path: Absolute, without links in its folders as far as the back end can tell.
        kind: What became of it since the image was built.
        link: Where it leads, of a symbolic link; "" for what is none; `None` where the back end does not tell.
    """

    path: str
    kind: Literal["added", "changed", "removed"]
    link: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Stale:
    """Something that nobody uses any more: a dead process's sandbox, or an image not used for long.

    Attributes:
        kind: `sandbox`, `network`, `image`, … for a person to read.
        name: The back end's own name for it.
        note: Whose it was, how old or how large it is.
    """

    kind: str
    name: str
    note: str = ""


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

    @property
    def limits(self) -> Limits:
        """What it may use."""
        ...

    @property
    def network(self) -> Network:
        """What it may reach."""
        ...

    @property
    def backend(self) -> SandboxBackend:
        """Who made it: start others like it there (see `sandbox.siblings`)."""
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
        on_output: Callable[[Stream, bytes], None] | None = None,
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
            on_output: Told of each piece of output as it comes, what the result will have cut included.

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
        """Copies a file or a folder out; symlinks are copied as links, never followed.

        Pipes, sockets and devices in a folder are left out.

        Raises:
            TransferError: Nothing there, `source` itself is a pipe, a socket or a device, or larger than `max_bytes` in
                all.
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

    async def remove(self, path: str) -> None:
        """Removes whatever is at `path`, a link itself and never what it points to; nothing there is fine."""
        ...

    async def changed_files(self, under: Sequence[str] = ("/",)) -> tuple[Change, ...]:
        """What differs from the image at or below the given paths, as seen from outside: no program in it is asked.

        A folder that was added is followed by everything in it. Sorted by path.

        Raises:
            UnsupportedTaskError: The back end cannot tell.
        """
        ...

    async def pack(self, paths: Sequence[str], target: Path, *, max_bytes: int = 1 << 30) -> None:
        """Writes an uncompressed tar archive of files and folders to `target` on this machine.

        Names in it are absolute paths without the leading slash; owners (numbers), permissions, times and links are as
        in the sandbox. Devices and sockets are left out; a path that is not there is left out.

        Raises:
            TransferError: More than `max_bytes` in all.
        """
        ...

    async def unpack(self, archive: Path) -> None:
        """Lays an archive written by `pack` over the sandbox's files, owners and permissions as they stand in it.

        Raises:
            TransferError: No such archive, or an entry leaves the root.
        """
        ...

    async def kill_processes(self) -> int:
        """Kills every process in the sandbox that a command started, and returns how many those were.

        The sandbox itself lives on.
        """
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
        self, origin: Image | Snapshot, *, limits: Limits | None = None, network: Network = NO_NETWORK
    ) -> Sandbox:
        """Starts a sandbox.

        Raises:
            UnsupportedTaskError: A limit or a network that was asked for cannot be had here: names it.
            SandboxError: It could not be started.
        """
        ...

    async def discard(self, snapshot: Snapshot) -> None:
        """Forgets a snapshot and frees its files once no sandbox started from it lives; unknown ones are fine."""
        ...

    async def stale(self, *, images_unused_for: float | None = None) -> tuple[Stale, ...]:
        """What dead processes of this project left behind, and touches nothing.

        Args:
            images_unused_for: Lists images that no sandbox was started from for so many seconds, too.
        """
        ...

    async def sweep(self, *, images_unused_for: float | None = None) -> int:
        """Removes what `stale` lists; returns how many of those were sandboxes."""
        ...

    async def close(self) -> None:
        """Stops every sandbox it started; safe to call twice."""
        ...
