"""What sandboxes reach: listed hosts by a proxy of our own, the internet by `pasta`, and nothing else."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox.bubblewrap import pasta
from sandbox.bubblewrap.backend import BubblewrapBackend
from sandbox.errors import UnsupportedTaskError
from sandbox.protocol import Network
from sandbox.siblings import fork

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from sandbox.protocol import Image, Sandbox
    from sandbox.sandboxes import Sandboxes

WORLD = Path(__file__).with_name("world.py")
REFUSED = "refused"

# In the sandbox: `python3 -c ASK get URL`, `tunnel HOST PORT`, `direct HOST PORT`, `name HOST`; prints what came.
ASK = """
import socket, sys, urllib.error, urllib.request
def get(url):
    try:
        return urllib.request.urlopen(url, timeout=10).read().decode()
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read().decode()}"
def tunnel(host, port):
    with socket.create_connection(("127.0.0.1", 3128), 10) as way:
        way.sendall(f"CONNECT {host}:{port} HTTP/1.1\\r\\n\\r\\n".encode())
        answer = way.recv(4096).decode()
        if " 200 " not in answer:
            return answer
        way.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
        return way.makefile().read().partition("\\n\\n")[2]
def direct(host, port):
    with socket.create_connection((host, int(port)), 3):
        return "connected"
def name(host):
    return str(socket.getaddrinfo(host, 80))
try:
    print(globals()[sys.argv[1]](*sys.argv[2:]))
except OSError as error:
    print("refused:", error)
"""


@pytest.fixture(scope="module")
def service() -> Iterator[int]:
    """An HTTP server on this machine's loopback; its port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_serve, args=(listening,), daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


def _serve(listening: socket.socket) -> None:
    while True:
        try:
            visitor, _ = listening.accept()
        except OSError:
            return
        visitor.recv(1 << 16)
        visitor.sendall(b"HTTP/1.0 200 OK\r\n\r\nserved")
        visitor.close()


async def ask(sandbox: Sandbox, *words: str) -> str:
    result = await sandbox.exec(["python3", "-c", ASK, *words], timeout=30)
    assert result.ok, result
    return result.text.strip()


@asynccontextmanager
async def allowing(sandboxes: Sandboxes, image: Image, *hosts: str) -> AsyncIterator[Sandbox]:
    sandbox = await sandboxes.backend.start(image, network=Network("allowlist", hosts))
    try:
        yield sandbox
    finally:
        await sandbox.stop()


async def test_a_listed_host_is_reached_and_nothing_else(sandboxes: Sandboxes, image: Image, service: int) -> None:
    async with allowing(sandboxes, image, "localhost", "127.0.0.1") as sandbox:
        assert await ask(sandbox, "tunnel", "127.0.0.1", str(service)) == "served"
        assert (await ask(sandbox, "tunnel", "localhost", str(service))) == "served"
        assert "403" in await ask(sandbox, "tunnel", "not-listed.example", "443")
        assert (await ask(sandbox, "get", "http://not-listed.example/")).startswith(
            "403 not-listed.example port 80 is not"
        )
        for words in (("direct", "127.0.0.1", str(service)), ("direct", "192.0.2.1", "80"), ("name", "example.org")):
            assert (await ask(sandbox, *words)).startswith("refused"), words
        names = await sandbox.exec("cat /proc/net/dev")
        assert [line.split(":")[0].strip() for line in names.text.splitlines()[2:] if "lo:" not in line] == []


async def test_plain_http_goes_through_the_proxy(sandboxes: Sandboxes, image: Image, service: int) -> None:
    async with allowing(sandboxes, image, "127.0.0.1") as sandbox:
        url = f"http://127.0.0.1:{service}/"
        assert (await ask(sandbox, "get", url)).startswith("refused")  # NO_PROXY: the sandbox's own loopback
        result = await sandbox.exec(["python3", "-c", ASK, "get", url], env={"no_proxy": "", "NO_PROXY": ""})
        assert result.text == "served\n"


async def test_commands_are_told_of_the_proxy(sandboxes: Sandboxes, image: Image) -> None:
    proxy = "http://127.0.0.1:3128"
    told = {
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), proxy),
        **dict.fromkeys(("NO_PROXY", "no_proxy"), "localhost,127.0.0.1,::1"),
    }
    script = [
        "python3",
        "-c",
        "import json, os; print(json.dumps({k: v for k, v in os.environ.items() if 'proxy' in k.lower()}))",
    ]
    async with allowing(sandboxes, image, "a.example") as sandbox:
        for clean in (False, True):
            assert json.loads((await sandbox.exec(script, clean_env=clean)).text) == told
        own = await sandbox.exec(script, env={"HTTP_PROXY": "http://own:1"})
        assert json.loads(own.text) == told | {"HTTP_PROXY": "http://own:1"}
    async with sandboxes.running(image) as sandbox:
        assert (await sandbox.exec(script)).text == "{}\n"


