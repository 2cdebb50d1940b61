"""A network that was promised to be off (field report 23): every way out is tried, with somebody listening outside."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator

import psutil
import pytest

from tests.attacks.conftest import Target
from tests.attacks.scripts import FOLDER


class Listener:
    """Listens on every address of this machine, and on an abstract socket, and counts who comes."""

    def __init__(self) -> None:
        self.abstract = f"envolve-listener-{os.getpid()}"
        self.visits = 0
        tcp = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
        self.port: int = tcp.getsockname()[1]
        unix = socket.socket(socket.AF_UNIX)
        unix.bind("\0" + self.abstract)
        unix.listen()
        self._sockets = [tcp, unix]
        for listening in self._sockets:
            threading.Thread(target=self._serve, args=(listening,), daemon=True).start()

    def _serve(self, listening: socket.socket) -> None:
        while True:
            try:
                visitor, _ = listening.accept()
            except OSError:
                return
            self.visits += 1
            visitor.close()

    def close(self) -> None:
        for listening in self._sockets:
            listening.shutdown(socket.SHUT_RDWR)
            listening.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.close()


def own_addresses() -> list[str]:
    """This machine's addresses, those of bridges among them."""
    found = {
        address.address.partition("%")[0]
        for addresses in psutil.net_if_addrs().values()
        for address in addresses
        if address.family in (socket.AF_INET, socket.AF_INET6)
    }
    return sorted(found)


async def test_no_way_out(target: Target, listener: Listener) -> None:
    _, image = await target.victim("diff")
    with socket.create_connection(("127.0.0.1", listener.port)):  # it can be reached from here
        pass
    sandbox = await target.backend.start(image)
    try:
        before = listener.visits
        await sandbox.upload(FOLDER / "reach.py", "/app/reach.py")
        arguments = ["python3", "/app/reach.py", str(listener.port), listener.abstract, *own_addresses()]
        tried = await sandbox.exec(arguments, timeout=120)
        assert tried.ok, tried
        assert tried.text == ""
        assert listener.visits == before
    finally:
        await sandbox.stop()


async def test_nothing_of_this_machine_shows(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable and no host name tells of this machine; a kernel setting can't be changed."""
    monkeypatch.setenv("ENVOLVE_MARK", "do not pass on")
    _, image = await target.victim("diff")
    sandbox = await target.backend.start(image)
    try:
        told = await sandbox.exec(
            "python3 -c 'import json, os, socket; print(json.dumps([dict(os.environ), socket.gethostname()]))'"
        )
        environment, hostname = json.loads(told.text)
        assert "ENVOLVE_MARK" not in environment
        assert hostname != socket.gethostname()
        written = await sandbox.exec("echo 1 > /proc/sys/kernel/panic_on_oops || echo x > /proc/sysrq-trigger")
        assert written.exit_code != 0
    finally:
        await sandbox.stop()
