"""Snapshots: a fork has the files as they were, is apart from what it was forked from, and many can be made."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sandbox.conformance.background import put_program
from sandbox.conformance.checks import check, expect, expect_equal, expect_error
from sandbox.conformance.stage import LIMITS
from sandbox.errors import SandboxError, UnsupportedTaskError
from sandbox.protocol import Snapshot
from sandbox.siblings import fork, fresh

if TYPE_CHECKING:
    from sandbox.conformance.stage import Stage

_NEEDS = ("snapshot", "isolation")


@check("snapshots.refused", "A back end without snapshots refuses with UnsupportedTaskError.", lacks=("snapshot",))
async def refused(stage: Stage) -> None:
    """Asks for one."""
    async with stage.sandbox() as sandbox:
        await expect_error(sandbox.snapshot(), UnsupportedTaskError, "snapshot", "say that there are none")


@check(
    "snapshots.fork", "A fork sees the files as they were: added, changed, removed, with modes and links.", needs=_NEEDS
)
async def fork_sees_files(stage: Stage) -> None:
    """Changes files, also of the image, and looks in a fork."""
    setup = "echo more >>plain.txt; rm run.sh; mkdir -p /srv/d; echo x >/srv/d/f; chmod 600 /srv/d/f; ln -s f /srv/d/l"
    look = "tail -n 1 plain.txt; [ -e run.sh ] || echo gone; cat /srv/d/l; stat -c %a /srv/d/f"
    async with stage.sandbox() as sandbox:
        await sandbox.exec(setup)
        async with fork(sandbox) as copy:
            result = await copy.exec(look)
            expect_equal(result.text, "more\ngone\nx\n600\n", "the fork to show", "freeze the files, removals too")
            got = (copy.image, copy.limits, copy.network)
            expect_equal(got, (stage.image, LIMITS, stage.network), "image, limits and network to be", "as asked for")


@check(
    "snapshots.apart",
    "What a fork writes is not seen by its origin, nor the other way, nor by another fork.",
    needs=_NEEDS,
)
async def forks_are_apart(stage: Stage) -> None:
    """Writes in origin and two forks at once."""
    async with stage.sandbox() as sandbox:
        await sandbox.exec("echo old >/srv/file")
        snapshot = await sandbox.snapshot()
        await sandbox.exec("echo later >/srv/file; touch /srv/later")
        starts = (stage.start(origin=snapshot), stage.start(origin=snapshot))
        one, two = await asyncio.gather(*starts)
        try:
            seen = [(await each.exec("cat /srv/file; ls /srv")).text for each in (one, two)]
            expect_equal(seen, ["old\nfile\n"] * 2, "both forks to show", "a snapshot is frozen when it is made")
            writes = ((sandbox, "origin"), (one, "one"), (two, "two"))
            await asyncio.gather(*(each.exec(f"echo {name} >/srv/file; touch /srv/{name}") for each, name in writes))
            seen = [(await each.exec("cat /srv/file; ls /srv")).text for each in (sandbox, one, two)]
            wanted = ["origin\nfile\nlater\norigin\n", "one\nfile\none\n", "two\nfile\ntwo\n"]
            expect_equal(seen, wanted, "each to show its own", "give every fork a layer of its own to write to")
        finally:
            await asyncio.gather(one.stop(), two.stop())
            await stage.backend.discard(snapshot)


@check("snapshots.of_fork", "A fork can be snapshotted again, and keeps what its origin had.", needs=_NEEDS)
async def snapshot_of_a_fork(stage: Stage) -> None:
    """Forks three deep, the last after its origins are gone."""
    async with stage.sandbox() as sandbox:
        await sandbox.exec("touch /srv/1 /srv/gone")
        first = await sandbox.snapshot()
    one = await stage.start(origin=first)
    await one.exec("touch /srv/2; rm /srv/gone")
    second = await one.snapshot()
    await one.stop()
    await stage.backend.discard(first)
    two = await stage.start(origin=second)
    try:
        result = await two.exec("ls /srv")
        expect_equal(result.text, "1\n2\n", "the fork of the fork to show", "a snapshot stands by itself")
    finally:
        await two.stop()
        await stage.backend.discard(second)


@check("snapshots.processes", "No process is copied, and none of the origin is harmed.", needs=_NEEDS)
async def no_process_is_copied(stage: Stage) -> None:
    """Forks while a daemon runs, and counts."""
    async with stage.sandbox() as sandbox:
        daemon = await put_program(stage, sandbox, "daemon")
        await sandbox.exec(["python3", daemon, f"{stage.place}/beat"])
        async with fork(sandbox) as copy:
            expect_equal(await copy.kill_processes(), 0, "processes in the fork to be", "copy files alone")
        killed = await sandbox.kill_processes()
        expect(killed >= 1, "the origin's daemon to have lived", killed, "leave the origin alone")


@check("snapshots.fresh", "A fresh sandbox of the same image has nothing of the other.", needs=("isolation",))
async def fresh_is_clean(stage: Stage) -> None:
    """Writes, and looks in a fresh one."""
    async with stage.sandbox() as sandbox:
        await sandbox.exec("touch /srv/file; rm run.sh")
        async with fresh(sandbox) as clean:
            result = await clean.exec("ls /srv; ls")
            expect(b"file" not in result.stdout.split(), "an empty /srv", result.text, "start from the image")
            expect(b"run.sh" in result.stdout.split(), "the image's files", result.text, "start from the image")


@check("snapshots.changes", "In a fork, what its origin changed still differs from the image.", needs=_NEEDS)
async def changes_in_a_fork(stage: Stage) -> None:
    """Compares with the image, not with the snapshot."""
    async with stage.sandbox() as sandbox:
        await sandbox.exec("echo x >/srv/file; rm run.sh")
        async with fork(sandbox) as copy:
            await copy.exec("touch /srv/later")
            try:
                found = {change.path: change.kind for change in await copy.changed_files(("/srv", stage.image.workdir))}
            except UnsupportedTaskError:
                return
            wanted = {"/srv/file": "added", "/srv/later": "added", f"{stage.image.workdir}/run.sh": "removed"}
            got = {path: kind for path, kind in found.items() if path in wanted}
            expect_equal(got, wanted, "the changes to be", "the image is what changes are counted from")


@check(
    "snapshots.discard",
    "A discarded snapshot starts nothing more; to discard it twice, or an unknown one, is fine.",
    needs=_NEEDS,
)
async def discard(stage: Stage) -> None:
    """Discards while a sandbox that was started from it lives."""
    async with stage.sandbox() as sandbox:
        await sandbox.exec("echo x >/srv/file")
        snapshot = await sandbox.snapshot()
    copy = await stage.start(origin=snapshot)
    try:
        await stage.backend.discard(snapshot)
        await stage.backend.discard(snapshot)
        await stage.backend.discard(Snapshot("envolve-conformance-unknown", stage.image))
        result = await copy.exec("cat /srv/file")
        expect_equal(result.stdout, b"x\n", "the living fork to show", "free files once nobody uses them")
        await expect_error(stage.start(origin=snapshot), SandboxError, "start of a discarded snapshot", "forget it")
    finally:
        await copy.stop()
