"""Calibration: real sandboxes, a solver that plays a script for each rollout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolution.gates.calibration import CalibrationGate, Rewards, hint_of, is_near
from evolution.gates.errors import GateError
from evolution.gates.roles import Roles
from evolution.gates.settings import GateSettings
from evolution.verdict import Candidate, VerdictClass
from sandbox.errors import SandboxLostError
from sandbox.sandboxes import Sandboxes
from sandbox.trial.agent import AgentContext, AgentSandbox, AgentUnavailableError

TASK = {
    "task.toml": 'schema_version = "1.4"\n[task]\nname = "tests/number"\n[agent]\ntimeout_sec = 30\n[verifier]\ntimeout_sec = 30\n',
    "instruction.md": "Write a number from 0 to 1 to /app/number.\n",
    "environment/Dockerfile": "FROM python:3.12-bookworm\nWORKDIR /app\n",
    "solution/solve.sh": "#!/bin/bash\necho 1 > /app/number\n",
    "tests/test.sh": "#!/bin/bash\ncat /app/number > /logs/verifier/reward.txt\n",
}


@dataclass
class Solver:
    """Earns what its script says: by rollout in the order they are made, and `hinted` when it is told the solution."""

    script: list[float | Exception | str]
    hinted: float | Exception | str = 0.0
    name: str = "scripted"
    made: list[tuple[int, str]] = field(default_factory=list)

    def make(self, *, seed: int, hint: str = "") -> Actor:
        self.made.append((seed, hint))
        plain = sum(not told for _, told in self.made)
        return Actor(self.hinted if hint else self.script[plain - 1])


@dataclass
class Actor:
    does: float | Exception | str
    name: str = "scripted"
    version: str = ""

    async def act(self, instruction: str, sandbox: AgentSandbox, context: AgentContext) -> None:
        if isinstance(self.does, Exception):
            raise self.does
        await sandbox.exec(
            ["bash", "-c", f"echo {self.does} > /app/number" if isinstance(self.does, float) else self.does]
        )


def settings_of(**given: object) -> GateSettings:
    return GateSettings.model_validate(given)


@pytest.fixture
def calibrated(write: Callable[..., object], sandboxes: Sandboxes) -> Callable[..., object]:
    async def verdict(solver: Solver, **given: object) -> object:
        return await CalibrationGate(solver, settings_of(**given)).check(Candidate(write(TASK)), sandboxes)

    return verdict


@pytest.mark.parametrize(
    ("first", "more", "outcome"),
    [
        ([0.0, 1.0, 0.0, 1.0], [], "accepted"),  # 0.5 is near no edge
        ([0.0, 0.0, 0.0, 0.0], [], "too-hard"),
        ([1.0, 1.0, 1.0, 1.0], [], "too-easy"),
        ([0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0], "accepted"),  # 0.25, the band's end, belongs to it
        ([0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0], "too-hard"),
        ([1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 0.0], "accepted"),  # so does 0.75
        ([1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0], "too-easy"),
        ([0.5, 0.5, 0.5, 0.5], [], "no-variance"),
        ([0.4, 0.6, 0.4, 0.6], [], "accepted"),  # a deviation of exactly 0.1
        ([0.45, 0.6, 0.4, 0.6], [], "no-variance"),
    ],
)
async def test_outcomes_by_the_rewards_of_four_or_eight_rollouts(calibrated, first, more, outcome):
    solver = Solver([*first, *more])
    verdict = await calibrated(solver)
    rewards = [*first, *more]
    assert verdict.measured["mean"] == pytest.approx(sum(rewards) / len(rewards))
    assert verdict.measured["rollouts"] == len(rewards)
    plain = [seed for seed, hint in solver.made if not hint]
    assert len(plain) == len(set(plain)) == len(rewards)
    if outcome == "accepted":
        assert verdict.passed
        return
    assert verdict.verdict_class is VerdictClass.MISCALIBRATED
    # The hinted rollout earns 0 here, never more than the others.
    assert verdict.code == f"calibration/{'not-solved-with-hints' if outcome == 'too-hard' else outcome}"
    assert f"over {len(rewards)} rollouts" in verdict.evidence


@pytest.mark.parametrize(("hinted", "code"), [(1.0, "too-hard"), (0.5, "too-hard"), (0.0, "not-solved-with-hints")])
async def test_below_the_band_one_rollout_is_told_the_solution(calibrated, hinted, code):
    solver = Solver([0.0] * 4, hinted=hinted)
    verdict = await calibrated(solver)
    assert verdict.code == f"calibration/{code}"
    assert verdict.measured["hinted"] == hinted
    (hint,) = [hint for _, hint in solver.made if hint]
    assert "--- solution/solve.sh\n#!/bin/bash\necho 1 > /app/number" in hint
    assert f"told the reference solution it earned {hinted:g}" in verdict.evidence


@pytest.mark.parametrize("error", [AgentUnavailableError("no key"), SandboxLostError("lost")])
@pytest.mark.parametrize("when", ["first", "second", "hinted"])
async def test_what_is_not_the_tasks_fault_stands_apart(calibrated, error, when):
    solver = {
        "first": Solver([0.0, error, 0.0, 0.0]),
        "second": Solver([0.0, 0.0, 0.0, 1.0, 1.0, error, 1.0, 1.0]),
        "hinted": Solver([0.0] * 4, hinted=error),
    }[when]
    verdict = await calibrated(solver)
    assert verdict.verdict_class is VerdictClass.INFRASTRUCTURE
    assert verdict.code == ("calibration/solver" if isinstance(error, AgentUnavailableError) else "calibration/sandbox")
    assert str(error) in verdict.evidence


@pytest.mark.parametrize(
    "solver", [Solver([0.0, 0.0, "rm -f /app/number", 0.0]), Solver([0.0] * 4, hinted="echo much > /app/number")]
)
async def test_a_verifier_that_gives_no_reward_is_the_environments_fault(calibrated, solver):
    verdict = await calibrated(solver)
    assert (verdict.verdict_class, verdict.code) == (VerdictClass.INVALID, "calibration/no-reward")


async def test_the_environments_fault_comes_before_ours(calibrated):
    verdict = await calibrated(Solver([AgentUnavailableError("no key"), "true", 0.0, 0.0]))
    assert verdict.code == "calibration/no-reward"


async def test_a_solver_that_breaks_down_is_verified_as_it_left_things(calibrated):
    verdict = await calibrated(Solver([0.0, 1.0, 1.0, ValueError("confused")]))
    assert verdict.code == "calibration/no-reward"  # it wrote nothing, and this verifier takes that badly


def test_it_needs_a_solver():
    with pytest.raises(GateError, match="--solver"):
        CalibrationGate.configured(GateSettings(), Roles())


def test_a_hint_is_cut_where_it_is_enormous(write):
    task = write({**TASK, "solution/solve.sh": "#!/bin/bash\n" + "# long\n" * 5000})
    assert len(hint_of(task)) == 8000


SHARES = st.floats(0, 1, allow_nan=False)
BANDS = st.tuples(SHARES, SHARES).map(lambda band: tuple(sorted(band)))


@given(st.lists(SHARES, min_size=1, max_size=16), BANDS, SHARES)
def test_the_outcome_follows_the_paper(values, band, deviation):
    rewards = Rewards(tuple(values), settings_of(band=band, deviation=deviation))
    tiny = 1e-6
    in_band = band[0] - tiny <= rewards.mean <= band[1] + tiny
    if rewards.outcome == "calibrated":
        assert in_band
        assert rewards.deviation >= deviation - tiny
    elif rewards.outcome == "no-variance":
        assert in_band
        assert rewards.deviation < deviation
    else:
        assert rewards.mean < band[0] if rewards.outcome == "too-hard" else rewards.mean > band[1]
    assert Rewards(tuple(reversed(values)), rewards.settings).outcome == rewards.outcome


@given(SHARES, BANDS, SHARES)
def test_near_is_within_the_distance_of_an_edge_that_can_be_crossed(mean, band, edge):
    distances = [abs(mean - one) for one in band if 0 < one < 1]
    near = is_near(mean, settings_of(band=band, edge=edge))
    assert near or all(distance > edge for distance in distances)
    assert not near or any(distance <= edge + 1e-6 for distance in distances)


@pytest.mark.parametrize(
    ("mean", "near"),
    [
        (0.1, True),
        (0.0999, False),
        (0.25, True),
        (0.4, True),
        (0.4001, False),
        (0.6, True),
        (0.9, True),
        (0.9001, False),
        (0.0, False),
        (1.0, False),
    ],
)
def test_near_by_the_defaults(mean, near):
    assert is_near(mean, GateSettings()) is near
