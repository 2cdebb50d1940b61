"""The root of the `host` base around this machine's /usr: written by us, with public bits of /etc and nothing else."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from sandbox.bubblewrap.arguments import HOSTNAME, OTHER_HOSTNAMES
from sandbox.errors import SandboxUnavailableError

MOMENT = 1_735_689_600
_MAX_FILE = 4 << 20
_MAX_DEPTH = 4
_OWNED_DEPTH = 3

# Name, id, home, shell: the accounts of a Debian system. A group of the same name and number for each.
_ACCOUNTS = (
    ("root", 0, "/root", "/bin/bash"),
    ("daemon", 1, "/usr/sbin", ""),
    ("bin", 2, "/bin", ""),
    ("sys", 3, "/dev", ""),
    ("games", 5, "/usr/games", ""),
    ("man", 6, "/var/cache/man", ""),
    ("lp", 7, "/var/spool/lpd", ""),
    ("mail", 8, "/var/mail", ""),
    ("www-data", 33, "/var/www", ""),
    ("backup", 34, "/var/backups", ""),
    ("nobody", 65534, "/nonexistent", ""),
)
_GROUPS = (("adm", 4), ("tty", 5), ("disk", 6), ("sudo", 27), ("shadow", 42), ("staff", 50), ("users", 100))
_NO_LOGIN = "/usr/sbin/nologin"

# What is copied from /etc where all may read it: how programs of /usr find their parts, no setting of this machine.
_PUBLIC = (
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "debian_version",
    "fonts",
    "inputrc",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "login.defs",
    "magic",
    "magic.mime",
    "mime.types",
    "os-release",
    "pam.conf",
    "pam.d",
    "perl",
    "pki/ca-trust/extracted",
    "pki/tls/certs",
    "profile",
    "protocols",
    "python3",
    "rpc",
    "security/limits.conf",
    "services",
    "skel",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
)
_FOLDERS = {
    **dict.fromkeys(("dev", "proc", "sys", "usr", "etc", "home", "opt", "srv", "mnt", "media", "boot"), 0o755),
    **dict.fromkeys(
        ("app", "run", "run/lock", "var", "var/cache", "var/lib", "var/log", "var/spool", "var/mail"), 0o755
    ),
    "root": 0o700,
    "tmp": 0o1777,
    "var/tmp": 0o1777,
}


@dataclass(frozen=True, slots=True)
class Item:
    """A file (`content`), a link (`link`) or a folder (neither)."""

    mode: int = 0o644
    content: bytes | None = None
    link: str = ""


def host_items(etc: Path = Path("/etc"), root: Path = Path("/")) -> dict[str, Item]:
    """Everything the skeleton holds, by path, parents first."""
    items = {path: Item(mode) for path, mode in _FOLDERS.items()}
    for name in _PUBLIC:
        _copy_public(etc / name, f"etc/{name}", items, _MAX_DEPTH)
    items.update(_written())
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        place = root / name
        if place.is_symlink():
            items[name] = Item(link=os.readlink(place).lstrip("/"))
        elif place.is_dir():
            items[name] = Item(0o755)
    for path in list(items):
        parent = path.rpartition("/")[0]
        while parent:
            items.setdefault(parent, Item(0o755))
            parent = parent.rpartition("/")[0]
    return dict(sorted(items.items()))


def writable_folders(folder: Path) -> dict[str, Item]:
    """The upper folders of a tree that belongs to somebody else, and all of `local`.

    A layer of them makes them root's own inside, so that files can be added and replaced there; the files themselves
    stay what they are.
    """
    items: dict[str, Item] = {}
    waiting = [folder]
    while waiting:
        at = waiting.pop()
        try:
            below = sorted(path for path in at.iterdir() if path.is_dir() and not path.is_symlink())
        except OSError:
            continue
        for path in below:
            relative = path.relative_to(folder)
            items[str(relative)] = Item(stat.S_IMODE(path.stat().st_mode))
            if len(relative.parts) < _OWNED_DEPTH or relative.parts[0] == "local":
                waiting.append(path)
    return dict(sorted(items.items()))


def unmerged_folders(root: Path = Path("/")) -> list[str]:
    """Folders beside /usr that hold programs and libraries, on systems where they are no links into it."""
    names = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
    return [f"/{name}" for name in names if (root / name).is_dir() and not (root / name).is_symlink()]


def digest(items: dict[str, Item]) -> str:
    """A short digest of a skeleton."""
    rows = [
        [path, item.mode, item.link, None if item.content is None else hashlib.sha256(item.content).hexdigest()]
        for path, item in items.items()
    ]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]


def write(items: dict[str, Item], target: Path) -> None:
    """Writes a skeleton into an empty folder."""
    for path, item in items.items():
        place = target / path
        if item.link:
            place.symlink_to(item.link)
        elif item.content is not None:
            place.write_bytes(item.content)
            place.chmod(item.mode)
        else:
            place.mkdir()
    for path, item in reversed(items.items()):
        if not item.link:
            (target / path).chmod(item.mode)
        os.utime(target / path, (MOMENT, MOMENT), follow_symlinks=False)
    os.utime(target, (MOMENT, MOMENT))


def check_host(root: Path = Path("/")) -> None:
    """Checks that this machine can serve as a base.

    Raises:
        SandboxUnavailableError: It has no bash where every Linux has it.
    """
    if not any((root / place).exists() for place in ("usr/bin/bash", "bin/bash")):
        raise SandboxUnavailableError(
            "the host base needs /usr/bin/bash or /bin/bash, and this machine has neither: map images to a root folder "
            "(--base IMAGE=DIR)"
        )


def _copy_public(source: Path, path: str, items: dict[str, Item], depth: int) -> None:
    try:
        status = source.lstat()
        if stat.S_ISLNK(status.st_mode):
            items[path] = Item(link=os.readlink(source))
        elif stat.S_ISDIR(status.st_mode) and depth and status.st_mode & stat.S_IROTH:
            items[path] = Item(0o755)
            for below in sorted(source.iterdir()):
                _copy_public(below, f"{path}/{below.name}", items, depth - 1)
        elif stat.S_ISREG(status.st_mode) and status.st_mode & stat.S_IROTH and status.st_size <= _MAX_FILE:
            items[path] = Item(0o755 if status.st_mode & 0o111 else 0o644, source.read_bytes())
    except OSError:  # not there, or not for us: it is not for a sandbox either
        return


def _written() -> dict[str, Item]:
    passwd = [f"{name}:x:{uid}:{uid}::{home}:{shell or _NO_LOGIN}" for name, uid, home, shell in _ACCOUNTS]
    groups = [f"{'nogroup' if name == 'nobody' else name}:x:{uid}:" for name, uid, _home, _shell in _ACCOUNTS]
    groups += [f"{name}:x:{gid}:" for name, gid in _GROUPS if name not in ("tty", "disk")]
    shadow = [f"{name}:*:20000:0:99999:7:::" for name, *_rest in _ACCOUNTS]
    texts = {
        "etc/passwd": passwd,
        "etc/group": groups,
        "etc/hostname": [HOSTNAME],
        "etc/hosts": [
            "127.0.0.1 localhost",
            "::1 localhost ip6-localhost",
            f"127.0.1.1 {' '.join((HOSTNAME, *OTHER_HOSTNAMES))}",
        ],
        "etc/nsswitch.conf": ["passwd: files", "group: files", "shadow: files", "hosts: files dns", "services: files"],
        "etc/resolv.conf": [],
        "etc/timezone": ["Etc/UTC"],
        "etc/machine-id": [],
    }
    items = {path: Item(0o644, "".join(f"{line}\n" for line in lines).encode()) for path, lines in texts.items()}
    items["etc/shadow"] = Item(0o640, "".join(f"{line}\n" for line in shadow).encode())
    items["etc/localtime"] = Item(link="/usr/share/zoneinfo/Etc/UTC")
    items["etc/mtab"] = Item(link="../proc/self/mounts")
    items["var/run"] = Item(link="/run")
    items["var/lock"] = Item(link="/run/lock")
    return items
