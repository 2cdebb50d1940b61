"""How many operations of the sandbox a trial takes: each is a process of its own, and thousands of trials pay for it."""

from __future__ import annotations

import inspect
from collections import Counter
from typing import TYPE_CHECKING, cast

import pytest

from sandbox.trial.steps import run_noop, run_reference

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.protocol import Sandbox
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task
    from sandbox.trial.result import TrialResult
    from tests.sandbox.trial.conftest import Write

VERIFYING = Counter(
    kill_processes=2,  # before the tests, and before the reward is read
    changed_files=2,  # of the agent, and of the verifier
    remake_directory=2,  # /logs/verifier and /tests
    upload=1,
    exec=1,
    read_file=1,  # the reward
)
PREPARING = Counter(remake_directory=2)  # /logs/agent and /logs/artifacts
SOLVING = Counter(upload=1, exec=1)


class Counted:
    """A sandbox that counts what it is asked to do.

    Args:
        sandbox: Does it.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> object:
        found = getattr(self._sandbox, name)
        if not inspect.iscoroutinefunction(found):
            return found

        async def counted(*arguments: object, **named: object) -> object:
            self.calls[name] += 1
            return await found(*arguments, **named)

        return counted


async def asked(sandboxes: Sandboxes, task: Task, *, work: bool = True) -> tuple[TrialResult, Counter[str]]:
    """A trial with the reference solution, or with nothing, and what it asked of its sandbox."""
    async with sandboxes.running(task) as sandbox:
        counted = Counted(sandbox)
        result = await (run_reference if work else run_noop)(task, cast("Sandbox", counted))
    return result, counted.calls


async def test_a_plain_trial(sandboxes: Sandboxes, write: Write, hello: Mapping[str, str]) -> None:
    result, calls = await asked(sandboxes, write(hello))
    assert result.score == 1
    assert calls <= PREPARING + SOLVING + VERIFYING, calls - (PREPARING + SOLVING + VERIFYING)
    assert calls.total() <= 15


async def test_a_trial_without_work(sandboxes: Sandboxes, write: Write, hello: Mapping[str, str]) -> None:
    result, calls = await asked(sandboxes, write(hello), work=False)
    assert result.score == 0
    assert calls <= PREPARING + VERIFYING, calls - (PREPARING + VERIFYING)


@pytest.mark.parametrize("solution", ["mkdir -p /srv/x; touch /srv/x/{1..300}", "for n in {1..300}; do echo >$n; done"])
async def test_much_work_asks_for_no_more(
    sandboxes: Sandboxes, write: Write, hello: Mapping[str, str], solution: str
) -> None:
    more = {"solution/solve.sh": f"{hello['solution/solve.sh']}{solution}\n"}
    more |= {f"solution/data/{number}": "data" for number in range(20)}
    more |= {f"tests/data/{number}": "data" for number in range(20)}
    result, calls = await asked(sandboxes, write({**hello, **more}))
    assert (result.score, result.findings) == (1, ())
    assert calls <= PREPARING + SOLVING + VERIFYING, calls - (PREPARING + SOLVING + VERIFYING)


async def test_a_report_of_units_is_one_read_more(sandboxes: Sandboxes, write: Write, hello: Mapping[str, str]) -> None:
    units = '{"results": {"tests": [{"name": "hello", "status": "passed"}]}}'
    tests = f"{hello['tests/test.sh']}echo '{units}' > /logs/verifier/ctrf.json\n"
    result, calls = await asked(sandboxes, write({**hello, "tests/test.sh": tests}))
    assert [unit.name for unit in result.units] == ["hello"]
    assert calls <= PREPARING + SOLVING + VERIFYING + Counter(read_file=1), calls


async def test_a_second_step_looks_at_the_folders_it_has_cleared_itself(
    sandboxes: Sandboxes, write: Write, two_steps: Mapping[str, str]
) -> None:
    result, calls = await asked(sandboxes, write(two_steps))
    assert result.score == 1
    assert calls.total() <= 2 * (PREPARING + SOLVING + VERIFYING).total() + 4, calls
