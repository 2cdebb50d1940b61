"""The containers of one running compose project: started in order, waited for, removed with all they had."""

from __future__ import annotations

import asyncio
import contextlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import docker.types
from docker.errors import NotFound

from sandbox.docker.composition import MAIN, environment_path
from sandbox.docker.labels import labels_for
from sandbox.errors import ImageError, SandboxError, SandboxLostError, UnsupportedTaskError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sandbox.docker.composition import Composition, Healthcheck, Service
    from sandbox.docker.engine import Engine
    from sandbox.docker.networks import Joined
    from sandbox.protocol import Limits

_LOOK_AGAIN = 0.2
_NANO = 1_000_000_000
_LAST_WORDS = 20  # lines of a container's log that an error quotes
_ONLY_WAITS = re.compile(r"(?:(?:/bin/)?(?:ba)?sh -l?c )?(?:exec )?(?:sleep (?:infinity|\d+)|tail -f /dev/null)")


@dataclass(frozen=True, slots=True)
class Project:
    """A compose task, built.

    Attributes:
        composition: Its compose file.
        folder: The task's folder.
        images: Image of each service, as the engine names it.
        env: Variables of each service.
        entrypoint: The entry point of main's image.
    """

    composition: Composition
    folder: Path
    images: Mapping[str, str]
    env: Mapping[str, Mapping[str, str]]
    entrypoint: tuple[str, ...] = ()


