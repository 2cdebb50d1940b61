"""The part of a compose file that tasks use, as values; anything else is refused by name."""

from __future__ import annotations

import posixpath
import re
import shlex
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from sandbox.docker.compose_yaml import read_yaml
from sandbox.docker.interpolation import InterpolationError, interpolate
from sandbox.errors import ImageError, UnsupportedTaskError
from sandbox.task.phase import resolved_env

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.task import Task

COMPOSE_FILE = "environment/docker-compose.yaml"
MAIN = "main"
LOG_VOLUME = "envolve-logs"

_SILENT = frozenset(("expose", "labels", "stdin_open", "tty"))  # say nothing that could be missed
_IGNORED = _SILENT | {"container_name", "logging", "platform", "ports", "pull_policy", "restart", "stop_signal"}
_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]?)(?:i?b)?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_MOST_BYTES = 1 << 63
_SHOWN = 200


def _seconds(value: object) -> object:
    if not isinstance(value, str):
        return value
    match = _DURATION.fullmatch(value.strip())
    if match is None or not any(match.groups()):
        raise ValueError('a time as "5s" or "1m30s"')
    return sum(float(part or 0) * unit for part, unit in zip(match.groups(), (3600, 60, 1, 0.001), strict=True))


def _bytes(value: object) -> object:
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        if isinstance(value, int) or value is None or value == "":
            return value or None
        raise ValueError('a size as "512m" or "2g"')
    found = float(match[1]) * _UNITS[match[2].lower()]
    if found >= _MOST_BYTES:
        raise ValueError("a size that fits into 64 bits")
    return int(found)


def _argv(value: object) -> object:
    return shlex.split(value) if isinstance(value, str) else value


def _list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _names(value: object) -> object:
    """A list of names as a table of them."""
    named = isinstance(value, list) and all(isinstance(row, str | int) for row in value)
    return dict.fromkeys(value) if named and isinstance(value, list) else value


def _table(value: object) -> object:
    """`KEY=VALUE` lines as a table; numbers and booleans as text, names without a value (of this machine) left out."""
    if isinstance(value, list):
        value = {str(row).partition("=")[0]: str(row).partition("=")[2] for row in value if "=" in str(row)}
    if not isinstance(value, dict):
        return value
    given = {str(key): inner for key, inner in value.items() if inner is not None}
    return {key: str(inner).lower() if isinstance(inner, bool) else str(inner) for key, inner in given.items()}


def _optional_number(value: object) -> object:
    return None if value == "" else value


Seconds = Annotated[float, BeforeValidator(_seconds), Field(ge=0)]
Bytes = Annotated[int | None, BeforeValidator(_bytes)]
Argv = Annotated[tuple[str, ...] | None, BeforeValidator(_argv)]
Table = Annotated[dict[str, str], BeforeValidator(_table)]
Strings = Annotated[tuple[str, ...], BeforeValidator(_list)]
Cpus = Annotated[float | None, BeforeValidator(_optional_number)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)


class Build(_Part):
    """How a service's image is built; paths are relative to `environment/` and to the context."""

    context: str = "."
    dockerfile: str = "Dockerfile"
    args: Table = Field(default_factory=dict)
    target: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _is_a_path(cls, data: object) -> object:
        return {"context": data} if isinstance(data, str) else data


class Healthcheck(_Part):
    """When a service is ready; times in seconds."""

    test: tuple[str, ...] | str = ()
    interval: Seconds = 30.0
    timeout: Seconds = 30.0
    retries: int = 3
    start_period: Seconds = 0.0
    disable: bool = False


class Dependency(_Part):
    """What must have become of another service first."""

    condition: Literal["service_started", "service_healthy", "service_completed_successfully"] = "service_started"
    required: Literal[True] = True


class Attachment(_Part):
    """Names of a service in the project's network."""

    aliases: Strings = ()


class Mount(_Part):
    """A volume (by name; "" for one of its own) or a read-only path of the task's environment in a service."""

    type: Literal["volume", "bind"]
    source: str = ""
    target: str
    read_only: bool = False

    @model_validator(mode="before")
    @classmethod
    def _is_short(cls, data: object) -> object:
        if not isinstance(data, str):
            return data
        parts = data.split(":")
        source, target, mode = ["", *parts, ""] if len(parts) == 1 else [*parts, ""][:3]
        if len(parts) > 3 or mode not in ("", "ro", "rw", "z", "Z"):  # noqa: PLR2004
            raise ValueError("SOURCE:TARGET, or SOURCE:TARGET:ro")
        kind = "bind" if source.startswith((".", "/", "~")) else "volume"
        return {"type": kind, "source": source, "target": target, "read_only": mode == "ro"}

    @model_validator(mode="after")
    def _is_safe(self) -> Self:
        if not self.target.startswith("/"):
            raise ValueError("an absolute path in the container as target")
        if self.type == "bind":
            if self.source.startswith(("/", "~")) or ".." in self.source.split("/"):
                raise ValueError(f"nothing of this machine but paths below environment/; {self.source} lies outside")
            if not self.read_only:
                raise ValueError(f"{self.source} mounted with :ro; a task's own files are not written to")
        return self


