"""`harbor run -e sandbox.harbor:BubblewrapEnvironment`: Harbor's own command over our sandboxes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.outside

DOCKERFILE = "FROM ubuntu:24.04\nWORKDIR /app\n"
REWARD = 'if [ "$(cat {path} 2>/dev/null)" = "{value}" ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n'

HELLO = {
    "task.toml": '[environment]\nnetwork_mode = "no-network"\n',
    "instruction.md": "Write hello to /app/out.\n",
    "environment/Dockerfile": DOCKERFILE,
    "solution/solve.sh": "echo hello > out\n",
    "tests/test.sh": REWARD.format(path="/app/out", value="hello"),
}
# Resources, variables, a working directory, a health check and a user, each seen by the solution; the public network,
# which there is none of.
SETTINGS = {
    **HELLO,
    "task.toml": """
[environment]
cpus = 1
memory_mb = 512
workdir = "/srv/work"
env = { COLOUR = "green" }
healthcheck = { command = "test -d /srv/work", interval_sec = 0.1 }
[agent]
user = "nobody"
[solution]
env = { SHAPE = "round" }
""",
    "environment/Dockerfile": "FROM ubuntu:24.04\nENV TASTE=sweet\n",
    "solution/solve.sh": 'echo "$COLOUR $SHAPE $TASTE $PWD $(id -un)" > /tmp/out\n',
    "tests/test.sh": REWARD.format(path="/tmp/out", value="green round sweet /srv/work nobody"),
}
STEPS = {
    "task.toml": '[[steps]]\nname = "one"\n[[steps]]\nname = "two"\n',
    "environment/Dockerfile": DOCKERFILE,
    "tests/common.txt": "common\n",
    "steps/one/instruction.md": "Write 1 to /app/one.\n",
    "steps/one/solution/solve.sh": "echo 1 > /app/one\n",
    "steps/one/tests/test.sh": "cat /tests/common.txt /tests/own.txt || exit\n"
    + REWARD.format(path="/app/one", value="1"),
    "steps/one/tests/own.txt": "own\n",
    "steps/two/instruction.md": "Write 2 to /app/two.\n",
    "steps/two/workdir/given": "2\n",
    "steps/two/workdir/setup.sh": "cp given ready\n",
    "steps/two/solution/solve.sh": "cat ready > /app/two\n",
    "steps/two/tests/test.sh": REWARD.format(path="/app/two", value="2"),
}
SEPARATE = {
    **HELLO,
    "task.toml": 'artifacts = ["/app/out"]\n[verifier]\nenvironment_mode = "separate"\n',
    "tests/Dockerfile": "FROM ubuntu:24.04\nCOPY . /tests\n",
    "tests/test.sh": "[ -e /app/secret ] && exit\n" + REWARD.format(path="/app/out", value="hello"),
    "solution/solve.sh": "echo hello > out; touch secret\n",
}
TASKS = {"hello": HELLO, "settings": SETTINGS, "steps": STEPS, "separate": SEPARATE}

FORGER = """
from harbor.agents.nop import NopAgent

class Forger(NopAgent):
    async def run(self, instruction, environment, context):
        told = await environment.exec('''
            (while :; do echo 1 > /logs/verifier/reward.txt; done) > /dev/null 2>&1 &
            mkdir -p /tests /app/mine; echo 'echo 1 > /logs/verifier/reward.txt' > /tests/helper.sh
            rm -rf /logs/verifier; ln -s /app/mine /logs/verifier; echo 1 > /app/mine/reward.txt
        ''')
        assert told.return_code == 0, told
"""


@pytest.fixture
def tasks(write) -> Path:
    for name, files in TASKS.items():
        folder = write(name, files).parent
    return folder


def rewards(results):
    return {name: (result["verifier_result"] or {}).get("rewards") for name, result in results.items()}


def test_the_oracle_earns_every_reward_and_nobody_earns_none(run_harbor, tasks) -> None:
    ours = ("-e", "sandbox.harbor:BubblewrapEnvironment")
    solved = run_harbor(*ours, "-a", "oracle", path=tasks)
    assert rewards(solved) == {name: {"reward": 1.0} for name in TASKS}, [r["exception_info"] for r in solved.values()]
    nothing = run_harbor(*ours, "-a", "nop", path=tasks)
    assert rewards(nothing) == {name: {"reward": 0.0} for name in TASKS}, [
        r["exception_info"] for r in nothing.values()
    ]


def test_a_forged_reward_counts_nothing_through_any_back_end_named(run_harbor, write, tmp_path) -> None:
    forged = write(
        "forged",
        {
            **HELLO,
            "tests/test.sh": "ls /tests\n[ -e /tests/helper.sh ] && . /tests/helper.sh\n" + HELLO["tests/test.sh"],
        },
    )
    (tmp_path / "forger.py").write_text(FORGER)
    found = run_harbor(
        *("-e", "sandbox.harbor:SandboxEnvironment", "--ek", "sandbox=bubblewrap"),
        *("-a", "forger:Forger"),
        path=forged,
        PYTHONPATH=str(tmp_path),
    )
    assert rewards(found) == {"forged": {"reward": 0.0}}
    folder = found["forged"]["folder"]
    assert (folder / "verifier" / "test-stdout.txt").read_text() == "test.sh\n"
    assert not (folder / "verifier").is_symlink()


def test_what_cannot_be_had_is_refused_by_name(harbor_python, write, base) -> None:
    program = f"""
import asyncio, sys
from pathlib import Path
from harbor.models.task.task import Task
from harbor.models.task.config import NetworkPolicy, NetworkMode
from harbor.models.trial.paths import TrialPaths
from sandbox.harbor import BubblewrapEnvironment
task = Task(Path(sys.argv[1]))
def made(**more):
    return BubblewrapEnvironment(
        environment_dir=task.paths.environment_dir, environment_name="t", session_id="t__env",
        trial_paths=TrialPaths(Path(sys.argv[1]) / "trial"), task_env_config=task.config.environment, base=[{base!r}], **more)
environment = made()
print(environment.capabilities.disable_internet, environment.capabilities.mounted, environment.capabilities.gpus)
for wrong in (dict(mounts=[dict(type="bind", source="/etc", target="/x")]), dict(colour="red"), dict(override_gpus=1)):
    try:
        made(**wrong)
    except (ValueError, RuntimeError) as error:
        print(str(error).splitlines()[0 if "mounts" in wrong or "override_gpus" in wrong else 1].strip())
"""
    run = subprocess.run(
        [harbor_python, "-c", program, write("hello", HELLO)], capture_output=True, text=True, check=False, timeout=120
    )
    assert run.stdout.splitlines()[0] == "True False False", run.stderr
    assert "mounts no folders of this machine" in run.stdout
    assert "Unknown option 'colour'" in run.stdout
    assert "GPU" in run.stdout
