"""The roles that gates ask, out of what stands on the command line."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from agents.roles.judge import ModelJudge
from agents.roles.terminal import TerminalAgents
from evolution import validate
from evolution.errors import ConfigError
from evolution.gates.settings import GateSettings
from evolution.validation.job import Job
from graphs.validation import ChosenAgents, roles_for
from sandbox.backends import load_backend
from sandbox.errors import SandboxUnavailableError

PLUGINS = '''
from pathlib import Path

from agents.scripted import ScriptedChatModel, calls

ASKED = Path(__file__).with_name("asked")


class Idle:
    name, version = "idle", ""

    async def act(self, instruction, sandbox, context):
        pass


class NoAgent:
    pass


def model(role, call):
    """A chat model for every role; notes each call that is made."""

    def answer(messages):
        with ASKED.open("a") as file:
            file.write(role + "\\n")
        told = str(messages[1].content)
        if role == "judge":
            ids = [line.split("`")[1] for line in told.splitlines() if line.startswith("- `")]
            return calls(("submit_opinions", {"opinions": [{"criterion": one, "holds": True} for one in ids]}))
        if len(messages) > 2:
            return calls(("submit", {}))
        return calls(("run", {"command": "cp /app/a /app/b"}))

    return ScriptedChatModel(script=answer)
'''


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "rolesmod.py").write_text(PLUGINS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "rolesmod", raising=False)
    return tmp_path


def job(place: Path, **models: str) -> Job:
    return Job((), GateSettings(), ("calibration",), models=models, out=place)


def test_who_acts_and_who_reads(plugins: Path) -> None:
    script = plugins / "solve.sh"
    script.write_text("cp /app/a /app/b\n")
    with roles_for(job(plugins, solver="rolesmod:Idle", attacker=f"script:{script}", judge="rolesmod:model")) as roles:
        assert isinstance(roles.solver, ChosenAgents)
        assert (roles.solver.name, roles.solver.make(seed=1).name) == ("rolesmod:Idle", "idle")
        assert isinstance(roles.attacker, ChosenAgents)
        assert roles.attacker.make(seed=1).name == "script:solve.sh"
        assert isinstance(roles.judge, ModelJudge)
        assert roles.author is None
    with roles_for(job(plugins, solver="rolesmod:model", attacker="openai/gpt-5")) as roles:
        assert isinstance(roles.solver, TerminalAgents)
        assert isinstance(roles.attacker, TerminalAgents)
        assert roles.judge is None


@pytest.mark.parametrize(
    ("role", "model", "said"),
    [
        ("solver", "nowhere.at.all:Agent", "--solver: nowhere.at.all:Agent cannot be imported"),
        ("solver", "rolesmod:Missing", "--solver: rolesmod:Missing: the module rolesmod has no class 'Missing'"),
        ("solver", "script:/nowhere/solve.sh", "--solver: script:/nowhere/solve.sh: No such file"),
        ("attacker", "no-provider-of-this-name/x", "--attacker no-provider-of-this-name/x: "),
        ("judge", "rolesmod:Missing", "--judge rolesmod:Missing: "),
        ("author", "no-provider-of-this-name/x", "--author no-provider-of-this-name/x: "),
    ],
)
def test_who_cannot_be_had_is_named_before_anything_runs(plugins: Path, role: str, model: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught, roles_for(job(plugins, **{role: model})):
        pass
    assert str(caught.value).startswith(said)


def write_task(folder: Path) -> Path:
    files = {
        "task.toml": 'schema_version = "1.4"\n[task]\nname = "tests/copy"\n[agent]\ntimeout_sec = 30\n',
        "instruction.md": "Copy the file /app/a to /app/b, byte for byte.\n",
        "environment/Dockerfile": "FROM python:3.12-bookworm\nWORKDIR /app\nCOPY a /app/a\n",
        "environment/a": "one\n",
        "solution/solve.sh": "#!/bin/bash\ncp /app/a /app/b\n",
        "tests/test.sh": "#!/bin/bash\necho 0 > /logs/verifier/reward.txt\ncmp /app/a /app/b && echo 1 > /logs/verifier/reward.txt\n",
    }
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
        target.chmod(0o755 if path.endswith(".sh") else 0o644)
    return folder


@pytest.fixture
def task(plugins: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ENVOLVE_STATE", str(plugins / "state"))

    async def ask() -> None:
        backend = load_backend(base=("*=host",))
        try:
            await backend.capabilities()
        finally:
            await backend.close()

    try:
        asyncio.run(ask())
    except SandboxUnavailableError as error:
        pytest.skip(f"no sandbox on this machine: {error}")
    return write_task(plugins / "task")


def test_models_are_asked_once_whatever_is_started_again(
    plugins: Path, task: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        str(task),
        "--gates",
        "rubric-judge",
        "calibration",
        "--model",
        "rolesmod:model",
        "--out",
        str(plugins / "out"),
        "--json",
        "--plain",
    ]
    asked = plugins / "asked"
    assert validate.main(words) == 1
    line = json.loads(capsys.readouterr().out)
    assert line["gates"]["rubric-judge"]["passed"]
    assert line["gates"]["calibration"]["code"] == "calibration/too-easy"
    assert sorted(asked.read_text().split()) == ["judge", *["solver"] * 8]
    # As if it had been ended before the verdict was kept: the task is judged again, no model is asked again.
    (plugins / "out" / "validation.db").unlink()
    assert validate.main(words) == 1
    assert (
        json.loads(capsys.readouterr().out)["gates"]["calibration"]["measured"]
        == line["gates"]["calibration"]["measured"]
    )
    assert len(asked.read_text().split()) == 9
    assert validate.main([*words, "--fresh"]) == 1
    assert len(asked.read_text().split()) == 18


def test_an_agent_of_ones_own_calibrates(plugins: Path, task: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [str(task), "--gates", "calibration", "--out", str(plugins / "out"), "--json", "--plain", "--solver"]
    assert validate.main([*words, "rolesmod:Idle"]) == 1
    found = json.loads(capsys.readouterr().out)["gates"]["calibration"]
    assert (found["class"], found["code"]) == ("miscalibrated", "calibration/not-solved-with-hints")
    assert validate.main([*words, "rolesmod:NoAgent"]) == 3
    found = json.loads(capsys.readouterr().out)["gates"]["calibration"]
    assert found["class"] == "infrastructure"
    assert "is no agent" in found["evidence"]
