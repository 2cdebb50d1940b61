"""`task.toml` that is almost right."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.fuzz.inputs import ODD_NUMBERS, either, text

if TYPE_CHECKING:
    from random import Random

TASK_TOML = b"""schema_version = "1.4"
artifacts = ["/app/out", { source = "/app/log", destination = "log", exclude = ["*.tmp"] }]

[task]
name = "org/a-task"
authors = [{ name = "A", email = "a@example.org" }]
keywords = ["one", "two"]

[metadata]
difficulty = "hard"
when = 2024-05-27T07:32:00Z

[metadata.evolution]
lineage = "a"
generation = 2
parent = "ab12"
axis = "length"
effort = "low"
seed = 7
reward = "fraction"

[[metadata.evolution.sequence]]
id = "one"
scenario = "web-access-logs"
skill = "top-k-ties"

[agent]
timeout_sec = 600.0
user = "agent"

[verifier]
timeout_sec = 120
environment_mode = "separate"

[verifier.env]
KEY = "${KEY:-x}"

[[verifier.collect]]
command = "true"

[environment]
build_timeout_sec = 600.0
cpus = 2
memory = "2G"
storage_mb = 1024
network_mode = "allowlist"
allowed_hosts = ["example.org", "*.example.com", "10.0.0.0/8"]
docker_image = "debian:12"

[environment.healthcheck]
command = "true"
retries = 3

[[environment.mcp_servers]]
name = "m"
transport = "stdio"
command = "m"
"""
_TABLES = (
    "task",
    "agent",
    "verifier",
    "verifier.env",
    "verifier.environment",
    "environment",
    "environment.env",
    "environment.tpu",
    "environment.healthcheck",
    "solution",
    "solution.env",
    "metadata",
    "metadata.evolution",
    "a.b.c",
    "'odd key'",
)
_ARRAYS = ("steps", "verifier.collect", "environment.mcp_servers", "metadata.evolution.sequence", "artifacts", "task")
_KEYS = [
    "schema_version",
    "version",
    "source",
    "artifacts",
    "multi_step_reward_strategy",
    "task",
    "name",
    "description",
    "authors",
    "keywords",
    "network_mode",
    "allowed_hosts",
    "timeout_sec",
    "user",
    "command",
    "interval_sec",
    "retries",
    "type",
    "topology",
    "transport",
    "url",
    "args",
    "headers",
    "build_timeout_sec",
    "docker_image",
    "os",
    "cpus",
    "memory_mb",
    "storage_mb",
    "gpus",
    "gpu_types",
    "tpu",
    "mcp_servers",
    "env",
    "skills_dir",
    "healthcheck",
    "workdir",
    "memory",
    "storage",
    "allow_internet",
    "environment_mode",
    "environment",
    "collect",
    "service",
    "destination",
    "exclude",
    "min_reward",
    "steps",
    "lineage",
    "generation",
    "parent",
    "axis",
    "effort",
    "seed",
    "reward",
    "sequence",
    "id",
    "scenario",
    "skill",
    "license",
    "metadata",
    "agent",
    "verifier",
]
_VALUES = (
    '"1.4"',
    '"org/name"',
    '"no-network"',
    '"allowlist"',
    '"2G"',
    f'"{"9" * 400}G"',
    '"0.5K"',
    '["example.org"]',
    '["*.a", "::1/128", "1.2.3.4/33", "fe80::%1"]',
    "true",
    "1979-05-27",
    "07:32:00",
    "1979-05-27T07:32:00-07:00",
    "[]",
    "{}",
    '{ name = "a" }',
    '[{ source = "/a" }]',
    '[{ name = "s" }, { name = "S" }]',
    '"\\u0000"',
    '"\\ud800"',
    "'''\n'''",
    '"""\\\n  a"""',
    "[1, 'a', {b = [[]]}]",
)


def toml(random: Random) -> bytes:
    """TOML with the tables and keys of the format, and values that are often of another kind."""
    return either(random, TASK_TOML, _toml)


def _toml(random: Random) -> str:
    lines = [f"{_toml_key(random)} = {_toml_value(random)}" for _ in range(random.randint(0, 3))]
    for _ in range(random.randint(0, 6)):
        head = f"[[{random.choice(_ARRAYS)}]]" if random.random() < 0.3 else f"[{random.choice(_TABLES)}]"
        lines.append(head)
        lines += [f"{_toml_key(random)} = {_toml_value(random)}" for _ in range(random.randint(0, 4))]
    return random.choice(("\n", "\n", "\r\n")).join(lines)


def _toml_key(random: Random) -> str:
    if random.random() < 0.02:
        return "a" + ".a" * random.choice((50, 2000, 9000))
    return random.choice(_KEYS) if random.random() < 0.93 else json.dumps(text(random))


def _toml_value(random: Random) -> str:
    kind = random.random()
    if kind < 0.5:
        return random.choice(_VALUES)
    if kind < 0.75:
        return random.choice(ODD_NUMBERS)
    if kind < 0.78:
        deep = random.choice((20, 300, 5000))
        return "[" * deep + "]" * deep if random.random() < 0.5 else "{a=" * deep + "1" + "}" * deep
    if kind < 0.85:
        return f"[{', '.join(_toml_value(random) for _ in range(random.randint(0, 3)))}]"
    return json.dumps(text(random)) if random.random() < 0.7 else json.dumps(text(random), ensure_ascii=False)
