"""Image builders of other makers, by their command lines: Docker, Buildah, Podman.

What a recipe cannot hold (several stages, `COPY --from`, remote sources, `RUN --mount`) is built by one of them and
exported as an archive, once per content hash: machines that only run tasks need none.

* `docker` talks to a daemon (`DOCKER_HOST` is respected) and has BuildKit where Docker has it.
* `buildah` and `podman` need no daemon. As root they run commands under `--isolation chroot`, which works in most
  containers, too; without root they want subordinate ids (/etc/subuid, /etc/subgid).

Built images stay in the builder's own store as its cache, labelled `envolve.image=<key>`; remove them there.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from sandbox.errors import ImageError, SandboxError, UnsupportedTaskError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

OWN_ENGINE = "bubblewrap"
DEFAULT_ENGINES = (OWN_ENGINE, "docker", "buildah", "podman")
_SHOWN_LINES = 30
_SHORT_SECONDS = 30.0
_GRACE_SECONDS = 5.0
_LOAD_SECONDS = 1800.0
_KEPT_LOG = 1 << 20
# What says that a command of the Dockerfile failed, whatever it may have written before.
_COMMAND_FAILED = re.compile(
    r"returned a non-zero code: \d+|did not complete successfully: exit code: \d+"
    r"|while running runtime: exit status \d+|subprocess exited with status \d+"
)
# What says that the builder could not do its work.
_TROUBLE = re.compile(
    r"cannot connect to the docker daemon|error during connect|permission denied while trying to connect"
    r"|no space left on device|pull access denied|manifest unknown|manifest for .* not found|toomanyrequests"
    r"|failed to resolve (?:source metadata|reference)|dial tcp|i/o timeout|no such host|connection refused"
    r"|connection reset by peer|tls handshake|temporary failure in name resolution|unable to pull|initializing source"
    r"|requires buildkit|net/http|creating build container|storage-driver|newuidmap|cannot clone"
    r"|operation not permitted",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """What is to be built.

    Attributes:
        key: The image's key; its label in the builder's store.
        context: The build context.
        dockerfile: The Dockerfile; it need not lie in the context.
        timeout: Seconds it may take.
        bases: Archives (as `sandbox.image.layouts` writes them) of images that the Dockerfile names, by name; loaded
            into the builder where it does not have them.
        target: The stage to build; "" for the last.
    """

    key: str
    context: Path
    dockerfile: Path
    timeout: float
    bases: Mapping[str, Path] = field(default_factory=dict)
    target: str = ""


@runtime_checkable
class ImageEngine(Protocol):
    """Builds Dockerfiles."""

    name: str

    async def missing(self) -> str:
        """What it lacks to work here, and what to do about it; "" when it works."""
        ...

    async def has(self, image: str) -> bool:
        """Whether it has an image of that name, so that its archive need not be made."""
        ...

    async def build(self, request: BuildRequest, target: Path) -> None:
        """Builds an image and writes it to `target`, as an archive that `sandbox.image.archives` reads.

        Raises:
            ImageError: The Dockerfile's own failure, or its time is up: with the last lines of the log.
            SandboxError: The builder's failure.
        """
        ...


class CommandEngine:
    """One of the three, by its program.

    Args:
        name: `docker`, `buildah` or `podman`.
        program: The program's path, where it is not the one of that name in `PATH`.
    """

    def __init__(self, name: str, program: str | None = None) -> None:
        self.name = name
        self._program = program or name

    async def missing(self) -> str:
        """See `ImageEngine.missing`."""
        if shutil.which(self._program) is None:
            return f"no program {self._program} (Debian: apt install {_PACKAGES.get(self.name, self.name)})"
        try:
            code, text = await _run([self._program, *_PROBES[self.name]], timeout=_SHORT_SECONDS)
        except TimeoutError:
            return f"`{self._program} {' '.join(_PROBES[self.name])}` does not answer"
        return f"{self._program} does not work here: {_last(text, 1)}" if code else ""

    async def has(self, image: str) -> bool:
        """See `ImageEngine.has`."""
        inspect = ["inspect", "--type", "image", image]
        code, _text = await self._checked(inspect, timeout=_SHORT_SECONDS)
        return code == 0

    async def build(self, request: BuildRequest, target: Path) -> None:
        """See `ImageEngine.build`."""
        for name, archive in request.bases.items():
            if not await self.has(name):
                await self._load(name, archive)
        with tempfile.TemporaryDirectory(prefix="envolve-") as folder:
            id_file = Path(folder) / "id"
            try:
                code, text = await self._checked(self._build_arguments(request, id_file), timeout=request.timeout)
            except TimeoutError as error:
                raise ImageError(
                    f"the image was not built within {request.timeout:g} s ([environment] build_timeout_sec) by "
                    f"{self.name}; all of it was killed. The last lines:\n{_last(str(error), _SHOWN_LINES)}"
                ) from None
            if code:
                raise _failure(self.name, text)
            image = id_file.read_text().strip()
        await self._save(image, target)

    def _build_arguments(self, request: BuildRequest, id_file: Path) -> list[str]:
        given = ["--file", str(request.dockerfile), "--iidfile", str(id_file)]
        given += ["--label", f"envolve.image={request.key}"]
        given += ["--target", request.target] if request.target else []
        if self.name == "docker":
            given += ["--force-rm", "--label", "envolve.kind=build", "--label", "envolve.backend=bubblewrap"]
        else:
            given += ["--isolation", "chroot", "--format", "docker"]  # OCI knows no SHELL
        return ["build", *given, str(request.context)]

    async def _load(self, name: str, archive: Path) -> None:
        if self.name == "buildah":
            code, text = await self._checked(["pull", "--quiet", f"docker-archive:{archive}"], timeout=_LOAD_SECONDS)
            if not code and not await self.has(name):
                code, text = await self._checked(["tag", _last(text, 1), name], timeout=_SHORT_SECONDS)
        else:
            code, text = await self._checked(["load", "--input", str(archive)], timeout=_LOAD_SECONDS)
        if code:
            raise SandboxError(f"{self.name} does not take the base {name}: {_last(text, _SHOWN_LINES)}")

    async def _save(self, image: str, target: Path) -> None:
        arguments = {
            "docker": ["save", "--output", str(target), image],
            "buildah": ["push", "--quiet", image, f"docker-archive:{target}"],
            "podman": ["save", "--quiet", "--format", "docker-archive", "--output", str(target), image],
        }[self.name]
        code, text = await self._checked(arguments, timeout=_LOAD_SECONDS)
        if code:
            raise SandboxError(f"{self.name} built the image and does not export it: {_last(text, _SHOWN_LINES)}")

    async def _checked(self, arguments: list[str], *, timeout: float) -> tuple[int, str]:
        """Runs the program; `TimeoutError` with the log when its time is up.

        Raises:
            SandboxError: There is no such program.
        """
        try:
            return await _run([self._program, *arguments], timeout=timeout)
        except FileNotFoundError as error:
            raise SandboxError(f"{self.name}: no program {self._program}") from error


_PACKAGES = {"docker": "docker.io"}
_PROBES = {"docker": ["version"], "buildah": ["images", "--quiet"], "podman": ["images", "--quiet"]}


async def build_by_any(
    names: Sequence[str],
    prepare: Callable[[ImageEngine], Awaitable[BuildRequest]],
    target: Path,
    why: UnsupportedTaskError,
) -> str:
    """Has an image built by the first of some builders that can.

    Args:
        names: Their names in order of preference; `bubblewrap`, which is no builder of its own, is passed over.
        prepare: Makes the request to a builder.
        target: Where the archive goes.
        why: Why it takes a builder.

    Returns:
        Who did it.

    Raises:
        ImageError: The Dockerfile's own failure.
        UnsupportedTaskError: None works here; says what each lacks.
        SandboxError: Those that work could not do it; says what each said.
    """
    lacking: list[str] = []
    failed: list[str] = []
    for name in names:
        if name == OWN_ENGINE:
            continue
        engine = CommandEngine(name)
        missing = await engine.missing()
        if missing:
            lacking.append(f"  {name}: {missing}")
            continue
        try:
            await engine.build(await prepare(engine), target)
        except ImageError:
            raise
        except SandboxError as error:
            failed.append(f"  {name}: {error}")
            await asyncio.to_thread(target.unlink, missing_ok=True)
        else:
            return name
    tried = "\n".join([*failed, *lacking]) or "  none is allowed (engines)"
    text = f"{why}\nImage builders tried:\n{tried}"
    raise (SandboxError if failed else UnsupportedTaskError)(text) from why


def check_engines(names: Sequence[str]) -> tuple[str, ...]:
    """The names, if all are known.

    Raises:
        ValueError: One is not.
    """
    for name in names:
        if name not in DEFAULT_ENGINES:
            raise ValueError(f"no image builder {name!r}; known: {', '.join(DEFAULT_ENGINES)}")
    return tuple(names)


def _failure(engine: str, text: str) -> SandboxError:
    """Whose fault a failed build is: a command's own failure is told apart by what all builders say at its end."""
    end = _last(text, _SHOWN_LINES)
    if not _COMMAND_FAILED.search(_last(text, 5)) and _TROUBLE.search(_last(text, 5)):
        return SandboxError(f"{engine} could not build the image, and not by the Dockerfile's fault:\n{end}")
    return ImageError(f"the image does not build ({engine}). The last lines:\n{end}")


