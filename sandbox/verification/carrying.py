"""Carries artifacts from the agent's sandbox to the verifier's, as archives that are sifted on the way."""

from __future__ import annotations

import asyncio
import fnmatch
import posixpath
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sandbox.errors import TransferError, UnsupportedTaskError
from sandbox.task.config import ArtifactConfig
from sandbox.task.phase import agent_env
from sandbox.verification.folders import TESTS, VERIFIER_LOGS
from sandbox.verification.leftovers import Leftover, parents, within

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from sandbox.protocol import Sandbox
    from sandbox.task import Task, TaskStep

CONVENTION: Final = "/logs/artifacts"
"""What an agent puts there is an artifact without being declared, as in Harbor."""

MAX_ARTIFACTS: Final = 1 << 30
MAX_LOGS: Final = 64 << 20
IMAGE_FOLDERS: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt")
"""Where a link out of the artifacts may lead when the verifier's image is the agent's: to the image's own files."""

_SET_ID: Final = 0o6000


@dataclass(frozen=True, slots=True)
class Carried:
    """Artifacts in an archive on this machine.

    Attributes:
        archive: The archive, sifted.
        sources: Every declared path.
        present: Those that the archive holds something of.
        leftovers: Links that were left out.
    """

    archive: Path
    sources: tuple[str, ...]
    present: frozenset[str]
    leftovers: tuple[Leftover, ...]


def declared(task: Task, step: TaskStep) -> tuple[ArtifactConfig, ...]:
    """The artifacts that `task.toml` declares for a step: the task's and the step's own."""
    entries = (*task.config.artifacts, *(step.config.artifacts if step.config else ()))
    return tuple(ArtifactConfig(source=entry) if isinstance(entry, str) else entry for entry in entries)


def carried_entries(task: Task, step: TaskStep, workdir: str) -> Mapping[str, tuple[str, ...]]:
    """Absolute path → patterns left out, of all that is carried for a step, `/logs/artifacts` included.

    Raises:
        UnsupportedTaskError: One lies in a service of a compose file other than `main`, or holds a verifier's folder.
    """
    found: dict[str, tuple[str, ...]] = {}
    for entry in declared(task, step):
        if entry.service not in {None, "main"}:
            raise UnsupportedTaskError(f"the artifact {entry.source} lies in the service {entry.service!r}: use Harbor")
        source = posixpath.normpath(posixpath.join("/", workdir, entry.source))
        if source == "/" or any(within(source, place) or within(place, source) for place in (TESTS, VERIFIER_LOGS)):
            raise UnsupportedTaskError(
                f"the artifact {entry.source} would carry the verifier's own folders: declare less"
            )
        found.setdefault(source, entry.exclude)
    found.setdefault(CONVENTION, ())
    return found


async def run_hooks(task: Task, sandbox: Sandbox, step: TaskStep) -> None:
    """Runs every `[[verifier.collect]]` hook where the agent worked; what one does or fails to do ends nothing.

    Raises:
        UnsupportedTaskError: One is for a service of a compose file other than `main`.
    """
    for hook in (*task.config.verifier.collect, *(step.config.verifier.collect if step.config else ())):
        if hook.service != "main":
            raise UnsupportedTaskError(f"[[verifier.collect]] is for the service {hook.service!r}: use Harbor")
        await sandbox.exec(
            hook.command,
            cwd=task.config.environment.workdir,
            env=agent_env(task),
            user=hook.user,
            timeout=hook.timeout_sec,
        )


async def collect(
    sandbox: Sandbox, entries: Mapping[str, tuple[str, ...]], folder: Path, *, image_links: bool
) -> Carried:
    """Packs artifacts and sifts them: plain files, folders, and links that stay among them; no set-user bits.

    Args:
        sandbox: Where the agent worked, its processes dead.
        entries: Path → patterns left out.
        folder: Where the archives are written.
        image_links: Whether links to the image's own programs and libraries may come along.

    Raises:
        TransferError: More than `MAX_ARTIFACTS` bytes.
    """
    packed, sifted = folder / "packed.tar", folder / "artifacts.tar"
    await sandbox.pack(tuple(entries), packed, max_bytes=MAX_ARTIFACTS)
    sieve = _Sieve(entries, IMAGE_FOLDERS if image_links else ())
    await asyncio.to_thread(_sift, packed, sifted, sieve)
    leftovers = tuple(sorted(sieve.left_out, key=lambda leftover: leftover.path))
    return Carried(sifted, tuple(entries), frozenset(sieve.present), leftovers)


