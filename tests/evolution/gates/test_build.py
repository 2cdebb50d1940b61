"""The environment builds, and what the task declares to be there is there."""

from __future__ import annotations

import pytest

from evolution.gates.build import BuildGate
from evolution.gates.oracle import OracleGate
from evolution.gates.panel import judge
from evolution.verdict import Candidate, VerdictClass


async def test_a_sound_task_passes(check, seed) -> None:
    verdict = await check(BuildGate(), seed)
    assert verdict.passed, verdict.evidence


async def test_a_file_to_copy_that_is_not_there(check, seed) -> None:
    dockerfile = seed["environment/Dockerfile"].replace("COPY data", "COPY dates")
    verdict = await check(BuildGate(), {**seed, "environment/Dockerfile": dockerfile})
    assert (verdict.verdict_class, verdict.code) == (VerdictClass.INVALID, "build/fails")
    assert "dates" in verdict.evidence


async def test_tools_that_are_not_there_are_named(check, seed) -> None:
    toml = seed["task.toml"].replace('"sort"', '"sort", "no-such-tool", "nor-this-one"')
    verdict = await check(BuildGate(), {**seed, "task.toml": toml})
    assert (verdict.verdict_class, verdict.code) == (VerdictClass.INVALID, "build/missing-tool")
    assert "no-such-tool, nor-this-one" in verdict.evidence
    assert "awk" not in verdict.evidence


@pytest.mark.parametrize("tools", ['"awk"', '["awk; true"]', "[1]", '["-x"]'])
async def test_tools_that_are_no_list_of_names(check, seed, tools: str) -> None:
    toml = seed["task.toml"].replace('["awk", "sort"]', tools)
    verdict = await check(BuildGate(), {**seed, "task.toml": toml})
    assert verdict.code == "build/bad-tools"
    assert "[metadata] tools" in verdict.evidence


async def test_a_health_check_that_fails_is_quoted(check, seed) -> None:
    health = '[environment.healthcheck]\ncommand = "echo not up >&2; exit 3"\nretries = 2\ninterval_sec = 0\n'
    verdict = await check(BuildGate(), {**seed, "task.toml": seed["task.toml"] + health})
    assert verdict.code == "build/unhealthy"
    assert "status 3" in verdict.evidence
    assert "not up" in verdict.evidence


async def test_a_health_check_that_passes_at_the_second_attempt(check, seed) -> None:
    command = "test -e /app/up || { touch /app/up; false; }"
    health = f'[environment.healthcheck]\ncommand = "{command}"\nretries = 2\ninterval_sec = 0\n'
    assert (await check(BuildGate(), {**seed, "task.toml": seed["task.toml"] + health})).passed


async def test_what_the_back_end_cannot_build_is_not_the_tasks_fault(write, sandboxes, seed) -> None:
    compose = {**seed, "environment/docker-compose.yaml": "services: {main: {build: .}, db: {image: postgres}}\n"}
    del compose["environment/Dockerfile"]
    (verdict,) = await judge(Candidate(write(compose)), sandboxes, [BuildGate()])
    assert (verdict.verdict_class, verdict.code) == (VerdictClass.INFRASTRUCTURE, "build/unsupported")


@pytest.mark.parametrize("path", ["tests/test.sh", "solution/solve.sh"])
async def test_a_script_that_bash_cannot_parse(check, seed, path: str) -> None:
    verdict = await check(BuildGate(), {**seed, path: f"{seed[path]}\nif true; then\n"})
    assert verdict.code == "build/syntax"
    assert f"bash cannot parse {path}" in verdict.evidence
    assert "unexpected end of file" in verdict.evidence


@pytest.mark.parametrize("line", ["#!/usr/bin/env no-such-shell", "#!/opt/no-such-shell -e"])
async def test_a_script_for_an_interpreter_that_is_not_there(check, seed, line: str) -> None:
    script = seed["solution/solve.sh"].replace("#!/bin/bash", line)
    verdict = await check(BuildGate(), {**seed, "solution/solve.sh": script})
    assert verdict.code == "build/no-interpreter"
    assert "no-such-shell" in verdict.evidence


@pytest.mark.parametrize(
    "script",
    [
        "#!/usr/bin/env python3\nif True:\n    print('not for bash (')\n",
        "#!/usr/bin/env -S bash -e\necho\n",
        "shopt -s extglob\nls !(a|b)\n",
        "echo without a first line\n",
    ],
)
async def test_scripts_that_bash_need_not_parse_or_parses_with_options(check, seed, script: str) -> None:
    verdict = await check(BuildGate(), {**seed, "solution/solve.sh": script})
    assert verdict.passed, verdict.evidence


async def test_a_program_with_windows_line_ends(write, sandboxes, seed) -> None:
    task = write({**seed, "tests/judge.py": "#!/usr/bin/env python3\r\nprint(1)\r\n"})
    (task.root / "tests/judge.py").chmod(0o755)
    verdict = await BuildGate().check(Candidate(type(task).read(task.root)), sandboxes)
    assert verdict.code == "build/crlf"
    assert "tests/judge.py:1" in verdict.evidence


async def test_run_bits_do_not_matter(write, sandboxes, seed) -> None:
    task = write(seed)
    for path in ("tests/test.sh", "solution/solve.sh"):
        (task.root / path).chmod(0o644)
    verdicts = await judge(Candidate(type(task).read(task.root)), sandboxes, [BuildGate(), OracleGate()])
    assert [verdict.code for verdict in verdicts] == ["", ""]