async def test_the_proxy_outlives_the_agent_who_cannot_take_its_port(
    sandboxes: Sandboxes, image: Image, service: int
) -> None:
    async with allowing(sandboxes, image, "127.0.0.1") as sandbox:
        taken = await sandbox.exec(["python3", "-c", "import socket; socket.create_server(('127.0.0.1', 3128))"])
        assert "Address already in use" in taken.error_text
        await sandbox.exec("sleep 100 & kill -9 -1", timeout=20)
        assert await ask(sandbox, "tunnel", "127.0.0.1", str(service)) == "served"
        await sandbox.exec("setsid sleep 100 >/dev/null 2>&1 &")
        assert await sandbox.kill_processes() > 0
        assert await ask(sandbox, "tunnel", "127.0.0.1", str(service)) == "served"


async def test_each_sandbox_has_its_own_list_and_a_copy_has_that_of_the_first(
    sandboxes: Sandboxes, image: Image, service: int
) -> None:
    async with (
        allowing(sandboxes, image, "127.0.0.1") as one,
        allowing(sandboxes, image, "localhost") as two,
        fork(one) as copy,
    ):
        asked = [ask(sandbox, "tunnel", "127.0.0.1", str(service)) for sandbox in (one, two, copy)]
        answers = await asyncio.gather(*asked)
        assert (answers[0], answers[2]) == ("served", "served")
        assert "403" in answers[1]
        assert copy.network == one.network


async def test_stop_closes_all_that_was_opened(sandboxes: Sandboxes, image: Image, service: int) -> None:
    async def round_trip() -> int:
        async with allowing(sandboxes, image, "127.0.0.1") as sandbox:
            await sandbox.exec(
                f"exec 5<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT 127.0.0.1:{service} ' >&5; sleep 100 &"
            )
            assert await ask(sandbox, "tunnel", "127.0.0.1", str(service)) == "served"
        return _descriptors()

    await round_trip()  # spares are made meanwhile
    await asyncio.sleep(0.2)
    counts = []
    for _ in range(3):
        await round_trip()
        await asyncio.sleep(0.2)
        counts.append(_descriptors())
    assert counts[0] == counts[-1], counts


def _descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def test_a_list_that_cannot_be_read_is_refused(sandboxes: Sandboxes, image: Image) -> None:
    with pytest.raises(UnsupportedTaskError, match=r"allowed_hosts.*'no host'"):
        await sandboxes.backend.start(image, network=Network("allowlist", ("no host",)))


async def test_without_pasta_the_public_network_is_refused(
    image: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name, **_: None)
    backend = BubblewrapBackend(base=("*=host",), state=tmp_path / "state")
    try:
        assert (await backend.capabilities()).networks == {"none", "allowlist", "host"}
        with pytest.raises(UnsupportedTaskError, match="apt install passt, or take --network host"):
            await backend.start(await backend.host_image(), network=Network("public"))
    finally:
        await backend.close()


@pytest.mark.parametrize(
    ("files", "servers"),
    [
        (["nameserver 192.0.2.53\nnameserver 2001:db8::53\n"], ["192.0.2.53", "2001:db8::53"]),
        (["nameserver 127.0.0.53\n", "nameserver 192.0.2.9\n"], ["192.0.2.9"]),
        (["nameserver 10.0.0.1\n", "nameserver 192.0.2.9\n"], ["192.0.2.9"]),
        (["nameserver fe80::1%eth0\nnameserver 192.0.2.9\n"], ["192.0.2.9"]),
        (["nameserver 127.0.0.1\n"], ["198.18.233.5"]),
        ([], ["198.18.233.5"]),
    ],
)
def test_name_servers_are_those_a_sandbox_can_reach(tmp_path: Path, files: list[str], servers: list[str]) -> None:
    """A resolver on this machine, at an address of its own (here 10.0.0.1), cannot be one of them."""
    for number, text in enumerate(files):
        (tmp_path / str(number)).write_text(text + "search a.example b.example\n")
    written = pasta.resolv_conf([*(tmp_path / str(n) for n in range(len(files))), tmp_path / "missing"], ["10.0.0.1"])
    lines = written.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("nameserver")] == servers
    assert ("search a.example b.example" in lines) == bool(files)


@pytest.mark.slow
@pytest.mark.parametrize("resolver", ["198.51.100.53", "127.0.0.53"])
def test_the_public_network_is_the_internet_without_this_machine(tmp_path: Path, resolver: str) -> None:
    """In a small internet of its own, where everything answers, also what sandboxes must not reach."""
    missing = [name for name in ("pasta", "ip", "unshare", "nsenter", "mount") if shutil.which(name) is None]
    if os.geteuid() or missing:
        pytest.skip(f"needs root and the programs {', '.join(missing) or 'of iproute2 and util-linux'}")
    command = ["unshare", "--net", "--mount", sys.executable, WORLD, tmp_path / "state", resolver]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert "refusal" not in told, told
    met = told["met"]
    internet = {"a name", *(f"{way} {host}" for way in ("get", "bound") for host in ("198.51.100.9", "2001:db8:7::9"))}
    assert {what for what, answer in met.items() if answer == "the internet"} == internet
    assert not [what for what, answer in met.items() if answer == "this machine"]
    assert told["machine"] == []
    assert {visit for visit in told["internet"] if visit != "tcp"} == {
        "frame to 198.51.100.9",
        "frame to 2001:db8:7::9",
    }
    assert told["internet"].count("tcp") == len(internet) + 1
    assert told["other"] == "b'the internet'\n"
    assert not [name for name in met["processes"] if name.startswith(("pasta", "passt"))]
    assert told["pastas"] == [0, 2, 0]