def _sift(packed: Path, sifted: Path, sieve: _Sieve) -> None:
    with tarfile.open(packed, "r:") as source, tarfile.open(sifted, "w:", format=tarfile.PAX_FORMAT) as target:
        for member in source:
            if sieve.takes(member):
                member.mode &= ~_SET_ID
                target.addfile(member, source.extractfile(member) if member.isreg() else None)
    packed.unlink()


async def deliver(carried: Carried, sandbox: Sandbox, *, absent_too: bool) -> None:
    """Puts artifacts where they were, in place of what is there.

    Args:
        carried: What `collect` gave.
        sandbox: The verifier's.
        absent_too: Whether an artifact that the agent has not left is removed here as well.
    """
    for source in carried.sources:
        if absent_too or source in carried.present:
            await sandbox.remove(source)
    await sandbox.unpack(carried.archive)


async def bring_logs_back(archive: Path, sandbox: Sandbox) -> None:
    """Puts the verifier's logs into the agent's sandbox, where whoever keeps logs looks for them."""
    if await asyncio.to_thread(archive.exists):
        await sandbox.unpack(archive)


async def pack_logs(sandbox: Sandbox, archive: Path) -> None:
    """Packs what a verifier wrote; more than `MAX_LOGS` bytes of it are not kept."""
    try:
        await sandbox.pack((VERIFIER_LOGS,), archive, max_bytes=MAX_LOGS)
    except TransferError:
        await asyncio.to_thread(archive.unlink, missing_ok=True)


class _Sieve:
    """Says of each entry of an archive whether it comes along.

    Args:
        entries: Path → patterns left out.
        outside: Folders outside of them where links may lead.
    """

    def __init__(self, entries: Mapping[str, tuple[str, ...]], outside: Sequence[str]) -> None:
        self._entries = entries
        self._places = (*entries, *outside)
        self._links: set[str] = set()
        self._taken: set[str] = set()
        self.present: set[str] = set()
        self.left_out: list[Leftover] = []

    def takes(self, member: tarfile.TarInfo) -> bool:
        """Whether it comes along; `left_out` gets it where it is a link that does not."""
        path = posixpath.normpath(f"/{member.name}")
        around = [source for source in self._entries if within(path, source)]
        if not around or ".." in member.name.split("/") or self._excluded(path, around):
            return False
        if any(folder in self._links for folder in parents(path)):
            return False
        if member.issym():
            self._links.add(path)
            if not self._stays(path, member.linkname):
                self.left_out.append(Leftover("artifact-link", path, f"leads to {member.linkname}"))
                return False
        elif member.islnk():
            if posixpath.normpath(f"/{member.linkname}") not in self._taken:
                self.left_out.append(Leftover("artifact-link", path, f"is the same file as {member.linkname}"))
                return False
        elif not (member.isreg() or member.isdir()):
            return False
        self._taken.add(path)
        self.present.update(around)
        return True

    def _stays(self, path: str, target: str) -> bool:
        """Whether a link leads to a place that comes along: `..` only at its start, where folders are real ones."""
        names = [name for name in target.split("/") if name not in {"", "."}]
        climbs = next((index for index, name in enumerate(names) if name != ".."), len(names))
        if ".." in names[climbs:] or (target.startswith("/") and climbs):
            return False
        leads = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        return any(within(leads, place) for place in self._places)

    def _excluded(self, path: str, around: Sequence[str]) -> bool:
        """Whether every artifact around a path leaves it out, by the rules of `tar --exclude`."""
        return all(excluded(path[len(source.rstrip("/")) :].strip("/"), self._entries[source]) for source in around)


def excluded(path: str, patterns: Sequence[str]) -> bool:
    """Whether `tar --exclude` would leave out a path: a pattern fits it, a folder around it, or the end of either."""
    names = path.split("/") if path else []
    runs = ["/".join(names[start:end]) for start in range(len(names)) for end in range(start + 1, len(names) + 1)]
    return any(fnmatch.fnmatchcase(run, pattern.removeprefix("./").rstrip("/")) for pattern in patterns for run in runs)
