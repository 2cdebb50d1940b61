"""Where sandboxes keep files on this machine: the state directory, one run directory for each process, and the sweep.

<state>/store/        bases and image layers, shared and kept; each appears whole or not at all
<state>/run/<name>/   one process's sandboxes and snapshots; `owner.json` says whose; swept when that one is dead
"""

from __future__ import annotations

import json
import os
import secrets
import select
import signal
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import SandboxUnavailableError

OWNER_FILE = "owner.json"
_KILL_PASSES = 20
_KILL_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """The folder of one process's sandboxes.

    Attributes:
        path: Where it is.
    """

    path: Path

    @property
    def name(self) -> str:
        """Its name, unique on this machine; also the start of its sandboxes' names."""
        return self.path.name


def state_directory() -> Path:
    """`$ENVOLVE_STATE`, or `envolve` in the user's cache folder."""
    chosen = os.environ.get("ENVOLVE_STATE")
    if chosen:
        return Path(chosen).absolute()
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "envolve"


def run_roots(state: Path) -> list[Path]:
    """Folders that may hold run directories; the later ones are for machines where overlays fail in the first."""
    me = os.geteuid()
    return [state / "run", Path(f"/dev/shm/envolve-{me}"), Path(tempfile.gettempdir()) / f"envolve-{me}"]  # noqa: S108


def make_run_directory(root: Path) -> RunDirectory:
    """Makes this process's run directory below `root`.

    Raises:
        SandboxUnavailableError: The folder cannot be written, or is another user's.
    """
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = root.lstat()
        if status.st_uid != os.geteuid() or root.is_symlink():
            raise SandboxUnavailableError(f"{root} belongs to another user; set ENVOLVE_STATE to a folder of your own")
        path = root / secrets.token_hex(4)
        path.mkdir(mode=0o700)
        (path / OWNER_FILE).write_text(json.dumps({"pid": os.getpid(), "start": start_time(os.getpid())}))
    except OSError as error:
        raise SandboxUnavailableError(
            f"{root}: {error.strerror}; set ENVOLVE_STATE to a folder you can write"
        ) from error
    return RunDirectory(path)


def start_time(pid: int) -> str:
    """When a process started, in ticks since this boot, with the boot's id; "" when there is none of that number."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
    return "" if fields[0] == b"Z" else f"{int(fields[19])}@{boot}"


def parent_of(pid: int) -> int:
    """The parent's process id; 0 when there is no such process."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    except OSError:
        return 0


def dead_run_directories(roots: list[Path]) -> list[Path]:
    """Run directories whose process is dead."""
    dead: list[Path] = []
    for root in roots:
        if not root.is_dir() or root.lstat().st_uid != os.geteuid():
            continue
        dead += [path for path in sorted(root.iterdir()) if path.is_dir() and not _is_owned(path)]
    return dead


def owner_of(run: Path) -> int:
    """The process id in a run directory's owner file; 0 when it cannot be read."""
    try:
        return int(json.loads((run / OWNER_FILE).read_text())["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def _is_owned(path: Path) -> bool:
    try:
        owner = json.loads((path / OWNER_FILE).read_text())
        return start_time(int(owner["pid"])) == str(owner["start"]) != ""
    except (OSError, ValueError, KeyError, TypeError):
        # Half made or half removed: a process that is just starting wrote it less than a moment ago.
        return _is_young(path)


def _is_young(path: Path) -> bool:
    import time

    try:
        return time.time() - path.stat().st_mtime < 60  # noqa: PLR2004
    except OSError:
        return True


def kill_orphans(run: Path) -> None:
    """Kills what still runs in sandboxes of a dead run directory, and waits until it is gone."""
    for _ in range(_KILL_PASSES):
        handles = _kill_once(run)
        for handle in handles:
            select.select([handle], [], [], _KILL_SECONDS)
            os.close(handle)
        if not handles:
            return


def _kill_once(run: Path) -> list[int]:
    """Kills the processes whose mounts lie in a run directory, and each `bwrap` told to use it."""
    needle = f"upperdir=/oldroot{run}/".encode()
    killed = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            handle = os.pidfd_open(int(entry.name))
        except OSError:
            continue
        try:
            if needle in (entry / "mountinfo").read_bytes() or _mentions(entry, run):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                killed.append(handle)
                continue
        except OSError:  # gone, or another user's
            pass
        os.close(handle)
    return killed


def _mentions(process: Path, run: Path) -> bool:
    """Whether it is a `bwrap` that was told to use the run directory."""
    arguments = (process / "cmdline").read_bytes()
    name = arguments.partition(b"\0")[0].rpartition(b"/")[2]
    return name == b"bwrap" and f"{run}/".encode() in arguments
