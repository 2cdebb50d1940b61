"""Bytes: both streams apart, kept as they are, cut with head and tail, told as they come, never held whole."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING

import psutil

from sandbox.conformance.checks import check, expect, expect_equal
from sandbox.conformance.stage import LIMITS

if TYPE_CHECKING:
    from sandbox.conformance.stage import Stage
    from sandbox.protocol import Sandbox, Stream

_LIMIT = LIMITS.output_bytes
_MANY = 400_000_000
_MEMORY = 100 << 20
_NOTE = 300


@check("bytes.apart", "Standard output and standard error come apart.")
async def streams_are_apart(stage: Stage) -> None:
    """Writes to both in turn."""
    async with stage.sandbox() as sandbox:
        result = await sandbox.exec("echo o1; echo e1 >&2; echo o2; echo e2 >&2")
        expect_equal((result.stdout, result.stderr), (b"o1\no2\n", b"e1\ne2\n"), "the two streams to be", "two pipes")


@check("bytes.kept", "Every byte is kept: NUL, bytes that are no UTF-8, carriage returns, ANSI escapes.")
async def bytes_are_kept(stage: Stage) -> None:
    """Prints all 256 bytes and some hard sequences on both streams."""
    data = (
        bytes(range(256)) + b"\r\n\x1b[31mred\x1b[0m\x1b]0;title\x07\xff\xfe\xc3(\xed\xa0\x80\xf0\x9f" + b"\xe2\x82\xac"
    )
    script = "import sys; d = bytes.fromhex(sys.argv[1]); sys.stdout.buffer.write(d); sys.stderr.buffer.write(d)"
    async with stage.sandbox() as sandbox:
        result = await sandbox.exec(["python3", "-c", script, data.hex()])
        expect_equal(result.stdout, data, "standard output to be", "never decode it, and use no terminal")
        expect_equal(result.stderr, data, "standard error to be", "likewise")


@check("bytes.split_character", "A character that is written in two pieces arrives whole.")
async def split_character(stage: Stage) -> None:
    """Writes the bytes of one character with a pause between."""
    async with stage.sandbox() as sandbox:
        result = await sandbox.exec(r"printf '\xe2\x82'; sleep 0.3; printf '\xac'")
        expect_equal(result.stdout, "€".encode(), "the bytes to be", "join pieces before anything is decoded")


@check("bytes.no_newline", "A last line without a newline is kept, and none is added.")
async def no_newline(stage: Stage) -> None:
    """Prints one."""
    async with stage.sandbox() as sandbox:
        expect_equal((await sandbox.exec("printf end")).stdout, b"end", "standard output to be", "add nothing")


@check("bytes.cut", "Output above the limit keeps its first and last half, and says so.")
async def long_output_is_cut(stage: Stage) -> None:
    """Writes ten times the limit to each stream."""
    script = f"echo first; head -c {10 * _LIMIT} /dev/zero | tr '\\0' x; echo; echo last"
    async with stage.sandbox() as sandbox:
        for command, stream in ((script, "stdout"), (f"{{ {script}; }} >&2", "stderr")):
            result = await sandbox.exec(command)
            kept: bytes = getattr(result, stream)
            size = f"{len(kept)} bytes, truncated={result.truncated}, ends with {kept[-20:]!r}"
            expect(
                len(kept) <= _LIMIT + _NOTE, f"at most {_LIMIT} bytes and a note of {stream}", size, "cap each stream"
            )
            expect(result.truncated, "truncated to be set", size, "say that bytes are missing")
            whole = kept.startswith(b"first\n") and kept.endswith(b"x\nlast\n") and len(kept) >= _LIMIT
            expect(whole, f"the first and the last {_LIMIT // 2} bytes of {stream}", size, "keep head and tail")
            between = kept[_LIMIT // 2 : -(_LIMIT // 2)].strip()
            expect(between, "a line between them that says what is missing", repr(between), "state the cut")


@check("bytes.not_cut", "Output of exactly the limit is whole.")
async def output_of_the_limit(stage: Stage) -> None:
    """Writes just as much."""
    async with stage.sandbox() as sandbox:
        result = await sandbox.exec(f"head -c {_LIMIT} /dev/zero")
        got = (result.stdout == bytes(_LIMIT), result.truncated)
        expect_equal(got, (True, False), "(whole, truncated) to be", "cut only what is above the limit")


@check("bytes.memory", "Output of hundreds of megabytes does not make this process grow.")
async def memory_is_bounded(stage: Stage) -> None:
    """Measures this process while a command writes 400 MB."""
    async with stage.sandbox() as sandbox:
        await sandbox.exec("echo warm")
        before, peak = psutil.Process().memory_info().rss, 0
        running = asyncio.create_task(sandbox.exec(f"head -c {_MANY} /dev/zero; echo end", timeout=200))
        while not running.done():
            peak = max(peak, psutil.Process().memory_info().rss)
            await asyncio.sleep(0.02)
        result = await running
        expect(result.stdout.endswith(b"end\n"), "all of it to be read", result.stdout[-40:], "drain the pipe")
        grown = (peak - before) >> 20
        remedy = "cap while reading, never afterwards; and stop reading where the other side can wait"
        expect(peak - before < _MEMORY, f"less than {_MEMORY >> 20} MiB more", f"{grown} MiB more", remedy)


@check("bytes.endless", "Endless output ends with the time-out, cut.")
async def endless_output(stage: Stage) -> None:
    """Runs `yes`."""
    async with stage.sandbox() as sandbox:
        result = await sandbox.exec("yes", timeout=2)
        got = (result.timed_out, result.truncated, result.stdout[:4])
        expect_equal(got, (True, True, b"y\ny\n"), "(timed_out, truncated, start) to be", "keep what came before")
        expect(len(result.stdout) <= _LIMIT + _NOTE, f"at most {_LIMIT} bytes", len(result.stdout), "cap it")


@check("bytes.limit_asked", "`output_bytes` of the limits is what is kept.")
async def small_limit(stage: Stage) -> None:
    """Asks for 1,000 bytes."""
    async with stage.sandbox(dataclasses.replace(LIMITS, output_bytes=1000)) as sandbox:
        result = await sandbox.exec("seq 100000")
        expect(len(result.stdout) <= 1000 + _NOTE, "1,000 bytes and a note", len(result.stdout), "use the limit given")
        expect(result.stdout.startswith(b"1\n2\n"), "its head", result.stdout[:10], "keep the first half")
        expect(result.stdout.endswith(b"99999\n100000\n"), "its tail", result.stdout[-20:], "keep the last half")


@check("bytes.told", "`on_output` is told of every byte of each stream, what the result cuts included.")
async def told_of_everything(stage: Stage) -> None:
    """Adds up what it is told of two MB."""
    told: dict[str, list[bytes]] = {"stdout": [], "stderr": []}

    def note(stream: Stream, data: bytes) -> None:
        told[stream].append(data)

    async with stage.sandbox() as sandbox:
        result = await sandbox.exec("seq 300000; echo error >&2; seq 3 >&2", on_output=note)
    wanted = "".join(f"{number}\n" for number in range(1, 300_001)).encode()
    expect(result.truncated, "the result itself to be cut", len(result.stdout), "cap results all the same")
    got = b"".join(told["stdout"])
    expect(got == wanted, f"{len(wanted)} bytes in order", f"{len(got)} bytes", "tell before anything is cut")
    expect_equal(b"".join(told["stderr"]), b"error\n1\n2\n3\n", "standard error to be told as", "name the stream")


@check("bytes.told_at_once", "`on_output` is told while the command still runs.")
async def told_while_it_runs(stage: Stage) -> None:
    """The command waits for a file that is written when its first line has come."""
    async with stage.sandbox() as sandbox:
        began = asyncio.Event()
        command = f"echo began; until [ -e {stage.place}/go ]; do sleep 0.05; done; echo went"
        running = asyncio.create_task(sandbox.exec(command, timeout=30, on_output=lambda _stream, _data: began.set()))
        await _go(sandbox, f"{stage.place}/go", began, running)
        result = await running
    got = (began.is_set(), result.stdout)
    expect_equal(got, (True, b"began\nwent\n"), "(told before the end, output) to be", "tell of pieces as they come")


async def _go(sandbox: Sandbox, path: str, began: asyncio.Event, running: asyncio.Task[object]) -> None:
    """Writes the file when the event comes; gives up when the command has ended without it."""
    waiting = asyncio.create_task(began.wait())
    await asyncio.wait({waiting, running}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if began.is_set():
        await sandbox.write_file(path, b"")
