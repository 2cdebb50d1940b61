"""The table "What Harbor makes of what a verifier writes", row by row: our verdict beside Harbor's own verifier's."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox.errors import TaskError
from sandbox.task import Task
from sandbox.verification.verify import verify

if TYPE_CHECKING:
    from sandbox.sandboxes import Sandboxes

ROOT = Path(__file__).parents[3]
HARBOR = ROOT / ".venv-harbor" / "bin" / "python"
DRIVER = Path(__file__).with_name("harbor_rewards.py")

pytestmark = pytest.mark.outside

TXT, JSON = "/logs/verifier/reward.txt", "/logs/verifier/reward.json"
Outcome = dict[str, float] | str

# What the verifier's script does, and the rewards or the code of the error that we give for it.
ROWS: dict[str, tuple[str, Outcome]] = {
    "one-crlf": (f"printf '1\\r\\n' > {TXT}", {"reward": 1.0}),
    "seven": (f"printf 7 > {TXT}", {"reward": 7.0}),
    "negative": (f"printf -- -3.5 > {TXT}", {"reward": -3.5}),
    "underscore": (f"printf 1_0 > {TXT}", {"reward": 10.0}),
    "true": (f"""echo '{{"reward": true}}' > {JSON}""", {"reward": 1.0}),
    "several-keys": (f"""echo '{{"reward": 0.5, "style": 2}}' > {JSON}""", {"reward": 0.5, "style": 2.0}),
    "no-keys": (f"echo '{{}}' > {JSON}", {}),
    "json-beats-text": (f"""echo 0 > {TXT}; echo '{{"a": 1}}' > {JSON}""", {"a": 1.0}),
    "exit-1": (f"echo 1 > {TXT}; exit 1", {"reward": 1.0}),
    "output-is-no-text": (f"printf '\\377\\376\\000'; echo 1 > {TXT}", {"reward": 1.0}),
    "no-shebang": (f"NO SHEBANG\necho 1 > {TXT}", {"reward": 1.0}),
    "nothing": ("true", "missing"),
    "crlf-script": (f"CRLF\necho 1 > {TXT}", "missing"),
    "set-e": (f"set -e; false; echo 1 > {TXT}", "missing"),
    "killed": (f"kill -9 $$; echo 1 > {TXT}", "missing"),
    "empty": (f": > {TXT}", "unparsable"),
    "empty-json": (f": > {JSON}", "unparsable"),
    "nan": (f"echo nan > {TXT}", "unparsable"),
    "inf": (f"echo inf > {TXT}", "unparsable"),
    "words": (f"echo passed > {TXT}", "unparsable"),
    "two-lines": (f"printf '1\\n0\\n' > {TXT}", "unparsable"),
    "byte-order-mark": (f"printf '\\357\\273\\2771' > {TXT}", "unparsable"),
    "json-string": (f"""echo '{{"reward": "1"}}' > {JSON}""", "unparsable"),
    "json-null": (f"echo null > {JSON}", "unparsable"),
    "json-list": (f"echo '[1]' > {JSON}", "unparsable"),
    "json-nested": (f"""echo '{{"reward": {{"a": 1}}}}' > {JSON}""", "unparsable"),
    "json-nan": (f"""echo '{{"reward": NaN}}' > {JSON}""", "unparsable"),
    "json-cut-off": (f"""echo '{{"reward": 1' > {JSON}""", "unparsable"),
    "scalar": (f"echo 0.5 > {JSON}", "scalar"),
    "folder": (f"mkdir {TXT}", "not-a-file"),
    "slow": (f"echo 1 > {TXT}; sleep 30", "timeout"),
}
CRLF = "crlf-script"
# The class that Harbor raises → our code.
ERRORS = {
    "RewardFileNotFoundError": "missing",
    "RewardFileEmptyError": "unparsable",
    "VerifierOutputParseError": "unparsable",
    "ValidationError": "scalar",
    "IsADirectoryError": "not-a-file",
    "TimeoutError": "timeout",
}


def write(folder: Path, body: str) -> None:
    """A task whose verifier is this script."""
    script = f"#!/bin/bash\n{body}\n"
    if body.startswith("NO SHEBANG\n"):
        script = body.removeprefix("NO SHEBANG\n") + "\n"
    if body.startswith("CRLF\n"):
        script = f"#!/bin/bash\n{body.removeprefix('CRLF')}\n".replace("\n", "\r\n")
    seconds = 1 if "sleep" in body else 60
    files = {
        "task.toml": f'[verifier]\ntimeout_sec = {seconds}\n[environment]\nnetwork_mode = "no-network"\n',
        "instruction.md": "Do it.\n",
        "environment/Dockerfile": "FROM python:3.12-bookworm\n",
        "tests/test.sh": script,
    }
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())
    (folder / "tests/test.sh").chmod(0o755)


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A task for every row."""
    folder = tmp_path_factory.mktemp("rows")
    for name, (body, _) in ROWS.items():
        write(folder / name, body)
    return folder


@pytest.fixture(scope="module")
def harbors(tasks: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """What Harbor makes of every row, in our words; all in one process of its own."""
    if not HARBOR.exists():
        pytest.skip("no environment with Harbor in .venv-harbor")
    command = [HARBOR, DRIVER, tmp_path_factory.mktemp("out"), *(tasks / name for name in ROWS)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout.splitlines()[-1])
    return {
        name: ERRORS.get(found["error"], found["error"]) if "error" in found else found["rewards"]
        for name, found in outcomes.items()
    }


def test_a_script_with_windows_line_ends(tasks: Path, harbors: dict[str, Outcome]) -> None:
    # Harbor runs it and finds no reward; we say so before anything runs, and mend nothing.
    assert harbors[CRLF] == "missing"
    with pytest.raises(TaskError, match="CRLF"):
        Task.read(tasks / CRLF)


@pytest.mark.parametrize("name", [name for name in ROWS if name != CRLF])
async def test_ours_is_harbors(name: str, tasks: Path, harbors: dict[str, Outcome], sandboxes: Sandboxes) -> None:
    _, expected = ROWS[name]
    task = Task.read(tasks / name)
    async with sandboxes.running(task) as sandbox:
        found = await verify(task, sandbox)
    ours = found.error_code if found.reward is None else dict(found.reward.rewards)
    assert ours == expected
    assert harbors[name] == expected
