"""The environment builds, and what the task declares to be there is there."""

from __future__ import annotations

import pytest

from evolution.gates.build import BuildGate
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
