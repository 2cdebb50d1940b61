"""Tasks whose environment is several containers: `environment/docker-compose.yaml`, without the compose program.

The sandbox is the service `main`; the others stand beside it for as long as it lives, in one network of the project.
What differs from Docker Compose under Harbor:

* The variables of this machine are not seen; those of `[environment] env` and Harbor's own are.
* Nothing is published on this machine: `ports` is ignored. All services share one network.
* Mounts are volumes of the project, and read-only files of the task's `environment/`.
* Mounts of Harbor's log folders are left out: logs are fetched from `main`.
* Snapshots hold the files of `main` alone; another sandbox started from one has fresh services.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import json
import posixpath
import tarfile
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from docker.errors import APIError, NotFound

from sandbox.docker.composition import COMPOSE_FILE, MAIN, Build, environment_path, read_composition
from sandbox.docker.labels import BACKEND, IMAGE, KIND, is_dead
from sandbox.docker.networks import Joined
from sandbox.docker.services import Project, Services
from sandbox.docker.stages import outer_stages, with_images
from sandbox.errors import ImageError, SandboxError, UnsupportedTaskError
from sandbox.image.dockerfile import DOCKERFILE
from sandbox.protocol import Image, Stale
from sandbox.task.phase import resolved_env

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from sandbox.docker.composition import Service
    from sandbox.docker.engine import Engine
    from sandbox.docker.networks import Networks
    from sandbox.protocol import Limits, Network
    from sandbox.task import Task

REPOSITORY = "envolve/compose"

_MOMENT = 1_700_000_000  # any fixed time does: the same task is the same archive
_KEPT_LINES = 30
_READY_SECONDS = 600.0


class Compose:
    """Builds compose tasks and starts what stands beside their sandboxes.

    Args:
        engine: The engine, connected.
        networks: Where projects get their networks.
        build_main: Builds the image of `main` as that of a task without a compose file.
        resolve: The engine's name for an image, imported or pulled if need be.
        patience: Seconds that a service has to become ready.
    """

    def __init__(
        self,
        engine: Engine,
        networks: Networks,
        *,
        build_main: Callable[[Task], Awaitable[Image]],
        resolve: Callable[[str], Awaitable[str]],
        patience: float = _READY_SECONDS,
    ) -> None:
        self._engine = engine
        self._networks = networks
        self._build_main = build_main
        self._resolve = resolve
        self._patience = patience
        self._projects: dict[str, Project] = {}

    @staticmethod
    def wants(task: Task) -> bool:
        """Whether a task is one for this module."""
        return task.has(COMPOSE_FILE)

    @staticmethod
    def holds(image: Image) -> bool:
        """Whether an image was made by `build`."""
        return image.reference.startswith(f"{REPOSITORY}:")

    async def build(self, task: Task) -> Image:
        """Builds or fetches the images of all services.

        Returns:
            The image of `main`. `join` starts the others for it, in this process.

        Raises:
            ImageError: The compose file is wrong, or an image does not build.
            UnsupportedTaskError: It wants something that tasks do not get; names it.
        """
        composition = read_composition(task)
        images: dict[str, str] = {}
        main = await self._main_image(task, composition.services[MAIN])
        for name, service in composition.services.items():
            images[name] = main.reference if name == MAIN else await self._image(task, name, service)
        env = {name: _environment(task, service) for name, service in composition.services.items()}
        details = {name: await self._inspect(image) for name, image in images.items()}
        identity = [task.content_hash, *(f"{name} {details[name]['Id']}" for name in sorted(details))]
        reference = f"{REPOSITORY}:{hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:24]}"
        repository, _, tag = reference.rpartition(":")
        await self._engine.call("naming an image", self._engine.client.api.tag, main.reference, repository, tag)
        config = details[MAIN].get("Config")
        entrypoint = tuple((config if isinstance(config, dict) else {}).get("Entrypoint") or ())
        self._projects[reference] = Project(composition, task.root, images, env, entrypoint)
        service = composition.services[MAIN]
        workdir = task.config.environment.workdir or service.working_dir or main.workdir
        user = main.user if service.user is None else service.user
        # `[environment] env` beats the compose file, as in Harbor, which merges its own file last.
        variables = {**main.env, **env[MAIN], **{key: main.env[key] for key in task.config.environment.env}}
        return replace(main, reference=reference, env=variables, workdir=workdir, user=user)

    async def join(self, image: Image, network: Network, sandbox: str, limits: Limits) -> Joined:
        """Starts the services beside one sandbox and gives it its place among them, in place of `Networks.join`.

        Args:
            image: What `build` returned.
            network: What all services may reach beside each other.
            sandbox: The sandbox's id.
            limits: What each service may use at most.

        Raises:
            UnsupportedTaskError: The network is `host`, or needs a proxy for which there is no image.
            ImageError: A service ended or is unhealthy.
            SandboxError: The engine refused, or the services were not ready in time.
        """
        project = self._projects.get(image.reference)
        if project is None:
            raise SandboxError(f"image {image.reference}: its services are not known here; build the task again")
        if network.mode == "host":
            raise UnsupportedTaskError(f"network host: the services of {COMPOSE_FILE} have a network of their own")
        joined = await self._networks.project(network, sandbox)
        services = Services(self._engine, project, joined, sandbox=sandbox, limits=limits, patience=self._patience)
        try:
            await services.start()
            create = services.arguments(MAIN)
        except BaseException:
            await asyncio.shield(asyncio.ensure_future(services.remove()))
            raise
        return Joined(create, services.env, services.settle, services.remove)

    async def stale(self) -> tuple[Stale, ...]:
        """Volumes of dead processes; containers and networks are found by their own sweeps."""
        names = await self._engine.call("listing volumes", self._dead_volumes)
        return tuple(Stale("volume", name, "of a process that ended") for name in names)

    async def sweep(self) -> int:
        """Removes what `stale` lists; sweep dead containers first. Returns how many went."""
        return await self._engine.call("removing volumes", self._remove_dead_volumes)

    def _dead_volumes(self) -> list[str]:
        volumes = self._engine.client.volumes.list(filters={"label": f"{KIND}=compose"})
        return [str(volume.name) for volume in volumes if is_dead(volume.attrs.get("Labels") or {}, running=False)]

    def _remove_dead_volumes(self) -> int:
        count = 0
        for name in self._dead_volumes():
            with contextlib.suppress(NotFound, APIError):  # gone, or still in use by a machine we cannot see
                self._engine.client.volumes.get(name).remove()
                count += 1
        return count

    async def _main_image(self, task: Task, service: Service) -> Image:
        plain = service.build is None or service.build == Build()
        if plain and (task.has(DOCKERFILE) or task.config.environment.docker_image):
            return await self._build_main(task)
        name = await self._image(task, MAIN, service)
        config = (await self._inspect(name)).get("Config")
        config = config if isinstance(config, dict) else {}
        own = dict(str(row).partition("=")[::2] for row in config.get("Env") or ())
        declared = task.config.environment.env
        return Image(
            name,
            {**own, **resolved_env(declared)},
            str(config.get("WorkingDir") or "/"),
            str(config.get("User") or ""),
            f"compose:{MAIN}",
        )

    async def _image(self, task: Task, name: str, service: Service) -> str:
        if service.build is not None:
            return await self._built(task, name, service.build)
        if service.image is None:
            raise ImageError(f"{COMPOSE_FILE}: services.{name}: neither an image nor a build")
        return await self._resolve(service.image)

    async def _built(self, task: Task, name: str, build: Build) -> str:
        folder = environment_path(build.context)
        dockerfile = environment_path(posixpath.join(build.context, build.dockerfile))
        if not task.has(dockerfile):
            raise ImageError(f"{COMPOSE_FILE}: services.{name}.build: there is no {dockerfile}")
        text = task.read_text(dockerfile)
        stages = outer_stages(text)
        origins = {stage: await self._resolve(stage.image) for stage in stages}
        text = with_images(text, {stage: image for stage, image in origins.items() if image != stage.image})
        archive = await asyncio.to_thread(_context, task, folder, dockerfile, text)
        ids = [str((await self._inspect(image))["Id"]) for image in origins.values()]
        parts = [hashlib.sha256(archive).hexdigest(), ids, sorted(build.args.items()), build.target]
        key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]
        image = f"envolve/task:{key}"
        if not await self._engine.call(f"looking for {image}", self._engine.client.images.list, image):
            seconds = task.config.environment.build_timeout_sec
            inside = posixpath.relpath(dockerfile, folder)
            try:
                async with asyncio.timeout(seconds):
                    await self._engine.call(f"building {name}", self._run_build, archive, image, inside, build, key)
            except TimeoutError:
                raise ImageError(
                    f"services.{name}: not built within {seconds:g} s ([environment] build_timeout_sec)"
                ) from None
        return image

    def _run_build(self, archive: bytes, image: str, dockerfile: str, build: Build, key: str) -> None:
        log: deque[str] = deque(maxlen=_KEPT_LINES)
        for told in self._engine.client.api.build(
            fileobj=io.BytesIO(archive),
            custom_context=True,
            dockerfile=dockerfile,
            tag=image,
            target=build.target or "",
            buildargs=build.args,
            labels={IMAGE: key, KIND: "task", BACKEND: "docker"},
            rm=True,
            forcerm=True,
            decode=True,
        ):
            log.extend(str(told.get("stream", "")).splitlines())
            if "error" in told:
                raise ImageError(f"{build.context}: the image does not build: {told['error']}\n" + "\n".join(log))

    async def _inspect(self, image: str) -> Mapping[str, object]:
        found: Mapping[str, object] = await self._engine.call(
            f"looking at {image}", self._engine.client.api.inspect_image, image
        )
        return found


def _context(task: Task, folder: str, dockerfile: str, text: str) -> bytes:
    """The build context of a service; `.dockerignore` is the engine's to read."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for file in sorted(task.under(folder), key=lambda file: file.path):
            entry = tarfile.TarInfo(posixpath.relpath(file.path, folder))
            entry.mtime, entry.mode = _MOMENT, 0o755 if file.executable else 0o644
            if file.link:
                entry.type, entry.linkname = tarfile.SYMTYPE, file.link
                archive.addfile(entry)
                continue
            content = text.encode() if file.path == dockerfile else task.read_bytes(file.path)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def _environment(task: Task, service: Service) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in service.env_file:
        place = environment_path(path)
        if not task.has(place):
            raise ImageError(f"{COMPOSE_FILE}: env_file: there is no {place}")
        for line in task.read_text(place).splitlines():
            name, equals, value = line.strip().removeprefix("export ").partition("=")
            if equals and not name.startswith("#"):
                found[name.strip()] = value.strip().strip("\"'")
    return found | service.environment
