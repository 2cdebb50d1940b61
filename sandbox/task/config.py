"""What a Harbor `task.toml` says, as values: every table and field of the format with Harbor's own defaults.

Unknown keys are kept (`model_extra`), never dropped; `sandbox.task.toml` reports them. Values are read as leniently
as Harbor reads them, so that a folder that loads there loads here.
"""

from __future__ import annotations

import ipaddress
import math
import re
import unicodedata
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StrictBool, field_validator, model_validator

NetworkMode = Literal["public", "no-network", "allowlist"]
RewardStrategy = Literal["mean", "final"]
VerifierMode = Literal["shared", "separate"]
Transport = Literal["stdio", "sse", "streamable-http"]
Seconds = Annotated[float, Field(ge=0)]
User = str | int | None

_TASK_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]*/[a-zA-Z0-9][a-zA-Z0-9._-]*")
_HOST_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_SIZE = re.compile(r"\s*(\d+(?:\.\d*)?)\s*([GMK])\s*", re.IGNORECASE)
_MEGABYTES = {"G": 1024.0, "M": 1.0, "K": 1 / 1024}
_MOST_MEGABYTES = 1 << 43  # as bytes they still fit into 64 bits
_NOT_IN_STEP_NAMES = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')
_MOST_STEP_NAME_BYTES = 255


class ConfigTable(BaseModel):
    """One table of `task.toml`; keys that the format does not know stay in `model_extra`."""

    model_config = ConfigDict(frozen=True, extra="allow", protected_namespaces=(), defer_build=True)


class Author(ConfigTable):
    """One of `[task] authors`."""

    name: str
    email: str | None = None


class PackageConfig(ConfigTable):
    """`[task]`: what the task is called and who wrote it."""

    name: str
    version: str | None = Field(default=None, min_length=1)
    description: str = ""
    authors: tuple[Author, ...] = ()
    keywords: tuple[str, ...] = ()

    @field_validator("name")
    @classmethod
    def _is_org_and_name(cls, name: str) -> str:
        if not _TASK_NAME.fullmatch(name) or ".." in name:
            raise ValueError('"org/name" of letters, digits, ".", "_" and "-", neither part starting with a dot')
        return name


