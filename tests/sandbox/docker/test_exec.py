"""What a command sees, what comes back of it, and how it ends when its time is up."""

from __future__ import annotations

import asyncio
import hashlib
import resource
from typing import TYPE_CHECKING

import pytest

from sandbox.errors import SandboxLostError, UnsupportedTaskError

if TYPE_CHECKING:
    from sandbox.docker.backend import DockerBackend
    from sandbox.docker.sandbox import DockerSandbox
    from sandbox.protocol import Image

pytestmark = [pytest.mark.outside, pytest.mark.asyncio(loop_scope="session")]


async def test_streams_come_apart_and_bytes_stay_as_they_are(sandbox: DockerSandbox) -> None:
    result = await sandbox.exec(r"printf 'a\0\377\033[31m'; echo err >&2; exit 7")
    assert (result.stdout, result.stderr, result.exit_code) == (b"a\0\xff\x1b[31m", b"err\n", 7)
    assert (await sandbox.exec("kill -TERM $$")).exit_code == 128 + 15


@pytest.mark.parametrize(
    ("command", "status", "says"),
    [
        (["no-such-program"], 127, b"not found"),
        (["/nowhere/at/all"], 127, b"not found"),
        (["/etc/passwd"], 126, b"Permission denied"),
        ([], 126, b"empty"),
        ("true \0 false", 126, b"null"),
        (["/bin/true", "x" * 300_000], 126, b"too long"),
    ],
)
async def test_what_cannot_be_run_is_a_result(
    sandbox: DockerSandbox, command: str | list[str], status: int, says: bytes
) -> None:
    result = await sandbox.exec(command)
    assert (result.exit_code, result.stdout) == (status, b"")
    assert says in result.stderr


async def test_input_is_fed_whole_and_ends(sandbox: DockerSandbox) -> None:
    data = bytes(range(256)) * 20_000
    assert (await sandbox.exec("sha256sum", stdin=data)).text.split()[0] == hashlib.sha256(data).hexdigest()
    assert (await sandbox.exec("true", stdin=data)).ok
    assert (await sandbox.exec("cat", stdin=b"")).stdout == b""
    assert (await sandbox.exec("cat; readlink /proc/self/fd/0")).text == "/dev/null\n"


async def test_a_flood_of_output_is_cut_and_our_memory_does_not_grow(sandbox: DockerSandbox) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pieces = 0

    def count(_stream: str, data: bytes) -> None:
        nonlocal pieces
        pieces += len(data)

    result = await sandbox.exec("echo first; head -c 300000000 /dev/zero; echo last", on_output=count)
    assert result.ok
    assert result.truncated
    assert result.stdout.startswith(b"first\n")
    assert result.stdout.endswith(b"last\n")
    assert len(result.stdout) < (1 << 16) + 100
    assert pieces == 300_000_000 + len("first\nlast\n")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KiB


async def test_the_working_directory_is_made_where_it_is_missing(sandbox: DockerSandbox) -> None:
    assert (await sandbox.exec("pwd")).text == "/app\n"
    assert (await sandbox.exec("pwd", cwd="/made/on the/way")).text == "/made/on the/way\n"
    result = await sandbox.exec("pwd", cwd="/etc/passwd")
    assert result.exit_code == 126
    assert b"cannot run the command" in result.stderr


async def test_variables_are_the_images_and_the_calls_or_the_calls_alone(sandbox: DockerSandbox) -> None:
    result = await sandbox.exec(["env"], env={"MINE": "a=b\nc"})
    assert {"FROM_IMAGE=yes", "MINE=a=b", "HOME=/root"} <= set(result.text.splitlines())
    clean = await sandbox.exec(["env"], env={"MINE": "1"}, clean_env=True)
    assert {line.partition("=")[0] for line in clean.text.splitlines()} == {"PATH", "HOME", "LANG", "MINE"}


async def test_users_by_name_and_number(sandbox: DockerSandbox) -> None:
    assert (await sandbox.exec("id -un; echo $HOME", user="www-data")).text == "www-data\n/var/www\n"
    assert (await sandbox.exec("id -u; id -g", user="1234:77")).text == "1234\n77\n"
    with pytest.raises(UnsupportedTaskError, match="'gandalf' is not in the sandbox's /etc/passwd"):
        await sandbox.exec("id", user="gandalf")


