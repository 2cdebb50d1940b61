"""What is special about the back end without isolation; all else is checked by the conformance suite."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from sandbox.backends import load_backend
from sandbox.conformance.stage import TASK_FOLDER
from sandbox.errors import SandboxError, SandboxUnavailableError, UnsupportedTaskError
from sandbox.local import marks, permission
from sandbox.local.backend import LocalBackend
from sandbox.protocol import Image, Limits, Network
from sandbox.task import Task

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from sandbox.local.sandbox import LocalSandbox

HOST = Network("host")


@pytest_asyncio.fixture
async def backend() -> AsyncIterator[LocalBackend]:
    made = LocalBackend(i_am_in_a_sandbox=True)
    yield made
    await made.close()


@pytest_asyncio.fixture
async def sandbox(backend: LocalBackend) -> LocalSandbox:
    return await backend.start(await backend.machine(), network=HOST)


async def test_it_refuses_until_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(permission.VARIABLE, raising=False)
    backend = load_backend("local")
    for call in (backend.capabilities(), backend.build(Task.read(TASK_FOLDER)), backend.start(Image("local"))):
        with pytest.raises(SandboxUnavailableError, match="ENVOLVE_LOCAL=1"):
            await call
    monkeypatch.setenv(permission.VARIABLE, "1")
    assert (await backend.capabilities()).networks == {"host"}


async def test_a_container_is_not_permission_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(permission.VARIABLE, raising=False)
    monkeypatch.setenv("container", "podman")
    with pytest.raises(SandboxUnavailableError, match="looks like a container"):
        await LocalBackend().capabilities()


@pytest.mark.parametrize(
    ("files", "seen"),
    [
        ({}, False),
        ({".dockerenv": ""}, True),
        ({"run/.containerenv": ""}, True),
        ({"proc/1/cgroup": "0::/kubepods/besteffort/pod1\n"}, True),
        ({"proc/1/cgroup": "0::/init.scope\n"}, False),
    ],
)
def test_containers_are_recognised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], seen: bool
) -> None:
    monkeypatch.delenv("container", raising=False)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert permission.in_container(tmp_path) is seen


def test_it_warns_loudly_and_once_in_a_process() -> None:
    script = (
        "import asyncio; from sandbox.local.backend import LocalBackend; "
        "[asyncio.run(LocalBackend().capabilities()) for _ in range(3)]"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "ENVOLVE_LOCAL": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.count("WARNING: the sandbox `local` isolates nothing") == 1
    assert done.stdout == ""


async def test_it_says_that_it_offers_little(backend: LocalBackend) -> None:
    offered = await backend.capabilities()
    assert (offered.users, offered.snapshot, offered.dockerfile_run) == (False, False, False)
    assert offered.networks == {"host"}
    assert {"timeout", "output_bytes"} <= offered.limits
    assert "storage_mb" not in offered.limits


async def test_the_machine_is_the_image(sandbox: LocalSandbox, tmp_path: Path) -> None:
    await sandbox.exec(f"echo here >{tmp_path}/file")
    assert (tmp_path / "file").read_text() == "here\n"
    await sandbox.stop()
    assert (tmp_path / "file").exists(), "stop removes processes, not files of the machine"


async def test_a_task_whose_files_are_not_here_is_refused_by_name(backend: LocalBackend) -> None:
    with pytest.raises(UnsupportedTaskError, match=r"/tmp/envolve-conformance/plain\.txt .*as_it_stands"):
        await backend.build(Task.read(TASK_FOLDER))


async def test_a_task_whose_files_are_here_is_taken_with_a_finding(backend: LocalBackend, tmp_path: Path) -> None:
    task = _task_that_copies(tmp_path, tmp_path / "root")
    with pytest.raises(UnsupportedTaskError):
        await backend.build(task)
    (tmp_path / "root").mkdir()
    (tmp_path / "root/file").write_text("content")
    image = await backend.build(task)
    assert (image.reference, image.workdir, image.env["GREETING"]) == ("local", str(tmp_path), "hello")
    (finding,) = backend.findings[task.name]
    assert "as it stands" in finding.message
    sandbox = await backend.start(image, network=HOST)
    assert (await sandbox.exec("echo $GREETING; cat root/file")).text == "hello\ncontent"
    (tmp_path / "root/file").write_text("another")
    with pytest.raises(UnsupportedTaskError, match="root/file"):
        await backend.build(task)


async def test_the_machine_can_be_taken_as_it_stands_and_what_is_missing_is_told(tmp_path: Path) -> None:
    backend = LocalBackend(i_am_in_a_sandbox=True, as_it_stands=True)
    task = _task_that_copies(tmp_path, tmp_path / "root")
    await backend.build(task)
    messages = [finding.message for finding in backend.findings[task.name]]
    assert len(messages) == 2
    assert str(tmp_path / "root/file") in messages[0]


async def test_what_it_cannot_do_is_refused_by_name(backend: LocalBackend, sandbox: LocalSandbox) -> None:
    machine = await backend.machine()
    with pytest.raises(UnsupportedTaskError, match="none"):
        await backend.start(machine)
    with pytest.raises(UnsupportedTaskError, match="storage_mb=7"):
        await backend.start(machine, limits=Limits(storage_mb=7), network=HOST)
    with pytest.raises(SandboxError, match="elsewhere"):
        await backend.start(Image("elsewhere"), network=HOST)
    with pytest.raises(UnsupportedTaskError, match="changed"):
        await sandbox.changed_files()
    with pytest.raises(UnsupportedTaskError, match="snapshots"):
        await sandbox.snapshot()
    with pytest.raises(UnsupportedTaskError, match="nobody"):
        await sandbox.exec("true", user="nobody")
    assert (await sandbox.exec("echo me", user=os.geteuid())).text == "me\n"


async def test_secrets_of_this_process_are_not_handed_on(
    sandbox: LocalSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert "secret" not in (await sandbox.exec("env")).text


@pytest.mark.parametrize("groups", [True, False], ids=["by control groups", "by marks alone"])
async def test_processes_are_found_without_control_groups_too(
    backend: LocalBackend, monkeypatch: pytest.MonkeyPatch, groups: bool
) -> None:
    if not groups:
        monkeypatch.setattr("sandbox.local.groups.find_hierarchies", lambda name: ())
    elif not (await backend.capabilities()).limits & {"processes", "memory_mb"}:
        pytest.skip("no control group can be made on this machine")
    sandbox = await backend.start(await backend.machine(), network=HOST)
    script = "import subprocess; [subprocess.Popen(['sleep', '300'], start_new_session=True, stdout=-3, stderr=-3) for _ in range(3)]"
    await sandbox.exec(["python3", "-c", script])
    other = await backend.start(await backend.machine(), network=HOST)
    await other.exec("sleep 300 >/dev/null 2>&1 &")
    assert await sandbox.kill_processes() == 3
    assert await other.kill_processes() == 1
    result = await sandbox.exec("(setsid sleep 300 &) ; sleep 300", timeout=1)
    assert result.timed_out
    assert await sandbox.kill_processes() == 0


async def test_a_child_that_emptied_its_environment_is_found_by_its_parent(
    backend: LocalBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandbox.local.groups.find_hierarchies", lambda name: ())
    sandbox = await backend.start(await backend.machine(), network=HOST)
    result = await sandbox.exec("env -i sleep 300 & sleep 300", timeout=1)
    assert result.timed_out
    assert await sandbox.kill_processes() == 0
    assert not marks.find(marks.Mark(f"{marks.SANDBOX}={sandbox.id}".encode()))


async def test_orphans_of_a_dead_process_are_stale_and_swept(backend: LocalBackend) -> None:
    script = (
        "import asyncio, os, signal\n"
        "from sandbox.local.backend import LocalBackend\n"
        "from sandbox.protocol import Network\n"
        "async def main():\n"
        "    backend = LocalBackend(i_am_in_a_sandbox=True)\n"
        "    sandbox = await backend.start(await backend.machine(), network=Network('host'))\n"
        "    await sandbox.exec('setsid sleep 300 >/dev/null 2>&1 &')\n"
        "    print(sandbox.id, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    await backend.capabilities()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    said, _ = await process.communicate()
    assert process.returncode == -signal.SIGKILL
    name = said.decode().strip()
    (found,) = [one for one in await backend.stale() if one.name == name]
    assert found.kind == "sandbox"
    assert await backend.sweep() >= 1
    assert name not in {one.name for one in await backend.stale()}


async def test_the_living_are_not_stale(backend: LocalBackend, sandbox: LocalSandbox) -> None:
    await sandbox.exec("sleep 300 >/dev/null 2>&1 &")
    assert sandbox.id not in {one.name for one in await LocalBackend().stale()}


@pytest.mark.parametrize("name", ["", "x", "1-2", "notapid-1-2-local-1", "1-1-1-local-1", "4194304-1-1-local-1"])
def test_a_name_of_no_living_owner(name: str) -> None:
    assert not marks.owner_lives(name)


def test_our_own_name_lives() -> None:
    assert marks.owner_lives(f"{marks.owner_name()}-local-7")


def _task_that_copies(folder: Path, root: Path) -> Task:
    """A task whose Dockerfile copies `file` to `root`."""
    environment = folder / "task/environment"
    environment.mkdir(parents=True)
    (folder / "task/task.toml").write_text('schema_version = "1.4"\n[task]\nname = "tests/local"\n')
    (folder / "task/instruction.md").write_text("Nothing.\n")
    (folder / "task/tests").mkdir()
    (folder / "task/tests/test.sh").write_text("#!/bin/bash\n")
    (environment / "file").write_text("content")
    lines = f"FROM python:3.12-bookworm\nENV GREETING=hello\nWORKDIR {folder}\nCOPY file {root}/file\n"
    (environment / "Dockerfile").write_text(lines)
    return Task.read(folder / "task")
