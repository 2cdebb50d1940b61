"""Harbor's environments as a back end of ours: every place that Harbor can run a task in is one where we can.

What an environment cannot do is refused: snapshots, and telling what has changed. `kill_processes` walks `/proc` in the
sandbox and spares what ran there right after the start. Files of a sandbox are only as safe from its own programs
(`tar`, `rm`, the shell) as the environment is: verification of other back ends asks no program of the sandbox.
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harbor.environments.factory import EnvironmentFactory
from harbor.models.environment_type import EnvironmentType
from harbor.models.task.config import NetworkMode, NetworkPolicy
from harbor.models.task.config import TaskConfig as HarborTaskConfig
from harbor.models.trial.config import EnvironmentConfig as HarborEnvironmentConfig
from harbor.models.trial.paths import TrialPaths

from sandbox.errors import ImageError, SandboxError, SandboxUnavailableError, UnsupportedTaskError
from sandbox.harbor.foreign import HarborSandbox, reached
from sandbox.protocol import NO_NETWORK, Capabilities, Image, Limits, Network, Snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harbor.environments.base import BaseEnvironment

    from sandbox.protocol import Stale
    from sandbox.task import Task

_MODES = {"none": NetworkMode.NO_NETWORK, "allowlist": NetworkMode.ALLOWLIST, "public": NetworkMode.PUBLIC}
_OF_THE_SHELL = frozenset({"_", "PWD", "OLDPWD", "SHLVL", "HOSTNAME", "HOME"})


class HarborBackend:
    """Sandboxes of one of Harbor's environments.

    Args:
        environment: A name that Harbor knows (`docker`, `modal`, …) or `module:Class`.
        base: What `FROM` stands for; only for environments that take it, which are our own.
        options: What `harbor run --ek` takes for that environment.
        start_timeout: Seconds a sandbox may take to start, its image's build included.
    """

    name = "harbor"

    def __init__(
        self,
        *,
        environment: str = "docker",
        base: Sequence[str] = (),
        options: Mapping[str, object] | None = None,
        start_timeout: float = 1800.0,
    ) -> None:
        given: dict[str, Any] = {**({"base": list(base)} if base else {}), **(options or {})}
        by_path = ":" in environment
        try:
            self._config = HarborEnvironmentConfig(
                type=None if by_path else EnvironmentType(environment),
                import_path=environment if by_path else None,
                kwargs=given,
            )
            self._class = EnvironmentFactory.get_environment_class(self._config.type, self._config.import_path)
            self._class.parse_options(given)
        except (ValueError, TypeError, ImportError) as error:
            raise SandboxUnavailableError(f"Harbor's environment {environment}: {error}") from error
        self._start_timeout = start_timeout
        self._tasks: dict[str, tuple[Task, Image]] = {}
        self._building = asyncio.Lock()
        self._numbers = itertools.count(1)
        self._sandboxes: set[HarborSandbox] = set()
        self._folder = tempfile.TemporaryDirectory(prefix="envolve-harbor-")

    async def capabilities(self) -> Capabilities:
        """See `SandboxBackend.capabilities`; whether the environment runs at all shows when it is started."""
        try:
            self._class.preflight(kwargs=self._config.kwargs)
        except SystemExit as error:
            raise SandboxUnavailableError(f"Harbor's environment does not run here: {error}") from error
        resources = self._class.resource_capabilities()
        limits = {"timeout", "output_bytes"}
        if resources is not None:
            limits |= {"cpus"} if resources.cpu_limit else set()
            limits |= {"memory_mb"} if resources.memory_limit else set()
        return Capabilities(
            dockerfile_run=True,
            users=True,
            snapshot=False,
            networks=frozenset({"none", "allowlist", "public"}),  # each environment refuses at the start what it hasn't
            limits=frozenset(limits),
        )

    async def build(self, task: Task) -> Image:
        """See `SandboxBackend.build`: starts the environment once, which builds it, and asks it for its settings."""
        async with self._building:
            known = self._tasks.get(task.content_hash)
            if known is None:
                image = await self._asked(task)
                known = self._tasks[task.content_hash] = task, image
        return known[1]

    async def start(
        self, origin: Image | Snapshot, *, limits: Limits | None = None, network: Network = NO_NETWORK
    ) -> HarborSandbox:
        """See `SandboxBackend.start`."""
        if isinstance(origin, Snapshot):
            raise UnsupportedTaskError("Harbor's environments have no snapshots")
        known = self._tasks.get(origin.reference)
        if known is None:
            raise SandboxError(f"image {origin.reference}: unknown here; build the task again")
        asked = limits or Limits()
        await self._check(asked)
        environment = await self._started(known[0], asked, network)
        sandbox = HarborSandbox(environment, origin, asked, network, backend=self, on_stop=self._sandboxes.discard)
        self._sandboxes.add(sandbox)
        try:
            await sandbox.look_around()
        except BaseException:
            await asyncio.shield(sandbox.stop())
            raise
        return sandbox

    async def discard(self, snapshot: Snapshot) -> None:
        """See `SandboxBackend.discard`: there are none."""

    async def stale(self, *, images_unused_for: float | None = None) -> tuple[Stale, ...]:  # noqa: ARG002 - protocol
        """See `SandboxBackend.stale`: Harbor keeps no account of what the dead left behind."""
        return ()

    async def sweep(self, *, images_unused_for: float | None = None) -> int:  # noqa: ARG002 - protocol
        """See `SandboxBackend.sweep`."""
        return 0

    async def close(self) -> None:
        """See `SandboxBackend.close`."""
        await asyncio.gather(*(sandbox.stop() for sandbox in list(self._sandboxes)))
        self._folder.cleanup()

    async def _check(self, limits: Limits) -> None:
        can, usual = await self.capabilities(), Limits()
        for name in ("memory_mb", "cpus", "storage_mb", "processes", "file_size_mb", "open_files"):
            if name not in can.limits and getattr(limits, name) not in (None, getattr(usual, name)):
                raise UnsupportedTaskError(
                    f"limit {name}: Harbor's environment {self._class.type()} does not enforce it"
                )

    async def _asked(self, task: Task) -> Image:
        """What the environment says of itself: where commands run, as whom, with which variables."""
        environment = await self._started(task, Limits(memory_mb=None), NO_NETWORK)
        try:
            told = await reached(environment.exec("pwd; id -un; env"), "asking for its settings")
        finally:
            await asyncio.shield(reached(environment.stop(delete=True), "stopping"))
        lines = (told.stdout or "").splitlines()
        if told.return_code != 0 or len(lines) < 2:  # noqa: PLR2004 - the folder and the user
            raise SandboxError(f"Harbor's environment {self._class.type()} runs no commands: {told.stderr}")
        rows = [line.partition("=") for line in lines[2:]]
        env = {name: value for name, equals, value in rows if equals and name.isidentifier()}
        kept = {name: value for name, value in env.items() if name not in _OF_THE_SHELL}
        return Image(task.content_hash, kept, lines[0], "" if lines[1] == "root" else lines[1], "harbor")

    async def _started(self, task: Task, limits: Limits, network: Network) -> BaseEnvironment:
        if network.mode not in _MODES:
            raise UnsupportedTaskError(
                f"network {network.mode!r}: Harbor's environments have none, allowlist and public"
            )
        policy = NetworkPolicy(network_mode=_MODES[network.mode], allowed_hosts=list(network.allowed_hosts))
        number = next(self._numbers)
        paths = TrialPaths(trial_dir=Path(self._folder.name) / str(number))
        paths.mkdir()
        try:
            environment: BaseEnvironment = EnvironmentFactory.create_environment_from_config(
                config=self._config,
                environment_dir=task.root / "environment",
                environment_name=task.name.rpartition("/")[2],
                session_id=f"envolve-{number}__env",
                trial_paths=paths,
                task_env_config=self._settings(task, limits),
                network_policy=policy,
            )
        except (ValueError, RuntimeError, FileNotFoundError) as error:
            raise UnsupportedTaskError(
                f"Harbor's environment {self._class.type()} refuses the task: {error}"
            ) from error
        try:
            await reached(environment.start(force_build=False), "starting", timeout=self._start_timeout)
        except SandboxError as error:
            await asyncio.shield(reached(environment.stop(delete=True), "stopping"))
            if type(error.__cause__).__name__ == "SandboxBuildFailedError":
                raise ImageError(f"{task.name}: {error.__cause__}") from error
            raise
        return environment

    def _settings(self, task: Task, limits: Limits) -> Any:
        """The task's `[environment]` as Harbor reads it, with the limits of this sandbox."""
        settings = HarborTaskConfig.model_validate(tomllib.loads(task.read_text("task.toml"))).environment
        resources = self._class.resource_capabilities()
        if resources is not None and resources.memory_limit:
            settings.memory_mb = limits.memory_mb
        if resources is not None and resources.cpu_limit:
            settings.cpus = limits.cpus
        return settings
