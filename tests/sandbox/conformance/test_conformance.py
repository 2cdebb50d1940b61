"""Every back end keeps the contract: each check on bubblewrap, local, e2b (against a cloud of the tests) and docker."""

from __future__ import annotations

import importlib
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from sandbox.backends import load_backend
from sandbox.conformance.checks import all_checks
from sandbox.conformance.running import Conformance
from sandbox.conformance.subject import Subject
from sandbox.errors import SandboxUnavailableError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sandbox.conformance.checks import Check

DEBIAN = Path(__file__).parents[3] / ".outside" / "debian"
SUBJECTS = {
    "bubblewrap": Subject("bubblewrap", ("*=host",)),
    "local": Subject("local", options={"i_am_in_a_sandbox": True, "as_it_stands": True}),
    "e2b": Subject("e2b", options={"template": "base"}),
    "docker": Subject("docker", (f"*={DEBIAN}",)),
}

# What a back end says it lacks, by theme or check; limits and networks depend on the machine and are left out here.
NOT_OFFERED = {
    "bubblewrap": {"snapshots.refused", "values.run_refused", "values.run_built"},
    "e2b": {"snapshots.refused", "values.run_refused", "exec.user_number"},
    "docker": {"snapshots.refused", "values.run_refused"},
    "local": {
        *("values.copied", "values.bad_task", "values.run_built", "values.run_refused"),  # it builds nothing
        *("exec.user", "exec.user_number", "archives.owners"),  # it has one user
        *("timeouts.no_program", "killing.whole_sandbox", "network.sockets"),  # harm would reach this machine
        *("changes", "snapshots.fresh"),  # it does not know how the machine was
        *("snapshots.fork", "snapshots.apart", "snapshots.of_fork", "snapshots.processes"),
        *("snapshots.changes", "snapshots.discard"),
    },
}
# The cloud of the e2b tests runs in this very process and gives its machines this machine's network.
NOT_SHOWN_BY_TEST_CLOUD = {
    *("network.none", "network.none_interfaces", "network.sockets", "network.public", "network.allowlist"),
    *("bytes.memory", "cleanup.cancelled_start"),
}
MARKS = {"docker": [pytest.mark.outside, pytest.mark.long], "e2b": [pytest.mark.long], "local": [pytest.mark.slow]}
CASES = [
    pytest.param(name, check, id=f"{name}-{check.id}", marks=MARKS.get(name, []))
    for name in SUBJECTS
    for check in all_checks()
]

Opened = "Callable[[str], Coroutine[None, None, Conformance]]"


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def opened() -> AsyncIterator[Opened]:
    """Opens a back end once for all checks of it; skips where it cannot run."""
    known: dict[str, Conformance | str] = {}
    async with AsyncExitStack() as stack:

        async def get(name: str) -> Conformance:
            if name not in known:
                known[name] = await _open(name, stack)
            found = known[name]
            if isinstance(found, str):
                pytest.skip(found)
            return found

        yield get


async def _open(name: str, stack: AsyncExitStack) -> Conformance | str:
    if name == "docker" and not DEBIAN.is_dir():
        return "no Debian root in .outside/debian: ./run test --all makes it"
    if name == "e2b":
        problem = await _serve_e2b(stack)
        if problem:
            return problem
    conformance = Conformance(SUBJECTS[name])
    try:
        await conformance.open()
    except SandboxUnavailableError as error:
        return f"{name} cannot run here: {error}"
    stack.push_async_callback(conformance.close)
    return conformance


async def _serve_e2b(stack: AsyncExitStack) -> str:
    """Starts the cloud of the e2b tests, for as long as the run lasts; says why where it cannot be."""
    try:
        server = importlib.import_module("tests.sandbox.e2b.server")
    except ImportError as error:
        return f"no cloud to test against: {error}"
    behind = load_backend("bubblewrap", base=("*=host",))
    try:
        await behind.capabilities()
    except SandboxUnavailableError as error:
        return f"no sandbox on this machine: {error}"
    stack.push_async_callback(behind.close)
    _cloud, address = await stack.enter_async_context(server.serving(behind, await behind.host_image()))
    patch = stack.enter_context(pytest.MonkeyPatch.context())
    for variable in ("E2B_DOMAIN", "E2B_DEBUG"):
        patch.delenv(variable, raising=False)
    patch.setenv("E2B_API_KEY", server.KEY)
    patch.setenv("E2B_API_URL", address)
    patch.setenv("E2B_SANDBOX_URL", address)
    patch.setenv("E2B_HTTP_VERSION", "1.1")
    return ""


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(("name", "check"), CASES)
async def test_keeps_its_promise(opened: Opened, name: str, check: Check) -> None:
    if name == "e2b" and check.id in NOT_SHOWN_BY_TEST_CLOUD:
        pytest.skip("the test's own cloud is no evidence for it: python -m sandbox.check e2b, with a key")
    outcome = await (await opened(name)).run(check)
    if outcome.status == "not offered":
        theme = check.id.partition(".")[0]
        by_machine = any(need.startswith(("limits.", "networks.")) for need in check.needs)
        stated = by_machine or {theme, check.id} & NOT_OFFERED[name]
        assert stated, f"not stated as something {name} lacks: {outcome.message}"
        pytest.skip(outcome.message)
    assert outcome.status == "passed", f"{check.promise}\n{outcome.message}"


def test_a_subject_travels_to_another_process() -> None:
    subject = Subject("e2b", ("*=base",), {"lifetime": 5, "build": True})
    assert Subject.parsed(replace(subject, wrap=lambda backend: backend).dumped()) == subject
