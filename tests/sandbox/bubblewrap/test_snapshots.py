"""Frozen files: forks start from them, change nothing in them, and nothing in each other."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from sandbox.bubblewrap.backend import BubblewrapBackend
from sandbox.errors import SandboxError
from sandbox.protocol import Snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from sandbox.protocol import Image, Sandbox
    from sandbox.sandboxes import Sandboxes

EVERYTHING = """
mkdir -p /made/sub && echo one >/made/sub/file && ln /made/sub/file /made/hard && ln -s sub/file /made/soft
chmod 6751 /made/sub/file && mkfifo /made/pipe && touch -d @1000000000 /made/sub
rm /etc/hosts /usr/bin/env && rm -r /etc/skel && mkdir /etc/skel && echo new >/etc/skel/new
echo 'changed' >>/etc/hostname && mv /etc/terminfo /etc/moved 2>/dev/null; rm -rf /usr/share/doc
chown 33:33 /made/soft -h 2>/dev/null; python3 -c 'import os; os.setxattr("/made/sub/file", "user.mine", b"1")' || true
"""
LOOK = """
cat /made/soft; stat -c '%n %a %h %F' /made/sub/file /made/hard; stat -c %Y /made/sub
ls -A /etc/skel; tail -1 /etc/hostname; ls /etc/hosts /usr/bin/env /usr/share/doc 2>&1
stat -c '%u %g' /made/soft; python3 -c 'import os; print(os.listxattr("/made/sub/file"))'
"""


async def test_a_fork_has_everything_as_it_was(sandboxes: Sandboxes, sandbox: Sandbox) -> None:
    await sandbox.exec(EVERYTHING)
    before = await sandbox.exec(LOOK)
    assert "No such file" in before.text
    frozen = await sandbox.snapshot()
    await sandbox.exec("echo later >/made/sub/file; rm -r /made; touch /etc/hosts")
    async with sandboxes.running(frozen) as fork:
        assert (await fork.exec(LOOK)).text == before.text
        assert (await fork.exec("pwd; echo $FROM_IMAGE")).text == "/app\nyes\n"
        again = await fork.snapshot()
    async with sandboxes.running(
        again
    ) as fork:  # files of the earlier snapshot are linked: only their count of links differs
        assert (await fork.exec(LOOK.replace("%h ", ""))).text == before.text.replace("6751 2 ", "6751 ").replace(
            "644 1 ", "644 "
        )


async def test_forks_change_nothing_for_each_other(sandboxes: Sandboxes, sandbox: Sandbox) -> None:
    await sandbox.exec("echo base >/state; mkdir /dir; echo f >/dir/f")
    frozen = await sandbox.snapshot()
    async with sandboxes.running(frozen) as one, sandboxes.running(frozen) as two:
        await asyncio.gather(one.exec("echo one >/state; rm /dir/f"), two.exec("echo two >>/state; echo g >/dir/g"))
        assert (await one.exec("cat /state; ls /dir")).text == "one\n"
        assert (await two.exec("cat /state; ls /dir")).text == "base\ntwo\nf\ng\n"
    assert (await sandbox.exec("cat /state; ls /dir")).text == "base\nf\n"


async def test_a_line_of_snapshots_stays_one_layer_and_deleted_stays_deleted(
    sandboxes: Sandboxes, sandbox: Sandbox
) -> None:
    frozen = await sandbox.snapshot()
    for step in range(1, 25):
        async with sandboxes.running(frozen) as fork:
            command = f"echo {step} >/step-{step}; rm -f /step-{step - 1}; mkdir -p /d; rm -rf /d/x; mkdir /d/x; touch /d/x/{step}"
            assert (await fork.exec(command)).ok
            frozen = await fork.snapshot()
    async with sandboxes.running(frozen) as fork:
        assert (await fork.exec("ls -d /step-*; ls /d/x")).text == "/step-24\n24\n"
        mounts = (await fork.exec("head -1 /proc/mounts")).text
        assert mounts.count(":") <= 3


RACE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
os.makedirs("/race/real")
os.symlink(os.environ["GOAL"], "/race/link")
for n in range(300): open(f"/race/real/{n}", "w").close()
open("/ready", "w").close()
while True: libc.renameat2(-100, b"/race/real", -100, b"/race/link", 2)
"""


async def test_a_folder_swapped_for_a_link_lets_nothing_of_the_host_in(
    sandboxes: Sandboxes, sandbox: Sandbox, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("of the host")
    await sandbox.write_file("/race.py", RACE.encode())
    await sandbox.exec(
        "setsid python3 /race.py >/dev/null 2>&1 & until [ -e /ready ]; do sleep 0.02; done",
        env={"GOAL": str(tmp_path)},
    )
    for _ in range(12):
        frozen = await sandbox.snapshot()
        changes = await sandbox.changed_files(["/race"])
        assert not [change for change in changes if change.path.endswith("/secret")]
        async with sandboxes.running(frozen) as fork:
            assert (await fork.exec("find /race -name secret")).text == ""
        await sandboxes.backend.discard(frozen)


async def test_a_tree_deeper_than_a_path_may_be_long_is_frozen(sandboxes: Sandboxes, sandbox: Sandbox) -> None:
    script = (
        "import os\nfor _ in range(1200): os.mkdir('deep' * 5); os.chdir('deep' * 5)\nopen('end', 'w').write('found')"
    )
    await sandbox.exec(["python3", "-c", script], cwd="/tree")
    frozen = await sandbox.snapshot()
    async with sandboxes.running(frozen) as fork:
        walk = "import os\nwhile os.path.isdir('deep' * 5): os.chdir('deep' * 5)\nprint(open('end').read())"
        assert (await fork.exec(["python3", "-c", walk], cwd="/tree")).text == "found\n"
    await sandboxes.backend.discard(frozen)


async def test_a_discarded_snapshot_goes_when_nobody_stands_on_it(sandboxes: Sandboxes, sandbox: Sandbox) -> None:
    backend = sandboxes.backend
    assert isinstance(backend, BubblewrapBackend)
    run = await backend.run_folder()
    await sandbox.exec("echo frozen >/f")
    frozen = await sandbox.snapshot()
    fork = await backend.start(frozen)
    await backend.discard(frozen)
    await backend.discard(frozen)
    with pytest.raises(SandboxError, match="unknown here"):
        await backend.start(frozen)
    assert (await fork.exec("cat /f")).text == "frozen\n"
    assert (run / frozen.reference).exists()
    later = await fork.snapshot()
    await fork.stop()
    await backend._janitor.settled()
    assert not (run / frozen.reference).exists()
    async with sandboxes.running(later) as again:
        assert (await again.exec("cat /f")).text == "frozen\n"
    await backend.discard(later)
    await backend.discard(Snapshot("never-there", sandbox.image))
    await backend._janitor.settled()
    assert not (run / later.reference).exists()


async def test_a_snapshot_of_another_back_end_is_unknown(sandboxes: Sandboxes, image: Image) -> None:
    with pytest.raises(SandboxError, match="unknown here"):
        await sandboxes.backend.start(Snapshot("s999999", image))