async def test_a_background_process_lives_on_and_blocks_nobody(sandbox: DockerSandbox) -> None:
    result = await sandbox.exec("(for i in $(seq 20); do sleep 0.05; echo late; done; echo ok >/tmp/done) & echo now")
    assert result.text.startswith("now\n")
    assert (await sandbox.exec("while [ ! -e /tmp/done ]; do sleep 0.05; done", timeout=30)).ok


async def test_a_time_out_ends_all_that_the_command_started_and_nothing_else(sandbox: DockerSandbox) -> None:
    await sandbox.exec("setsid sleep 1001 >/dev/null 2>&1 & echo")
    result = await sandbox.exec(
        "trap '' TERM; setsid sleep 2001 & (setsid setsid sleep 2002 &) ; nohup sleep 2003 & sleep 2004", timeout=1
    )
    assert result.timed_out
    assert result.exit_code == 137
    left = (await sandbox.exec("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")).text
    assert "sleep 1001" in left
    assert "sleep 200" not in left


async def test_a_cancelled_command_is_killed(sandbox: DockerSandbox) -> None:
    running = asyncio.create_task(sandbox.exec("sleep 3001"))
    await asyncio.sleep(1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert "sleep 3001" not in (await sandbox.exec("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")).text.replace("echo", "")


async def test_an_agent_that_replaces_kill_sh_and_bash_is_killed_all_the_same(sandbox: DockerSandbox) -> None:
    await sandbox.exec(
        "for p in /bin/kill /usr/bin/pkill /bin/dash; do cp /bin/true $p; done; (trap '' HUP TERM; sleep 4001) & echo"
    )
    assert await sandbox.kill_processes() >= 1
    assert await sandbox.kill_processes() == 0


@pytest.mark.long  # on a loaded engine the restart was once seen to be slower than the next command
async def test_an_agent_that_kills_the_first_process_keeps_its_files_and_loses_its_command(
    sandbox: DockerSandbox,
) -> None:
    result = await sandbox.exec("echo kept >/kept; kill -9 -1; sleep 5; echo survived")
    assert result.exit_code != 0
    assert (await sandbox.exec("cat /kept")).text == "kept\n"


async def test_commands_run_side_by_side(sandbox: DockerSandbox) -> None:
    results = await asyncio.gather(*(sandbox.exec(f"echo {n}; exit {n}") for n in range(8)))
    assert [(r.text, r.exit_code) for r in results] == [(f"{n}\n", n) for n in range(8)]


async def test_eight_sandboxes_at_once(backend: DockerBackend, image: Image) -> None:
    async def one(number: int) -> str:
        made = await backend.start(image)
        try:
            await made.exec(f"echo {number} >/tmp/number")
            return (await made.exec("cat /tmp/number")).text
        finally:
            await made.stop()

    assert await asyncio.gather(*(one(n) for n in range(8))) == [f"{n}\n" for n in range(8)]


async def test_a_stopped_sandbox_is_lost(backend: DockerBackend, image: Image) -> None:
    made = await backend.start(image)
    pending = asyncio.create_task(made.exec("sleep 60"))
    await asyncio.sleep(0.5)
    await asyncio.gather(made.stop(), made.stop())
    with pytest.raises(SandboxLostError):
        await pending
    with pytest.raises(SandboxLostError, match="stopped"):
        await made.read_file("/etc/passwd")


async def test_a_container_removed_from_outside_is_lost(backend: DockerBackend, image: Image) -> None:
    made = await backend.start(image)
    backend._engine.client.api.remove_container(made.parts.container, force=True)
    with pytest.raises(SandboxLostError):
        await made.exec("true")
    with pytest.raises(SandboxLostError):
        await made.write_file("/x", b"")
    await made.stop()


async def test_where_processes_are_out_of_reach_the_container_starts_again(
    backend: DockerBackend, image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with an engine in a virtual machine, or for a user who is only in the group `docker`."""
    from sandbox.docker.processes import LocalProcesses

    monkeypatch.setattr(LocalProcesses, "find", lambda *_: None)
    made = await backend.start(image)
    try:
        result = await made.exec("echo kept >/kept; setsid sleep 5001 & sleep 5002", timeout=1)
        assert result.timed_out
        assert await made.kill_processes() == 0
        await made.exec("sleep 5003 >/dev/null 2>&1 & echo")
        assert await made.kill_processes() == 1
        assert (await made.exec("cat /kept; grep -l sleep /proc/[0-9]*/comm")).text == "kept\n"
        await made.remove("/kept")
        with pytest.raises(FileNotFoundError):
            await made.read_file("/kept")
    finally:
        await made.stop()
