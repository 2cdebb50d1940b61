"""Clean-up: `stop`, `close`, cancellation and a killed process leave nothing behind that `sweep` does not remove."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import psutil

from sandbox.conformance.background import is_still, works_after
from sandbox.conformance.checks import check, expect, expect_equal, expect_error
from sandbox.conformance.stage import gone, processes_with
from sandbox.errors import SandboxError, SandboxLostError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from sandbox.conformance.stage import Stage

_ORPHANS = 3
_ROUNDS = 3
_START_SECONDS = 100.0


def _sleeper(mark: str) -> list[str]:
    """Leaves a process in the background whose arguments hold `mark`."""
    script = (
        "import subprocess, sys; sleep = [sys.executable, '-c', 'import time; time.sleep(3600)', *sys.argv[1:]]; "
        "subprocess.Popen(sleep, stdout=-3, stderr=-3, start_new_session=True)"
    )
    return ["python3", "-c", script, mark]


@check("cleanup.stop_twice", "`stop` may be called twice, and at once, and never raises.")
async def stop_twice(stage: Stage) -> None:
    """Stops one sandbox three times."""
    sandbox = await stage.start()
    await asyncio.gather(sandbox.stop(), sandbox.stop())
    await sandbox.stop()


@check("cleanup.after_stop", "Whatever is asked of a stopped sandbox raises SandboxLostError.")
async def use_after_stop(stage: Stage) -> None:
    """Calls every method."""
    sandbox = await stage.start()
    await sandbox.stop()
    (stage.folder / "file").write_text("x")
    calls: dict[str, Callable[[], Coroutine[None, None, object]]] = {
        "exec": lambda: sandbox.exec("true"),
        "read_file": lambda: sandbox.read_file("/etc/passwd"),
        "write_file": lambda: sandbox.write_file(f"{stage.place}/x", b""),
        "upload": lambda: sandbox.upload(stage.folder / "file", f"{stage.place}/x"),
        "download": lambda: sandbox.download("/etc/passwd", stage.folder / "y"),
        "remake_directory": lambda: sandbox.remake_directory(f"{stage.place}/x"),
        "remove": lambda: sandbox.remove(f"{stage.place}/x"),
        "pack": lambda: sandbox.pack([f"{stage.place}/x"], stage.folder / "z.tar"),
        "kill_processes": sandbox.kill_processes,
    }
    if stage.capabilities.snapshot:
        calls["snapshot"] = sandbox.snapshot
    for name, call in calls.items():
        await expect_error(call(), SandboxLostError, f"{name} after stop", "look first whether it is stopped")


@check("cleanup.stop_under_exec", "A command under which its sandbox is stopped raises SandboxLostError, soon.")
async def stop_under_a_command(stage: Stage) -> None:
    """Stops while one runs."""
    sandbox = await stage.start()
    running = asyncio.create_task(sandbox.exec("sleep 300", timeout=200))
    await asyncio.sleep(1)
    await sandbox.stop()

    async def soon() -> object:
        async with asyncio.timeout(60):
            return await running

    await expect_error(soon(), SandboxLostError, "a command whose sandbox was stopped", "tell it from an exit status")


@check("cleanup.processes", "After `stop` no process is left, whatever a command started.")
async def no_process_is_left(stage: Stage) -> None:
    """Leaves background processes and looks for them, and for children of this process."""
    mark = f"envolve-mark-{secrets.token_hex(6)}"
    await _leave(stage, mark)
    await asyncio.sleep(1)
    before = _children()
    await _leave(stage, mark)
    expect(await gone(mark), "no process of a stopped sandbox", processes_with(mark), "kill all before stop returns")
    settled = await _settled(lambda: _children() <= before)
    expect(settled, f"{before} child processes as before", _children(), "wait for what you started")


@check("cleanup.descriptors", "Sandboxes that are started, used and stopped leave no open file.")
async def no_descriptor_is_left(stage: Stage) -> None:
    """Counts this process's descriptors after some and after twice as many."""
    await _use(stage, _ROUNDS)
    before = psutil.Process().num_fds()
    await _use(stage, _ROUNDS * 2)
    settled = await _settled(lambda: psutil.Process().num_fds() <= before + 1)
    got = f"{psutil.Process().num_fds()} open files, {before} before"
    expect(settled, "as many as before", got, "close pipes, sockets and process descriptors in `stop`")


@check("cleanup.cancelled_exec", "A command that is cancelled is killed with all it started; the sandbox works on.")
async def cancelled_command(stage: Stage) -> None:
    """Cancels a command that writes all the time."""
    async with stage.sandbox() as sandbox:
        file = f"{stage.place}/beat"
        loop = f"while :; do echo . >>{file}; sleep 0.05; done"
        running = asyncio.create_task(sandbox.exec(f"({loop}) >/dev/null 2>&1 & {loop}"))
        await asyncio.sleep(1.5)
        running.cancel()
        await asyncio.wait({running}, timeout=60)
        expect(
            running.cancelled(), "the call to end as cancelled", running, "let CancelledError through, after the kill"
        )
        expect(
            await is_still(sandbox, file), "no process that goes on", "one that does", "kill, shielded, then re-raise"
        )
        await works_after(sandbox, "a cancelled command")