class NetworkPolicyConfig(ConfigTable):
    """The two network fields that `[agent]`, `[verifier]` and `[environment]` share; here unset means "as outside"."""

    network_mode: NetworkMode | None = None
    allowed_hosts: tuple[str, ...] | None = None

    @field_validator("allowed_hosts")
    @classmethod
    def _are_hosts(cls, hosts: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for host in hosts or ():
            if not is_host(host):
                raise ValueError("host names, *.suffixes, IP addresses or networks; no URLs, ports or paths")
        return hosts

    @model_validator(mode="after")
    def _hosts_need_an_allowlist(self) -> Self:
        # Harbor takes an empty list beside any mode, but none at all where no mode is set.
        without_mode = self.network_mode is None and self.allowed_hosts is not None
        if without_mode or (self.network_mode != "allowlist" and self.allowed_hosts):
            raise ValueError('allowed_hosts only together with network_mode = "allowlist"')
        return self


class AgentConfig(NetworkPolicyConfig):
    """`[agent]`: `timeout_sec` unset means unlimited, `user` unset means the image's."""

    timeout_sec: Seconds | None = None
    user: User = None


class HealthcheckConfig(ConfigTable):
    """A command run until it exits 0 before the agent starts, as Docker's HEALTHCHECK; all times in seconds."""

    command: str
    interval_sec: Seconds = 5.0
    timeout_sec: Seconds = 30.0
    start_period_sec: Seconds = 0.0
    start_interval_sec: Seconds = 5.0
    retries: int = 3


class TpuConfig(ConfigTable):
    """A TPU slice."""

    type: str = Field(min_length=1)
    topology: str = Field(pattern=r"^\s*[1-9]\d*(x[1-9]\d*)+\s*$")


class McpServerConfig(ConfigTable):
    """An MCP server offered to the agent."""

    name: str
    transport: Transport = "sse"
    url: str | None = None
    command: str | None = None
    args: tuple[str, ...] = ()
    headers: dict[str, str] = Field(default_factory=dict)

    @field_validator("transport", mode="before")
    @classmethod
    def _http_is_streamable(cls, transport: object) -> object:
        return "streamable-http" if transport == "http" else transport

    @model_validator(mode="after")
    def _has_what_its_transport_needs(self) -> Self:
        if self.transport == "stdio" and not self.command:
            raise ValueError('"command", which transport "stdio" needs')
        if self.transport != "stdio" and not self.url:
            raise ValueError(f'"url", which transport "{self.transport}" needs')
        return self


class EnvironmentConfig(NetworkPolicyConfig):
    """`[environment]`: the machine. Resources left out are "not set".

    `memory` and `storage` ("2G") and `allow_internet` are deprecated: their values also fill `memory_mb`, `storage_mb`
    and `network_mode` where these are not set.
    """

    network_mode: NetworkMode = "public"
    build_timeout_sec: Seconds = 600.0
    docker_image: str | None = None
    os: Literal["linux", "windows"] = "linux"
    cpus: int | float | None = Field(default=None, allow_inf_nan=False)
    memory_mb: int | None = None
    storage_mb: int | None = None
    gpus: int | None = None
    gpu_types: tuple[str, ...] | None = None
    tpu: TpuConfig | None = None
    mcp_servers: tuple[McpServerConfig, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    skills_dir: str | None = None
    healthcheck: HealthcheckConfig | None = None
    workdir: str | None = None
    memory: str | int | float | None = None
    storage: str | int | float | None = None
    allow_internet: StrictBool | None = None  # read strictly: a misread "no" would open the network

    @field_validator("os", mode="before")
    @classmethod
    def _os_in_any_case(cls, name: object) -> object:
        return name.lower() if isinstance(name, str) else name

    @field_validator("memory", "storage")
    @classmethod
    def _is_a_size(cls, size: str | float | None) -> str | float | None:
        if isinstance(size, str) and megabytes(size) is None:
            raise ValueError('a size as "2G", "512M" or "1024K"')
        return size

    @model_validator(mode="before")
    @classmethod
    def _take_over_deprecated_fields(cls, data: object) -> object:
        if not isinstance(data, dict):
            return data
        data = dict(data)
        for old, new in (("memory", "memory_mb"), ("storage", "storage_mb")):
            size = megabytes(data[old]) if isinstance(data.get(old), str) else None
            if size is not None and data.setdefault(new, size) != size:
                raise ValueError(
                    f'"{old}" and "{new}" to agree: {old} = {data[old]!r} is {size}, {new} is {data[new]!r}'
                )
        internet = data.get("allow_internet")
        if isinstance(internet, bool) and "network_mode" not in data and data.get("allowed_hosts") is None:
            data["network_mode"] = "public" if internet else "no-network"
        return data


class CollectConfig(ConfigTable):
    """One `[[verifier.collect]]`: a command run in a service after the agent, before artifacts are collected."""

    command: str
    service: str = "main"
    timeout_sec: Seconds = 60.0
    user: User = None


class VerifierConfig(NetworkPolicyConfig):
    """`[verifier]`; see `mode` for what `environment_mode` comes to when it is left out."""

    timeout_sec: Seconds = 600.0
    env: dict[str, str] = Field(default_factory=dict)
    user: User = None
    environment_mode: VerifierMode | None = None
    environment: EnvironmentConfig | None = None
    collect: tuple[CollectConfig, ...] = ()

    @property
    def mode(self) -> VerifierMode | None:
        """The mode set here or implied by an environment of its own; `None` where nothing is said."""
        return self.environment_mode or ("separate" if self.environment is not None else None)

    @model_validator(mode="after")
    def _shared_has_no_environment(self) -> Self:
        if self.environment_mode == "shared" and self.environment is not None:
            raise ValueError('environment_mode = "separate", or no [verifier.environment]')
        return self


class SolutionConfig(ConfigTable):
    """`[solution]`: variables for the reference solution."""

    env: dict[str, str] = Field(default_factory=dict)


class ArtifactConfig(ConfigTable):
    """A file or folder carried out of the environment."""

    source: str
    destination: str | None = None
    exclude: tuple[str, ...] = ()
    service: str | None = None

    @field_validator("source", "destination")
    @classmethod
    def _never_climbs(cls, path: str | None) -> str | None:
        if path is not None and ".." in path.split("/"):
            raise ValueError('a path without ".."')
        return path

    @field_validator("destination")
    @classmethod
    def _lies_below_the_artifacts(cls, path: str | None) -> str | None:
        if path is not None and path.startswith("/"):
            raise ValueError("a relative path")
        return path


class StepConfig(ConfigTable):
    """One `[[steps]]` of a multi-step task; `min_reward` ends the trial when this step's reward is below it."""

    name: str
    agent: AgentConfig = Field(default_factory=AgentConfig)
    verifier: VerifierConfig = Field(default_factory=VerifierConfig)
    min_reward: float | dict[str, float] | None = None
    healthcheck: HealthcheckConfig | None = None
    artifacts: tuple[str | ArtifactConfig, ...] = ()

    @field_validator("name")
    @classmethod
    def _is_a_folder_name(cls, name: str) -> str:
        unusable = (
            not name.strip() or name in {".", ".."} or name.endswith((".", " ")) or _NOT_IN_STEP_NAMES.search(name)
        )
        if unusable or len(name.encode("utf-8", "surrogatepass")) > _MOST_STEP_NAME_BYTES:
            raise ValueError("the name of one folder under steps/: no slashes, control or reserved characters")
        return name


class TaskConfig(ConfigTable):
    """The whole of `task.toml`.

    Attributes:
        metadata: Free; this project keeps its own facts in its table `evolution`.
        multi_step_reward_strategy: Unset means `mean` for a multi-step task.
        version: Old name of `schema_version`.
    """

    schema_version: str = "1.4"
    source: str | None = None
    artifacts: tuple[str | ArtifactConfig, ...] = ()
    multi_step_reward_strategy: RewardStrategy | None = None
    task: PackageConfig | None = None
    metadata: dict[str, object] = Field(default_factory=dict)
    agent: AgentConfig = Field(default_factory=AgentConfig)
    verifier: VerifierConfig = Field(default_factory=VerifierConfig)
    environment: EnvironmentConfig = Field(default_factory=EnvironmentConfig)
    solution: SolutionConfig = Field(default_factory=SolutionConfig)
    steps: tuple[StepConfig, ...] = ()
    version: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _take_over_version(cls, data: object) -> object:
        if isinstance(data, dict) and "version" in data and "schema_version" not in data:
            return {**data, "schema_version": data["version"]}
        return data

    @field_validator("steps")
    @classmethod
    def _step_names_differ(cls, steps: tuple[StepConfig, ...]) -> tuple[StepConfig, ...]:
        seen: set[str] = set()
        for step in steps:
            key = unicodedata.normalize("NFC", step.name).casefold()
            if key in seen:
                raise ValueError(f"step names that differ in more than case; {step.name!r} comes twice")
            seen.add(key)
        return steps

    def verifier_mode(self, step: StepConfig | None = None) -> VerifierMode:
        """Whether the verifier (of one step) runs in the agent's environment or in one of its own."""
        return (step.verifier.mode if step else None) or self.verifier.mode or "shared"


def megabytes(size: str) -> int | None:
    """Reads a deprecated size such as "2G" as MiB; `None` when it is none."""
    match = _SIZE.fullmatch(size)
    found = float(match[1]) * _MEGABYTES[match[2].upper()] if match else math.inf
    return int(found) if found < _MOST_MEGABYTES else None


def is_host(entry: str) -> bool:
    """Whether Harbor takes `entry` in `allowed_hosts`: a host name, `*.suffix`, IP address or network."""
    host = entry.strip().lower().rstrip(".")
    name = host.removeprefix("*.")
    try:
        ipaddress.ip_network(name, strict=True)
    except ValueError:
        return bool(name) and all(_HOST_LABEL.fullmatch(label) for label in name.split("."))
    return name == host and "%" not in host
