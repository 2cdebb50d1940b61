"""What sandboxes can reach on a real Docker engine: nothing, listed hosts, or the world without this machine."""

import asyncio
import json
import os
import socket
import subprocess
import threading
from contextlib import asynccontextmanager
from pathlib import Path

import docker
import pytest
from docker.errors import DockerException, ImageNotFound

from sandbox.docker import labels
from sandbox.docker.networks import Networks
from sandbox.errors import SandboxError, UnsupportedTaskError
from sandbox.protocol import NO_NETWORK, Network

pytestmark = [pytest.mark.outside, pytest.mark.slow]

DEBIAN = Path(__file__).parents[3] / ".outside" / "debian"
NAME, TAG = "envolve-debian", "bookworm"
IMAGE = f"{NAME}:{TAG}"
OURS = labels.labels_for("proxy")

# What a sandbox tries: each line of input is a JSON list, each line of output says what came of it.
PROBE = r"""
import json, os, socket, sys, urllib.error, urllib.request
def tcp(host, port):
    with socket.create_connection((host, port), 3):
        return "open"
def route(host):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.connect((host, 53))  # looks for a route, sends nothing
        return "routed"
def name(host):
    return "resolved" if socket.getaddrinfo(host, 80) else "nothing"
def get(url):
    try:
        return urllib.request.urlopen(url, timeout=10).read().decode()
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read().decode()}"
def devices():
    return sorted(os.listdir("/sys/class/net"))
def ipv6():
    try:
        return [line.split()[-1] for line in open("/proc/net/if_inet6")]
    except FileNotFoundError:
        return []
for line in sys.stdin:
    do, *arguments = json.loads(line)
    try:
        print(json.dumps(globals()[do](*arguments)))
    except OSError as error:
        print(json.dumps("refused: " + type(error).__name__))
"""


@pytest.fixture(scope="module")
def client():
    try:
        client = docker.from_env()
        client.ping()
    except DockerException as error:
        pytest.skip(f"no Docker engine: {error}")
    try:
        client.images.get(IMAGE)
    except ImageNotFound:
        if not DEBIAN.is_dir():
            pytest.skip("no Debian root for an image with python3")
        packed = subprocess.Popen(["tar", "-C", DEBIAN, "--one-file-system", "-c", "."], stdout=subprocess.PIPE)
        client.api.import_image_from_stream(packed.stdout, repository=NAME, tag=TAG)
        assert packed.wait() == 0
    yield client
    client.close()


class Machine:
    """A container that stands for a sandbox."""

    def __init__(self, container, env):
        self.container = container
        self.env = env

    @property
    def address(self):
        self.container.reload()
        return next(iter(self.container.attrs["NetworkSettings"]["Networks"].values()))["IPAddress"]

    async def run(self, *attempts):
        return await asyncio.to_thread(self._run, attempts)

    def _run(self, attempts):
        lines = "\n".join(json.dumps(attempt) for attempt in attempts)
        command = ["sh", "-c", 'printf %s "$1" | python3 -c "$2"', "sh", lines + "\n", PROBE]
        status, output = self.container.exec_run(command, environment=dict(self.env))
        assert status == 0, output
        return [json.loads(line) for line in output.splitlines()]


@pytest.fixture
def machine(client):
    """Starts a container with a place in a network, as a back end does."""

    @asynccontextmanager
    async def start(joined, command=("sleep", "600")):
        container = await asyncio.to_thread(
            lambda: client.containers.run(
                IMAGE, list(command), detach=True, init=True, labels=labels.labels_for("sandbox"), **joined.create
            )
        )
        try:
            await joined.settle(container.id)
            yield Machine(container, joined.env)
        finally:
            await asyncio.to_thread(container.remove, force=True)
            await joined.release()

    return start


@pytest.fixture
async def networks(client):
    async with Networks(client, OURS, proxy_image=IMAGE) as made:
        yield made


@pytest.fixture(scope="module")
def host_port():
    """A service on every address of this machine."""
    with socket.create_server(("0.0.0.0", 0)) as listening:  # noqa: S104
        threading.Thread(target=_accept, args=(listening,), daemon=True).start()
        yield listening.getsockname()[1]


def _accept(listening):
    try:
        while True:
            listening.accept()[0].close()
    except OSError:
        pass


