"""Sandboxes that wait: handed out once, replaced when dead, bounded, stopped at the end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from sandbox.conformance.stage import TASK_FOLDER
from sandbox.errors import SandboxError, SandboxLostError
from sandbox.local.backend import LocalBackend
from sandbox.pool import PreparedPool
from sandbox.protocol import Limits, Network, SandboxBackend
from sandbox.sandboxes import Sandboxes
from sandbox.task import Task

if TYPE_CHECKING:
    from sandbox.protocol import Image, Sandbox


@pytest.fixture
def backend(sandboxes: Sandboxes) -> SandboxBackend:
    return sandboxes.backend


@pytest_asyncio.fixture(loop_scope="session")
async def image(sandboxes: Sandboxes) -> Image:
    return await sandboxes.build(Task.read(TASK_FOLDER))


async def use(pool: PreparedPool, image: Image, **more: object) -> None:
    """Starts a sandbox and stops it again."""
    sandbox = await pool.start(image, **more)
    await sandbox.stop()


async def test_a_pool_is_a_back_end(backend: SandboxBackend, image: Image) -> None:
    pool = PreparedPool(backend)
    assert isinstance(pool, SandboxBackend)
    assert await pool.build(Task.read(TASK_FOLDER)) == image
    assert await pool.capabilities() == await backend.capabilities()
    async with Sandboxes(pool).running(image) as sandbox:
        assert (await sandbox.exec("echo works")).text == "works\n"
    await pool.empty()


async def test_what_was_asked_for_twice_is_prepared_ahead(backend: SandboxBackend, image: Image) -> None:
    pool = PreparedPool(backend, ahead=2)
    await use(pool, image)
    assert pool.waiting == 0, "the first of a kind may be its only one"
    await use(pool, image)
    await pool.settled()
    assert pool.waiting == 2
    waiting = {sandbox.id for shelf in pool._shelves.values() for sandbox in shelf.ready}
    given = await pool.start(image)
    assert given.id in waiting
    await pool.settled()
    assert pool.waiting == 2
    await given.stop()
    await pool.empty()


async def test_a_sandbox_is_given_to_one_caller_only(backend: SandboxBackend, image: Image) -> None:
    pool = PreparedPool(backend, ahead=2)
    await use(pool, image)
    given = await asyncio.gather(*(pool.start(image) for _ in range(6)))
    assert len({sandbox.id for sandbox in given}) == 6
    await given[0].exec("touch /srv/mine")
    await given[0].stop()
    with pytest.raises(SandboxLostError):
        await given[0].exec("true")
    others = [*given[1:], await pool.start(image)]
    assert [(await sandbox.exec("ls /srv")).text for sandbox in others] == [""] * 6
    await asyncio.gather(*(sandbox.stop() for sandbox in others), pool.empty())


async def test_limits_and_network_make_another_kind(backend: SandboxBackend, image: Image) -> None:
    pool = PreparedPool(backend, ahead=1)
    limits = Limits(file_size_mb=3)
    for _ in range(2):
        await use(pool, image)
        await use(pool, image, limits=limits)
        await use(pool, image, network=Network("host"))
    await pool.settled()
    assert pool.waiting == 3
    sandbox = await pool.start(image, limits=limits)
    assert (sandbox.limits, sandbox.network, sandbox.image) == (limits, Network(), image)
    other = await pool.start(image, network=Network("host"))
    assert other.network == Network("host")
    await asyncio.gather(sandbox.stop(), other.stop(), pool.empty())


async def test_the_number_that_waits_is_bounded_and_the_oldest_kind_makes_room(
    backend: SandboxBackend, image: Image
) -> None:
    pool = PreparedPool(backend, ahead=2, most=3)
    for size in (1, 2, 3, 4):
        for _ in range(2):
            await use(pool, image, limits=Limits(file_size_mb=size))
        await pool.settled()
        assert pool.waiting <= 3
    kinds = [shelf.limits.file_size_mb for shelf in pool._shelves.values() for _ in shelf.ready]
    assert kinds == [3, 4, 4], "the kinds asked for longest ago have given theirs up"
    await pool.empty()


async def test_one_that_died_while_it_waited_is_replaced(backend: SandboxBackend, image: Image) -> None:
    pool = PreparedPool(backend, ahead=2)
    for _ in range(2):
        await use(pool, image)
    await pool.settled()
    assert pool.waiting == 2
    (shelf,) = pool._shelves.values()
    dead = list(shelf.ready)
    for sandbox in dead:
        await sandbox.stop()
    given = await pool.start(image)
    assert given.id not in {sandbox.id for sandbox in dead}
    assert (await given.exec("echo alive")).text == "alive\n"
    await asyncio.gather(given.stop(), pool.empty())


async def test_empty_stops_those_that_wait_and_those_on_their_way(backend: SandboxBackend, image: Image) -> None:
    pool = PreparedPool(backend, ahead=3)
    await use(pool, image)
    given = await pool.start(image)
    await pool.settled()
    (shelf,) = pool._shelves.values()
    waiting = list(shelf.ready)
    assert len(waiting) == 3
    other = await pool.start(image)  # one more is on its way now
    await pool.empty()
    await pool.empty()
    assert pool.waiting == 0
    for sandbox in {*waiting} - {other}:
        with pytest.raises(SandboxLostError):
            await sandbox.exec("true")
    assert (await given.exec("echo lives on")).text == "lives on\n"
    await asyncio.gather(given.stop(), other.stop())


async def test_close_stops_the_back_end_too() -> None:
    local = LocalBackend(i_am_in_a_sandbox=True)
    pool = PreparedPool(local, ahead=1)
    given = [await pool.start(await local.machine(), network=Network("host")) for _ in range(2)]
    await pool.close()
    await pool.close()
    assert pool.waiting == 0
    for sandbox in given:
        with pytest.raises(SandboxError):
            await sandbox.exec("true")


async def test_a_set_up_is_done_once_and_forked_for_each(backend: SandboxBackend, image: Image) -> None:
    done: list[str] = []

    async def set_up(sandbox: Sandbox) -> None:
        done.append(sandbox.id)
        await sandbox.write_file("/srv/ready", b"yes")

    pool = PreparedPool(backend, ahead=1)
    await pool.warm(image, set_up)
    first, second = await pool.start(image), await pool.start(image)
    assert [(await sandbox.exec("cat /srv/ready")).text for sandbox in (first, second)] == ["yes", "yes"]
    await first.exec("rm /srv/ready")
    third = await pool.start(image)
    assert (await third.exec("cat /srv/ready")).text == "yes"
    assert third.image == image
    assert len(done) == 1
    await asyncio.gather(first.stop(), second.stop(), third.stop(), pool.empty())


async def test_another_set_up_takes_the_place_of_the_first(backend: SandboxBackend, image: Image) -> None:
    pool = PreparedPool(backend, ahead=1)
    for word in ("one", "two"):
        await pool.warm(image, lambda sandbox, word=word: sandbox.write_file("/srv/word", word.encode()))
        for _ in range(2):
            sandbox = await pool.start(image)
            assert (await sandbox.exec("cat /srv/word")).text == word
            await sandbox.stop()
        await pool.settled()
        assert pool.waiting == 1
    await pool.empty()


async def test_a_set_up_that_fails_is_told_and_leaves_nothing(backend: SandboxBackend, image: Image) -> None:
    started: list[Sandbox] = []

    async def set_up(sandbox: Sandbox) -> None:
        started.append(sandbox)
        raise LookupError("no such package")

    pool = PreparedPool(backend)
    with pytest.raises(LookupError, match="no such package"):
        await pool.warm(image, set_up)
    with pytest.raises(SandboxLostError):
        await started[0].exec("true")
    await pool.empty()


async def test_without_snapshots_the_set_up_is_done_in_each() -> None:
    done: list[str] = []

    async def set_up(sandbox: Sandbox) -> None:
        done.append(sandbox.id)

    local = LocalBackend(i_am_in_a_sandbox=True)
    pool = PreparedPool(local, ahead=1)
    machine = await local.machine()
    await pool.warm(machine, set_up)
    assert done == []
    network = Network("host")
    given = [await pool.start(machine, network=network) for _ in range(3)]
    assert {sandbox.id for sandbox in given} <= set(done)
    await pool.close()
