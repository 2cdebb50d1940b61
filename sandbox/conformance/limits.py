"""Limits: those that are offered hold, the others are refused by name; after each the next command works."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import TYPE_CHECKING

from sandbox.conformance.background import works_after
from sandbox.conformance.checks import check, expect, expect_equal, expect_error
from sandbox.conformance.stage import LIMITS
from sandbox.errors import UnsupportedTaskError
from sandbox.protocol import Limits

if TYPE_CHECKING:
    from sandbox.conformance.stage import Stage

_OWN_AFFAIR = {"output_bytes": 5000, "timeout": 33.0}
_ASKED = {"memory_mb": 96, "processes": 33, "file_size_mb": 9, "cpus": 0.7, "storage_mb": 77, "open_files": 123}
_HOG = "x = bytearray({size} << 20); import time; print('has it', flush=True); time.sleep({seconds})"


@check("limits.names", "Capabilities name limits as `Limits` does, and every back end keeps time and output itself.")
async def names(stage: Stage) -> None:
    """Compares the names."""
    known = {field.name for field in dataclasses.fields(Limits)}
    unknown = sorted(stage.capabilities.limits - known)
    expect(not unknown, f"names out of {sorted(known)}", unknown, "use the names of the fields of Limits")
    lacking = sorted(set(_OWN_AFFAIR) - stage.capabilities.limits)
    expect(not lacking, "timeout and output_bytes in Capabilities.limits", f"no {lacking}", "these two need no machine")


@check("limits.defaults", "A sandbox starts with the protocol's default limits everywhere.")
async def defaults(stage: Stage) -> None:
    """Starts one with `Limits()` and one without any."""
    for limits in (Limits(), None):
        sandbox = await stage.backend.start(stage.image, limits=limits, network=stage.network)
        try:
            await works_after(sandbox, "a start with default limits")
            expect_equal(sandbox.limits, Limits(), "its limits to be", "None stands for the defaults")
        finally:
            await sandbox.stop()


@check("limits.refused", "A limit that was asked for and cannot be had is refused by its name.")
async def refused_by_name(stage: Stage) -> None:
    """Asks for each that is not offered, with a value that is not the default."""
    for name, value in _ASKED.items():
        if name in stage.capabilities.limits:
            continue
        asked = replace(LIMITS, **{name: value})  # type: ignore[arg-type]
        error = await expect_error(
            _start_and_stop(stage, asked),
            UnsupportedTaskError,
            f"start with {name}={value}, which is not offered",
            "refuse what would be silently less, or enforce it and list it in Capabilities.limits",
        )
        expect(name in str(error), f"the message to name {name}", error, "say which limit cannot be had")


@check("limits.memory", "A process that takes more memory than allowed is killed.", needs=("limits.memory_mb",))
async def memory(stage: Stage) -> None:
    """Takes 600 MiB of 128."""
    async with stage.sandbox(replace(LIMITS, memory_mb=128)) as sandbox:
        result = await sandbox.exec(["python3", "-c", _HOG.format(size=600, seconds=0)], timeout=60)
        expect(not result.ok, "the hog to fail", result.stdout, "enforce memory_mb")
        await works_after(sandbox, "a memory hog")


@check("limits.memory_together", "The memory limit holds for all processes together.", needs=("limits.memory_mb",))
async def memory_together(stage: Stage) -> None:
    """Five processes of 60 MiB share 160."""
    hog = f'python3 -c "{_HOG.format(size=60, seconds=6)}"'
    async with stage.sandbox(replace(LIMITS, memory_mb=160)) as sandbox:
        script = f"for i in 1 2 3 4 5; do {hog} & done; for i in 1 2 3 4 5; do wait -n || echo died; done"
        result = await sandbox.exec(script, timeout=60)
        expect(b"died" in result.stdout or not result.ok, "one to die", result.text, "limit the sandbox, not a process")
        await works_after(sandbox, "five memory hogs")


@check("limits.processes", "A fork bomb is contained.", needs=("limits.processes",))
async def fork_bomb(stage: Stage) -> None:
    """Starts 200 where 48 are allowed, then a bomb."""
    script = (
        "import subprocess\nstarted = []\ntry:\n    for _ in range(200): "
        "started.append(subprocess.Popen(['sleep', '60']))\nexcept OSError: pass\nprint(len(started))"
    )
    async with stage.sandbox(replace(LIMITS, processes=48)) as sandbox:
        result = await sandbox.exec(["python3", "-c", script], timeout=60)
        started = int(result.text or 0)
        expect(0 < started <= 48, "between 1 and 48 processes", f"{started} {result.error_text}", "enforce processes")  # noqa: PLR2004
        await sandbox.kill_processes()
        await works_after(sandbox, "too many processes")
        await sandbox.exec("bomb() { bomb | bomb & }; bomb; sleep 30", timeout=3)
        await sandbox.kill_processes()
        await works_after(sandbox, "a fork bomb")


@check("limits.file_size", "A file grows no larger than allowed.", needs=("limits.file_size_mb",))
async def file_size(stage: Stage) -> None:
    """Writes 20 MB where 8 MiB are allowed."""
    async with stage.sandbox(replace(LIMITS, file_size_mb=8)) as sandbox:
        file = f"{stage.place}/big"
        result = await sandbox.exec(f"head -c 20000000 /dev/zero >{file}; echo $?; stat -c %s {file}")
        status, size = result.text.split()
        expect(status != "0" and int(size) <= 8 << 20, "a failure at 8 MiB", f"{status}, {size} bytes", "RLIMIT_FSIZE")
        await works_after(sandbox, "a file that grew too large")


@check("limits.storage", "All that is written is limited; the next command works.", needs=("limits.storage_mb",))
async def storage(stage: Stage) -> None:
    """Writes files of 10 MB until it fails or is killed."""
    async with stage.sandbox(replace(LIMITS, storage_mb=64)) as sandbox:
        fill = f"for i in $(seq 100); do head -c 10000000 /dev/urandom >{stage.place}/$i || exit 7; sleep 0.2; done"
        result = await sandbox.exec(fill, timeout=100)
        remedy = "a quota, or a watch that kills the processes within seconds"
        expect(result.exit_code != 0, "the disk filler to fail or to be killed", "100 files of 10 MB written", remedy)
        expect(not result.timed_out, "it to be stopped by the limit", "it ran out of time", remedy)
        await sandbox.exec(f"rm -f {stage.place}/*")
        await works_after(sandbox, "a disk filler")


@check("limits.open_files", "A process opens no more files than allowed.", needs=("limits.open_files",))
async def open_files(stage: Stage) -> None:
    """Opens 500 where 100 are allowed."""
    script = (
        "import os\nn = 0\ntry:\n    while n < 500: os.open('/dev/null', 0); n += 1\nexcept OSError: pass\nprint(n)"
    )
    async with stage.sandbox(replace(LIMITS, open_files=100)) as sandbox:
        result = await sandbox.exec(["python3", "-c", script])
        count = int(result.text or 0)
        expect(50 < count <= 100, "just under 100", f"{count} {result.error_text}", "RLIMIT_NOFILE, soft and hard")  # noqa: PLR2004
        raised = await sandbox.exec("ulimit -n 5000 && ulimit -n")
        expect(not raised.ok, "a command not to raise it", raised.text, "set the hard limit, and keep CAP_SYS_RESOURCE")


@check("limits.cpus", "Half a processor is half a processor.", needs=("limits.cpus",))
async def cpus(stage: Stage) -> None:
    """Measures processor seconds of a busy loop for each second of the clock."""
    script = (
        "import time; start, used = time.monotonic(), time.process_time()\n"
        "while time.monotonic() - start < 3: pass\n"
        "print((time.process_time() - used) / (time.monotonic() - start))"
    )
    async with stage.sandbox(replace(LIMITS, cpus=0.5)) as sandbox:
        result = await sandbox.exec(["python3", "-c", script], timeout=60)
        share = float(result.text or 9)
        remedy = "set a quota; binding to whole processors is not half a one"
        expect(share < 0.75, "a share of about 0.5", f"{share:.2f} {result.error_text}", remedy)  # noqa: PLR2004


async def _start_and_stop(stage: Stage, limits: Limits) -> str:
    sandbox = await stage.start(limits)
    await sandbox.stop()
    return f"a sandbox with {limits}"
