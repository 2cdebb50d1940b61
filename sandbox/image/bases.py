"""What an image is made of: which base its `FROM` stands for on this machine, and which recipe goes on top."""

from __future__ import annotations

import fnmatch
import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from sandbox.errors import UnsupportedTaskError
from sandbox.image.context import FOLDER
from sandbox.image.dockerfile import DOCKERFILE, Place, Recipe, Unpack, read_recipe
from sandbox.task.phase import resolved_env

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.task import Task

LIBRARY_IMAGE = "python:3.12-bookworm"
DEFAULT_BASES = (f"{LIBRARY_IMAGE}=host",)
_FORMAT = 1
_COMPOSE = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")


@dataclass(frozen=True, slots=True)
class Base:
    """A root file system to build on.

    Attributes:
        kind: `host` is this machine's /usr under a fresh skeleton, `dir` a root folder, `tar` an archive of one.
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
            return cls("dir", path)
        if path.is_file():
            return cls("tar", path)
        raise ValueError(f"{text!r} is neither `host` nor a root folder nor a tar archive of one")


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

    def resolve(self, image: str) -> Base:
        """The base of an image name.

        Raises:
            UnsupportedTaskError: None is listed; says how to list one.
        """
        name = canonical(image)
        found = self.exact(image) or next(
            (base for rule, base in self.entries if fnmatch.fnmatchcase(name, rule)), None
        )
        if found is None:
            raise UnsupportedTaskError(
                f"the image {image} is not mapped to anything on this machine. Say what it stands for: "
                f"--base {image}=DIR (an unpacked root file system), --base {image}=TAR (an archive of one, as "
                f"`docker export` writes it), or --base {image}=host for this machine's own /usr, if that has the "
                "tools the task wants. The docker back end pulls images by itself (--sandbox docker)"
            )
        return found


def canonical(image: str) -> str:
    """An image name without what Docker adds by itself: its registry, `library/`, `:latest`."""
    name = image.strip()
    for prefix in ("docker.io/", "index.docker.io/", "library/"):
        name = name.removeprefix(prefix)
    if "*" not in name and "@" not in name and ":" not in name.rpartition("/")[2]:
        name += ":latest"
    return name


def recipe_of(task: Task, bases: BaseMap) -> Recipe:
    """The recipe of a task's environment: its Dockerfile, or the ready image it names.

    A `docker_image` beats the Dockerfile where the map lists it by name; otherwise the Dockerfile, if there is one.

    Raises:
        ImageError: The environment is wrong.
        UnsupportedTaskError: It is more than a recipe can hold.
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
    ready = environment.docker_image
    by_name = bool(ready) and (bases.exact(ready or "") is not None or not task.has(DOCKERFILE))
    recipe = Recipe(ready or "") if by_name else read_recipe(task)
    env = {**recipe.env, **resolved_env(environment.env)}
    return replace(recipe, env=env, workdir=environment.workdir or recipe.workdir)


def recipe_key(recipe: Recipe, base: str) -> str:
    """A key that is the same for recipes that make the same files; variables and user are no part of it."""
    steps = [[type(step).__name__, _as_dict(step)] for step in recipe.steps]
    text = json.dumps([_FORMAT, base, steps], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _as_dict(step: Place | Unpack) -> dict[str, object]:
    """What `dataclasses.asdict` gives, without copying every value of hundreds of entries."""
    if isinstance(step, Unpack):
        return {"source": step.source, "target": step.target, "sha256": step.sha256}
    return {
        "owner": step.owner,
        "entries": [dict(zip(entry.__slots__, entry.row(), strict=True)) for entry in step.entries],
    }
