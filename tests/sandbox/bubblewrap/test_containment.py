"""What a hostile command cannot do; after each attempt the next command works."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox.protocol import Limits

if TYPE_CHECKING:
    from sandbox.protocol import Capabilities, Image, Sandbox
    from sandbox.sandboxes import Sandboxes

DAEMON = """
import os, signal, sys, time
for _ in range(2):
    if os.fork():
        os._exit(0)
    os.setsid()
for number in range(1, 64):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
open(sys.argv[1], "w").write(str(os.getpid()))
while True:
    time.sleep(0.05)
    open(sys.argv[1] + ".beat", "a").write(".")
"""


async def beats(sandbox: Sandbox, path: str) -> bool:
    """Whether the daemon still writes."""
    result = await sandbox.exec(f"a=$(stat -c %s {path}.beat); sleep 0.4; [ $(stat -c %s {path}.beat) -gt $a ]")
    return result.ok


async def test_a_time_out_kills_daemons_that_left_session_and_parent(sandbox: Sandbox) -> None:
    await sandbox.write_file("/tmp/daemon.py", DAEMON.encode())
    await sandbox.exec("python3 /tmp/daemon.py /tmp/earlier; sleep 0.3")
    result = await sandbox.exec("echo began; python3 /tmp/daemon.py /tmp/now; sleep 60", timeout=1.5)
    assert result.timed_out
    assert not result.ok
    assert result.exit_code == 128 + 9
    assert result.stdout == b"began\n"
    assert not await beats(sandbox, "/tmp/now")
    assert await beats(sandbox, "/tmp/earlier"), "a time-out is no affair of an earlier command's processes"


async def test_kill_processes_leaves_the_sandbox(sandbox: Sandbox) -> None:
    await sandbox.write_file("/tmp/daemon.py", DAEMON.encode())
    await sandbox.exec("python3 /tmp/daemon.py /tmp/d; sleep 0.3")
    assert await beats(sandbox, "/tmp/d")
    await sandbox.exec("for i in 1 2 3; do setsid sleep 60 >/dev/null 2>&1 & done; sleep 0.3")
    assert await sandbox.kill_processes() == 4
    assert not await beats(sandbox, "/tmp/d")
    assert await sandbox.kill_processes() == 0


async def test_killing_all_processes_ends_a_running_command(sandbox: Sandbox) -> None:
    running = asyncio.create_task(sandbox.exec("echo began; sleep 60; true"))
    await asyncio.sleep(0.5)
    assert await sandbox.kill_processes() == 2
    result = await running
    assert (result.stdout, result.exit_code, result.timed_out) == (b"began\n", 128 + 9, False)


async def test_open_files_are_limited(sandboxes: Sandboxes, image: Image, capabilities: Capabilities) -> None:
    assert "open_files" in capabilities.limits
    async with sandboxes.running(image, limits=Limits(open_files=40)) as sandbox:
        script = "files = []\nwhile True: files.append(open('/etc/hostname'))"
        result = await sandbox.exec(f"ulimit -n; ulimit -Hn; python3 -c '{script.replace(chr(39), chr(34))}'")
        assert result.text == "40\n40\n"
        assert b"Too many open files" in result.stderr


async def test_shared_memory_is_bounded(sandbox: Sandbox) -> None:
    result = await sandbox.exec(
        "for i in $(seq 60); do head -c 7000000 /dev/zero >/dev/shm/$i || break; done; du -sm /dev/shm | cut -f1"
    )
    assert b"No space left" in result.stderr
    assert int(result.text) <= 64
    assert (await sandbox.exec("echo alive; awk '$3 == \"tmpfs\" && $4 !~ /^ro/ { print $2 }' /proc/mounts")).text == (
        "alive\n/dev/shm\n"
    )


async def test_a_cancelled_command_is_killed(sandbox: Sandbox) -> None:
    task = asyncio.create_task(sandbox.exec("while :; do echo x >>/tmp/x.beat; sleep 0.05; done"))
    await asyncio.sleep(0.6)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not await beats(sandbox, "/tmp/x")


@pytest.mark.parametrize("signal", ["TERM", "KILL", "HUP", "STOP", "SEGV", "USR1"])
async def test_an_agent_that_signals_everything_harms_only_itself(sandbox: Sandbox, signal: str) -> None:
    command = (
        f"python3 -c 'import os, signal; os.kill(-1, signal.SIG{signal}); os.kill(1, signal.SIG{signal})'; echo on"
    )
    await sandbox.exec(command, timeout=3)
    assert (await sandbox.exec("echo alive")).text == "alive\n"


async def test_a_fork_bomb_is_contained(sandbox: Sandbox, capabilities: Capabilities) -> None:
    if "processes" not in capabilities.limits:
        pytest.skip("the number of processes is not limited on this machine")
    result = await sandbox.exec(":(){ :|:& };:; sleep 30", timeout=2)
    assert result.timed_out or result.exit_code
    await sandbox.kill_processes()
    assert (await sandbox.exec("echo alive")).text == "alive\n"


async def test_a_memory_hog_is_killed_and_the_next_command_works(sandbox: Sandbox) -> None:
    result = await sandbox.exec(["python3", "-c", "x = bytearray(1 << 30); print(len(x))"], timeout=30)
    assert not result.ok
    assert (await sandbox.exec("echo alive")).text == "alive\n"


async def test_many_small_hogs_together_are_limited(sandbox: Sandbox, capabilities: Capabilities) -> None:
    if "memory_mb" not in capabilities.limits:
        pytest.skip("memory is limited for each process only on this machine")
    hog = "python3 -c 'x = bytearray(100 << 20); import time; time.sleep(20)'"
    result = await sandbox.exec(f"for i in 1 2 3 4 5; do {hog} & done; wait -n; echo first died", timeout=15)
    assert b"first died" in result.stdout
    assert (await sandbox.exec("echo alive")).text == "alive\n"


async def test_much_output_is_cut_and_the_hosts_memory_stays_flat(sandbox: Sandbox) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = await sandbox.exec("echo first; head -c 200000000 /dev/zero; echo; echo last")
    assert result.ok
    assert result.truncated
    assert result.stdout.startswith(b"first\n")
    assert result.stdout.endswith(b"\nlast\n")
    assert b"bytes cut here" in result.stdout
    assert len(result.stdout) < (1 << 16) + 100
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000


async def test_endless_output_ends_with_the_time(sandbox: Sandbox) -> None:
    result = await sandbox.exec("yes", timeout=1)
    assert result.timed_out
    assert result.truncated
    assert result.stdout.startswith(b"y\ny\n")


async def test_a_file_can_only_grow_so_far(sandbox: Sandbox) -> None:
    result = await sandbox.exec("head -c 20000000 /dev/zero >/tmp/big; echo $?; stat -c %s /tmp/big")
    status, size = result.text.split()
    assert status != "0"
    assert int(size) == 8 << 20


async def test_the_network_is_not_there(sandbox: Sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = (
            "import socket, sys\n"
            f"for target in (('127.0.0.1', {port}), ('::1', {port}), ('169.254.169.254', 80), ('1.1.1.1', 53)):\n"
            "    try: socket.create_connection(target, 2); print('reached', target)\n"
            "    except OSError as error: pass\n"
            "try: print('resolved', socket.getaddrinfo('example.org', 80))\n"
            "except OSError: pass\n"
            "print(sorted(name for _, name in socket.if_nameindex()))\n"
        )
        result = await sandbox.exec(["python3", "-c", script], timeout=30)
    assert result.text == "['lo']\n", result.text + result.error_text


async def test_abstract_sockets_of_the_host_are_out_of_reach(sandbox: Sandbox) -> None:
    name = f"\0envolve-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        script = f"import socket; socket.socket(socket.AF_UNIX).connect({name!r})"
        result = await sandbox.exec(["python3", "-c", script])
    assert b"ConnectionRefusedError" in result.stderr


async def test_files_of_the_host_are_not_there(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hunter2")
    for path in (tmp_path / "secret", Path.home() / ".bashrc", Path("/var/run/docker.sock"), Path(__file__)):
        assert not (await sandbox.exec(["test", "-e", str(path)])).ok, path
    accounts = (await sandbox.exec("cat /etc/shadow")).text
    assert all(line.split(":")[1] == "*" for line in accounts.splitlines())
    assert (await sandbox.exec("ls /home /sys /mnt /media /old_root 2>/dev/null")).text.split() == [
        "/home:",
        "/media:",
        "/mnt:",
        "/sys:",
    ]


async def test_processes_of_the_host_are_not_there(sandbox: Sandbox) -> None:
    pids = [int(pid) for pid in (await sandbox.exec("ls /proc | grep -E '^[0-9]+$'")).text.split()]
    assert 1 in pids
    assert len(pids) < 10
    lines = (await sandbox.exec("cat /proc/*/cmdline | tr '\\0' ' '")).text
    assert "python" not in lines.replace("python3", ""), lines


@pytest.mark.parametrize(
    "command",
    [
        "echo x >/proc/sys/kernel/core_pattern",
        "echo x >/proc/sys/kernel/hostname",
        "echo 1 >/proc/sys/vm/drop_caches",
        "[ -e /proc/sysrq-trigger ] && echo h >/proc/sysrq-trigger",
        "echo 1 >/proc/irq/default_smp_affinity",
        "mount -t tmpfs none /mnt",
        "mount -o remount,rw /proc/sys",
        "umount /proc/sys",
        "umount -l /dev/null",
        "chmod 600 /dev/null",
        "chown 1:1 /dev/zero",
        "rm /dev/null",
        "mknod /tmp/disk b 254 0",
        "mknod /tmp/mem c 1 1",
        "unshare --user true",
        "unshare --mount true",
        "chroot / mount -t proc proc /proc",
        "head -c 1 /proc/kcore",
        "head -c 1 /proc/kmsg",
        "date -s @0",
        "hostname other",
        "ls -l /proc/1/fd/0 && readlink /proc/1/fd/0",
        "readlink /proc/1/exe",
        "cat /proc/1/environ",
        "python3 -c 'import ctypes,os; l=ctypes.CDLL(None,use_errno=True); exit(l.ptrace(16,1,0,0)==0 or 1)'",
    ],
)
async def test_root_inside_is_not_root_outside(sandbox: Sandbox, command: str) -> None:
    before = _of_the_host()
    result = await sandbox.exec(command, timeout=10)
    assert result.exit_code != 0, result.text
    assert _of_the_host() == before


async def test_the_watcher_of_a_command_cannot_be_looked_into(sandbox: Sandbox) -> None:
    script = """
