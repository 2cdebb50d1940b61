"""Our sandboxes as environments of Harbor.

What Harbor is told is what the back end can do on this machine: networks, limits of processors and memory. What it
cannot do is refused before a trial starts, with one exception: where a task asks for the public network (Harbor's
default, which a task that needs none leaves as it is) and the back end has none, the trial runs with none and the log
says so; `--ek public_network=host` shares this machine's network instead.

Harbor's own verifier works through the environment. What the environment does against an agent that cheats, when the
tests arrive: every process in the sandbox is killed, and `/tests`, `/logs` and `/logs/verifier` become real, empty
folders, so planted files and links are gone; every process is killed again before the verifier's folder is fetched, and
links in it are dropped. A task whose tests talk to a server that the agent left running needs `--ek
keep_processes=true`, which gives up the first of these. What it cannot do, because Harbor decides it: the tests see the
variables that Harbor sets, and programs the agent replaced. `python -m sandbox.trial` verifies more strictly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from harbor.environments.base import SandboxBuildFailedError
from harbor.environments.capabilities import EnvironmentCapabilities, EnvironmentResourceCapabilities
from harbor.environments.definition import require_agent_environment_definition
from harbor.environments.options import EnvironmentOptions
from harbor.models.task.config import NetworkMode
from harbor.models.trial.config import ResourceMode
from pydantic import Field, field_validator

from sandbox.errors import ImageError, SandboxUnavailableError
from sandbox.harbor.definition import environment_task
from sandbox.harbor.sharing import capabilities_of, shared_backend
from sandbox.harbor.view import NO_TIMEOUT, SandboxView
from sandbox.protocol import NO_NETWORK, Limits, Network
from sandbox.verification.verify import TESTS, VERIFIER_LOGS, clear_verifier_folders

if TYPE_CHECKING:
    from pathlib import Path

    from harbor.environments.base import ExecResult

    from sandbox.protocol import Capabilities, Sandbox

_OUTPUT_BYTES = 16 << 20
_BACKENDS_OF_OURS = "bubblewrap"


class BackendOptions(EnvironmentOptions):  # type: ignore[misc] # Harbor is not installed where this is checked
    """What `--ek` takes."""

    base: tuple[str, ...] = Field(default=(), description="What FROM stands for: IMAGE=DIR, IMAGE=TAR or IMAGE=host.")
    public_network: Literal["none", "host"] = Field(
        default="none", description="What a task gets that asks for the public network where the back end has none."
    )
    keep_processes: bool = Field(
        default=False, description="Let the agent's processes live while the tests run: they may serve, or cheat."
    )

    @field_validator("base", mode="before")
    @classmethod
    def _one_or_several(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value


class SandboxOptions(BackendOptions):
    """What `--ek` takes where the back end is chosen by it."""

    sandbox: str = Field(default=_BACKENDS_OF_OURS, description="A back end of envolve, by name or module:Class.")


class SandboxEnvironment(SandboxView):
    """Any back end of ours: `--ek sandbox=NAME`."""

    options_model: ClassVar[type[BackendOptions]] = SandboxOptions
    backend_name: ClassVar[str] = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._tests_arrived = False
        super().__init__(*args, **kwargs)

    @classmethod
    def preflight(cls, kwargs: dict[str, Any] | None = None) -> None:
        """See `BaseEnvironment.preflight`: whether the back end runs on this machine at all."""
        options = cls.parse_options(kwargs)
        try:
            capabilities_of(cls._name(options), options.base)
        except (SandboxUnavailableError, ValueError) as error:
            raise SystemExit(str(error)) from error

    @classmethod
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities | None:
        """See `BaseEnvironment.resource_capabilities`; nothing is said of a back end that is not known yet."""
        if not cls.backend_name:
            return None
        can = capabilities_of(cls.backend_name, ())
        return EnvironmentResourceCapabilities(
            cpu_limit="cpus" in can.limits, memory_limit="memory_mb" in can.limits, fractional_cpus="cpus" in can.limits
        )

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        """See `BaseEnvironment.capabilities`."""
        networks = self._can.networks
        listed = "allowlist" in networks
        return EnvironmentCapabilities(
            disable_internet="none" in networks,
            network_allowlist=listed,
            network_allowlist_hostnames=listed,
            network_allowlist_wildcard_hostnames=listed,
        )

    async def start(self, force_build: bool) -> None:  # noqa: ARG002 - images are kept by content: never stale
        """See `BaseEnvironment.start`.

        Raises:
            SandboxBuildFailedError: The task's environment does not build.
            SandboxError: The back end cannot run it here.
        """
        backend = shared_backend(self._name(self.options), self.options.base)
        try:
            with environment_task(self.environment_dir, self.task_env_config) as task:
                image = await backend.build(task)
        except ImageError as error:
            raise SandboxBuildFailedError(str(error)) from error
        self.sandbox = await backend.start(image, limits=self._limits(), network=self._chosen_network())
        for folder in self._mount_targets(writable_only=True):
            await self.sandbox.remake_directory(folder, mode=0o777)
        await self._upload_environment_dir_after_start()

    async def stop(self, delete: bool) -> None:  # noqa: ARG002 - nothing of a sandbox is ever left
        """See `BaseEnvironment.stop`."""
        sandbox: Sandbox | None
        sandbox, self.sandbox = self.sandbox, None
        if sandbox is not None:
            await sandbox.stop()

    async def exec(self, *args: Any, **kwargs: Any) -> ExecResult:
        """See `SandboxView.exec`."""
        self._tests_arrived = False
        return await super().exec(*args, **kwargs)

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """See `SandboxView.upload_dir`; what is done when the tests arrive, the module says."""
        if str(target_dir).rstrip("/") == TESTS and not self._tests_arrived:
            if not self.options.keep_processes:
                await self.running.kill_processes()
            await clear_verifier_folders(self.running)
            self._tests_arrived = True  # a step's own tests follow the common ones, and join them
        await super().upload_dir(source_dir, target_dir)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """See `SandboxView.download_dir`; nobody can change what the verifier wrote while it is fetched."""
        if str(source_dir).rstrip("/") == VERIFIER_LOGS and not self.options.keep_processes:
            await self.running.kill_processes()
        await super().download_dir(source_dir, target_dir)

    def _validate_definition(self) -> None:
        require_agent_environment_definition(self.environment_dir, docker_image=self.task_env_config.docker_image)
        if self._host_mounts:
            raise ValueError(f"the {self.type()} environment mounts no folders of this machine: leave --mounts out")
        if self._network_is_public and self._chosen_network().mode != "public":
            self.logger.warning(
                "the task asks for the public network, which the back end %s has not: it runs with the network %r",
                self._name(self.options),
                self.options.public_network,
            )

    def _limits(self) -> Limits:
        cpus = self._resource_limit_value("cpu", auto_mode=ResourceMode.LIMIT)
        return Limits(
            memory_mb=self._resource_limit_value("memory", auto_mode=ResourceMode.LIMIT),
            cpus=None if cpus is None else float(cpus),
            storage_mb=self._effective_storage_mb,
            output_bytes=_OUTPUT_BYTES,
            timeout=NO_TIMEOUT,
        )

    def _chosen_network(self) -> Network:
        policy = self._network_policy
        if policy.network_mode == NetworkMode.NO_NETWORK:
            return NO_NETWORK
        if policy.network_mode == NetworkMode.ALLOWLIST:
            return Network("allowlist", tuple(policy.allowed_hosts))
        return Network("public" if "public" in self._can.networks else self.options.public_network)

    @property
    def _can(self) -> Capabilities:
        return capabilities_of(self._name(self.options), self.options.base)

    @classmethod
    def _name(cls, options: BackendOptions) -> str:
        return cls.backend_name or options.sandbox


class BubblewrapEnvironment(SandboxEnvironment):
    """Sandboxes without a daemon or root."""

    options_model = BackendOptions
    backend_name = "bubblewrap"

    @staticmethod
    def type() -> str:
        """See `BaseEnvironment.type`."""
        return "bubblewrap"


class DockerEnvironment(SandboxEnvironment):
    """Containers, without Docker's command line or Compose plug-in."""

    options_model = BackendOptions
    backend_name = "docker"

    @staticmethod
    def type() -> str:
        """See `BaseEnvironment.type`."""
        return "envolve-docker"


class E2BEnvironment(SandboxEnvironment):
    """Sandboxes of E2B."""

    options_model = BackendOptions
    backend_name = "e2b"

    @staticmethod
    def type() -> str:
        """See `BaseEnvironment.type`."""
        return "envolve-e2b"
