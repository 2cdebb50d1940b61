"""What an image is made of: which base its `FROM` stands for on this machine, and which recipe goes on top."""

from __future__ import annotations

import fnmatch
import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from sandbox.errors import UnsupportedTaskError
from sandbox.image.archives import is_layout
from sandbox.image.context import FOLDER
from sandbox.image.dockerfile import DOCKERFILE, read_recipe
from sandbox.image.recipe import ImageConfig, Recipe, Run, Step, Unpack
from sandbox.task.phase import resolved_env

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sandbox.task import Task

LIBRARY_IMAGE = "python:3.12-bookworm"
DEFAULT_BASES = (f"{LIBRARY_IMAGE}=host",)
_FORMAT = 1
_COMPOSE = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")


@dataclass(frozen=True, slots=True)
class Base:
    """A root file system to build on.

    Attributes:
        kind: `host` is this machine's /usr under a fresh skeleton, `dir` a root folder, `tar` an archive: of a root,
            or of an image (`docker save`, OCI); an OCI layout that is a folder is one, too.
        path: The folder or archive; `None` for `host`.
    """

    kind: Literal["host", "dir", "tar"]
    path: Path | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads "host" or a path.

        Raises:
            ValueError: Nothing is there.
        """
        if text == "host":
            return cls("host")
        path = Path(text).expanduser().absolute()
        if path.is_dir():
            return cls("tar" if is_layout(path) else "dir", path)
        if path.is_file():
            return cls("tar", path)
        raise ValueError(f"{text!r} is neither `host` nor a root folder, nor an archive of one, nor an OCI layout")


@dataclass(frozen=True, slots=True)
class BaseMap:
    """Which base an image name stands for.

    Attributes:
        entries: Name, or pattern with `*`, and base; exact names beat patterns, then the first match wins.
    """

    entries: tuple[tuple[str, Base], ...] = ()

    @classmethod
    def parse(cls, rules: Sequence[str]) -> Self:
        """Reads rules of the form IMAGE=DIR, IMAGE=TAR or IMAGE=host.

        Raises:
            ValueError: A rule is of another form, or nothing lies at its path.
        """
        entries = []
        for rule in rules:
            image, equals, where = rule.rpartition("=")
            if not equals or not image or not where:
                raise ValueError(f"--base {rule}: expected IMAGE=DIR, IMAGE=TAR or IMAGE=host")
            try:
                entries.append((canonical(image), Base.parse(where)))
            except ValueError as error:
                raise ValueError(f"--base {rule}: {error}") from error
        return cls(tuple(entries))

    def exact(self, image: str) -> Base | None:
        """The base of a name that is listed as it is."""
        return next((base for name, base in self.entries if name == canonical(image)), None)

    def find(self, image: str) -> Base | None:
        """The base of an image name, if any; `scratch`, which is no image, only where it is listed as it is."""
        name = canonical(image)
        matching = (base for rule, base in self.entries if fnmatch.fnmatchcase(name, rule))
        return self.exact(image) or (None if image == "scratch" else next(matching, None))

    def resolve(self, image: str) -> Base:
        """The base of an image name.

        Raises:
            UnsupportedTaskError: None is listed; says how to list one.
        """
        found = self.find(image)
        if found is None:
            raise not_mapped(image)
        return found


def not_mapped(image: str) -> UnsupportedTaskError:
    """The error for an image name that stands for nothing here."""
    return UnsupportedTaskError(
        f"the image {image} is not mapped to anything on this machine. Say what it stands for: "
        f"--base {image}=DIR (an unpacked root file system, or an OCI layout), --base {image}=TAR (what `docker save` "
        f"or `docker export` writes), or --base {image}=host for this machine's own /usr, if that has the tools the "
        f"task wants; or import it once: python -m sandbox.images import {image} ARCHIVE. Docker, Buildah and Podman "
        "pull images by themselves; the docker back end does, too (--sandbox docker)"
    )


def canonical(image: str) -> str:
    """An image name without what Docker adds by itself: its registry, `library/`, `:latest`."""
    name = image.strip()
    for prefix in ("docker.io/", "index.docker.io/", "library/"):
        name = name.removeprefix(prefix)
    if "*" not in name and "@" not in name and ":" not in name.rpartition("/")[2]:
        name += ":latest"
    return name


def ready_image(task: Task, bases: BaseMap) -> str:
    """The ready image that stands for a task's whole environment, "" where its Dockerfile is to be built.

    A `docker_image` beats the Dockerfile where the map lists it by name; otherwise the Dockerfile, if there is one.

    Raises:
        UnsupportedTaskError: One image is not all that the environment wants.
    """
    environment = task.config.environment
    for name in _COMPOSE:
        if task.has(f"{FOLDER}/{name}"):
            raise UnsupportedTaskError(
                f"{FOLDER}/{name}: several containers need the docker back end (--sandbox docker)"
            )
    if environment.os != "linux":
        raise UnsupportedTaskError(f"task.toml [environment] os = {environment.os!r}: this back end runs Linux only")
    if environment.gpus or environment.tpu:
        raise UnsupportedTaskError("task.toml [environment] gpus: this back end hands no accelerator into a sandbox")
    ready = environment.docker_image or ""
    return ready if ready and (bases.exact(ready) is not None or not task.has(DOCKERFILE)) else ""


def recipe_of(
    task: Task, bases: BaseMap, config_of: Callable[[str], ImageConfig] = lambda _image: ImageConfig()
) -> Recipe:
    """The recipe of a task's environment: its Dockerfile, or the ready image it names.

    Args:
        task: Whose.
        bases: Says which ready images are known by name.
        config_of: Tells what the image that `FROM` names says of its commands.

    Raises:
        ImageError: The environment is wrong.
        UnsupportedTaskError: It is more than a recipe can hold.
    """
    ready = ready_image(task, bases)
    if ready:
        config = config_of(ready)
        recipe = Recipe(ready, (), dict(config.env), config.workdir, config.user)
    else:
        recipe = read_recipe(task, config_of)
    environment = task.config.environment
    env = {**recipe.env, **resolved_env(environment.env)}
    return replace(recipe, env=env, workdir=environment.workdir or recipe.workdir)


def recipe_key(recipe: Recipe, base: str) -> str:
    """A key that is the same for recipes that make the same files; variables and user are no part of it."""
    steps: list[object] = [[type(step).__name__, _as_dict(step)] for step in recipe.steps]
    text = json.dumps([_FORMAT, base, steps], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _as_dict(step: Step) -> dict[str, object]:
    """What `dataclasses.asdict` gives, without copying every value of hundreds of entries."""
    if isinstance(step, Unpack):
        return {"source": step.source, "target": step.target, "sha256": step.sha256}
    if isinstance(step, Run):
        return {"command": step.command, "env": dict(step.env), "workdir": step.workdir, "user": step.user}
    return {
        "owner": step.owner,
        "entries": [dict(zip(entry.__slots__, entry.row(), strict=True)) for entry in step.entries],
    }