for p in /proc/[0-9]*; do
  pid=${p#/proc/}; [ $pid = 1 ] || [ $pid = $$ ] && continue
  grep -q '^Name:.envolve' $p/status 2>/dev/null || continue
  echo found
  for f in exe cwd root fd/0; do readlink $p/$f && echo leak $f; done
  cat $p/environ $p/maps $p/mem 2>/dev/null | head -c 1 | grep -q . && echo leak memory
done; true"""
    result = await sandbox.exec(script)
    assert result.text == "found\n", result.text


async def test_capabilities_are_dockers_and_nothing_stronger(sandbox: Sandbox) -> None:
    lines = dict(
        line.split(":\t") for line in (await sandbox.exec("cat /proc/self/status")).text.splitlines() if ":\t" in line
    )
    assert int(lines["CapBnd"], 16) == 0xA80425FB
    assert int(lines["CapEff"], 16) == 0xA80425FB
    assert lines["NoNewPrivs"].strip() == "1"


async def test_no_descriptor_leaks_in(sandbox: Sandbox) -> None:
    assert (await sandbox.exec("ls /proc/self/fd")).text.split() == ["0", "1", "2", "3"]


async def test_imports_planted_in_the_sandbox_are_not_run_by_its_host(sandbox: Sandbox, tmp_path: Path) -> None:
    """The launcher's children are Python, and inside, Python's own paths belong to the agent."""
    import shutil
    import sysconfig

    for folder in {sysconfig.get_path("stdlib"), str(Path(shutil.__file__).parent), str(Path(__file__).parents[3])}:
        for name in ("shutil", "hashlib", "codecs", "traceback", "linecache", "encodings/latin_1", "sandbox/planted"):
            text = b"open('/planted', 'w').write('run')\n"
            await sandbox.write_file(f"{folder}/{name}.py", text)
    await sandbox.upload(Path(__file__), "/up")
    await sandbox.download("/up", tmp_path / "down")
    await sandbox.remake_directory("/up")
    with pytest.raises(FileNotFoundError):
        await sandbox.read_file("/nothing")
    await sandbox.exec("true", user="root")
    assert not (await sandbox.exec("test -e /planted")).ok


async def test_processors_are_limited_where_it_is_promised(
    sandboxes: Sandboxes, image: Image, capabilities: Capabilities
) -> None:
    if "cpus" not in capabilities.limits:
        pytest.skip("processor time is not limited on this machine")
    async with sandboxes.running(image, limits=Limits(cpus=0.2)) as sandbox:
        script = "import time, os; t = time.time()\nwhile time.time() - t < 2: pass\nprint(sum(os.times()[:2]))"
        assert float((await sandbox.exec(["python3", "-c", script])).text) < 1.2


async def test_thirty_two_at_once(sandboxes: Sandboxes, image: Image) -> None:
    running = await asyncio.gather(*(sandboxes.backend.start(image) for _ in range(32)))
    try:
        results = await asyncio.gather(*(sandbox.exec(f"echo {n} >/n; cat /n") for n, sandbox in enumerate(running)))
        assert [result.text for result in results] == [f"{n}\n" for n in range(32)]
        assert len({sandbox.id for sandbox in running}) == 32
    finally:
        await asyncio.gather(*(sandbox.stop() for sandbox in running))


async def test_stop_ends_every_process_of_the_sandbox(sandboxes: Sandboxes, image: Image) -> None:
    sandbox = await sandboxes.backend.start(image)
    mark = f"{time.time_ns()}"
    await sandbox.exec(f"setsid sleep 3600.{mark} >/dev/null 2>&1 & sleep 0.1")
    assert _running(mark)
    await sandbox.stop()
    assert not _running(mark)


def _of_the_host() -> list[object]:
    """What the attempts are aimed at."""
    devices = [Path(f"/dev/{name}").stat() for name in ("null", "zero", "full", "random", "urandom", "tty")]
    settings = [Path(f"/proc/sys/kernel/{name}").read_text() for name in ("core_pattern", "hostname")]
    return [*((status.st_mode, status.st_uid) for status in devices), *settings]


def _running(mark: str) -> bool:
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdecimal() and mark.encode() in (process / "cmdline").read_bytes():
                return True
        except OSError:
            continue
    return False
