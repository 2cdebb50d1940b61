"""Builds images: a recipe is applied once in a sandbox of its template, and that sandbox's snapshot is the image."""

from __future__ import annotations

import asyncio
import posixpath
import secrets
from typing import TYPE_CHECKING

from sandbox.e2b import files
from sandbox.e2b.dockerfiles import build_template
from sandbox.e2b.wire import SYSTEM_PATH, Ended, Output
from sandbox.errors import ImageError, SandboxError, SandboxLostError, TransferError, UnsupportedTaskError
from sandbox.image.bases import ready_image, recipe_key, recipe_of
from sandbox.image.context import FOLDER
from sandbox.image.instructions import DOCKERFILE
from sandbox.image.recipe import ImageConfig, Place, Run
from sandbox.protocol import NO_NETWORK, Image, Network
from sandbox.task.phase import resolved_env

if TYPE_CHECKING:
    from sandbox.e2b.cloud import Cloud
    from sandbox.e2b.sandbox import E2BSandbox
    from sandbox.e2b.templates import TemplateMap
    from sandbox.image.bases import BaseMap
    from sandbox.image.recipe import Recipe, Step, Unpack
    from sandbox.task import Task

_MOMENT = 1_700_000_000
"""When every file of a recipe was made, so that two builds differ in nothing."""
_OWN_VARIABLES = frozenset({"HOME", "USER", "LOGNAME", "SHELL", "PWD", "OLDPWD", "SHLVL", "_"})
_MOST_PLANNED = 256
_ENTRIES_AT_ONCE = 500
_SAID = 2000


class ImageBuilder:
    """Builds each image once; what is built is kept in the cloud under the key of its content, for later runs too.

    Args:
        cloud: The service.
        templates: What `FROM` stands for.
        build: Whether Dockerfiles with `RUN` are handed to the service to build.
    """

    def __init__(self, cloud: Cloud, templates: TemplateMap, *, build: bool) -> None:
        self._cloud = cloud
        self._templates = templates
        self._build = build
        self._made: dict[tuple[object, ...], Image] = {}
        self._variables: dict[str, dict[str, str]] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def build(self, task: Task) -> Image:
        """See `SandboxBackend.build`."""
        env = resolved_env(task.config.environment.env)
        content = (task.content_hash, task.empty_folders, tuple(env.items()))
        if content not in self._made:
            if len(self._made) >= _MOST_PLANNED:
                del self._made[next(iter(self._made))]
            self._made[content] = await self._image(task)
        return self._made[content]

    async def template_image(self, template: str) -> Image:
        """A template as an image, with the variables it sets."""
        async with self._locks.setdefault(template, asyncio.Lock()):
            if template not in self._variables:
                sandbox = await self._cloud.start_from(template, NO_NETWORK)
                try:
                    self._variables[template] = await _variables(sandbox)
                finally:
                    await sandbox.stop()
        return Image(template, self._variables[template], base=template)

    async def _image(self, task: Task) -> Image:
        try:
            recipe, template = await self._recipe(task)
        except UnsupportedTaskError:
            if not self._build or not _has_dockerfile(task, self._templates.as_bases()):
                raise
            return await self._built(task)
        if self._build and recipe.runs:
            return await self._built(task)
        reference = await self._recipe_snapshot(task, recipe, template) if recipe.steps else template
        return Image(reference, dict(recipe.env), recipe.workdir, recipe.user, template)

    async def _recipe(self, task: Task) -> tuple[Recipe, str]:
        """The recipe of a task, and the template it is applied to."""
        bases = self._templates.as_bases()
        try:
            image = (await asyncio.to_thread(recipe_of, task, bases)).image
        except UnsupportedTaskError as error:
            if not _has_dockerfile(task, bases):
                raise
            what = str(error).partition(" needs ")[0]
            raise UnsupportedTaskError(
                f"{what} needs a template built beforehand: name an image in task.toml ([environment] docker_image) "
                "and give the template by --base IMAGE=TEMPLATE, or let the service build the Dockerfile (option "
                "build=True)"
            ) from error
        template = self._templates.resolve(image)
        config = ImageConfig(dict((await self.template_image(template)).env))
        return await asyncio.to_thread(recipe_of, task, bases, lambda _image: config), template

    async def _built(self, task: Task) -> Image:
        """The image of a Dockerfile that the service builds."""
        built = await build_template(task, self._cloud.params)
        base = await self.template_image(built.name)
        environment = task.config.environment
        env = {**base.env, **resolved_env(environment.env)}
        return Image(built.name, env, environment.workdir or built.workdir, built.user, built.name)

    async def _recipe_snapshot(self, task: Task, recipe: Recipe, template: str) -> str:
        name = f"envolve-{recipe_key(recipe, f'e2b:{template}')}"
        async with self._locks.setdefault(name, asyncio.Lock()):
            found = await self._cloud.snapshot_named(name)
            if found:
                return found
            deadline = asyncio.get_running_loop().time() + task.config.environment.build_timeout_sec
            network = Network("public") if recipe.runs else NO_NETWORK
            sandbox = await self._cloud.start_from(template, network)
            try:
                for step in recipe.steps:
                    await _apply(task, step, sandbox, deadline)
                await sandbox.kill_processes()
                return await self._cloud.freeze(sandbox, name)
            finally:
                await sandbox.stop()


