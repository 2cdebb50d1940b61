"""The command that checks a back end: what it prints, writes and returns."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from sandbox import check
from sandbox.conformance.checks import all_checks

if TYPE_CHECKING:
    from pathlib import Path

LOCAL = ["local", "--option", "i_am_in_a_sandbox=true", "--option", "as_it_stands=true"]

OWN_BACKEND = """
from sandbox.local.backend import LocalBackend
from sandbox.local.sandbox import LocalSandbox

class Mine(LocalBackend):
    name = "mine"

    async def start(self, origin, **more):
        sandbox = await super().start(origin, **more)
        inner = sandbox.exec

        async def lying(command, **more):
            import dataclasses
            return dataclasses.replace(await inner(command, **more), exit_code=0)

        sandbox.exec = lying
        return sandbox
"""


def test_list_shows_every_check_with_its_promise(capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main(["--list"]) == 0
    out = capsys.readouterr().out
    for one in all_checks():
        assert one.id in out
        assert one.promise in out
    assert "[needs networks.none]" in out
    assert "[for those without snapshot]" in out


def test_passing_checks_end_with_0_and_a_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main([*LOCAL, "--only", "exec.argv", "--only", "exec.user"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("ok")
    assert "exec.argv" in lines[0]
    assert lines[1].startswith("not offered exec.user")
    assert lines[-1] == "local keeps the contract: 1 passed, 0 failed, 1 not offered"


def test_a_back_end_of_ones_own_by_module_and_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own_backend_of_a_test.py").write_text(OWN_BACKEND)
    monkeypatch.syspath_prepend(tmp_path)
    junit = tmp_path / "out.xml"
    arguments = ["own_backend_of_a_test:Mine", *LOCAL[1:], "--only", "exec.exit_status", "--only", "exec.argv"]
    assert check.main([*arguments, "--only", "exec.user", "--junit", str(junit)]) == 1
    out = capsys.readouterr().out
    assert "FAILED" in out
    assert "expected exit_code of 'exit 1' to be 1; got 0" in out
    assert "does not keep the contract: 1 passed, 1 failed, 1 not offered" in out
    suite = ET.parse(junit).getroot()  # noqa: S314 - written a moment ago
    assert {name: suite.get(name) for name in ("tests", "failures", "skipped")} == {
        "tests": "3",
        "failures": "1",
        "skipped": "1",
    }
    failures = [case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None]
    assert failures == ["exit_status"]
    del sys.modules["own_backend_of_a_test"]


def test_json_is_one_object_with_every_outcome(capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main([*LOCAL, "--only", "values.ids", "--only", "snapshots.fork", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["backend"], told["conforms"]) == ("local", True)
    rows = {row["check"]: row for row in told["checks"]}
    assert rows["values.ids"]["status"] == "passed"
    assert rows["snapshots.fork"]["status"] == "not offered"
    assert "snapshot" in rows["snapshots.fork"]["message"]
    assert rows["values.ids"]["promise"] == "The id of a sandbox is unique."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such-back-end"], "no sandbox back end 'no-such-back-end'; known:"),
        (["local"], "ENVOLVE_LOCAL=1"),
        ([*LOCAL, "--option", "flying=true"], "flying"),
        ([*LOCAL, "--option", "flying"], "expected KEY=VALUE"),
        (["bubblewrap", "--base", "nonsense"], "expected IMAGE=DIR"),
    ],
)
def test_what_cannot_be_checked_ends_with_2_and_says_why(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ENVOLVE_LOCAL", raising=False)
    assert check.main([*arguments, "--only", "values.ids"]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize("arguments", [[], ["local", "--only", "no.such"]])
def test_wrong_use_ends_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        check.main(arguments)
    assert stopped.value.code == 2
    assert "--list" in capsys.readouterr().err