class _Amounts(_Part):
    cpus: Cpus = None
    memory: Bytes = None
    pids: int | None = None


class _Resources(_Part):
    limits: _Amounts = _Amounts()
    reservations: _Amounts = _Amounts()


class _Deploy(_Part):
    resources: _Resources = _Resources()
    replicas: Literal[1] = 1


class Service(_Part):
    """One container of the project."""

    image: str | None = None
    build: Build | None = None
    command: Argv = None
    entrypoint: Argv = None
    environment: Table = Field(default_factory=dict)
    env_file: Strings = ()
    depends_on: Annotated[dict[str, Dependency | None], BeforeValidator(_names)] = Field(default_factory=dict)
    healthcheck: Healthcheck | None = None
    networks: Annotated[dict[str, Attachment | None], BeforeValidator(_names)] = Field(default_factory=dict)
    volumes: tuple[Mount, ...] = ()
    working_dir: str | None = None
    user: str | None = None
    hostname: str | None = None
    tmpfs: Strings = ()
    mem_limit: Bytes = None
    cpus: Cpus = None
    deploy: _Deploy = _Deploy()
    init: bool = False
    cap_drop: tuple[str, ...] = ()
    ulimits: dict[str, int | dict[Literal["soft", "hard"], int]] = Field(default_factory=dict)
    shm_size: Bytes = None

    @property
    def memory(self) -> int | None:
        """Bytes of memory it may use."""
        return self.mem_limit or self.deploy.resources.limits.memory

    @property
    def aliases(self) -> tuple[str, ...]:
        """Names it has in the network beside its own."""
        return tuple(name for place in self.networks.values() if place for name in place.aliases)


class Composition(_Part):
    """A task's compose file, with the `main` service that every task has.

    Attributes:
        services: By name; `main` is always there.
        findings: What the file says that means nothing here, a sentence each.
    """

    services: dict[str, Service]
    volumes: dict[str, None] = Field(default_factory=dict)
    findings: tuple[str, ...] = ()

    def order(self) -> tuple[str, ...]:
        """The services so that each comes after those it depends on.

        Raises:
            ImageError: It depends on itself in the end, or on one that is not there.
        """
        done: list[str] = []
        path: list[str] = []

        def visit(name: str) -> None:
            if name in path:
                raise ImageError(f"{COMPOSE_FILE}: services depend on each other: {' -> '.join([*path, name])}")
            if name in done:
                return
            path.append(name)
            for other in sorted(self.services[name].depends_on):
                if other not in self.services:
                    raise ImageError(f"{COMPOSE_FILE}: services.{name}.depends_on: there is no service {other}")
                visit(other)
            done.append(path.pop())

        for name in sorted(self.services, key=lambda name: (name == MAIN, name)):
            try:
                visit(name)
            except RecursionError:
                raise ImageError(f"{COMPOSE_FILE}: services.{name}.depends_on: too long a row of services") from None
        return tuple(done)


def read_composition(task: Task) -> Composition:
    """Reads a task's compose file.

    Variables come from `[environment] env` in `task.toml` and from what Harbor sets; not from this machine.

    Raises:
        UnsupportedTaskError: It wants something that is not handed to tasks (privileges, devices, this machine's
            network or files): names it and its place.
        ImageError: It is no proper compose file.
        TaskError: It is not UTF-8.
    """
    variables = _harbor_variables(task) | resolved_env(task.config.environment.env)
    try:
        raw = read_yaml(task.read_text(COMPOSE_FILE))
    except ValueError as error:
        raise ImageError(f"{COMPOSE_FILE}: {error}") from error
    if not isinstance(raw, dict) or not isinstance(raw.get("services", {}), dict):
        raise ImageError(f"{COMPOSE_FILE}: expected a table with services")
    data = _filled(raw, variables, "")
    findings: list[str] = []
    services = {
        name: _service(name, table or {}, findings) for name, table in (data.pop("services", None) or {}).items()
    }
    services.setdefault(MAIN, {})
    volumes = dict.fromkeys(_plain(data.pop("volumes", None) or {}, "volumes", {"driver", "name"}))
    if len(_plain(data.pop("networks", None) or {}, "networks", {"driver", "name", "internal"})) > 1:
        findings.append("networks: all services share one network")
    for key in [key for key in data if key in ("version", "name") or str(key).startswith("x-")]:
        del data[key]
    try:
        found = Composition.model_validate({**data, "services": services, "volumes": volumes})
    except ValidationError as error:
        raise _refusal(error) from error
    found = found.model_copy(update={"findings": tuple(findings)})
    found.order()
    _check_volumes(found)
    return found


