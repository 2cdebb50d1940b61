"""The allow-list proxy with real sockets: who is let through, where to, and what is refused."""

import ast
import asyncio
import ipaddress
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.network import allowlist, guard
from sandbox.network.allowlist import Allowlist, AllowlistProxy, Target, is_public, normal_host, split_authority

# ---- which hosts


@pytest.mark.parametrize(
    ("host", "listed"),
    [
        ("pypi.example", True),
        ("PyPI.Example", True),
        ("pypi.example.", True),
        ("evil-pypi.example", False),
        ("pypi.example.evil.test", False),
        ("a.files.example", True),
        ("b.a.files.example", True),
        ("files.example", False),
        ("xfiles.example", False),
        ("192.0.2.7", True),
        ("192.0.2.8", False),
        ("198.51.100.200", True),
        ("[2001:db8::1]", True),
        ("[2001:0DB8:0:0::1]", True),
        ("[2001:db8::2]", False),
        ("[::ffff:192.0.2.7]", False),
    ],
)
def test_a_host_is_listed_by_its_name(host, listed):
    allowed = Allowlist(["pypi.example", "*.files.example", "192.0.2.7", "198.51.100.0/24", "2001:db8::1"])
    target = split_authority(host, 443)
    assert target is not None
    assert allowed.names(target) is listed


@pytest.mark.parametrize(
    "entry", ["http://a.example", "a.example/x", "a..example", "*", "*.*.example", "a.example:0x1", ""]
)
def test_an_entry_that_is_no_host_is_refused_when_the_proxy_is_made(entry):
    with pytest.raises(ValueError, match="no host name"):
        AllowlistProxy([entry])


@pytest.mark.parametrize(
    "text", ["127.1", "0x7f.1", "2130706433", "0177.0.0.1", "a.0x7f", "a b", "a%2e", "-a.example", "[::1%lo]"]
)
def test_numbers_that_a_resolver_takes_for_addresses_are_no_host(text):
    assert split_authority(text, 80) is None


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.9.9.9", "0.0.0.1", "10.1.2.3", "172.17.0.1", "192.168.1.1", "100.100.100.200", "224.0.0.1"),
        *("169.254.169.254", "168.63.129.16", "192.0.0.192", "255.255.255.255", "240.0.0.1"),
        *("::1", "::", "fe80::1", "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"),
    ],
)
def test_addresses_that_are_not_of_the_internet(address):
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:1.1.1.1"])
def test_addresses_that_are(address):
    assert is_public(ipaddress.ip_address(address))


# ---- plain requests


async def test_a_listed_host_answers_and_hears_only_its_own_request(proxy_for, host):
    async with proxy_for("127.0.0.1") as proxy:
        answer = await proxy.get(
            f"http://127.0.0.1:{host.port}/a?b=1",
            "Proxy-Connection: keep-alive",
            "Proxy-Authorization: Basic c2VjcmV0",
            "Connection: keep-alive, X-Hop",
            "X-Hop: 1",
            "X-Kept: 2",
        )
    assert answer.endswith(b"hello")
    head = host.received[0].decode().lower().split("\r\n")
    assert head[:2] == ["get /a?b=1 http/1.1", f"host: 127.0.0.1:{host.port}"]
    assert "x-kept: 2" in head
    assert "connection: close" in head
    assert not [line for line in head if line.startswith(("proxy-", "x-hop", "connection: keep"))]


