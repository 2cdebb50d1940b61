"""The kill of one command: certain, and of that command alone."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

import psutil
import pytest
import pytest_asyncio

from sandbox.bubblewrap import wire
from sandbox.bubblewrap.client import Answer
from sandbox.bubblewrap.command import Place, kill_command
from sandbox.protocol import Limits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sandbox.bubblewrap.sandbox import BubblewrapSandbox
    from sandbox.protocol import Image, Sandbox
    from sandbox.sandboxes import Sandboxes

pytestmark = pytest.mark.asyncio(loop_scope="session")

DAEMON = """
import os, signal, sys, time
if os.fork():
    os._exit(0)
os.setsid()
count = 0
while True:
    {step}
    count += 1
    if count % 20 == 0:
        with open(sys.argv[1], "a") as file:
            file.write(".")
"""
HOPPER = DAEMON.format(step="os.fork() and os._exit(0); time.sleep(0.001)")
TIGHT = DAEMON.format(step="os.fork() and os._exit(0)")
WAKER = DAEMON.format(step="os.kill(-1, signal.SIGCONT); os.fork() and os._exit(0)")
BRANCHING = """
import os, sys
if os.fork():
    os._exit(0)
os.setsid()
while True:
    try:
        if os.fork():
            os.fork()
            os._exit(0)
        with open(sys.argv[1], "a") as file:
            file.write(".")
    except OSError:
        pass
"""


@pytest_asyncio.fixture(loop_scope="session")
async def sandbox(sandboxes: Sandboxes, image: Image) -> AsyncIterator[Sandbox]:
    """A fresh sandbox, with room for zombies: a hopper that cannot fork any more would end by itself."""
    async with sandboxes.running(image, limits=Limits(memory_mb=512, processes=2000, timeout=60)) as running:
        yield running


async def is_still(sandbox: Sandbox) -> bool:
    """Whether nothing writes to `/tmp/beat` any more, after something has; a look at /proc could miss a hopper."""
    size = "test -s /tmp/beat && stat -c %s /tmp/beat"
    before = await sandbox.exec(size)
    await asyncio.sleep(0.5)
    return before.ok and (await sandbox.exec(size)).text == before.text


@pytest.mark.parametrize("program", [HOPPER, TIGHT, WAKER, BRANCHING], ids=["hopper", "tight", "waker", "branching"])
async def test_what_forks_and_ends_all_the_time_dies_with_the_command(sandbox: Sandbox, program: str) -> None:
    await sandbox.write_file("/tmp/endless.py", program.encode())
    several = "for _ in 1 2 3 4 5 6; do python3 /tmp/endless.py /tmp/beat; done; sleep 300"
    result = await sandbox.exec(several, timeout=2)
    assert result.timed_out
    assert await is_still(sandbox)


async def test_several_that_run_out_of_time_at_once_all_die(sandbox: Sandbox) -> None:
    await sandbox.write_file("/tmp/endless.py", HOPPER.encode())
    command = "python3 /tmp/endless.py /tmp/beat; sleep 300"
    results = await asyncio.gather(*(sandbox.exec(command, timeout=1) for _ in range(3)))
    assert all(result.timed_out for result in results)
    assert await is_still(sandbox)


async def test_other_commands_of_the_sandbox_go_on(sandbox: Sandbox) -> None:
    await sandbox.write_file("/tmp/endless.py", HOPPER.encode())
    await sandbox.exec("nohup bash -c 'while :; do echo . >>/tmp/background; sleep 0.05; done' >/dev/null 2>&1 &")
    waiting = "until test -e /tmp/end; do sleep 0.05; done; echo ended"
    other = asyncio.create_task(sandbox.exec(waiting))
    assert (await sandbox.exec("python3 /tmp/endless.py /tmp/beat; sleep 300", timeout=1)).timed_out
    size = "stat -c %s /tmp/background"
    before = int((await sandbox.exec(size)).text)
    grown = f"until test $({size}) -gt {before}; do sleep 0.05; done"
    assert (await sandbox.exec(grown, timeout=30)).ok
    await sandbox.write_file("/tmp/end", b"")
    result = await other
    assert (result.stdout, result.stderr, result.exit_code) == (b"ended\n", b"", 0)


async def test_a_command_cancelled_at_its_start_leaves_the_others_alone(sandbox: Sandbox) -> None:
    await sandbox.exec("sleep 3600 >/dev/null 2>&1 & echo $! >/tmp/number")
    for _ in range(10):
        running = asyncio.create_task(sandbox.exec("no-such-program"))
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait({running})
    assert (await sandbox.exec("kill -0 $(cat /tmp/number)")).ok


async def test_a_command_that_is_over_before_its_keeper_is_told_takes_nobody_with_it(
    sandbox: BubblewrapSandbox,
) -> None:
    """Both are told by a process of their own, and either may be first."""
    await sandbox.exec("sleep 3600 >/dev/null 2>&1 & echo $! >/tmp/number")
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    wire.report(theirs.fileno(), exit=127, over=True)
    wire.report(theirs.fileno(), keeper=1 << 22)
    theirs.close()
    answer = Answer(ours)
    place = Place(sandbox.parts.launcher, {"init": sandbox.parts.init}, {})
    await kill_command(place, None, answer)
    answer.close()
    assert (await sandbox.exec("kill -0 $(cat /tmp/number)")).ok


async def test_a_keeper_killed_from_inside_takes_what_it_watched_with_it(sandbox: Sandbox) -> None:
    await sandbox.write_file("/tmp/endless.py", HOPPER.encode())
    result = await sandbox.exec(
        "python3 /tmp/endless.py /tmp/beat; until test -s /tmp/beat; do :; done; kill -9 $PPID; sleep 300", timeout=30
    )
    assert not result.timed_out
    assert await is_still(sandbox)


async def test_starts_that_are_cancelled_leave_no_child(sandboxes: Sandboxes, image: Image) -> None:
    def starters() -> set[int]:
        return {child.pid for child in psutil.Process().children(recursive=True) if child.name() == "bwrap"}

    before = starters()
    for steps in range(1, 12):
        starting = asyncio.create_task(sandboxes.backend.start(image))
        for _ in range(steps):  # of the event loop: the request to `bwrap` goes out in one of the first
            await asyncio.sleep(0)
        starting.cancel()
        await asyncio.wait({starting})
        if not starting.cancelled():
            await (await starting).stop()
    assert starters() <= before
