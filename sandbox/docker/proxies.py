"""The containers that stand beside sandboxes: allow-list proxies, and the guards that close routes."""

from __future__ import annotations

import asyncio
import io
import logging
import tarfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docker.errors import DockerException, ImageNotFound

from sandbox.docker.engine import call_engine, said
from sandbox.docker.labels import KIND
from sandbox.errors import SandboxError, SandboxLostError, UnsupportedTaskError
from sandbox.network import allowlist, guard

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import docker
    from docker.models.containers import Container

PROXY_IMAGE = "python:3.12-alpine"
PORT = 3128

_LOG = logging.getLogger(__name__)
_READY = b"listening on"
_READY_SECONDS = 60.0
_LOOK_AGAIN = 0.05
_FOLDER = "/opt"
_NOBODY = "65534:65534"
_SMALL: Mapping[str, Any] = {
    "entrypoint": ["python3"],
    "cap_drop": ["ALL"],
    "security_opt": ["no-new-privileges"],
    "mem_limit": "256m",
    "pids_limit": 256,
    "log_config": {"Type": "json-file", "Config": {"max-size": "1m"}},
    "environment": {"PYTHONDONTWRITEBYTECODE": "1"},
}


class Proxies:
    """Starts proxies and guards.

    Args:
        client: The engine.
        labels: Labels of what is started here, beside the kind.
        image: An image with `python3`.
    """

    def __init__(self, client: docker.DockerClient, labels: Mapping[str, str], image: str = PROXY_IMAGE) -> None:
        self._client = client
        self._labels = {**labels, KIND: "proxy"}
        self._image = image
        self._there: bool | None = None
        self._looking = asyncio.Lock()

    async def need_image(self) -> None:
        """Makes sure that the image is there, and pulls it when not.

        Raises:
            UnsupportedTaskError: It cannot be had; says how to give another.
        """
        async with self._looking:
            if not self._there:
                reason = await asyncio.to_thread(call_engine, "looking for the proxy's image", self._fetch)
                self._there = reason is None
                if reason is not None:
                    raise UnsupportedTaskError(
                        f"the network allowlist needs an image with python3 for its proxy, and {self._image} is "
                        f"neither in this engine nor can it be pulled ({reason}); load one into the engine and name "
                        "it with the docker back end's option proxy_image"
                    )

    async def start(self, network: str, egress: str, hosts: Iterable[str]) -> tuple[str, str]:
        """Starts a proxy between two networks; the image must be there.

        Returns:
            Its container's id, and its address in `network`.

        Raises:
            SandboxError: It does not come up; with what it said.
        """
        return await asyncio.to_thread(call_engine, "starting the proxy", self._start, network, egress, list(hosts))

    async def is_alive(self, proxy: str) -> bool:
        """Whether a proxy still runs."""
        try:
            details = await asyncio.to_thread(
                call_engine, "asking for the proxy", self._client.api.inspect_container, proxy
            )
        except SandboxLostError:
            return False
        return bool(details["State"]["Running"])

    async def guard(self, container: str, reject: Sequence[str], keep: Sequence[str] = (), *, must: bool) -> None:
        """Closes networks to a running container.

        Args:
            container: Its id.
            reject: Networks.
            keep: Addresses that stay reachable.
            must: Whether to fail when the image is missing; otherwise that is a warning in the log.

        Raises:
            SandboxError: The routes could not be closed.
        """
        if not must:
            async with self._looking:
                if self._there is None:
                    self._there = await asyncio.to_thread(call_engine, "looking for an image", self._fetch) is None
            if not self._there:
                _LOG.warning(
                    "public sandboxes can reach this machine's own addresses and metadata services: closing them "
                    "needs an image with python3 (the docker back end's option proxy_image), and %s is not to be had",
                    self._image,
                )
                return
        what = "closing routes of the sandbox"
        await asyncio.to_thread(call_engine, what, self._guard, container, list(reject), list(keep))

    def _fetch(self) -> str | None:
        """Gets the image; returns why not."""
        try:
            self._client.images.get(self._image)
        except ImageNotFound:
            try:
                self._client.images.pull(self._image)
            except DockerException as error:
                return said(error)
        return None

    def _start(self, network: str, egress: str, hosts: list[str]) -> tuple[str, str]:
        command = [f"{_FOLDER}/allowlist.py", "--listen", f"0.0.0.0:{PORT}", "--allow", *hosts]
        container = self._create(allowlist.__file__, command, network=network, user=_NOBODY)
        try:
            self._client.networks.get(egress).connect(container)
            container.start()
            self._await_ready(container)
            container.reload()
            address = str(container.attrs["NetworkSettings"]["Networks"][network]["IPAddress"])
        except BaseException:
            container.remove(force=True)
            raise
        return str(container.id), address

    def _await_ready(self, container: Container) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        while _READY not in (output := container.logs()):
            container.reload()
            if container.status != "running" or time.monotonic() > deadline:
                raise SandboxError(f"the proxy in {self._image} does not come up: {_tail(output)}")
            time.sleep(_LOOK_AGAIN)

    def _guard(self, sandbox: str, reject: list[str], keep: list[str]) -> None:
        command = [f"{_FOLDER}/guard.py", "--reject", *reject, "--keep", *keep]
        container = self._create(
            guard.__file__, command, network_mode=f"container:{sandbox}", cap_add=["NET_ADMIN"], user="0"
        )
        try:
            container.start()
            status = container.wait()["StatusCode"]
            if status != 0:
                raise SandboxError(f"routes could not be closed (status {status}): {_tail(container.logs())}")
        finally:
            container.remove(force=True)

    def _create(self, script: str, command: list[str], **arguments: Any) -> Container:
        container = self._client.containers.create(self._image, command, labels=self._labels, **{**_SMALL, **arguments})
        try:
            container.put_archive(_FOLDER, _archive(Path(script)))
        except BaseException:
            container.remove(force=True)
            raise
        return container


def _archive(script: Path) -> bytes:
    content = script.read_bytes()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        entry = tarfile.TarInfo(script.name)
        entry.size, entry.mode = len(content), 0o644
        archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def _tail(output: bytes) -> str:
    return output[-500:].decode("utf-8", "replace").strip() or "it said nothing"
