"""Concurrency: many sandboxes at once, many commands in one, two back ends side by side."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sandbox.conformance.background import beats, put_program, works_after
from sandbox.conformance.checks import check, expect, expect_equal

if TYPE_CHECKING:
    from sandbox.conformance.stage import Stage

_SANDBOXES = 32
_COMMANDS = 16


@check("concurrency.sandboxes", "Thirty-two sandboxes are started, used and stopped at once, each with its own files.")
async def many_sandboxes(stage: Stage) -> None:
    """Each writes the same path and reads it back."""

    async def one(number: int) -> tuple[str, bytes]:
        sandbox = await stage.start()
        try:
            path = f"{stage.place}/{'file' if stage.isolated else number}"
            await sandbox.write_file(path, str(number).encode())
            result = await sandbox.exec(f"sleep 0.2; cat {path}")
            return sandbox.id, result.stdout
        finally:
            await sandbox.stop()

    found = await asyncio.gather(*(one(number) for number in range(_SANDBOXES)))
    ids = {name for name, _ in found}
    expect_equal(len(ids), _SANDBOXES, "the number of different ids to be", "make them unique under concurrency")
    wanted = [str(number).encode() for number in range(_SANDBOXES)]
    expect_equal([text for _, text in found], wanted, "what each reads to be", "share nothing that is written")


@check("concurrency.commands", "Sixteen commands of one sandbox run at once; each gets its own output and status.")
async def many_commands(stage: Stage) -> None:
    """Each prints its number and ends with it, after the others have begun."""
    async with stage.sandbox() as sandbox:
        work = (sandbox.exec(f"sleep 0.3; echo {n}; echo e{n} >&2; exit {n}") for n in range(_COMMANDS))
        results = await asyncio.gather(*work)
    got = [(result.stdout, result.stderr, result.exit_code) for result in results]
    wanted = [(f"{n}\n".encode(), f"e{n}\n".encode(), n) for n in range(_COMMANDS)]
    expect_equal(got, wanted, "the results to be", "keep the streams of different commands apart")


@check("concurrency.one_timed_out", "A command that runs out of time does not harm another that runs beside it.")
async def one_of_two_times_out(stage: Stage) -> None:
    """Runs both at once in one sandbox."""
    async with stage.sandbox() as sandbox:
        long, short = await asyncio.gather(
            sandbox.exec("sleep 4; echo whole", timeout=60), sandbox.exec("sleep 300", timeout=1.5)
        )
    expect(short.timed_out, "the one to time out", short, "see timeouts")
    expect_equal(long.stdout, b"whole\n", "the other to end with", "kill one command, not the sandbox")


@check("concurrency.kill_apart", "`kill_processes` and `stop` of one sandbox leave another alone.")
async def neighbours_live(stage: Stage) -> None:
    """Runs a daemon in one while another is killed and stopped."""
    async with stage.sandbox() as keeper:
        daemon, file = await put_program(stage, keeper, "daemon"), f"{stage.place}/beat"
        await keeper.exec(["python3", daemon, file])
        other = await stage.start()
        await other.exec("sleep 300 >/dev/null 2>&1 &")
        await other.kill_processes()
        await other.stop()
        expect(await beats(keeper, file), "the neighbour's process to live", "it was killed", "kill by sandbox")


@check("concurrency.two_backends", "Two back ends at once don't disturb one another.")
async def two_backends(stage: Stage) -> None:
    """Opens a second one, sweeps and closes it while a sandbox of the first runs."""
    async with stage.sandbox() as sandbox:
        daemon, file = await put_program(stage, sandbox, "daemon"), f"{stage.place}/beat"
        await sandbox.exec(["python3", daemon, file])
        other = stage.subject.make()
        try:
            second = await other.start(stage.image, network=stage.network)
            listed = [one.name for one in await other.stale()]
            expect(sandbox.id not in listed, "a living sandbox not to be stale", listed, "ask whether its owner lives")
            await other.sweep()
            await works_after(second, "a sweep of its own back end")
            await works_after(sandbox, "a sweep of another back end")
        finally:
            await other.close()
        await works_after(sandbox, "the closing of another back end")
        expect(
            await beats(sandbox, file), "its background process to live", "it was killed", "close only what is yours"
        )