def _has_dockerfile(task: Task, bases: BaseMap) -> bool:
    """Whether the environment is a Dockerfile and nothing else that no template could give."""
    try:
        return not ready_image(task, bases) and task.has(DOCKERFILE)
    except UnsupportedTaskError:
        return False


async def _variables(sandbox: E2BSandbox) -> dict[str, str]:
    """The variables that a template gives every command."""
    told = bytearray()
    async for event in sandbox.wire.start(["/usr/bin/env", "-0"]):
        if isinstance(event, Output) and event.stream == "stdout":
            told += event.data
        elif isinstance(event, Ended) and event.status:
            raise SandboxError(f"template {sandbox.image.reference}: its variables cannot be read: no /usr/bin/env?")
    pairs = [line.partition("=") for line in told.decode("utf-8", "replace").split("\0") if "=" in line]
    own = {name: value for name, _, value in pairs if name not in _OWN_VARIABLES and not name.startswith("E2B_")}
    if own.get("PATH") == SYSTEM_PATH:
        del own["PATH"]
    return own


async def _apply(task: Task, step: Step, sandbox: E2BSandbox, deadline: float) -> None:
    try:
        if isinstance(step, Run):
            await _run(step, sandbox, deadline - asyncio.get_running_loop().time())
        elif isinstance(step, Place):
            await _place(task, step, sandbox)
        else:
            await _unpack(task, step, sandbox)
    except SandboxLostError:
        raise
    except TransferError as error:
        raise ImageError(f"{task.name}: the image does not build: {error}") from error
    except SandboxError as error:
        if "place.sh" in str(error) or str(error).startswith("tar "):
            raise ImageError(f"{task.name}: the image does not build: {error}") from error
        raise


async def _run(step: Run, sandbox: E2BSandbox, seconds: float) -> None:
    ran = await sandbox.exec(
        step.command,
        cwd=step.workdir,
        env=step.env,
        user=step.user or "root",
        timeout=max(1.0, seconds),
        clean_env=True,
    )
    if not ran.ok:
        how = "was not done in the time for the build" if ran.timed_out else f"ended with status {ran.exit_code}"
        said = (ran.text + ran.error_text)[-_SAID:].strip()
        raise ImageError(f"{DOCKERFILE}:{step.line}: RUN {step.text} {how}: {said}")


async def _place(task: Task, step: Place, sandbox: E2BSandbox) -> None:
    folder = f"/tmp/.{secrets.token_hex(8)}"  # noqa: S108 - in the sandbox, under a name nobody can guess
    contents: dict[str, bytes] = {}
    words: list[str] = []
    for number, entry in enumerate(step.entries):
        source = entry.source
        if entry.kind in ("file", "single"):
            source = f"{folder}/{number}"
            text = step.texts.get(entry.source)
            contents[source] = task.read_bytes(f"{FOLDER}/{entry.source}") if text is None else text.encode()
        words += [entry.kind, entry.target, source, f"{entry.mode:04o}", posixpath.basename(entry.source)]
    if contents:
        await files.put(sandbox.wire, contents, {})
    for begin in range(0, len(words), 5 * _ENTRIES_AT_ONCE):
        some = words[begin : begin + 5 * _ENTRIES_AT_ONCE]
        await sandbox.wire.run_script("place.sh", str(_MOMENT), step.owner or "root", *some)
    if contents:
        await files.erase(sandbox.wire, folder)


async def _unpack(task: Task, step: Unpack, sandbox: E2BSandbox) -> None:
    part = f"/tmp/.{secrets.token_hex(8)}"  # noqa: S108 - as above
    await files.put(sandbox.wire, {part: task.read_bytes(f"{FOLDER}/{step.source}")}, {})
    await files.make_folder(sandbox.wire, step.target)
    await sandbox.wire.run_tool("tar", "-x", "-p", "--numeric-owner", "-f", part, "-C", step.target)
    await files.erase(sandbox.wire, part)