def _service(name: str, table: object, findings: list[str]) -> object:
    if not isinstance(table, dict):
        return table
    found = {key: value for key, value in table.items() if not str(key).startswith("x-")}
    for key in sorted(_IGNORED & found.keys()):
        del found[key]
        if key not in _SILENT:
            findings.append(f"services.{name}.{key}: ignored; services reach each other, this machine reaches none")
    mounts = found.get("volumes")
    if isinstance(mounts, list):
        # Logs are fetched out of `main`; a mount there would be a folder that verification cannot make anew.
        found["volumes"] = [mount for mount in mounts if not _is_log_mount(mount)]
        if name != MAIN and len(found["volumes"]) < len(mounts):
            findings.append(f"services.{name}.volumes: logs are those of main alone")
    return found


def _is_log_mount(mount: object) -> bool:
    source = mount.get("source", "") if isinstance(mount, dict) else mount
    return str(source).startswith(f"{LOG_VOLUME}-")


def _harbor_variables(task: Task) -> dict[str, str]:
    environment = task.config.environment
    found = {
        "MAIN_IMAGE_NAME": "envolve-main",
        "CONTEXT_DIR": ".",
        "PREBUILT_IMAGE_NAME": environment.docker_image or "",
    }
    found["CPUS"] = "" if environment.cpus is None else str(environment.cpus)
    found["MEMORY"] = "" if environment.memory_mb is None else f"{environment.memory_mb}M"
    for name, path in (("VERIFIER_LOGS", "verifier"), ("AGENT_LOGS", "agent"), ("ARTIFACTS", "artifacts")):
        found[f"HOST_{name}_PATH"] = f"{LOG_VOLUME}-{path}"
        found[f"ENV_{name}_PATH"] = f"/logs/{path}"
    return found


def _filled(value: Any, variables: Mapping[str, str], where: str) -> Any:
    if isinstance(value, dict):
        return {key: _filled(inner, variables, f"{where}.{key}".lstrip(".")) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, variables, f"{where}.{number}") for number, inner in enumerate(value)]
    try:
        return interpolate(value, variables) if isinstance(value, str) else value
    except InterpolationError as error:
        raise ImageError(f"{COMPOSE_FILE}: {where}: {error}") from error


def _plain(table: object, where: str, harmless: set[str]) -> dict[str, object]:
    """Names of volumes or networks; refuses those that are made elsewhere or in a way of their own."""
    if not isinstance(table, dict):
        raise ImageError(f"{COMPOSE_FILE}: {where}: expected a table")
    for name, settings in table.items():
        if settings is not None and not isinstance(settings, dict):
            raise ImageError(f"{COMPOSE_FILE}: {where}.{name}: expected a table")
        for key in sorted(map(str, (settings or {}).keys() - harmless)):
            raise UnsupportedTaskError(f"{COMPOSE_FILE}: {where}.{name}.{key}: not available to tasks")
    return table


def _check_volumes(found: Composition) -> None:
    for name, service in found.services.items():
        for mount in service.volumes:
            if mount.type == "volume" and mount.source and mount.source not in found.volumes:
                raise ImageError(f"{COMPOSE_FILE}: services.{name}.volumes: there is no volume {mount.source}")


def _refusal(error: ValidationError) -> ImageError | UnsupportedTaskError:
    first = error.errors()[0]
    where = ".".join(str(part)[:_SHOWN] for part in first["loc"])
    shown = repr(first["input"])
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
    if first["type"] == "extra_forbidden":
        return UnsupportedTaskError(f"{COMPOSE_FILE}: {where}: not available to tasks; got {shown}")
    told = first["msg"].removeprefix("Value error, ")
    wrong = (
        f"{COMPOSE_FILE}: {where}: expected {told}"
        if first["type"] == "value_error"
        else f"{COMPOSE_FILE}: {where}: {told}"
    )
    outside = first["type"] == "value_error" and ("outside" in told or ":ro" in told)
    return UnsupportedTaskError(wrong) if outside else ImageError(f"{wrong}; got {shown}")


def environment_path(path: str) -> str:
    """A path of a compose file as one of the task.

    Raises:
        UnsupportedTaskError: It leaves `environment/`.
    """
    found = posixpath.normpath(posixpath.join("environment", path))
    if found != "environment" and not found.startswith("environment/"):
        raise UnsupportedTaskError(f"{COMPOSE_FILE}: {path}: lies outside of environment/")
    return found
