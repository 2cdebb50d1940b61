"""What a command sees in the cloud, what comes back of it, and what is left when its time is up."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING

import pytest

from sandbox.errors import UnsupportedTaskError
from tests.sandbox.e2b.conftest import BASE, LIMITS

if TYPE_CHECKING:
    from sandbox.e2b.backend import E2BBackend
    from sandbox.e2b.sandbox import E2BSandbox


async def test_streams_come_apart_and_bytes_come_as_they_are(sandbox: E2BSandbox) -> None:
    result = await sandbox.exec(r"printf 'a\0b\377\r\n'; echo err >&2; exit 7")
    assert (result.stdout, result.stderr, result.exit_code) == (b"a\0b\xff\r\n", b"err\n", 7)
    assert not result.timed_out


async def test_arguments_are_not_read_by_a_shell(sandbox: E2BSandbox) -> None:
    assert (await sandbox.exec(["echo", "$HOME;", "a  b", "é"])).text == "$HOME; a  b é\n"


@pytest.mark.parametrize(
    ("command", "status", "says"),
    [
        ("no-such-program", 127, b"not found"),
        (["no-such-program"], 127, b"not found"),
        (["/etc/passwd"], 126, b"Permission denied"),
        (["/nowhere/at/all"], 127, b"not found"),
        ([], 126, b"empty"),
        ("true \0 false", 126, b"null"),
        (["/bin/true", "x" * 300_000], 126, b"too long"),
        (["a=b"], 127, b"not found"),
    ],
)
async def test_what_cannot_be_run_is_a_result_not_an_error(
    sandbox: E2BSandbox, command: str | list[str], status: int, says: bytes
) -> None:
    result = await sandbox.exec(command)
    assert result.exit_code == status
    assert says in result.stderr


async def test_a_command_runs_as_root_with_umask_and_limits(sandbox: E2BSandbox) -> None:
    said = (await sandbox.exec("id -un; echo $HOME; umask; ulimit -n; ulimit -f; ulimit -c")).text.split()
    assert said == ["root", "/root", "0022", "100", "1024", "0"]


async def test_variables_are_the_images_or_none_of_them(sandbox: E2BSandbox) -> None:
    clean = (await sandbox.exec(["env"], env={"MINE": "a b", "with.dot": "1"}, clean_env=True)).text.splitlines()
    assert sorted(line.partition("=")[0] for line in clean) == ["HOME", "LANG", "MINE", "PATH", "with.dot"]
    assert "MINE=a b" in clean


async def test_standard_input_is_fed_and_closed(sandbox: E2BSandbox) -> None:
    data = bytes(range(256)) * 5000
    assert (await sandbox.exec("sha256sum", stdin=data)).text.split()[0] == hashlib.sha256(data).hexdigest()
    assert (await sandbox.exec("cat; readlink /proc/self/fd/0")).text == "/dev/null\n"
    assert (await sandbox.exec("cat", stdin=b"")).stdout == b""
    assert (await sandbox.exec("true", stdin=data)).ok


async def test_a_missing_working_directory_is_made(sandbox: E2BSandbox) -> None:
    assert (await sandbox.exec("pwd", cwd="/made/for it")).text == "/made/for it\n"
    refused = await sandbox.exec("pwd", cwd="/etc/passwd/below")
    assert refused.exit_code == 126
    assert b"no folder" in refused.stderr


async def test_long_output_keeps_head_and_tail_and_is_streamed_whole(sandbox: E2BSandbox) -> None:
    streamed = bytearray()
    result = await sandbox.exec("seq 100000", on_output=lambda _stream, data: streamed.extend(data))
    assert result.truncated
    assert result.stdout.startswith(b"1\n2\n")
    assert result.stdout.endswith(b"\n99999\n100000\n")
    assert b"bytes cut here" in result.stdout
    assert streamed.split() == [str(n).encode() for n in range(1, 100_001)]


async def test_output_comes_while_the_command_runs(sandbox: E2BSandbox) -> None:
    first: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def take(_stream: str, data: bytes) -> None:
        if not first.done():
            first.set_result(data)

    running = asyncio.create_task(sandbox.exec("echo now; while ! [ -e /tmp/go ]; do sleep 0.1; done", on_output=take))
    assert await first == b"now\n"
    await sandbox.write_file("/tmp/go", b"")
    assert (await running).ok


async def test_time_up_kills_the_command_with_all_it_started(sandbox: E2BSandbox) -> None:
    tree = "echo begun; setsid sleep 701 & (setsid bash -c 'sleep 702 & exec sleep 703' &); sleep 704"
    result = await sandbox.exec(tree, timeout=1)
    assert (result.stdout, result.exit_code, result.timed_out) == (b"begun\n", 137, True)
    assert not (await sandbox.exec("ps ax -o args | grep '[s]leep 70'")).text


async def test_time_up_spares_what_earlier_commands_left(sandbox: E2BSandbox) -> None:
    await sandbox.exec("(setsid sleep 711 &); sleep 0.1")
    assert (await sandbox.exec("sleep 712", timeout=1)).timed_out
    assert (await sandbox.exec("ps ax -o args | grep '[s]leep 71'")).text == "sleep 711\n"


async def test_time_up_spares_commands_beside_it(sandbox: E2BSandbox) -> None:
    beside = asyncio.create_task(sandbox.exec("until [ -e /tmp/go ]; do sleep 0.1; done; echo done"))
    late = await sandbox.exec("bash -c 'sleep 761; true' & setsid sleep 762 & sleep 763", timeout=1)
    assert late.timed_out
    assert not (await sandbox.exec("ps ax -o args | grep '[s]leep 76'")).text
    await sandbox.write_file("/tmp/go", b"")
    assert (await beside).text == "done\n"


async def test_a_background_process_keeps_its_pipes(sandbox: E2BSandbox) -> None:
    script = "(while ! [ -e /tmp/go ]; do sleep 0.1; done; echo more && echo lived > /tmp/lived) & echo started"
    assert (await sandbox.exec(script, timeout=30)).stdout == b"started\n"
    await sandbox.write_file("/tmp/go", b"")
    assert (
        await sandbox.exec("until [ -s /tmp/lived ]; do sleep 0.1; done; cat /tmp/lived", timeout=30)
    ).text == "lived\n"


async def test_every_process_of_commands_is_killed_and_counted(sandbox: E2BSandbox) -> None:
    await sandbox.exec("sleep 721 & setsid sleep 722 & (sleep 723 &)")
    assert await sandbox.kill_processes() == 3
    assert await sandbox.kill_processes() == 0
    assert (await sandbox.exec("echo alive")).text == "alive\n"


async def test_a_command_that_kills_who_waits_for_it_does_not_outlive_its_time(sandbox: E2BSandbox) -> None:
    result = await sandbox.exec("sleep 731 & kill -9 $PPID; sleep 732", timeout=2)
    assert result.exit_code == 137
    assert not (await sandbox.exec("ps ax -o args | grep '[s]leep 73'")).text


async def test_a_user_by_name_and_by_number(sandbox: E2BSandbox) -> None:
    if (await sandbox.exec("id -u nobody", user="nobody")).exit_code:
        pytest.skip("this sandbox has no user but root")
    name, number = (await sandbox.exec("id -un; id -u", user="nobody")).text.split()
    assert name == "nobody"
    assert (await sandbox.exec("id -un", user=int(number))).text == "nobody\n"


@pytest.mark.parametrize("user", ["who-is-this", "4242", "root:adm"])
async def test_a_user_that_cannot_be_had_is_refused(sandbox: E2BSandbox, user: str) -> None:
    with pytest.raises(UnsupportedTaskError, match="docker"):
        await sandbox.exec("id", user=user)


async def test_eight_sandboxes_at_once_keep_apart(backend: E2BBackend) -> None:
    async def one(number: int) -> str:
        running = await backend.start(BASE, limits=LIMITS)
        await running.exec(f"echo {number} > /tmp/mine")
        said = (await running.exec("cat /tmp/mine")).text
        await running.stop()
        return said

    assert await asyncio.gather(*(one(n) for n in range(8))) == [f"{n}\n" for n in range(8)]
