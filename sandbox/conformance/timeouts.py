"""Time-outs: a command that outlasts its time is killed with everything it started, and nothing else is."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from sandbox.conformance.background import beats, is_still, put_program, works_after
from sandbox.conformance.checks import check, expect, expect_equal
from sandbox.conformance.stage import LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox.conformance.stage import Stage
    from sandbox.protocol import ExecResult

_KILLED = 128 + 9
_SHORT = 2.0
_REMEDY = "kill the whole tree from outside: a control group, a process name space or the like, not one process"


@check("timeouts.said", "A command that outlasts its time is killed, and the result says `timed_out`.")
async def time_out_is_said(stage: Stage) -> None:
    """Runs `sleep` for too long, by shell and by argument vector."""
    async with stage.sandbox() as sandbox:
        for command in ("echo began; echo bad >&2; sleep 300; echo ended", ["sleep", "300"]):
            result = await sandbox.exec(command, timeout=_SHORT)
            _timed_out(result)
            expect(not result.ok, "ok to be false", result.ok, "a command that was killed is not ok")
            expect(result.seconds < 100, "an end soon after the time-out", result.seconds, "enforce it outside")  # noqa: PLR2004
            if isinstance(command, str):
                remedy = "keep the output that came before"
                expect_equal((result.stdout, result.stderr), (b"began\n", b"bad\n"), "output to be", remedy)
            await works_after(sandbox, "a time-out")


@check("timeouts.not_early", "A command that ends in time is not said to have timed out.")
async def in_time(stage: Stage) -> None:
    """Ends with the status that time-outs have."""
    async with stage.sandbox() as sandbox:
        for code in (_KILLED, 124, 143):
            result = await sandbox.exec(f"exit {code}", timeout=60)
            got = (result.exit_code, result.timed_out)
            expect_equal(got, (code, False), "(exit_code, timed_out) to be", "tell a time-out from an exit status")


@check("timeouts.of_limits", "A command that names no time has that of the limits.")
async def time_of_the_limits(stage: Stage) -> None:
    """Starts a sandbox with a short one."""
    async with stage.sandbox(dataclasses.replace(LIMITS, timeout=3.0)) as sandbox:
        _timed_out(await sandbox.exec("sleep 300"))
        result = await sandbox.exec("sleep 4; echo longer", timeout=60)
        expect_equal(result.stdout, b"longer\n", "a command with a time of its own to give", "its own time wins")


@check("timeouts.ignores_signals", "A process that ignores every signal it can is killed all the same.")
async def ignores_signals(stage: Stage) -> None:
    """Runs a shell that traps them, and a child that inherits this."""
    async with stage.sandbox() as sandbox:
        file = f"{stage.place}/beat"
        command = f"trap '' HUP INT QUIT TERM USR1 PIPE; while :; do echo . >>{file}; sleep 0.05; done"
        _timed_out(await sandbox.exec(command, timeout=_SHORT))
        expect(await is_still(sandbox, file), "no process that goes on", "one that does", "send SIGKILL")


@check("timeouts.setsid", "Children that began a session of their own die with the command.")
async def own_session(stage: Stage) -> None:
    """Starts one with its output elsewhere."""
    await _dies(stage, lambda file, _daemon: f"python3 {stage.place}/session.py {file}")


@check("timeouts.nohup", "Children under `nohup` die with the command.")
async def no_hang_up(stage: Stage) -> None:
    """Starts one in the background."""
    loop = "while :; do echo . >>$0; sleep 0.05; done"
    await _dies(stage, lambda file, _daemon: f"nohup bash -c '{loop}' {file} >/dev/null 2>&1 & sleep 300")


@check("timeouts.double_fork", "A daemon that left parent and session and ignores signals dies with the command.")
async def double_fork(stage: Stage) -> None:
    """Starts one."""
    await _dies(stage, lambda file, daemon: f"python3 {daemon} {file}; sleep 300")


@check("timeouts.hopping", "A process whose number changes all the time dies with the command.")
async def hopping(stage: Stage) -> None:
    """Starts one that forks and ends, on and on."""
    await _dies(stage, lambda file, _daemon: f"python3 {stage.place}/hopper.py {file}; sleep 300")


@check("timeouts.earlier_live", "A time-out does not touch what an earlier command left in the background.")
async def earlier_ones_live(stage: Stage) -> None:
    """Starts a daemon, then lets another command run out of time."""
    async with stage.sandbox() as sandbox:
        daemon, file = await put_program(stage, sandbox, "daemon"), f"{stage.place}/beat"
        await sandbox.exec(["python3", daemon, file])
        expect(await beats(sandbox, file), "a background process to run", "none", "see killing.background")
        _timed_out(await sandbox.exec("sleep 300", timeout=_SHORT))
        expect(await beats(sandbox, file), "it to live on", "it was killed too", "kill one command, not the sandbox")


@check("timeouts.no_program", "Time-outs need no `timeout` program in the image.", needs=("isolation",))
async def without_gnu_timeout(stage: Stage) -> None:
    """Removes the program first."""
    async with stage.sandbox() as sandbox:
        await sandbox.exec("rm -f $(type -ap timeout)")
        there = await sandbox.exec("type -P timeout")
        expect(not there.ok, "the program to be gone", there.text, "let a sandbox's root remove files of the image")
        _timed_out(await sandbox.exec("sleep 300", timeout=_SHORT))
        await works_after(sandbox, "a time-out")


async def _dies(stage: Stage, command: Callable[[str, str], str]) -> None:
    """Lets a command run out of time and looks whether what it started goes on."""
    async with stage.sandbox() as sandbox:
        daemon, file = await put_program(stage, sandbox, "daemon"), f"{stage.place}/beat"
        await put_program(stage, sandbox, "hopper")
        await put_program(stage, sandbox, "session")
        result = await sandbox.exec(command(file, daemon), timeout=_SHORT)
        _timed_out(result)
        began = await sandbox.exec(["test", "-s", file])
        expect(
            began.ok, "the child to have begun", f"nothing in {file}: {result.error_text}", "look at the machine's load"
        )
        expect(await is_still(sandbox, file), "no process that goes on", "one that does", _REMEDY)


def _timed_out(result: ExecResult) -> None:
    got = (result.timed_out, result.exit_code)
    expect_equal(got, (True, _KILLED), "(timed_out, exit_code) to be", "watch the time outside and kill with SIGKILL")