@check("cleanup.cancelled_start", "A start that is cancelled leaves nothing, and the back end works on.")
async def cancelled_start(stage: Stage) -> None:
    """Cancels starts at different moments."""
    backend = stage.subject.make()
    try:
        first = await backend.start(stage.image, network=stage.network)
        await first.stop()
        await asyncio.sleep(1)
        before = _children()
        for delay in (0.0, 0.003, 0.01, 0.03, 0.1, 0.3):
            starting = asyncio.create_task(backend.start(stage.image, network=stage.network))
            await asyncio.sleep(delay)
            starting.cancel()
            done = await asyncio.gather(starting, return_exceptions=True)
            if not isinstance(done[0], BaseException):
                await done[0].stop()
            elif not isinstance(done[0], asyncio.CancelledError):
                raise done[0]
        settled = await _settled(lambda: _children() <= before)
        expect(settled, f"{before} child processes as before", _children(), "undo a start that is cancelled")
        second = await backend.start(stage.image, network=stage.network)
        await works_after(second, "cancelled starts")
    finally:
        await backend.close()
    listed = {one.name for one in await stage.backend.stale()}
    await stage.backend.sweep()
    expect(not listed & {first.id, second.id}, "nothing of a closed back end to be stale", listed, "remove it in close")


@check("cleanup.close", "`close` stops every sandbox and may be called twice; after it nothing of them is left.")
async def close_stops_all(stage: Stage) -> None:
    """Closes a back end with two running sandboxes."""
    mark = f"envolve-mark-{secrets.token_hex(6)}"
    backend = stage.subject.make()
    sandboxes = [await backend.start(stage.image, network=stage.network) for _ in range(2)]
    for sandbox in sandboxes:
        await sandbox.exec(_sleeper(mark), cwd="/")
    await backend.close()
    await backend.close()
    expect(await gone(mark), "no process left", processes_with(mark), "stop every sandbox in close")
    for sandbox in sandboxes:
        await expect_error(sandbox.exec("true"), SandboxError, "exec after close", "its sandboxes are stopped")
        await sandbox.stop()


@check("cleanup.living", "What a living process owns is neither listed by `stale` nor harmed by `sweep`.")
async def the_living_are_left_alone(stage: Stage) -> None:
    """Another process starts sandboxes and lives on."""
    mark = f"envolve-mark-{secrets.token_hex(6)}"
    process, names = await _start_orphans(stage, mark)
    try:
        seen = processes_with(mark)
        listed = {one.name for one in await stage.backend.stale()}
        expect(not listed & set(names), "no sandbox of a living process", sorted(listed), "ask whether its owner lives")
        await stage.backend.sweep()
        expect_equal(_alive(seen), seen, "its processes after a sweep to be", "leave what a living process owns")
    finally:
        process.kill()
        await process.wait()
        await stage.backend.sweep()


@check("cleanup.killed", "What a killed process left is listed by `stale`, removed by `sweep`, and nothing of it runs.")
async def after_sigkill(stage: Stage) -> None:
    """Another process starts three sandboxes and is killed by SIGKILL."""
    for attempt in range(1, _ROUNDS + 1):
        mark = f"envolve-mark-{secrets.token_hex(6)}"
        process, names = await _start_orphans(stage, mark)
        process.kill()
        await process.wait()
        listed = [one for one in await stage.backend.stale() if one.name in names or one.kind == "sandbox"]
        if not listed and attempt < _ROUNDS and await gone(mark, seconds=5):
            continue  # another process of this machine may have swept in between: try again
        remedy = "label what you start with its owner's process id and start time"
        expect(len(listed) >= _ORPHANS, f"{_ORPHANS} sandboxes of a dead process", [one.name for one in listed], remedy)
        swept = await stage.backend.sweep()
        expect(swept >= _ORPHANS, f"sweep to return at least {_ORPHANS}", swept, "count the sandboxes it removes")
        left = [one.name for one in await stage.backend.stale() if one.name in {each.name for each in listed}]
        expect(not left, "nothing of them to be stale any more", left, "remove all that stale lists")
        expect(await gone(mark), "none of their processes alive", processes_with(mark), "kill before you remove")
        return


async def _start_orphans(stage: Stage, mark: str) -> tuple[asyncio.subprocess.Process, list[str]]:
    """A process with sandboxes of its own, and their ids."""
    arguments = ("-m", "sandbox.conformance.orphan", stage.subject.dumped(), mark, str(_ORPHANS))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=stage.child_env(),
    )
    assert process.stdout is not None  # noqa: S101 - a pipe was asked for
    assert process.stderr is not None  # noqa: S101 - likewise
    line = b""
    try:
        async with asyncio.timeout(_START_SECONDS):
            line = await process.stdout.readline()
    except TimeoutError:
        process.kill()
    if not line:
        said = (await process.stderr.read()).decode("utf-8", "replace")[-1000:]
        expect(False, f"another process to start {_ORPHANS} sandboxes", said or "nothing", "look at what it says")
    names: list[str] = json.loads(line)
    return process, names


async def _use(stage: Stage, count: int) -> None:
    for _ in range(count):
        async with stage.sandbox() as sandbox:
            await sandbox.exec("cat", stdin=b"x")
            await sandbox.exec("sleep 300 & echo x")
            await sandbox.exec("sleep 300", timeout=0.5)
            await sandbox.read_file("/etc/passwd")


async def _leave(stage: Stage, mark: str) -> None:
    """Starts some sandboxes, leaves a process in each, and stops them at once."""
    sandboxes = [await stage.start() for _ in range(_ROUNDS)]
    for sandbox in sandboxes:
        await sandbox.exec(_sleeper(mark), cwd="/")
    await asyncio.gather(*(sandbox.stop() for sandbox in sandboxes))


def _children() -> int:
    """How many living child processes this one has, theirs included; a back end may keep some ready."""
    living = 0
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            living += child.status() != psutil.STATUS_ZOMBIE
    return living


def _alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if psutil.pid_exists(pid)]


async def _settled(holds: Callable[[], bool], *, seconds: float = 15.0) -> bool:
    """Waits until something holds; false when it never does."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while not holds():
        if loop.time() > until:
            return False
        await asyncio.sleep(0.1)
    return True
