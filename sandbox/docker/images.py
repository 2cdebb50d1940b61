"""Builds a task's image in the engine, once per content."""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from docker.errors import APIError, ImageNotFound, NotFound

from sandbox.docker.building import Order, build_image
from sandbox.docker.context import context_digest
from sandbox.docker.engine import engine_errors, said
from sandbox.docker.labels import BACKEND, IMAGE, KIND
from sandbox.docker.roots import import_base
from sandbox.docker.stages import outer_stages, with_images
from sandbox.errors import ImageError, SandboxError, UnsupportedTaskError
from sandbox.image.dockerfile import DOCKERFILE
from sandbox.protocol import Image
from sandbox.task.phase import resolved_env

if TYPE_CHECKING:
    import docker

    from sandbox.docker.engine import Engine
    from sandbox.docker.stages import Stage
    from sandbox.image.bases import Base, BaseMap
    from sandbox.task import Task

REPOSITORY = "envolve/task"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Origin:
    """An image that a task builds on.

    Attributes:
        name: Its name in the engine.
        identity: What tells it from another of the same name.
        record: Its name for the record.
    """

    name: str
    identity: str
    record: str


class Images:
    """Images of tasks.

    Args:
        engine: The engine.
        bases: What image names stand for; names in no rule are the engine's own or pulled.
        build_args: Values of the Dockerfiles' `ARG`s.
    """

    def __init__(self, engine: Engine, bases: BaseMap, build_args: dict[str, str]) -> None:
        self._engine = engine
        self._bases = bases
        self._build_args = build_args
        self._locks: dict[str, asyncio.Lock] = {}
        self._imported: dict[Base, tuple[str, str]] = {}

    async def build(self, task: Task) -> Image:
        """See `SandboxBackend.build`."""
        environment = task.config.environment
        if environment.os != "linux":
            raise UnsupportedTaskError(
                f"task.toml [environment] os = {environment.os!r}: this back end runs Linux only"
            )
        if environment.gpus or environment.tpu:
            raise UnsupportedTaskError("task.toml [environment] gpus: this back end hands no accelerator in")
        env = resolved_env(environment.env)
        ready = environment.docker_image
        # A ready image beats the Dockerfile where a rule lists it by name, as in the other back ends.
        if ready and (self._bases.exact(ready) is not None or not task.has(DOCKERFILE)):
            origin = await self._origin(ready)
            return await self._described(origin.name, origin.record, env, environment.workdir)
        if not task.has(DOCKERFILE):
            raise ImageError(f"{DOCKERFILE}: missing, and task.toml names no [environment] docker_image")
        text = task.read_text(DOCKERFILE)
        stages = await asyncio.to_thread(outer_stages, text)
        origins = {stage: await self._origin(stage.image) for stage in stages}
        replaced = {s: origin.name for s, origin in origins.items() if origin.name != s.image}
        dockerfile = with_images(text, replaced)
        key = await asyncio.to_thread(self._key, task, dockerfile, origins)
        name = f"{REPOSITORY}:{key}"
        async with self._locks.setdefault(name, asyncio.Lock()):
            if not await self._has(name):
                labels = {IMAGE: key, KIND: "task", BACKEND: "docker"}
                await build_image(self._engine, Order(task, dockerfile, name, labels, self._build_args))
        record = origins[stages[-1]].record if stages else "scratch"
        return await self._described(name, record, env, environment.workdir)

    async def name_of(self, image: str) -> str:
        """The name in the engine of what an image name stands for, imported or pulled if need be."""
        return (await self._origin(image)).name

    async def by_rule(self, image: str) -> str:
        """The name in the engine of what a rule says an image stands for; the image itself where no rule does."""
        return image if self._rule(image) is None else (await self._origin(image)).name

    def _key(self, task: Task, dockerfile: str, origins: dict[Stage, Origin]) -> str:
        parts = [
            _FORMAT,
            context_digest(task, dockerfile),
            [origin.identity for origin in origins.values()],
            sorted(self._build_args.items()),
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]

    async def _origin(self, image: str) -> Origin:
        """What an image name stands for, imported or pulled if need be.

        Raises:
            ImageError: There is no such image anywhere.
            UnsupportedTaskError: The rule for it is of no use here.
            SandboxError: The registry cannot be reached, or the engine refused.
        """
        base = self._rule(image)
        if base is None:
            return await self._engine.call(f"looking for {image}", _pulled, self._engine.client, image)
        async with self._locks.setdefault(f"base {base}", asyncio.Lock()):
            if base not in self._imported:
                client = self._engine.client
                self._imported[base] = await self._engine.call("importing", import_base, client, base, image)
        name, record = self._imported[base]
        return Origin(name, name, record)

    def _rule(self, image: str) -> Base | None:
        try:
            return self._bases.resolve(image)
        except UnsupportedTaskError:
            return None

    async def _has(self, name: str) -> bool:
        return bool(await self._engine.call(f"looking for {name}", self._engine.client.images.list, name))

    async def _described(self, name: str, record: str, env: dict[str, str], workdir: str | None) -> Image:
        found = await self._engine.call(f"looking at {name}", self._engine.client.api.inspect_image, name)
        config = found.get("Config") or {}
        rows = [str(row).partition("=") for row in config.get("Env") or []]
        own = {key: value for key, _, value in rows}
        place = workdir or str(config.get("WorkingDir") or "") or "/"
        return Image(name, {**own, **env}, place, str(config.get("User") or ""), record)


def _pulled(client: docker.DockerClient, image: str) -> Origin:
    try:
        found = client.images.get(image).attrs
    except ImageNotFound:
        try:
            client.images.pull(image)
        except (ImageNotFound, NotFound) as error:
            raise ImageError(f"the image {image} does not exist: {said(error)}") from error
        except APIError as error:
            raise SandboxError(
                f"the image {image} cannot be pulled: {said(error)}. Load it into the engine (docker load), or say "
                f"what it stands for: --base {image}=DIR, a root folder, or --base {image}=TAR, an archive of one"
            ) from error
        with engine_errors(f"looking at {image}"):
            found = client.images.get(image).attrs
    return Origin(image, str(found["Id"]), f"image:{str(found['Id']).removeprefix('sha256:')[:16]}")