def gateways(client):
    """This machine's addresses on the engine's bridges."""
    configs = [c for n in client.networks.list() for c in (n.attrs["IPAM"]["Config"] or [])]
    return sorted({config["Gateway"] for config in configs if "Gateway" in config})


@pytest.fixture
def internet(client):
    """A network that stands for the internet, with two hosts on it: `web.test` and `other.test`."""
    network = client.networks.create(f"envolve-test-{os.urandom(4).hex()}", labels=OURS)
    hosts = [
        client.containers.create(
            IMAGE, ["python3", "-m", "http.server", "-d", "/etc", "80"], init=True, labels=labels.labels_for("sandbox")
        )
        for _ in ("web", "other")
    ]
    try:
        for container, name in zip(hosts, ("web.test", "other.test"), strict=True):
            network.connect(container, aliases=[name])
            container.start()
            container.reload()
        yield network, [c.attrs["NetworkSettings"]["Networks"][network.name]["IPAddress"] for c in hosts]
    finally:
        for container in hosts:
            container.remove(force=True)
        network.remove()


def refused(answers):
    return all(str(answer).startswith("refused") for answer in answers)


async def test_none_is_a_loopback_and_nothing_else(client, networks, machine, host_port):
    async with machine(await networks.join(NO_NETWORK, "a")) as sandbox:
        devices, ipv6, *rest = await sandbox.run(
            ["devices"],
            ["ipv6"],
            ["name", "example.org"],
            ["route", "169.254.169.254"],
            ["route", "1.1.1.1"],
            *(["tcp", address, host_port] for address in gateways(client)),
        )
    assert devices == ["lo"]
    assert set(ipv6) <= {"lo"}
    assert refused(rest)


async def test_an_allowlist_reaches_its_hosts_through_the_proxy_and_nothing_else(client, machine, internet, host_port):
    egress, (web, other) = internet
    async with Networks(client, OURS, proxy_image=IMAGE, egress=egress.name) as networks:
        allowed = Network("allowlist", ("web.test", web))
        async with machine(await networks.join(allowed, "a")) as sandbox:
            answers = await sandbox.run(
                ["get", "http://web.test/hostname"],
                ["get", "http://other.test/hostname"],
                ["get", f"http://{other}/"],
                ["get", f"http://{sandbox.env['HTTP_PROXY'].split('/')[2]}/"],
                ["get", "http://169.254.169.254/latest/meta-data/"],
                ["get", f"http://172.17.0.1:{host_port}/"],
            )
            around = await sandbox.run(
                *(["tcp", address, 80] for address in (web, other)),
                *(["tcp", address, host_port] for address in gateways(client)),
                *(["name", name] for name in ("web.test", "example.org")),
                *(["route", address] for address in ("1.1.1.1", "169.254.169.254", "192.0.2.2")),
            )
            devices, ipv6 = await sandbox.run(["devices"], ["ipv6"])
    assert devices == ["eth0", "lo"]
    assert set(ipv6) <= {"lo"}
    assert answers[0].strip()
    assert not answers[0].startswith("4")
    assert [answer[:4] for answer in answers[1:]] == ["403 "] * 5
    assert refused(around)


async def test_sandboxes_with_the_same_allowlist_share_a_bridge_but_not_a_way_to_each_other(client, networks, machine):
    allowed = Network("allowlist", ("web.test",))
    first = await networks.join(allowed, "a")
    second = await networks.join(Network("allowlist", ("WEB.test",)), "b")
    assert first.create["network"] == second.create["network"]
    async with machine(first, ["python3", "-m", "http.server", "80"]) as server, machine(second) as client_side:
        address, *_ = [server.address]
        assert refused(await client_side.run(["tcp", address, 80]))
        assert await server.run(["tcp", "127.0.0.1", 80]) == ["open"]


async def test_public_has_the_world_but_not_this_machine_nor_its_neighbours(client, networks, machine, host_port):
    async with (
        machine(await networks.join(Network("public"), "a"), ["python3", "-m", "http.server", "80"]) as server,
        machine(await networks.join(Network("public"), "b")) as sandbox,
    ):
        answers = await sandbox.run(
            ["route", "169.254.169.254"],
            ["tcp", server.address, 80],
            *(["tcp", address, host_port] for address in gateways(client)),
        )
        assert refused(answers)
        assert await sandbox.run(["route", "1.1.1.1"]) == ["routed"]


