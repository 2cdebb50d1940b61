"""Harbor's agents in our trials: each sees our sandbox as an environment of Harbor's."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from harbor.agents.base import BaseAgent
from harbor.models.agent.context import AgentContext as HarborContext
from harbor.models.task.config import EnvironmentConfig
from harbor.models.trial.error_policy import policy_for
from harbor.models.trial.paths import TrialPaths

from sandbox.errors import SandboxError, TransferError
from sandbox.harbor.view import SandboxView
from sandbox.trial.acting import ending, said
from sandbox.trial.agent import AgentUnavailableError, Turn, Usage
from sandbox.trial.fetched import move_fetched
from sandbox.trial.steps import AGENT_LOGS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sandbox.trial.agent import AgentContext, AgentSandbox

_LOG = logging.getLogger(__name__)


class HarborAgent:
    """One of Harbor's agents as an `Agent` of ours; made anew for each trial, in `prepare`.

    Args:
        factory: The class, a subclass of `harbor.agents.base.BaseAgent`.
        options: What it is called with, beside `logs_dir`; `model_name` for one.
    """

    version = ""

    def __init__(self, factory: Callable[..., BaseAgent], options: Mapping[str, object] | None = None) -> None:
        self._factory = factory
        self._options = dict(options or {})
        self.name = str(factory.name())  # type: ignore[attr-defined] # static, of every agent of Harbor
        self.model = str(self._options.get("model_name") or "")
        self._agent: BaseAgent | None = None
        self._view: SandboxView | None = None

    async def prepare(self, sandbox: AgentSandbox) -> None:
        """Installs what the agent needs in the sandbox; see `PreparedAgent`."""
        logs = sandbox.context.logs
        self._view = _view(sandbox, logs)
        self._agent = self._factory(logs_dir=logs, logger=_LOG, **self._options)
        self.version = self._agent.version() or ""
        with self._view.with_default_user(sandbox.user):
            await self._agent.setup(environment=self._view)

    async def act(self, instruction: str, sandbox: AgentSandbox, context: AgentContext) -> None:
        """See `Agent.act`. Errors that Harbor would not grade, or whose reward it would not count, are ours as well."""
        if self._agent is None or self._view is None:
            raise RuntimeError("a Harbor agent acts only after `prepare`")
        context.record(Turn("user", instruction))
        told = HarborContext()
        try:
            with self._view.with_default_user(sandbox.user):
                work = self._agent.run(instruction=instruction, environment=self._view, context=told)
                ended = await ending(work, None)
        finally:  # also when its time is up: what it recorded until then counts
            await self._collect(sandbox, context, told)
        error = ended.error
        if error is None or isinstance(error, SandboxError):
            if error is not None:
                raise error
            return
        policy = policy_for(type(error).__name__)
        if not (policy.should_grade and policy.has_valid_reward):
            raise AgentUnavailableError(f"the agent {self.name} could not act: {said(error)}") from error
        raise error

    async def _collect(self, sandbox: AgentSandbox, context: AgentContext, told: HarborContext) -> None:
        """Fetches the agent's logs, from which most agents learn only now what they have spent."""
        fetched = context.logs / ".fetched"
        try:
            await sandbox.download(AGENT_LOGS, fetched)
        except TransferError as error:
            _LOG.warning("the logs of the agent %s could not be fetched: %s", self.name, error)
        else:
            move_fetched(fetched, context.logs)
        assert self._agent is not None  # noqa: S101 - asked by the caller
        if told.is_empty():
            self._agent.populate_context_post_run(told)
        if told.n_input_tokens is not None or told.n_output_tokens is not None or told.cost_usd is not None:
            spent = Usage(told.n_input_tokens or 0, told.n_cache_tokens or 0, told.n_output_tokens or 0, told.cost_usd)
            context.spend(spent)


def _view(sandbox: AgentSandbox, logs: Path) -> SandboxView:
    """The sandbox as an environment; the paths of a trial that Harbor wants are those around the agent's logs."""
    view = SandboxView(
        environment_dir=logs,
        environment_name="envolve",
        session_id=sandbox.sandbox.id,
        trial_paths=TrialPaths(trial_dir=logs.parent),
        task_env_config=EnvironmentConfig(workdir=sandbox.cwd),
        persistent_env=sandbox.env,
        logger=_LOG,
    )
    view.sandbox = sandbox.sandbox
    return view
