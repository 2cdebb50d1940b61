"""Harbor's environments as a back end of ours: one of them, over bubblewrap, taken through all that a sandbox does."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.sandbox.harbor.conftest import quiet

pytestmark = pytest.mark.outside

HELLO = {
    "task.toml": '[environment]\nnetwork_mode = "no-network"\n',
    "instruction.md": "Write hello to /app/out.\n",
    "environment/Dockerfile": "FROM ubuntu:24.04\nENV TASTE=sweet\nWORKDIR /app\n",
    "solution/solve.sh": "echo hello > out\n",
    "tests/test.sh": '[ "$(cat /app/out)" = hello ] && echo 1 > /logs/verifier/reward.txt || '
    "echo 0 > /logs/verifier/reward.txt\n",
}
PROGRAM = """
import asyncio, json, sys, tarfile, tempfile
from pathlib import Path
from sandbox.errors import SandboxError
from sandbox.harbor import HarborBackend
from sandbox.protocol import Limits, Network, Sandbox, SandboxBackend
from sandbox.task import Task
from sandbox.trial.steps import run_noop, run_reference

async def refused(work):
    try:
        await work
    except (OSError, SandboxError) as error:
        return type(error).__name__

async def main(task, base):
    told = {}
    backend = HarborBackend(environment="sandbox.harbor:BubblewrapEnvironment", base=(base,))
    image = await backend.build(task)
    assert await backend.build(task) is image
    told["image"] = [image.workdir, image.user, image.env["TASTE"]]
    sandbox = await backend.start(image, limits=Limits(output_bytes=100))
    told["protocol"] = isinstance(backend, SandboxBackend) and isinstance(sandbox, Sandbox)
    ran = await sandbox.exec("cat; echo $A; pwd; echo e >&2; exit 3", stdin=b"in\\n", env={"A": "b c"}, cwd="/tmp/new")
    told["exec"] = [ran.text, ran.error_text, ran.exit_code]
    told["argv"] = (await sandbox.exec(["printf", "%s-", "a b", "$c"])).text
    told["clean"] = "TASTE" in (await sandbox.exec("env", clean_env=True)).text
    cut = await sandbox.exec("seq 1000")
    told["cut"] = [cut.truncated, len(cut.stdout) < 200]
    late = await sandbox.exec("setsid sleep 1234 & sleep 1234", timeout=1)
    told["late"] = [late.timed_out, late.exit_code]
    seek = "cat /proc/[0-9]*/comm | grep -x sleep"
    told["after late"] = (await sandbox.exec(seek)).text
    await sandbox.exec("setsid sleep 4321 > /dev/null 2>&1 &")
    told["killed"] = [await sandbox.kill_processes() > 0, (await sandbox.exec(seek)).text]
    await sandbox.write_file("/app/x/run", b"#!/bin/sh\\n\\0", mode=0o750)
    await sandbox.exec("ln -s /etc/passwd /app/x/link; mkdir /app/x/folder; chown 7:8 /app/x/folder")
    told["read"] = (await sandbox.read_file("/app/x/run")).decode()
    told["unread"] = [await refused(sandbox.read_file(p)) for p in ("/app/x/link", "/app/x/folder", "/none")]
    told["large"] = await refused(sandbox.read_file("/app/x/run", max_bytes=3))
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        await sandbox.download("/app/x", here / "x")
        told["download"] = sorted(path.name for path in (here / "x").iterdir())
        await sandbox.pack(["/app/x", "/none"], here / "all.tar")
        told["pack"] = sorted(tarfile.open(here / "all.tar").getnames())
        await sandbox.remove("/app/x")
        told["removed"] = (await sandbox.exec("ls -A /app")).text
        await sandbox.unpack(here / "all.tar")
        told["unpack"] = (await sandbox.exec("stat -c '%a %u:%g %N' /app/x/*")).text
        (here / "x" / "more").write_text("more")
        await sandbox.upload(here / "x", "/app/x")
        told["upload"] = (await sandbox.exec("ls /app/x")).text.split()
    await sandbox.remake_directory("/app/x", mode=0o700)
    told["remade"] = (await sandbox.exec("stat -c %a /app/x; ls -A /app/x")).text
    told["unsupported"] = [await refused(w) for w in (sandbox.snapshot(), sandbox.changed_files())]
    told["refused"] = [await refused(backend.start(image, **wrong)) for wrong in (
        dict(limits=Limits(storage_mb=7)), dict(network=Network("host")))]
    await sandbox.stop()
    await sandbox.stop()
    told["stopped"] = await refused(sandbox.exec("true"))
    for run in (run_reference, run_noop):
        sandbox = await backend.start(image)
        told[run.__name__] = (await run(task, sandbox)).score
    await backend.close()
    print(json.dumps(told))

asyncio.run(main(Task.read(Path(sys.argv[1])), sys.argv[2]))
"""


def test_a_sandbox_of_harbors_keeps_the_promises_of_ours(harbor_python, write, base) -> None:
    done = subprocess.run(
        [harbor_python, "-c", PROGRAM, write("hello", HELLO), base],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
        env=quiet(),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "image": ["/app", "", "sweet"],
        "protocol": True,
        "exec": ["in\nb c\n/tmp/new\n", "e\n", 3],
        "argv": "a b-$c-",
        "clean": False,
        "cut": [True, True],
        "late": [True, 137],
        "after late": "",
        "killed": [True, ""],
        "read": "#!/bin/sh\n\0",
        "unread": ["TransferError", "IsADirectoryError", "FileNotFoundError"],
        "large": "TransferError",
        "download": ["folder", "run"],
        "pack": ["app/x", "app/x/folder", "app/x/link", "app/x/run"],
        "removed": "",
        "unpack": "755 7:8 '/app/x/folder'\n777 0:0 '/app/x/link' -> '/etc/passwd'\n750 0:0 '/app/x/run'\n",
        "upload": ["folder", "link", "more", "run"],
        "remade": "700\n",
        "unsupported": ["UnsupportedTaskError", "UnsupportedTaskError"],
        "refused": ["UnsupportedTaskError", "UnsupportedTaskError"],
        "stopped": "SandboxLostError",
        "run_reference": 1.0,
        "run_noop": 0.0,
    }
