"""What a command sees and what comes back of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from sandbox.errors import SandboxLostError, UnsupportedTaskError

if TYPE_CHECKING:
    from sandbox.protocol import Capabilities, Image, Sandbox, Stream
    from sandbox.sandboxes import Sandboxes


async def test_streams_come_apart_and_the_status_is_the_commands(sandbox: Sandbox) -> None:
    result = await sandbox.exec("echo out; echo err >&2; exit 7")
    assert (result.stdout, result.stderr, result.exit_code) == (b"out\n", b"err\n", 7)
    assert not result.timed_out
    assert not result.truncated


async def test_output_is_told_as_it_comes_and_whole_where_the_result_is_cut(sandbox: Sandbox) -> None:
    pieces: dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
    first = asyncio.Event()

    def tell(stream: Stream, data: bytes) -> None:
        pieces[stream] += data
        first.set()

    running = asyncio.create_task(
        sandbox.exec("echo first; echo err >&2; read -r go; head -c 300000 /dev/zero", stdin=None, on_output=tell)
    )
    await asyncio.wait_for(first.wait(), 30)
    result = await running
    assert result.truncated
    assert pieces["stdout"] == b"first\n" + bytes(300_000)
    assert pieces["stderr"] == b"err\n"


async def test_bytes_come_back_as_they_are(sandbox: Sandbox) -> None:
    result = await sandbox.exec(r"printf 'a\0b\377\033[31m\r\n'")
    assert result.stdout == b"a\0b\xff\x1b[31m\r\n"


async def test_a_command_killed_by_a_signal_says_so(sandbox: Sandbox) -> None:
    assert (await sandbox.exec("kill -TERM $$")).exit_code == 128 + 15


@pytest.mark.parametrize(
    ("command", "status", "says"),
    [
        ("no-such-program", 127, b"not found"),
        (["no-such-program"], 127, b"not found"),
        (["/etc/passwd"], 126, b"Permission denied"),
        (["/nowhere/at/all"], 127, b"not found"),
        ([], 126, b"empty"),
        ("true \0 false", 126, b"null"),
        (["x" * 300_000], 127, b"not found"),
        (["/bin/true", "x" * 300_000], 126, b"too long"),
    ],
)
async def test_what_cannot_be_run_is_a_result_not_an_error(
    sandbox: Sandbox, command: str | list[str], status: int, says: bytes
) -> None:
    result = await sandbox.exec(command)
    assert result.exit_code in (status, 126)
    assert says in result.stderr or b"too long" in result.stderr


async def test_arguments_are_not_read_by_a_shell(sandbox: Sandbox) -> None:
    assert (await sandbox.exec(["echo", "$HOME;", "a  b", "é"])).text == "$HOME; a  b é\n"


async def test_standard_input_is_fed_and_closed(sandbox: Sandbox) -> None:
    data = bytes(range(256)) * 20_000
    result = await sandbox.exec("sha256sum; wc -c", stdin=data)
    import hashlib

    assert result.text.split()[0] == hashlib.sha256(data).hexdigest()


async def test_without_standard_input_there_is_nothing_to_read(sandbox: Sandbox) -> None:
    assert (await sandbox.exec("cat; readlink /proc/self/fd/0")).text == "/dev/null\n"
    assert (await sandbox.exec("cat", stdin=b"")).stdout == b""


async def test_a_command_that_reads_nothing_does_not_block_its_input(sandbox: Sandbox) -> None:
    assert (await sandbox.exec("true", stdin=b"x" * (4 << 20))).ok


async def test_a_chatty_command_with_much_input_does_not_deadlock(sandbox: Sandbox) -> None:
    result = await sandbox.exec("cat", stdin=b"y" * (4 << 20))
    assert result.ok
    assert result.truncated


async def test_the_working_directory_is_the_images_or_the_calls(sandbox: Sandbox) -> None:
    assert (await sandbox.exec("pwd")).text == "/app\n"
    assert (await sandbox.exec("pwd", cwd="/made/on the/way")).text == "/made/on the/way\n"


async def test_a_working_directory_that_is_a_file_is_a_result(sandbox: Sandbox) -> None:
    result = await sandbox.exec("pwd", cwd="/etc/passwd")
    assert result.exit_code == 126
    assert b"cannot run the command" in result.stderr


async def test_the_environment_is_the_images_and_the_calls_and_nothing_of_the_host(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOST_SECRET", "hunter2")
    result = await sandbox.exec("env", env={"MINE": "a=b\nc"})
    assert "FROM_IMAGE=yes" in result.text
    assert "MINE=a=b\nc" in result.text
    assert "HOST_SECRET" not in result.text
    assert "HOME=/root" in result.text
    whole = await sandbox.exec("cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'")
    assert "hunter2" not in whole.text


async def test_a_clean_environment_leaves_the_images_out(sandbox: Sandbox) -> None:
    names = {
        line.partition("=")[0] for line in (await sandbox.exec("env", clean_env=True, env={"MINE": "1"})).text.split()
    }
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == {"PATH", "HOME", "LANG", "MINE"}


async def test_users_by_name_and_number(sandbox: Sandbox, capabilities: Capabilities) -> None:
    assert (await sandbox.exec("id -u; echo $HOME")).text == "0\n/root\n"
    if not capabilities.users:
        with pytest.raises(UnsupportedTaskError, match="www-data"):
            await sandbox.exec("id", user="www-data")
        pytest.skip("no users other than root on this machine")
    assert (await sandbox.exec("id -un; id -gn; echo $HOME", user="www-data")).text == "www-data\nwww-data\n/var/www\n"
    assert (await sandbox.exec("id -u; id -g", user=1234)).text == "1234\n0\n"
    assert (await sandbox.exec("id -u; id -g", user="1234:77")).text == "1234\n77\n"
    refused = await sandbox.exec("cat /etc/shadow; touch /etc/x; kill -9 1", user="nobody")
    assert refused.stderr.count(b"ermi") == 3
    await sandbox.exec("echo me:x:4321:4321::/home/me:/bin/bash >>/etc/passwd")
    assert (await sandbox.exec("id -un", user="me")).text == "me\n"


async def test_a_user_nobody_knows_is_named(sandbox: Sandbox) -> None:
    with pytest.raises(UnsupportedTaskError, match="'gandalf' is not in the sandbox's /etc/passwd"):
        await sandbox.exec("id", user="gandalf")
    assert (await sandbox.exec("true")).ok


async def test_a_passwd_that_is_a_pipe_hangs_nobody(sandbox: Sandbox) -> None:
    await sandbox.exec("rm /etc/passwd && mkfifo /etc/passwd")
    assert (await sandbox.exec(["echo", "still here"], user="root")).text == "still here\n"


async def test_commands_run_side_by_side_without_mixing(sandbox: Sandbox) -> None:
    results = await asyncio.gather(*(sandbox.exec(f"sleep 0.1; echo {n}; exit {n}") for n in range(8)))
    assert [(r.text, r.exit_code) for r in results] == [(f"{n}\n", n) for n in range(8)]


async def test_changes_and_background_processes_outlive_a_command(sandbox: Sandbox) -> None:
    command = "echo kept >/tmp/file; (while :; do echo tick; sleep 0.05; done) >/tmp/ticks & echo started"
    assert (await sandbox.exec(command)).text == "started\n"
    assert (await sandbox.exec("cat /tmp/file")).text == "kept\n"
    first = (await sandbox.exec("sleep 0.3; wc -l </tmp/ticks")).text
    second = (await sandbox.exec("sleep 0.3; wc -l </tmp/ticks")).text
    assert int(second) > int(first) > 0


async def test_a_background_process_that_holds_the_output_blocks_nobody_and_does_not_die_of_it(
    sandbox: Sandbox,
) -> None:
    command = (
        "(trap '' TERM; for i in $(seq 40); do sleep 0.02; echo late || exit 1; done; echo ok >/tmp/done) & echo now"
    )
    result = await sandbox.exec(command, timeout=30)
    assert result.text.startswith("now\n")
    assert (await sandbox.exec("while [ ! -e /tmp/done ]; do sleep 0.05; done", timeout=30)).ok


async def test_local_sockets_work(sandbox: Sandbox) -> None:
    script = (
        "import socket, threading\ns = socket.create_server(('127.0.0.1', 0))\n"
        "threading.Thread(target=lambda: s.accept()[0].sendall(b'hello'), daemon=True).start()\n"
        "print(socket.create_connection(s.getsockname()).recv(9).decode())\n"
    )
    result = await sandbox.exec(["python3", "-c", script])
    assert result.text == "hello\n", result.error_text


async def test_a_stopped_sandbox_is_lost_and_stops_twice(sandboxes: Sandboxes, image: Image) -> None:
    running = await sandboxes.backend.start(image)
    pending = asyncio.create_task(running.exec("sleep 60"))
    await asyncio.sleep(0.3)
    await asyncio.gather(running.stop(), running.stop())
    await running.stop()
    with pytest.raises(SandboxLostError):
        await pending
    with pytest.raises(SandboxLostError, match="stopped"):
        await running.exec("true")
    with pytest.raises(SandboxLostError, match="stopped"):
        await running.read_file("/etc/passwd")