async def test_a_container_that_nobody_guards_does_reach_this_machine(client, host_port):
    """Shows that the other tests knock on a door that is open."""
    container = client.containers.run(
        IMAGE, ["sleep", "60"], detach=True, init=True, labels=labels.labels_for("sandbox")
    )
    try:
        assert await Machine(container, {}).run(["tcp", "172.17.0.1", host_port]) == ["open"]
    finally:
        container.remove(force=True)


async def test_who_comes_when_all_bridges_are_in_use_waits_for_one(client):
    def bridges():
        found = client.networks.list(filters={"label": f"{labels.OWNER}={labels.owner()}"})
        return [network for network in found if network.attrs["Internal"]]

    async with Networks(client, OURS, most=1, proxy_image=IMAGE) as networks:
        first = await networks.join(Network("allowlist", ("a.test",)), "a")
        waiting = asyncio.create_task(networks.join(Network("allowlist", ("b.test",)), "b"))
        project = asyncio.create_task(networks.project(NO_NETWORK, "c"))
        again = await networks.join(Network("allowlist", ("a.test",)), "d")
        await first.release()
        await first.release()
        assert not waiting.done()
        assert not project.done()
        assert len(bridges()) == 1
        await again.release()
        await (await waiting).release()
        await (await project).release()
        assert len(bridges()) <= 1
    assert bridges() == []


async def test_who_waits_too_long_is_told_why(client):
    async with Networks(client, OURS, most=1, proxy_image=IMAGE, patience=0.1) as networks:
        first = await networks.join(Network("allowlist", ("a.test",)), "a")
        with pytest.raises(SandboxError, match="all 1 networks stayed in use"):
            await networks.project(NO_NETWORK, "b")
        await first.release()


async def test_an_allowlist_whose_proxy_has_died_gets_a_new_one(client, networks):
    allowed = Network("allowlist", ("a.test",))
    first = await networks.join(allowed, "a")
    proxies = {"label": [f"{labels.OWNER}={labels.owner()}", f"{labels.KIND}=proxy"]}
    client.containers.list(filters=proxies)[0].kill()
    with pytest.raises(SandboxError, match="has died"):
        await networks.join(allowed, "b")
    await first.release()
    second = await networks.join(allowed, "c")
    assert second.create != first.create
    await second.release()


async def test_a_project_has_a_bridge_of_its_own_without_a_way_out(client, networks, machine, host_port):
    joined = await networks.project(NO_NETWORK, "project")
    async with machine(joined, ["python3", "-m", "http.server", "80"]) as server, machine(joined) as sandbox:
        assert await sandbox.run(["tcp", server.address, 80]) == ["open"]
        assert await sandbox.run(["name", server.container.id[:12]]) == ["resolved"]
        answers = await sandbox.run(
            *(["tcp", address, host_port] for address in gateways(client)),
            ["name", "example.org"],
            ["tcp", "1.1.1.1", 53],
        )
        assert refused(answers)


async def test_an_image_that_cannot_be_had_is_said_to_be_missing(client):
    async with Networks(client, OURS, proxy_image="localhost:1/no-such-image:none") as networks:
        with pytest.raises(UnsupportedTaskError, match="option proxy_image"):
            await networks.join(Network("allowlist", ("web.test",)), "a")


async def test_a_host_that_is_none_is_refused(networks):
    with pytest.raises(UnsupportedTaskError, match=r"allowed_hosts.*https://web\.test"):
        await networks.join(Network("allowlist", ("https://web.test",)), "a")


async def test_what_a_dead_process_left_is_swept_and_what_a_living_one_has_is_not(client, networks):
    pid, _, rest = labels.owner().partition("@")
    dead = {**OURS, labels.OWNER: f"{pid}@{rest.rpartition(':')[0]}:1"}
    alive = await networks.join(Network("allowlist", ("a.test",)), "a")
    left = client.networks.create(f"envolve-test-{os.urandom(4).hex()}", internal=True, labels=dead)
    proxy = client.containers.create(IMAGE, ["sleep", "60"], network=left.name, labels=dead)
    stale = {thing.name for thing in await networks.stale()}
    assert {left.name, proxy.name} <= stale
    assert alive.create["network"] not in stale
    await networks.sweep()
    names = {network.name for network in client.networks.list()}
    assert left.name not in names
    assert alive.create["network"] in names
    await alive.release()