class Services:
    """The services of a project beside one sandbox, which is its `main`.

    Args:
        engine: The engine.
        project: What to start.
        joined: The project's place in a network.
        sandbox: The sandbox's id; names of containers and volumes begin with it.
        limits: What each service may use at most, where the compose file says nothing narrower.
        patience: Seconds that all services together have to become ready.
    """

    def __init__(
        self, engine: Engine, project: Project, joined: Joined, *, sandbox: str, limits: Limits, patience: float
    ) -> None:
        self._engine = engine
        self._client = engine.client
        self._project = project
        self._joined = joined
        self._sandbox = sandbox
        self._limits = limits
        self._patience = patience
        self._containers: dict[str, str] = {}
        self._volumes: list[str] = []
        order = project.composition.order()
        self._late = _after_main(project.composition, order)
        self._early = [name for name in order if name != MAIN and name not in self._late]

    @property
    def env(self) -> dict[str, str]:
        """Variables that commands in any service need for the network."""
        env = dict(self._joined.env)
        services = self._project.composition.services
        near = sorted({name for key, service in services.items() for name in (key, *service.aliases)})
        return env | {key: ",".join([env[key], *near]) for key in ("NO_PROXY", "no_proxy") if key in env}

    async def start(self) -> None:
        """Starts every service that does not wait for `main`, and waits until all are ready.

        Raises:
            ImageError: A service ended or is unhealthy; with its last words.
            SandboxError: The engine refused, or they were not ready in time.
        """
        for volume in self._project.composition.volumes:
            name = f"{self._sandbox}-{volume}"
            self._volumes.append(name)
            await self._engine.call(
                f"making the volume {volume}", self._client.volumes.create, name, labels=labels_for("compose")
            )
        await self._up(self._early)
        for name, dependency in self._project.composition.services[MAIN].depends_on.items():
            if name in self._containers:
                await self._wait(name, dependency.condition if dependency else "service_started")

    async def settle(self, container: str) -> None:
        """Brings `main` to life once its container runs: its own command, and the services that wait for it."""
        await self._joined.settle(container)
        main = self._project.composition.services[MAIN]
        argv = [*(self._project.entrypoint if main.entrypoint is None else main.entrypoint), *(main.command or ())]
        if (main.command or main.entrypoint) and not _ONLY_WAITS.fullmatch(" ".join(main.command or argv)):
            await self._engine.call("starting the command of main", self._exec, container, argv)
        self._containers[MAIN] = container
        if main.healthcheck is not None and not main.healthcheck.disable:
            await self._wait(MAIN, "service_healthy")
        await self._up([name for name in self._late if name not in self._containers])

    async def remove(self) -> None:
        """Removes all of it; `main` is the sandbox's to remove, and gone by now."""
        self._containers.pop(MAIN, None)
        try:
            for name, container in reversed(self._containers.items()):
                await self._engine.call(f"removing the service {name}", self._remove_container, container)
            for volume in self._volumes:
                await self._engine.call(f"removing the volume {volume}", self._remove_volume, volume)
            self._containers.clear()
            self._volumes.clear()
        finally:
            await self._joined.release()

    def arguments(self, name: str) -> dict[str, Any]:
        """Arguments by name for the container of a service, `main` included: its place and what it sees of others.

        Raises:
            UnsupportedTaskError: A path that it mounts leaves the task.
        """
        service = self._project.composition.services[name]
        found: dict[str, Any] = {**self._joined.create}
        endpoint = docker.types.EndpointConfig(self._client.api.api_version, aliases=[name, *service.aliases])
        found["networking_config"] = {found["network"]: endpoint}
        found["mounts"] = self._mounts(service)
        found["tmpfs"] = dict(row.partition(":")[::2] for row in service.tmpfs)
        found["cap_drop"] = list(service.cap_drop)
        for key in ("hostname", "shm_size"):
            if getattr(service, key):
                found[key] = getattr(service, key)
        if service.healthcheck is not None:
            found["healthcheck"] = _healthcheck(service.healthcheck)
        return found

    async def _up(self, names: list[str]) -> None:
        services = self._project.composition.services
        for name in names:
            for other, dependency in services[name].depends_on.items():
                await self._wait(other, dependency.condition if dependency else "service_started")
            container = await self._engine.call(f"making the service {name}", self._create, name)
            self._containers[name] = container
            await self._engine.call(f"starting the service {name}", self._client.api.start, container)
            try:
                await self._joined.settle(container)
            except SandboxError:
                if (await self._state(container)).get("Running"):
                    raise  # one that has done its work by now needs no guard
        for name in names:
            await self._wait(name, "ready")

    def _create(self, name: str) -> str:
        service = self._project.composition.services[name]
        limits = self._limits
        memory = min([m for m in (service.memory, limits.memory_mb and limits.memory_mb << 20) if m], default=None)
        cpus = min([c for c in (service.cpus or service.deploy.resources.limits.cpus, limits.cpus) if c], default=None)
        arguments = self.arguments(name) | {
            "name": f"{self._sandbox}-{name}",
            "environment": {**self.env, **self._project.env[name]},
            "labels": labels_for("compose"),
            "init": service.init,
            "pids_limit": min(p for p in (service.deploy.resources.limits.pids, limits.processes) if p),
            "log_config": docker.types.LogConfig(type="json-file", config={"max-size": "10m"}),
            "ulimits": _ulimits(service),
        }
        if memory:
            arguments |= {"mem_limit": memory, "memswap_limit": memory}
        if cpus:
            arguments["nano_cpus"] = int(cpus * _NANO)
        for key in ("user", "working_dir", "entrypoint"):
            value = getattr(service, key)
            if value is not None:
                arguments[key] = list(value) if isinstance(value, tuple) else value
        command = list(service.command) if service.command is not None else None
        return str(self._client.containers.create(self._project.images[name], command, **arguments).id)

    def _mounts(self, service: Service) -> list[docker.types.Mount]:
        found = []
        home = (self._project.folder / "environment").resolve()
        for mount in service.volumes:
            source: str | None = f"{self._sandbox}-{mount.source}" if mount.source else None
            if mount.type == "bind":
                path = (self._project.folder / environment_path(mount.source)).resolve()
                if not path.is_relative_to(home) or not path.exists():
                    raise UnsupportedTaskError(
                        f"the volume {mount.source}: no file or folder of the task's environment/"
                    )
                source = str(path)
            found.append(docker.types.Mount(mount.target, source, type=mount.type, read_only=mount.read_only))
        return found

    def _exec(self, container: str, argv: list[str]) -> None:
        main = self._project.composition.services[MAIN]
        env = {**self.env, **self._project.env[MAIN]}
        made = self._client.api.exec_create(
            container, argv, environment=env, workdir=main.working_dir, user=main.user or ""
        )
        self._client.api.exec_start(made["Id"], detach=True)

    async def _state(self, container: str) -> Mapping[str, Any]:
        details = await self._engine.call("asking for a service", self._client.api.inspect_container, container)
        state: Mapping[str, Any] = details["State"]
        return state

    async def _wait(self, name: str, condition: str) -> None:
        """Waits for a condition of depends_on; `ready` is healthy where that is defined, and otherwise just started."""
        container = self._containers[name]
        try:
            async with asyncio.timeout(self._patience):
                while not await self._reached(name, condition, await self._state(container)):  # noqa: ASYNC110
                    await asyncio.sleep(_LOOK_AGAIN)
        except TimeoutError:
            words = await self._last_words(container)
            raise SandboxError(
                f"the service {name} is not {condition} after {self._patience:g} s; its last words:\n{words}"
            ) from None

    async def _reached(self, name: str, condition: str, state: Mapping[str, Any]) -> bool:
        ended = state["Status"] in ("exited", "dead")
        health = (state.get("Health") or {}).get("Status", "none")
        problem = ""
        if ended and (state["ExitCode"] != 0 or condition == "service_healthy"):
            problem = f"ended with status {state['ExitCode']}"
        elif health == "unhealthy" and condition in ("service_healthy", "ready"):
            checks = (state["Health"].get("Log") or [{}])[-1]
            problem = f"is unhealthy: its check said {str(checks.get('Output', '')).strip()[-300:]!r}"
        elif condition == "service_healthy" and health == "none":
            problem = "is waited for to become healthy, but has no healthcheck"
        if problem:
            words = await self._last_words(self._containers[name])
            raise ImageError(f"the service {name} {problem}; its last words:\n{words}")
        if condition == "service_completed_successfully":
            return ended
        return ended or condition == "service_started" or health in ("healthy", "none")

    async def _last_words(self, container: str) -> str:
        try:
            said = await self._engine.call("reading a log", self._client.api.logs, container, tail=_LAST_WORDS)
        except (SandboxLostError, SandboxError):
            return ""
        return bytes(said).decode("utf-8", "replace")[-2000:]

    def _remove_container(self, container: str) -> None:
        with contextlib.suppress(NotFound):
            self._client.api.remove_container(container, force=True, v=True)

    def _remove_volume(self, volume: str) -> None:
        with contextlib.suppress(NotFound):
            self._client.volumes.get(volume).remove(force=True)


def _after_main(composition: Composition, order: tuple[str, ...]) -> list[str]:
    """The services that depend on `main`, through others, too; in order."""
    late: list[str] = []
    for name in order:
        if any(other == MAIN or other in late for other in composition.services[name].depends_on):
            late.append(name)
    return [name for name in late if name != MAIN]


def _healthcheck(check: Healthcheck) -> dict[str, object]:
    if check.disable or not check.test:
        return {"test": ["NONE"]} if check.disable else {}
    test = ["CMD-SHELL", check.test] if isinstance(check.test, str) else list(check.test)
    times = {"interval": check.interval, "timeout": check.timeout, "start_period": check.start_period}
    return {"test": test, "retries": check.retries} | {key: int(value * _NANO) for key, value in times.items()}


def _ulimits(service: Service) -> list[docker.types.Ulimit]:
    found = []
    for name, value in service.ulimits.items():
        soft, hard = (value, value) if isinstance(value, int) else (value["soft"], value["hard"])
        found.append(docker.types.Ulimit(name=name, soft=soft, hard=hard))
    return found
