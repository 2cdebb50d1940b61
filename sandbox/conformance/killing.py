"""Background processes live until `kill_processes`, which ends and counts all of them; the sandbox lives on."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING

from sandbox.conformance.background import beats, is_still, put_program, works_after
from sandbox.conformance.checks import check, expect, expect_equal
from sandbox.conformance.stage import LIMITS

if TYPE_CHECKING:
    from sandbox.conformance.stage import Stage
    from sandbox.protocol import Limits, Sandbox

_KILLED = 128 + 9
_SLEEPERS = 3


@check("killing.background", "A background process outlives its command and does not hold up the result.")
async def background(stage: Stage) -> None:
    """Leaves one that still holds both output streams."""
    async with stage.sandbox() as sandbox:
        file = f"{stage.place}/beat"
        command = f"(while :; do echo .; echo . >>{file}; sleep 0.05; done) & echo done"
        result = await sandbox.exec(command, timeout=60)
        remedy = "the result is there when the command has ended, whoever holds its pipes"
        expect(not result.timed_out and result.ok, "the command to end at once", result, remedy)
        expect(b"done\n" in result.stdout, "its output", result.stdout, "take what lies in the pipe at its end")
        expect(await beats(sandbox, file), "the background process to live", "it was killed", "leave it be")


@check("killing.all", "`kill_processes` kills daemons too, and the sandbox works after.")
async def kills_all(stage: Stage) -> None:
    """Kills one that left parent and session and ignores signals."""
    async with stage.sandbox() as sandbox:
        daemon, file = await put_program(stage, sandbox, "daemon"), f"{stage.place}/beat"
        await sandbox.exec(["python3", daemon, file])
        expect(await beats(sandbox, file), "the daemon to run", "nothing", "see killing.background")
        await sandbox.kill_processes()
        expect(await is_still(sandbox, file), "no process that goes on", "one that does", "kill by more than parents")
        await works_after(sandbox, "kill_processes")


@check("killing.count", "`kill_processes` returns how many it killed.")
async def counts(stage: Stage) -> None:
    """Leaves three, kills, and kills again."""
    script = f"import subprocess\nfor _ in range({_SLEEPERS}): subprocess.Popen(['sleep', '300'], stdout=-3, stderr=-3)"
    async with stage.sandbox() as sandbox:
        await sandbox.exec(["python3", "-c", script])
        killed = await sandbox.kill_processes()
        expect_equal(killed, _SLEEPERS, "the count to be", "count commands' processes, none of the sandbox's own")
        expect_equal(await sandbox.kill_processes(), 0, "a second count to be", "count what is alive, no zombies")


@check("killing.hopping", "`kill_processes` gets a process whose number changes all the time.")
async def kills_hopping(stage: Stage) -> None:
    """Leaves one that forks and ends, on and on."""
    async with stage.sandbox() as sandbox:
        hopper, file = await put_program(stage, sandbox, "hopper"), f"{stage.place}/beat"
        await sandbox.exec(["python3", hopper, file])
        expect(await beats(sandbox, file), "it to run", "nothing", "see killing.background")
        await sandbox.kill_processes()
        expect(await is_still(sandbox, file), "no process that goes on", "one that does", "kill all at once, or freeze")
        await works_after(sandbox, "kill_processes")


@check("killing.running", "A command that `kill_processes` kills ends with a result, not with an exception.")
async def kills_a_running_command(stage: Stage) -> None:
    """Kills while one runs."""
    async with stage.sandbox() as sandbox:
        running = asyncio.create_task(sandbox.exec(f"touch {stage.place}/began; sleep 300", timeout=60))
        await _there(sandbox, f"{stage.place}/began")
        killed = await sandbox.kill_processes()
        result = await running
        expect(killed >= 1, "a count of at least 1", killed, "a running command counts")
        got = (result.exit_code, result.timed_out)
        expect_equal(got, (_KILLED, False), "(exit_code, timed_out) to be", "report it as killed by signal 9")
        await works_after(sandbox, "kill_processes")


@check(
    "killing.fork_bomb", "`kill_processes` ends a fork bomb, and the sandbox works after.", needs=("limits.processes",)
)
async def kills_a_fork_bomb(stage: Stage) -> None:
    """Leaves one in the background."""
    async with stage.sandbox(_few(64)) as sandbox:
        await sandbox.exec("bomb() { bomb | bomb & }; (bomb) >/dev/null 2>&1 & sleep 1", timeout=20)
        killed = await sandbox.kill_processes()
        again = await sandbox.kill_processes()
        expect(again == 0, "nothing left after the first kill", f"{killed}, then {again}", "kill until none is left")
        await works_after(sandbox, "a fork bomb")


@check(
    "killing.whole_sandbox",
    "A command that kills all it can reach harms no other command after it.",
    needs=("isolation",),
)
async def kills_everything(stage: Stage) -> None:
    """Sends signals to -1 and to 1."""
    async with stage.sandbox() as sandbox:
        for name in ("TERM", "HUP", "USR1", "STOP", "KILL"):
            script = f"import os, signal; [os.kill(p, signal.SIG{name}) for p in (-1, 1)]"
            await sandbox.exec(["python3", "-c", script], timeout=10)
            await works_after(sandbox, f"SIG{name} to everything")


async def _there(sandbox: Sandbox, path: str) -> None:
    for _ in range(200):
        if (await sandbox.exec(["test", "-e", path])).ok:
            return
        await asyncio.sleep(0.05)


def _few(processes: int) -> Limits:
    return dataclasses.replace(LIMITS, processes=processes)