async def test_a_body_is_passed_on_to_its_last_byte_and_nothing_behind_it(proxy_for, host):
    async with proxy_for("127.0.0.1") as proxy:
        url = f"http://127.0.0.1:{host.port}"
        second = f"GET {url}/smuggled HTTP/1.1\r\n\r\n".encode()
        answer = await proxy.ask(f"POST {url}/ HTTP/1.1\r\nContent-Length: 3\r\n\r\n".encode() + b"abc" + second)
    assert answer.endswith(b"hello")
    assert host.received[0].endswith(b"\r\n\r\nabc")
    assert len(host.received) == 1


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (["GET / HTTP/1.1", "Host: {host}"], 400),
        (["GET https://{host}/ HTTP/1.1"], 400),
        (["GET http://user:secret@{host}/ HTTP/1.1"], 400),
        (["GET http://{host}/ HTTP/1.1", "Host: other.example"], 400),
        (["GET http://{host}/ HTTP/1.1", "Host: {host}", "Host: {host}"], 400),
        (["GET http://{host}/ HTTP/1.1", "Host : {host}"], 400),
        (["GET http://{host}/ HTTP/1.1", "X: 1", " folded"], 400),
        (["GET http://{host}/ HTTP/1.1", "X: 1\nHost: other.example"], 400),
        (["GET http://{host}/ HTTP/1.1\rX: 1"], 400),
        (["GET http://{host}/ HTTP/1.1", "X: \0"], 400),
        (["GET http://{host}/ HTTP/2.0"], 400),
        (["GET  http://{host}/ HTTP/1.1"], 400),
        (["nonsense"], 400),
        (["POST http://{host}/ HTTP/1.1", "Content-Length: 3", "Content-Length: 4"], 400),
        (["POST http://{host}/ HTTP/1.1", "Content-Length: +3"], 400),
        (["POST http://{host}/ HTTP/1.1", "Content-Length: 3", "Transfer-Encoding: chunked"], 411),
        (["POST http://{host}/ HTTP/1.1", "Transfer-Encoding: xchunked"], 411),
        (["CONNECT {host} HTTP/1.1", "Host: other.example"], 400),
        (["CONNECT 127.0.0.1 HTTP/1.1"], 400),
        (["CONNECT 127.0.0.1:0 HTTP/1.1"], 400),
        (["CONNECT 127.0.0.1:65536 HTTP/1.1"], 400),
        (["CONNECT http://{host} HTTP/1.1"], 400),
    ],
)
async def test_a_request_that_two_programs_could_read_in_two_ways_is_refused(proxy_for, host, lines, status):
    request = "\r\n".join([*lines, "", ""]).replace("{host}", f"127.0.0.1:{host.port}")
    async with proxy_for("127.0.0.1") as proxy:
        answer = await proxy.ask(request.encode())
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert host.received == []


async def test_a_host_that_is_not_listed_gets_a_sentence(proxy_for, host):
    async with proxy_for("pypi.example") as proxy:
        plain = await proxy.get(f"http://127.0.0.1:{host.port}/")
        tunnel = await proxy.ask(f"CONNECT 127.0.0.1:{host.port} HTTP/1.1\r\n\r\n".encode())
    for answer in (plain, tunnel):
        assert answer.startswith(b"HTTP/1.1 403 Forbidden")
        assert b"127.0.0.1 port" in answer
        assert b"allowed: pypi.example" in answer
    assert len(proxy.refusals) == 2
    assert host.received == []


async def test_a_listed_name_that_resolves_to_this_machine_needs_the_address_listed_as_well(proxy_for, host):
    url = f"http://localhost:{host.port}/"
    async with proxy_for("localhost") as proxy:
        assert b"403 Forbidden" in await proxy.get(url)
    async with proxy_for("localhost", "127.0.0.0/8") as proxy:
        assert (await proxy.get(url)).endswith(b"hello")


async def test_a_name_that_does_not_resolve_and_a_port_where_nobody_listens(proxy_for):
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    async with proxy_for("*.invalid", "127.0.0.1") as proxy:
        assert b"502 Bad Gateway" in await proxy.get("http://no-such-host.invalid/")
        assert b"502 Bad Gateway" in await proxy.get(f"http://127.0.0.1:{port}/")


async def test_ipv6_literals(proxy_for):
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    got = []

    async def answer(reader, writer):
        got.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        writer.close()

    try:
        server = await asyncio.start_server(answer, "::1", 0)
    except OSError:
        pytest.skip("no IPv6 loopback here")
    port = server.sockets[0].getsockname()[1]
    async with proxy_for("::1") as proxy:
        assert b"204 No Content" in await proxy.get(f"http://[::1]:{port}/", f"Host: [0:0:0:0:0:0:0:1]:{port}")
        assert b"403 Forbidden" in await proxy.get(f"http://[::2]:{port}/")
        assert b"400 Bad Request" in await proxy.get(f"http://::1:{port}/")
    assert f"Host: [::1]:{port}".encode() in got[0]
    server.close()


# ---- tunnels


async def echo_after_the_end(reader, writer):
    """Answers only once its client has closed its half of the connection."""
    heard = await reader.read()
    writer.write(heard[::-1])
    await writer.drain()
    writer.close()