def _last(text: str, lines: int) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines()[-lines:])


async def _run(arguments: list[str], *, timeout: float) -> tuple[int, str]:
    """Runs a program to its end: exit status, and the end of all it wrote.

    Raises:
        TimeoutError: Its time is up; what it wrote is the message. It was killed with all it had started.
    """
    env = {**os.environ, "BUILDKIT_PROGRESS": "plain", "LC_ALL": "C.UTF-8"}
    process = await asyncio.create_subprocess_exec(
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=env,
        start_new_session=True,
    )
    assert process.stdout is not None  # noqa: S101 - asked for
    kept = bytearray()
    try:
        async with asyncio.timeout(timeout):
            while data := await process.stdout.read(1 << 16):
                kept += data
                del kept[:-_KEPT_LOG]
            code = await process.wait()
    except TimeoutError:
        raise TimeoutError(kept.decode("utf-8", "replace")) from None
    finally:
        if process.returncode is None:
            await asyncio.shield(_end(process))
    return code, kept.decode("utf-8", "replace")


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ends a builder with all it started.

    First what it runs, so that it fails as by the command's own fault and clears up; then itself. A client of a daemon
    that goes away makes the daemon give up the build.
    """
    if _kill_below(process.pid):
        await _ended(process)
    if process.returncode is None:
        process.terminate()
        await _ended(process)
    if process.returncode is None:
        _kill_below(process.pid)
        process.kill()
        await process.wait()


async def _ended(process: asyncio.subprocess.Process) -> None:
    try:
        async with asyncio.timeout(_GRACE_SECONDS):
            await process.communicate()  # what it still writes has to go somewhere
    except TimeoutError:
        return


def _kill_below(pid: int) -> bool:
    """Kills all that a process has started; whether there was anything."""
    import psutil

    try:
        below = psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return False
    for process in below:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    return bool(below)
