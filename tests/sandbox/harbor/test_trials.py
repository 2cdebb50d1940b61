"""Harbor's agents in our trials, and our trials in Harbor's eyes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.sandbox.harbor.conftest import ROOT, quiet

pytestmark = pytest.mark.outside

HELLO = {
    "task.toml": '[environment]\nnetwork_mode = "no-network"\nenv = { COLOUR = "green" }\n',
    "instruction.md": "Write hello to /app/out.\n",
    "environment/Dockerfile": "FROM ubuntu:24.04\nWORKDIR /app\n",
    "solution/solve.sh": "echo hello > out\n",
    "tests/test.sh": '[ "$(cat /app/out)" = hello ] && echo 1 > /logs/verifier/reward.txt || '
    "echo 0 > /logs/verifier/reward.txt\n",
}
STEPS = {
    "task.toml": '[[steps]]\nname = "one"\n[[steps]]\nname = "two"\n',
    "environment/Dockerfile": HELLO["environment/Dockerfile"],
    **{
        f"steps/{name}/{path}": text
        for name in ("one", "two")
        for path, text in {
            "instruction.md": f"Step {name}.\n",
            "solution/solve.sh": "true\n",
            "tests/test.sh": 'echo \'{"reward": 1, "style": 0.5}\' > /logs/verifier/reward.json\n',
        }.items()
    },
}
AGENT = """
from harbor.agents.base import BaseAgent

class AuthenticationError(Exception):
    pass

class Theirs(BaseAgent):
    @staticmethod
    def name():
        return "theirs"

    def version(self):
        return "7"

    def __init__(self, *args, then="", **kwargs):
        super().__init__(*args, **kwargs)
        self.then = then

    async def setup(self, environment):
        assert (await environment.exec("touch /opt/installed", user="root")).return_code == 0

    async def run(self, instruction, environment, context):
        told = await environment.exec("ls /opt; echo $COLOUR $PWD; echo hello > out; echo own > /logs/agent/own.log")
        (self.logs_dir / "seen.txt").write_text(instruction + told.stdout)
        slow = await environment.exec("sleep 1000", timeout_sec=1)
        assert slow.return_code == 124, slow
        context.n_input_tokens, context.n_output_tokens = 12, 3
        if self.then == "raise":
            raise KeyError("word")
        if self.then == "outage":
            raise AuthenticationError("no key")
"""
LOAD = """
import json, sys
from pathlib import Path
from harbor.models.job.result import JobResult
from harbor.models.trajectories import Trajectory
from harbor.models.trial.config import TrialConfig
from harbor.models.trial.result import TrialResult
told = {}
folder = Path(sys.argv[1])
JobResult.model_validate_json((folder / "result.json").read_text())
for file in sorted(folder.glob("*/result.json")):
    result = TrialResult.model_validate_json(file.read_text())
    TrialConfig.model_validate_json((file.parent / "config.json").read_text())
    steps = [len(Trajectory.model_validate_json(path.read_text()).steps) for path in sorted(file.parent.rglob("trajectory.json"))]
    told[file.parent.name] = [result.reward_valid, result.verifier_result and result.verifier_result.rewards, steps,
        [error.exception_type for error in result.recorded_exceptions()], result.compute_token_cost_totals()[0]]
print(json.dumps(told))
"""


@pytest.fixture
def trial(harbor_python, base, tmp_path):
    """Our door, run by the Python that has Harbor."""
    (tmp_path / "theirs.py").write_text(AGENT)

    def run(*arguments: object) -> list[dict[str, object]]:
        command = [harbor_python, "-m", "sandbox.trial", *map(str, arguments), "--base", base, "--json"]
        env = quiet(PYTHONPATH=f"{tmp_path}:{ROOT}")
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200, cwd=tmp_path, env=env)
        assert done.stdout, done.stderr
        text = done.stdout
        return [json.loads(text)] if text.startswith("{\n") else [json.loads(line) for line in text.splitlines()]

    return run


def test_an_agent_of_harbors_runs_in_our_trial(trial, write, tmp_path) -> None:
    task, out = write("hello", HELLO), tmp_path / "out"
    (told,) = trial(task, "--agent", "theirs:Theirs", "--out", out)
    assert (told["reward"], told["class"], told["findings"]) == (1.0, "scored", [])
    assert told["steps"][0]["agent"]["usage"]["input_tokens"] == 12
    logs = out / "hello__1" / "agent"
    assert (logs / "seen.txt").read_text() == "Write hello to /app/out.\ninstalled\ngreen /app\n"
    assert (logs / "own.log").read_text() == "own\n"


def test_how_an_agent_of_harbors_fails_decides_whose_fault_it_is(trial, write) -> None:
    task = write("hello", HELLO)
    (raised,) = trial(task, "--agent", "theirs:Theirs", "--agent-option", "then=raise")
    assert raised["reward"] == 1.0
    assert [finding["kind"] for finding in raised["findings"]] == ["agent-error"]
    (outage,) = trial(task, "--agent", "theirs:Theirs", "--agent-option", "then=outage")
    assert (outage["reward"], outage["class"], outage["error_code"]) == (None, "infrastructure", "agent-unavailable")
    assert "no key" in outage["error"]


def test_harbors_own_models_load_what_we_keep(trial, write, harbor_python, tmp_path) -> None:
    hello, steps = write("hello", HELLO), write("steps", STEPS)
    silent = write("silent", {**HELLO, "tests/test.sh": "true\n"})
    broken = write("broken", {**HELLO, "environment/Dockerfile": "FROM ubuntu:24.04\nCOPY none /x\n"})
    slow = write(
        "slow",
        {**HELLO, "task.toml": "[agent]\ntimeout_sec = 1\n", "solution/solve.sh": "echo hello > out; sleep 99\n"},
    )
    out = tmp_path / "out"
    trial(hello, steps, silent, broken, slow, "--out", out)
    done = subprocess.run(
        [harbor_python, "-c", LOAD, out], capture_output=True, text=True, check=False, timeout=100, env=quiet()
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "broken__1": [False, None, [], ["SandboxBuildFailedError"], None],
        "hello__1": [True, {"reward": 1.0}, [2], [], None],
        "silent__1": [False, None, [2], ["RewardFileNotFoundError"], None],
        "slow__1": [True, {"reward": 1.0}, [2], ["AgentTimeoutError"], None],
        "steps__1": [True, {"reward": 1.0, "style": 0.5}, [2, 2], [], None],
    }
    assert Path(json.loads((out / "hello__1" / "result.json").read_text())["config"]["task"]["path"]) == hello
