"""Finds out how user ids can be mapped on this machine, and whether user name spaces are allowed at all."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sandbox.errors import SandboxError, SandboxLostError, SandboxUnavailableError

if TYPE_CHECKING:
    from sandbox.bubblewrap.client import Answer, Launcher

UserMode = Literal["auto", "identity", "range", "single"]

_IDS = 65536
_ELSEWHERE = "Or use another back end, for example --sandbox docker."


@dataclass(frozen=True, slots=True)
class UserMap:
    """How ids inside a sandbox correspond to ids outside.

    Attributes:
        mode: `identity`, `range` or `single`, see `sandbox.bubblewrap.namespaces`.
        subuid: First subordinate user id and their count, for `range`.
        subgid: The same of groups.
        newuidmap: The set-uid program that writes such a map.
        newgidmap: The same of groups.
    """

    mode: UserMode
    subuid: tuple[int, int] = (0, 0)
    subgid: tuple[int, int] = (0, 0)
    newuidmap: str = ""
    newgidmap: str = ""

    @property
    def users(self) -> bool:
        """Whether there are users other than root inside."""
        return self.mode != "single"

    @property
    def tag(self) -> str:
        """Tells apart maps that give the same files different owners; "" where ids are themselves."""
        if self.mode == "identity":
            return ""
        return f"u{os.geteuid()}" + (f".{self.subuid[0]}.{self.subgid[0]}" if self.mode == "range" else "")

    @property
    def owns_host_files(self) -> bool:
        """Whether root inside is root outside, as far as file ownership goes."""
        return self.mode == "identity" or os.geteuid() == 0


def user_map(mode: UserMode = "auto") -> UserMap:
    """Chooses the best map that this machine allows.

    Args:
        mode: What is wanted; `auto` takes the first that works of `identity`, `range`, `single`.

    Raises:
        SandboxUnavailableError: The wanted one cannot be had; says what it takes.
    """
    root = os.geteuid() == 0
    if mode == "identity" or (mode == "auto" and root):
        if not root:
            raise SandboxUnavailableError("userns=identity needs root; use userns=auto")
        return UserMap("identity")
    if mode in ("auto", "range"):
        found = _subordinate_map()
        if found:
            return found
        if mode == "range":
            raise SandboxUnavailableError(
                "userns=range needs newuidmap and newgidmap (Debian: apt install uidmap) and a line for this user in "
                f"/etc/subuid and /etc/subgid, for example `{_user_name()}:100000:65536`"
            )
    return UserMap("single")


def _user_name() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def _subordinate_map() -> UserMap | None:
    programs = [
        shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/bin") for name in ("newuidmap", "newgidmap")
    ]
    ranges = [_subordinate_ids(Path(path)) for path in ("/etc/subuid", "/etc/subgid")]
    if not all(programs) or not all(ranges):
        return None
    return UserMap("range", ranges[0] or (0, 0), ranges[1] or (0, 0), programs[0] or "", programs[1] or "")


def _subordinate_ids(path: Path) -> tuple[int, int] | None:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, numbers = line.partition(":")
        start, _, count = numbers.partition(":")
        if name in (_user_name(), str(os.geteuid())) and start.isdecimal() and count.isdecimal() and int(count):
            return int(start), int(count)
    return None


def check_allowed() -> None:
    """Checks the settings that forbid user name spaces.

    Raises:
        SandboxUnavailableError: One of them does; names it, its file, and what to do.
    """
    if sys.platform != "linux":
        raise SandboxUnavailableError(f"bubblewrap runs on Linux only, this is {sys.platform}. {_ELSEWHERE}")
    for file, forbids, key, value in (
        ("/proc/sys/kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone", 1),
        (
            "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "kernel.apparmor_restrict_unprivileged_userns",
            0,
        ),
        ("/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces", 15000),
    ):
        if os.geteuid() == 0 and key != "user.max_user_namespaces":
            continue
        if _setting(file) == forbids:
            raise SandboxUnavailableError(
                f"{key} = {forbids} ({file}) forbids user name spaces to this user. "
                f"Allow them: sudo sysctl -w {key}={value} (to keep it: a line in /etc/sysctl.d/). {_ELSEWHERE}"
            )


def _setting(file: str) -> str | None:
    try:
        return Path(file).read_text().strip()
    except OSError:
        return None


async def make_userns(launcher: Launcher, users: UserMap) -> int:
    """Makes a user name space; its descriptor is the caller's to close.

    Raises:
        SandboxUnavailableError: It cannot be made; says what the kernel or `newuidmap` said.
    """
    waiting, go = os.pipe2(os.O_CLOEXEC)
    try:
        answer = await launcher.post("userns", {"go": waiting}, mode=users.mode)
        try:
            return await _made(answer, go, users)
        except BaseException:
            for descriptor in answer.descriptors:
                os.close(descriptor)
            raise
        finally:
            answer.close()
    except (OSError, SandboxError) as error:
        raise SandboxUnavailableError(
            f"a user name space ({users.mode}) could not be made: {error}. Containers often forbid it (Docker: "
            f"--security-opt seccomp=unconfined --security-opt apparmor=unconfined). {_ELSEWHERE}"
        ) from error
    finally:
        os.close(waiting)
        os.close(go)


async def _made(answer: Answer, go: int, users: UserMap) -> int:
    while (told := await answer.next()) is not None:
        if "map" in told:
            await _map_ids(int(str(told["map"])), users)
            os.write(go, b"1")
        elif "error" in told:
            raise SandboxError(str(told["message"]))
    if not answer.descriptors:
        raise SandboxLostError("the process that makes it was killed from outside")
    return answer.descriptors[0]


async def _map_ids(pid: int, users: UserMap) -> None:
    """Gives a new user name space, that of process `pid`, its ids."""
    if users.mode == "identity":
        _write_identity(pid)
        return
    for program, own, (start, count) in (
        (users.newuidmap, os.geteuid(), users.subuid),
        (users.newgidmap, os.getegid(), users.subgid),
    ):
        rows = [0, own, 1, 1, start, min(count, _IDS - 1)]
        arguments = [program, str(pid), *(str(number) for number in rows)]
        process = await asyncio.create_subprocess_exec(*arguments, stderr=asyncio.subprocess.PIPE)
        _, errors = await process.communicate()
        if process.returncode:
            raise SandboxError(f"{program} failed: {errors.decode('utf-8', 'replace').strip()}")


def _write_identity(pid: int) -> None:
    for kind in ("uid_map", "gid_map"):
        Path(f"/proc/{pid}/{kind}").write_text(_identity(Path(f"/proc/self/{kind}").read_text()))


def _identity(own: str) -> str:
    """Maps the ids below 65536 that this process has, by its own map, to themselves."""
    rows = [[int(number) for number in row.split()] for row in own.splitlines()]
    ranges = [(start, min(start + count, _IDS) - start) for start, _outside, count in rows if start < _IDS]
    return "".join(f"{start} {start} {count}\n" for start, count in ranges)
