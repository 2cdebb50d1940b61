"""A sandbox of the cloud from its start to its end: time renewed, lost, swept, retried, refused."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from sandbox.backends import load_backend
from sandbox.e2b import owners
from sandbox.e2b.backend import E2BBackend
from sandbox.errors import SandboxError, SandboxLostError, SandboxUnavailableError, UnsupportedTaskError
from sandbox.protocol import Image, Limits, Network, Sandbox, SandboxBackend, Snapshot
from sandbox.siblings import fork, fresh
from tests.sandbox.e2b.conftest import BASE, LIMITS
from tests.sandbox.e2b.machine import Size

if TYPE_CHECKING:
    from sandbox.e2b.sandbox import E2BSandbox
    from tests.sandbox.e2b.server import Cloud


async def test_it_is_what_the_contract_says(backend: E2BBackend, sandbox: E2BSandbox) -> None:
    assert isinstance(backend, SandboxBackend)
    assert isinstance(sandbox, Sandbox)
    assert sandbox.backend is backend
    assert (await backend.capabilities()).networks == {"none", "allowlist", "public"}


async def test_it_lives_on_while_its_owner_does(cloud: Cloud) -> None:
    backend = E2BBackend(template="base", lifetime=1)
    sandbox = await backend.start(BASE)
    machine = cloud.machines[sandbox.id]
    first = machine.end
    while (machine.end - first).total_seconds() < 1.5:  # noqa: ASYNC110 - it would have been killed by now
        await asyncio.sleep(0.1)
    assert (await sandbox.exec("echo here")).text == "here\n"
    await backend.close()
    assert sandbox.id not in cloud.machines


async def test_without_a_renewal_it_is_killed_and_lost(cloud: Cloud) -> None:
    backend = E2BBackend(template="base", lifetime=1)
    sandbox = await backend.start(BASE)
    cloud.faults["/timeout"] = [403] * 100
    while sandbox.id in cloud.machines:  # noqa: ASYNC110 - the cloud tells nobody
        await asyncio.sleep(0.1)
    with pytest.raises(SandboxLostError):
        await sandbox.exec("echo here")
    await backend.close()


async def test_one_that_is_gone_under_a_command_is_lost(ours: E2BBackend, cloud: Cloud) -> None:
    sandbox = await ours.start(BASE)
    begun = asyncio.Event()
    running = asyncio.create_task(sandbox.exec("echo go; sleep 600", on_output=lambda *_: begun.set()))
    await begun.wait()
    await cloud.machines.pop(sandbox.id).kill()
    with pytest.raises(SandboxLostError, match="gone"):
        await running
    for call in (sandbox.exec("true"), sandbox.read_file("/etc/passwd"), sandbox.kill_processes()):
        with pytest.raises(SandboxLostError):
            await call
    await sandbox.stop()
    await sandbox.stop()


async def test_a_stopped_one_says_so(backend: E2BBackend) -> None:
    sandbox = await backend.start(BASE)
    await sandbox.stop()
    await sandbox.stop()
    with pytest.raises(SandboxLostError, match="stopped"):
        await sandbox.exec("true")


async def test_a_cancelled_command_is_killed(sandbox: E2BSandbox) -> None:
    begun = asyncio.Event()
    running = asyncio.create_task(sandbox.exec("echo go; sleep 741", on_output=lambda *_: begun.set()))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not (await sandbox.exec("ps ax -o args | grep '[s]leep 741'")).text


async def test_dead_owners_sandboxes_are_found_and_swept(
    ours: E2BBackend, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = await ours.start(BASE)
    dead = {**owners.labels(), owners.OWNER: "1@another-boot:1.0"}
    elsewhere = {**dead, owners.MACHINE: "another machine"}
    for labels in (dead, elsewhere):
        monkeypatch.setattr(owners, "labels", lambda labels=labels: labels)
        await E2BBackend(template="base").start(BASE)
    stale = await ours.stale()
    assert [one.kind for one in stale] == ["sandbox"]
    assert "1@another-boot" in stale[0].note
    assert await ours.sweep() == 1
    assert await ours.sweep() == 0
    assert len(cloud.machines) == 2
    assert (await mine.exec("echo here")).text == "here\n"
    await cloud.end_all()


def test_an_owner_is_dead_when_its_process_is() -> None:
    mine = owners.labels()
    assert not owners.is_dead(mine)
    pid, _, rest = mine[owners.OWNER].partition("@")
    boot = rest.rpartition(":")[0]
    assert owners.is_dead({**mine, owners.OWNER: f"{pid}@{boot}:1.0"})  # the number is another process's now
    assert owners.is_dead({**mine, owners.OWNER: f"4194305@{boot}:1.0"})
    assert not owners.is_dead({})


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_an_overloaded_service_is_asked_again(ours: E2BBackend, cloud: Cloud, status: int) -> None:
    cloud.faults["/v2/sandboxes"] = [status] * 5
    cloud.faults["/process.Process/Start"] = [429, 429]
    sandbox = await ours.start(BASE)
    cloud.faults["/process.Process/Start"] = [429, 429]
    assert (await sandbox.exec("echo once >> /tmp/ran; cat /tmp/ran")).text == "once\n"
    cloud.faults["/files"] = [429, 502]
    cloud.faults["/filesystem.Filesystem/Stat"] = [429, 503]
    await sandbox.write_file("/tmp/file", b"bytes")
    assert await sandbox.read_file("/tmp/file") == b"bytes"
    assert not any(cloud.faults.values())
    assert len(cloud.machines) == 1


async def test_a_service_that_stays_broken_is_our_infrastructure_not_the_tasks(ours: E2BBackend, cloud: Cloud) -> None:
    cloud.faults["/v2/sandboxes"] = [500] * 100
    with pytest.raises(SandboxError, match="service failed") as caught:
        await ours.start(BASE)
    assert type(caught.value) is SandboxError


async def test_a_command_is_never_run_twice(ours: E2BBackend, cloud: Cloud) -> None:
    sandbox = await ours.start(BASE)
    cloud.faults["/process.Process/Start"] = [503]
    with pytest.raises(SandboxError):
        await sandbox.exec("echo once >> /tmp/ran")


async def test_without_a_key_it_says_which(settings: pytest.MonkeyPatch) -> None:
    backend = load_backend("e2b")
    with pytest.raises(SandboxUnavailableError, match="E2B_API_KEY"):
        await backend.capabilities()
    await backend.close()


async def test_a_wrong_key_is_told_as_such(cloud: Cloud) -> None:
    with pytest.raises(SandboxUnavailableError, match="E2B_API_KEY"):
        await E2BBackend(api_key="e2b_wrong").capabilities()


async def test_an_unknown_template_is_named(ours: E2BBackend) -> None:
    with pytest.raises(SandboxError, match="no-such"):
        await ours.start(Image("no-such"))


@pytest.mark.parametrize(
    ("network", "internet", "egress"),
    [
        (Network(), False, {}),
        (Network("public"), True, {}),
        (
            Network("allowlist", ("a.org", "*.b.org")),
            True,
            {"allowOut": ["a.org", "*.b.org"], "denyOut": ["0.0.0.0/0"]},
        ),
        (Network("allowlist"), False, {}),
    ],
)
async def test_networks_are_asked_for_in_the_services_words(
    ours: E2BBackend, cloud: Cloud, network: Network, internet: bool, egress: dict[str, object]
) -> None:
    await ours.start(BASE, network=network)
    asked = cloud.created[-1]
    assert asked["allow_internet_access"] is internet
    assert asked["network"] == {"allowPublicTraffic": False, **egress}


@pytest.mark.parametrize(
    ("limits", "named"),
    [
        (Limits(storage_mb=100), "storage_mb"),
        (Limits(processes=10), "processes"),
        (Limits(memory_mb=4096), "memory_mb"),
        (Limits(memory_mb=96), "memory_mb"),
        (Limits(cpus=4), "cpus"),
        (Limits(cpus=0.5), "cpus"),
    ],
)
async def test_a_limit_that_cannot_be_had_is_refused_by_name(
    ours: E2BBackend, cloud: Cloud, limits: Limits, named: str
) -> None:
    before = len(cloud.machines)
    with pytest.raises(UnsupportedTaskError, match=named):
        await ours.start(BASE, limits=limits)
    assert len(cloud.machines) == before


async def test_the_templates_own_size_is_a_limit_that_holds(ours: E2BBackend, cloud: Cloud) -> None:
    cloud.size = Size(cpus=2, memory_mb=512)
    sandbox = await ours.start(BASE, limits=Limits(memory_mb=512, cpus=2))
    assert (sandbox.limits.memory_mb, sandbox.limits.cpus) == (512, 2)
    with pytest.raises(UnsupportedTaskError, match="build a template with cpu_count=1"):
        await ours.start(BASE, limits=Limits(cpus=1))


async def test_this_machines_network_is_refused(ours: E2BBackend) -> None:
    with pytest.raises(UnsupportedTaskError, match="host"):
        await ours.start(BASE, network=Network("host"))


async def test_a_file_larger_than_its_limit_is_not_written(sandbox: E2BSandbox) -> None:
    assert (await sandbox.exec("head -c 3M /dev/zero > /tmp/large; stat -c %s /tmp/large")).text == f"{1 << 20}\n"
    assert LIMITS.file_size_mb == 1


async def test_a_fork_has_the_files_and_none_of_the_processes(sandbox: E2BSandbox) -> None:
    await sandbox.exec("echo kept > /opt/file; sleep 751 &")
    async with fork(sandbox) as copy:
        assert (await copy.exec("cat /opt/file; ps ax -o args | grep '[s]leep 751'")).text == "kept\n"
    async with fresh(sandbox) as clean:
        assert (await clean.exec("ls /opt/file")).exit_code == 2
    assert (await sandbox.exec("ps ax -o args | grep '[s]leep 751'")).text == "sleep 751\n"


async def test_a_discarded_snapshot_goes_with_the_last_sandbox_of_it(ours: E2BBackend, cloud: Cloud) -> None:
    sandbox = await ours.start(BASE)
    snapshot = await sandbox.snapshot()
    copy = await ours.start(snapshot)
    await ours.discard(snapshot)
    assert snapshot.reference in cloud.snapshots
    with pytest.raises(SandboxError, match="discarded"):
        await ours.start(snapshot)
    await copy.stop()
    await ours.close()
    assert snapshot.reference not in cloud.snapshots
    await ours.discard(Snapshot("never-was", BASE))


async def test_where_no_files_alone_are_frozen_the_processes_of_a_fork_are_killed(
    ours: E2BBackend, cloud: Cloud
) -> None:
    cloud.freezes_files = False
    sandbox = await ours.start(BASE)
    await sandbox.exec("echo kept > /opt/file")
    async with fork(sandbox) as copy:
        assert (await copy.exec("cat /opt/file; ps ax -o args | grep '[s]leep 752'")).text == "kept\n"
        assert await copy.kill_processes() == 0


async def test_a_command_that_kills_the_service_harms_no_other(ours: E2BBackend, cloud: Cloud) -> None:
    sandbox = await ours.start(BASE)
    machine = sandbox.wire.cloud.sandbox_id
    ended = await sandbox.exec("echo first; touch /opt/file; sleep 1; kill -KILL -1", timeout=30)
    assert (ended.text, ended.exit_code, ended.timed_out) == ("first\n", 137, False)
    assert (await sandbox.exec("ls /opt/file")).ok
    assert await sandbox.kill_processes() == 0
    assert (await sandbox.exec("echo here")).text == "here\n"
    assert machine in cloud.machines


@pytest.mark.slow
async def test_where_the_service_is_stopped_the_files_move_to_another_machine(ours: E2BBackend, cloud: Cloud) -> None:
    sandbox = await ours.start(BASE)
    name, machine, frozen = sandbox.id, sandbox.wire.cloud.sandbox_id, set(cloud.snapshots)
    stopper = "import os, signal; open('/opt/file', 'w').close(); os.kill(-1, signal.SIGSTOP)"
    ended = await sandbox.exec(["python3", "-c", stopper], timeout=2)
    assert (ended.exit_code, ended.timed_out) == (137, True)
    assert (await sandbox.exec("ls /opt/file")).ok
    assert sandbox.id == name
    assert machine not in cloud.machines
    await sandbox.stop()
    await ours.close()
    assert set(cloud.snapshots) == frozen


@pytest.mark.slow
async def test_where_no_other_machine_is_to_be_had_the_sandbox_is_lost(ours: E2BBackend, cloud: Cloud) -> None:
    cloud.freezes_files = False
    sandbox = await ours.start(BASE)
    with pytest.raises(SandboxLostError, match="killed the service"):
        await sandbox.exec(["python3", "-c", "import os, signal; os.kill(-1, signal.SIGSTOP)"], timeout=2)