async def test_a_tunnel_carries_bytes_both_ways_and_outlives_one_closed_half(proxy_for):
    server = await asyncio.start_server(echo_after_the_end, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    payload = bytes(range(256)) * 4096
    async with proxy_for("127.0.0.1") as proxy:
        reader, writer = await proxy.open()
        # The first bytes of the tunnel come in one piece with the request.
        writer.write(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode() + payload)
        assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
        writer.write_eof()
        assert await asyncio.wait_for(reader.read(), 20) == payload[::-1]
        writer.close()
    server.close()


async def test_hundreds_of_tunnels_at_once(proxy_for):
    server = await asyncio.start_server(echo_after_the_end, "127.0.0.1", 0, backlog=512)
    port = server.sockets[0].getsockname()[1]

    async def one(number: int) -> bytes:
        reader, writer = await proxy.open()
        writer.write(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n{number:04}".encode())
        await reader.readuntil(b"\r\n\r\n")
        await everyone_is_in.wait()
        writer.write_eof()
        answer = await reader.read()
        writer.close()
        return answer

    everyone_is_in = asyncio.Barrier(200)
    async with proxy_for("127.0.0.1") as proxy, asyncio.timeout(60):
        answers = await asyncio.gather(*(one(number) for number in range(200)))
    assert answers == [f"{number:04}"[::-1].encode() for number in range(200)]
    server.close()


async def test_one_connection_too_many_is_told_so(proxy_for):
    async with proxy_for("127.0.0.1", most=2) as proxy:
        waiting = [await proxy.open(), await proxy.open()]
        assert b"503 Service Unavailable" in await proxy.ask(b"GET http://127.0.0.1/ HTTP/1.1\r\n\r\n")
        for _, writer in waiting:
            writer.close()


# ---- clients that misbehave


async def test_a_huge_head_is_capped(proxy_for, host):
    async with proxy_for("127.0.0.1") as proxy:
        answer = await proxy.get(f"http://127.0.0.1:{host.port}/", "X: " + "a" * 200_000)
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert host.received == []


async def test_a_client_that_never_finishes_its_request_is_sent_away(proxy_for):
    async with proxy_for("127.0.0.1", patience=0.3) as proxy:
        assert (await proxy.ask(b"GET http://127.0.0.1/ HTTP/1.1\r\nX: ")).startswith(b"HTTP/1.1 408 ")


async def test_a_tunnel_in_which_nothing_moves_is_closed(proxy_for):
    server = await asyncio.start_server(echo_after_the_end, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with proxy_for("127.0.0.1", idle=0.3) as proxy:
        answer = await proxy.ask(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nabc".encode())
    assert answer == b"HTTP/1.1 200 Connection established\r\n\r\n"
    server.close()


async def test_a_proxy_that_is_cancelled_drops_its_tunnels(proxy_for, caplog):
    server = await asyncio.start_server(echo_after_the_end, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with proxy_for("127.0.0.1") as proxy:
        reader, writer = await proxy.open()
        writer.write(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nabc".encode())
        await reader.readuntil(b"\r\n\r\n")
    assert await asyncio.wait_for(reader.read(), 20) == b""
    with pytest.raises(OSError):
        await proxy.open()
    writer.close()
    server.close()
    assert caplog.records == []


# ---- the other ways to run it


async def test_it_serves_a_unix_socket(tmp_path, host):
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(tmp_path / "proxy"))
    listening.listen()
    serving = asyncio.create_task(AllowlistProxy(["127.0.0.1"]).serve(listening))
    reader, writer = await asyncio.open_unix_connection(tmp_path / "proxy")
    writer.write(f"GET http://127.0.0.1:{host.port}/ HTTP/1.1\r\n\r\n".encode())
    assert (await asyncio.wait_for(reader.read(), 20)).endswith(b"hello")
    writer.close()
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)


async def test_it_runs_as_one_file_without_this_project(tmp_path, host):
    script = shutil.copy(allowlist.__file__, tmp_path / "allowlist.py")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", script, "--listen", "127.0.0.1:0", "--allow", "127.0.0.1"),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        port = int((await process.stdout.readline()).rpartition(b":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET http://127.0.0.1:{host.port}/ HTTP/1.1\r\n\r\n".encode())
        assert (await asyncio.wait_for(reader.read(), 20)).endswith(b"hello")
        writer.close()
    finally:
        process.terminate()
        _, errors = await process.communicate()
    assert process.returncode == 0
    assert errors == b""


@pytest.mark.parametrize("script", [allowlist.__file__, guard.__file__])
def test_what_is_sent_into_containers_is_python_3_8(script):
    ast.parse(Path(script).read_text(), feature_version=(3, 8))


def test_targets_are_written_the_way_requests_write_them():
    assert Target("::1", 8080).authority == "[::1]:8080"
    assert Target("a.example", 80).authority == "a.example"
    assert normal_host("A.Example.") == "a.example"
