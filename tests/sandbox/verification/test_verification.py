"""What an agent may leave behind does not touch the verifier, and what a verifier may do does not touch us."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from sandbox.errors import UnsupportedTaskError
from sandbox.protocol import Image
from sandbox.task import Task
from sandbox.task.phase import resolved_env
from sandbox.verification.verify import isolated_env, verify

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sandbox.sandboxes import Sandboxes
    from sandbox.verification.verify import Verification

TOML = """[environment]
network_mode = "no-network"
[environment.env]
FROM_TASK = "task"
[verifier]
timeout_sec = {timeout}
env = {{ MODE = "strict", HOST = "${{ENVOLVE_TEST_NOT_SET:-default}}" }}
"""
HONEST = """#!/bin/bash
if [ "$(cat /app/answer 2>/dev/null)" = 42 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
"""
PYTHON = """#!/bin/bash
cd /app
python3 /tests/check.py && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt
"""
CHECK = "import sys\nsys.exit(0 if open('/app/answer').read() == '42' else 1)\n"


@pytest.fixture
def task(tmp_path: Path) -> Callable[..., Task]:
    """A task with a `test.sh`, further files of the tests, and a time limit of its verifier."""

    def written(
        test: str = HONEST, *, timeout: float = 60, dockerfile: str = "", run_bit: bool = False, **tests: str
    ) -> Task:
        root = tmp_path / "task"
        files = {
            "task.toml": TOML.format(timeout=timeout),
            "instruction.md": "Write 42 to /app/answer.\n",
            "environment/Dockerfile": f"FROM python:3.12-bookworm\nWORKDIR /app\n{dockerfile}",
            "tests/test.sh": test,
            **{f"tests/{name.replace('__', '.')}": text for name, text in tests.items()},
        }
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        if run_bit:
            (root / "tests/test.sh").chmod(0o755)
        return Task.read(root)

    return written


@pytest.fixture
def verified(sandboxes: Sandboxes) -> Callable[..., object]:
    """Verifies a task after an agent has run a command in its sandbox."""

    async def run(task: Task, agent: str = "true") -> Verification:
        async with sandboxes.running(task) as sandbox:
            done = await sandbox.exec(agent)
            assert done.ok, done.error_text
            return await verify(task, sandbox)

    return run


SOLVE = "printf 42 > /app/answer"


async def test_work_done_and_work_not_done(task, verified) -> None:
    assert (await verified(task(), SOLVE)).reward.score == 1
    assert (await verified(task())).reward.score == 0


@pytest.mark.parametrize(
    "forgery",
    [
        "mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt",
        "mkdir -p /logs/verifier; echo '{\"reward\": 1}' > /logs/verifier/reward.json",
        "mkdir -p /logs/verifier/reward.json",
        "mkdir -p /elsewhere /logs; ln -s /elsewhere /logs/verifier; echo 1 > /elsewhere/reward.json",
        "mkdir -p /elsewhere/verifier; rm -rf /logs; ln -s /elsewhere /logs; echo 1 > /elsewhere/verifier/reward.json",
        "rm -rf /logs; echo file > /logs",
        "mkdir -p /elsewhere; ln -s /elsewhere /tests; echo 'exit 0' > /elsewhere/test.sh",
        "mkdir -p /tests; echo 'echo 1 > /logs/verifier/reward.txt' > /tests/test.sh; chmod 555 /tests/test.sh",
        # A process that outlives the agent and writes over whatever it finds, again and again.
        "(while :; do mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt; done) >/dev/null 2>&1 &",
        """setsid bash -c 'trap "" TERM HUP; while :; do echo 1 > /logs/verifier/reward.txt; done' >/dev/null 2>&1 &""",
        (
            "echo 'echo 1 > /logs/verifier/reward.json; exit' > /root/.bashrc; cp /root/.bashrc /root/.bash_profile;"
            " cp /root/.bashrc /etc/profile"
        ),
    ],
)
async def test_a_forged_reward_does_not_count(task, verified, forgery: str) -> None:
    found = await verified(task(), forgery)
    assert found.reward is not None, found.error
    assert found.reward.score == 0


@pytest.mark.parametrize(
    "planted",
    [
        "echo 'import os; os._exit(0)' > /app/sitecustomize.py",
        "echo 'import os; os._exit(0)' > /app/usercustomize.py",
        (
            "mkdir -p /root/.local/lib/python3.{9,10,11,12,13}/site-packages;"
            " for d in /root/.local/lib/python3.*/site-packages; do echo 'import os; os._exit(0)' > $d/usercustomize.py;"
            " echo 'import os; os._exit(0)' > $d/evil.pth; done"
        ),
        "echo 'import sys; sys.exit(0)' > /app/sys.py; echo 'raise SystemExit(0)' > /app/open.py",
        "mkdir -p /tests/__pycache__; echo 'raise SystemExit(0)' > /tests/sitecustomize.py",
    ],
)
async def test_python_files_left_around_are_not_loaded(task, verified, planted: str) -> None:
    found = await verified(task(PYTHON, check__py=CHECK), planted)
    assert found.reward.score == 0


async def test_tests_may_import_what_lies_beside_them_and_what_the_agent_was_asked_to_write(task, verified) -> None:
    check = "import sys\nsys.path.insert(0, '/app')\nfrom beside import wanted\nimport answer\nsys.exit(answer.value != wanted)\n"
    honest = task(PYTHON, check__py=check, beside__py="wanted = 42\n")
    assert (await verified(honest, "echo 'value = 42' > /app/answer.py")).reward.score == 1


async def test_an_empty_pytest_ini_ends_the_search_for_settings(task, verified) -> None:
    shows = "#!/bin/bash\nstat -c %s /tests/pytest.ini\necho 0 > /logs/verifier/reward.txt\n"
    assert (await verified(task(shows))).stdout == "0\n"
    kept = await verified(task(shows, pytest__ini="[pytest]\n"))
    assert kept.stdout == "9\n"


async def test_the_verifier_sees_the_images_and_its_own_variables_alone(task, verified) -> None:
    shows = "#!/bin/bash\necho $OF_IMAGE $FROM_TASK $MODE $HOST; env | sort\necho 0 > /logs/verifier/reward.txt\n"
    found = await verified(task(shows, dockerfile="ENV OF_IMAGE=image BASH_ENV=/app/evil LD_PRELOAD=/app/evil.so\n"))
    assert found.stdout.startswith("image task strict default\n")
    assert "evil" not in found.stdout + found.stderr


def test_an_image_with_a_user_of_its_own_keeps_its_packages() -> None:
    assert "PYTHONNOUSERSITE" in isolated_env(Image("x"))
    assert "PYTHONNOUSERSITE" not in isolated_env(Image("x", user="app"))
    assert isolated_env(Image("x", env={"PATH": "/opt/venv/bin", "BASH_ENV": "/x"}))["PATH"] == "/opt/venv/bin"
    assert "BASH_ENV" not in isolated_env(Image("x", env={"BASH_ENV": "/x"}))


@pytest.mark.parametrize("last", ["exit 1", "kill -9 $$", "exit 0", "false"])
async def test_how_the_verifier_ends_counts_for_nothing(task, verified, last: str) -> None:
    assert (await verified(task(HONEST + last + "\n"), SOLVE)).reward.score == 1


async def test_scripts_run_as_harbor_runs_them(task, verified) -> None:
    without_a_first_line = HONEST.partition("\n")[2]
    assert (await verified(task(without_a_first_line), SOLVE)).reward.score == 1
    python = "#!/usr/bin/env python3\nopen('/logs/verifier/reward.json', 'w').write('{\"reward\": 0.5}')\n"
    assert (await verified(task(python, run_bit=True), SOLVE)).reward.score == 0.5


@pytest.mark.parametrize(
    ("test", "code", "said"),
    [
        ("true", "missing", "exit status 0"),
        ("set -e; false; echo 1 > /logs/verifier/reward.txt", "missing", "exit status 1"),
        (": > /logs/verifier/reward.txt", "unparsable", "empty"),
        ("printf 'nan' > /logs/verifier/reward.txt", "unparsable", "nan"),
        ("echo 1 > /logs/verifier/reward.json", "scalar", "bare number"),
        ("mkdir /logs/verifier/reward.txt", "not-a-file", "folder"),
        ("mkfifo /logs/verifier/reward.txt", "not-a-file", "plain file"),
        ("echo 1 > /tmp/r; ln -s /tmp/r /logs/verifier/reward.txt", "not-a-file", "link"),
        ("head -c 50000000 /dev/zero > /logs/verifier/reward.txt", "not-a-file", "larger"),
        (
            "truncate -s 500G /logs/verifier/reward.json || head -c 99999 /dev/zero > /logs/verifier/reward.json",
            "not-a-file",
            "larger",
        ),
    ],
)
async def test_no_reward_is_no_zero(task, verified, test: str, code: str, said: str) -> None:
    found = await verified(task(f"#!/bin/bash\n{test}\n"))
    assert found.reward is None
    assert found.error_code == code
    assert said in found.error


async def test_a_verifier_that_runs_out_of_time_gives_no_reward_whatever_it_wrote(task, verified) -> None:
    found = await verified(task("#!/bin/bash\necho 1 > /logs/verifier/reward.txt\nsleep 600\n", timeout=0.5))
    assert (found.reward, found.error_code) == (None, "timeout")


async def test_what_the_verifier_leaves_running_is_dead_before_the_reward_is_read(task, sandboxes) -> None:
    late = task("#!/bin/bash\n(exec -a straggler sleep 600) >/dev/null 2>&1 &\necho 0 > /logs/verifier/reward.txt\n")
    async with sandboxes.running(late) as sandbox:
        assert (await verify(late, sandbox)).reward.score == 0
        assert not (await sandbox.exec("grep -l straggle[r] /proc/[0-9]*/cmdline")).text


async def test_endless_output_is_cut(task, verified) -> None:
    found = await verified(task("#!/bin/bash\nyes | head -c 1000000000\necho 1 > /logs/verifier/reward.txt\n"))
    assert found.reward.score == 1
    assert 0 < len(found.stdout) <= 32 * 1024


async def test_output_that_is_no_text_is_no_error(task, verified) -> None:
    found = await verified(task("#!/bin/bash\nprintf '\\377\\000\\033[2J'\necho 1 > /logs/verifier/reward.txt\n"))
    assert found.reward.score == 1


async def test_units_are_read_and_malformed_ones_are_none(task, verified) -> None:
    report = json.dumps({"results": {"tests": [{"name": "a::b", "status": "failed"}]}})
    found = await verified(task(f"#!/bin/bash\necho '{report}' > /logs/verifier/ctrf.json\n{HONEST}"))
    assert [(unit.name, unit.status) for unit in found.units] == [("a::b", "failed")]
    broken = await verified(task(f"#!/bin/bash\nmkdir /logs/verifier/ctrf.json\n{HONEST}"))
    assert broken.units == ()
    assert broken.reward.score == 0


def test_variables_of_this_machine() -> None:
    host = {"KEY": "secret"}
    assert resolved_env({"A": "${KEY}", "B": "${NO:-x}", "C": "${NO:-}", "D": "a ${KEY}"}, host) == {
        "A": "secret",
        "B": "x",
        "C": "",
        "D": "a ${KEY}",
    }
    with pytest.raises(UnsupportedTaskError, match="NO of this machine"):
        resolved_env({"A": "${NO}"}, host)
