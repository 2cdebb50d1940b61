"""Changes: `changed_files` tells from outside what differs from the image."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from sandbox.conformance.background import put_program
from sandbox.conformance.checks import check, expect, expect_equal
from sandbox.conformance.stage import offered

if TYPE_CHECKING:
    from sandbox.conformance.stage import Stage
    from sandbox.protocol import Sandbox

_HOME = "/tmp/envolve-conformance"  # noqa: S108 - inside, as in the built-in task's Dockerfile
_MOVED = f"{_HOME}-moved"


async def _changes(sandbox: Sandbox, *under: str) -> list[tuple[str, str]]:
    """Path and kind of each change."""
    found = await offered("changed_files", sandbox.changed_files(under or ("/",)))
    return [(change.path, change.kind) for change in found]


@check("changes.none", "A fresh sandbox differs from its image in nothing.", needs=("isolation",))
async def nothing_changed(stage: Stage) -> None:
    """Looks before any command ran."""
    sandbox = await stage.start()
    try:
        found = await _changes(sandbox)
        expect_equal(found, [], "the changes to be", "leave out what the back end itself puts in")
        result = await sandbox.exec("ls / /usr/bin >/dev/null; cat /etc/passwd >/dev/null")
        expect(result.ok, "reading to work", result.error_text, "see exec")
        expect_equal(await _changes(sandbox), [], "the changes after reading to be", "reading changes nothing")
    finally:
        await sandbox.stop()


@check(
    "changes.kinds",
    "Files that were added, changed and removed are told as such, sorted by path.",
    needs=("isolation",),
)
async def kinds(stage: Stage) -> None:
    """Does one of each."""
    async with stage.sandbox() as sandbox:
        await sandbox.exec("echo more >>plain.txt; rm run.sh; mkdir -p new/sub; echo x >new/sub/file; ln -s x new/link")
        found = [(path, kind) for path, kind in await _changes(sandbox, _HOME) if not path.startswith(stage.place)]
        wanted = [
            (f"{_HOME}/new", "added"),
            (f"{_HOME}/new/link", "added"),
            (f"{_HOME}/new/sub", "added"),
            (f"{_HOME}/new/sub/file", "added"),
            (f"{_HOME}/plain.txt", "changed"),
            (f"{_HOME}/run.sh", "removed"),
        ]
        _same(found, wanted)


@check(
    "changes.rename", "A renamed file is one removed and one added; a folder too, with all in it.", needs=("isolation",)
)
async def renamed(stage: Stage) -> None:
    """Renames a file of the image and then the folder it lies in."""
    async with stage.sandbox() as sandbox:
        await sandbox.exec("mv plain.txt other.txt")
        found = [(path, kind) for path, kind in await _changes(sandbox, _HOME) if not path.startswith(stage.place)]
        _same(found, [(f"{_HOME}/other.txt", "added"), (f"{_HOME}/plain.txt", "removed")])
        await sandbox.exec(f"mv {_HOME} {_MOVED}", cwd="/")
        found = await _changes(sandbox, posixpath.dirname(_HOME))
        there = {
            path: kind for path, kind in found if not path.startswith(f"{_MOVED}/{stage.place.rpartition('/')[2]}")
        }
        for path, kind in ((_HOME, "removed"), (_MOVED, "added"), (f"{_MOVED}/run.sh", "added")):
            expect_equal(there.get(path), kind, f"{path} to be told as", "a rename is a removal and an addition")


@check("changes.replaced_folder", "A folder that was removed and made again tells what it lost.", needs=("isolation",))
async def replaced_folder(stage: Stage) -> None:
    """Removes a folder of the image and makes another of the same name."""
    async with stage.sandbox() as sandbox:
        await sandbox.exec(f"rm -rf {_HOME}; mkdir {_HOME}; echo x >{_HOME}/fresh", cwd="/")
        found = dict(await _changes(sandbox, _HOME))
        for name, kind in (("fresh", "added"), ("plain.txt", "removed"), ("run.sh", "removed")):
            expect_equal(found.get(f"{_HOME}/{name}"), kind, f"{name} to be told as", "mind opaque folders")


@check(
    "changes.kind_of_file",
    "A file that became a folder or a link is told; so is a mode that was changed.",
    needs=("isolation",),
)
async def other_kind(stage: Stage) -> None:
    """Swaps one file for a folder and another's mode."""
    async with stage.sandbox() as sandbox:
        await sandbox.exec("rm plain.txt; mkdir plain.txt; touch plain.txt/in; chmod 600 run.sh")
        found = dict(await _changes(sandbox, _HOME))
        expect(found.get(f"{_HOME}/plain.txt"), "the new folder to be told", found, "compare kinds")
        expect_equal(found.get(f"{_HOME}/plain.txt/in"), "added", "what is in it to be", "follow added folders")
        expect_equal(found.get(f"{_HOME}/run.sh"), "changed", "the other mode to be told as", "compare permissions")


@check("changes.under", "`changed_files` tells of the paths it is asked for, and of no others.", needs=("isolation",))
async def under(stage: Stage) -> None:
    """Changes files at two places and asks for one, for a single file, and for what is not there."""
    async with stage.sandbox() as sandbox:
        await sandbox.exec("mkdir -p /srv/one /srv/oneself; touch /srv/one/a /srv/oneself/b /opt/c", cwd="/")
        _same(await _changes(sandbox, "/srv/one"), [("/srv/one", "added"), ("/srv/one/a", "added")])
        _same(await _changes(sandbox, "/opt/c", "/srv/one/a"), [("/opt/c", "added"), ("/srv/one/a", "added")])
        _same(await _changes(sandbox, "/srv/nothing"), [])


@check("changes.hostile", "No program in the sandbox is asked: shims that lie change nothing.", needs=("isolation",))
async def hostile_programs(stage: Stage) -> None:
    """Puts lying programs in front of PATH first."""
    async with stage.sandbox() as sandbox:
        await sandbox.exec(["python3", await put_program(stage, sandbox, "hostile_shims")])
        await sandbox.write_file("/srv/hidden", b"x")
        found = dict(await _changes(sandbox))
        for path in ("/srv/hidden", "/usr/local/bin/find", "/usr/local/bin/python3"):
            expect_equal(
                found.get(path), "added", f"{path} to be told as", "look from outside: overlay, diff, snapshot"
            )


def _same(found: list[tuple[str, str]], wanted: list[tuple[str, str]]) -> None:
    expect_equal(found, wanted, "the changes to be", "compare with the image, sort by path")
