"""Compose files that are almost right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fuzz.inputs import either

if TYPE_CHECKING:
    from random import Random

COMPOSE = b"""name: x
x-any: &any {restart: always}
services:
  main:
    build: {context: ., dockerfile: Dockerfile, args: [A=1]}
    depends_on: {db: {condition: service_healthy}}
    environment: [A=1, "B=${CPUS:-2}"]
    volumes: ["data:/data", "./conf:/conf:ro", "${HOST_AGENT_LOGS_PATH}:/logs/agent"]
    deploy: {resources: {limits: {cpus: "1.5", memory: 512m}}}
  db:
    <<: *any
    image: postgres:16
    command: sh -c "sleep 1"
    healthcheck: {test: [CMD, "true"], interval: 1m30s, retries: 3}
    ports: ["80:80"]
    ulimits: {nofile: {soft: 1, hard: 2}}
    networks: [back]
volumes: {data: }
networks: {back: }
"""
_COMPOSE_KEYS = [
    "image",
    "build",
    "command",
    "entrypoint",
    "environment",
    "env_file",
    "depends_on",
    "healthcheck",
    "networks",
    "volumes",
    "working_dir",
    "user",
    "hostname",
    "tmpfs",
    "mem_limit",
    "cpus",
    "deploy",
    "init",
    "cap_drop",
    "ulimits",
    "shm_size",
    "privileged",
    "ports",
    "x-a",
    "labels",
    "context",
    "args",
    "target",
    "test",
    "interval",
    "condition",
    "type",
    "source",
    "read_only",
    "resources",
    "limits",
    "memory",
]
_SCALARS = (
    "a",
    "''",
    '"',
    "1",
    "1.5",
    ".inf",
    "0x",
    "0b_",
    "1:60",
    "190:20:30.15",
    "2020-99-99",
    "2001-12-14t21:59:43.10-05:00",
    "~",
    "yes",
    "true",
    "=",
    "<<",
    "&a x",
    "*a",
    "*none",
    "!!int ''",
    "!!float x",
    "!!bool x",
    "!!timestamp x",
    "!!binary é",
    "!!set {a, b}",
    "!!pairs [a: 1]",
    "!!omap [1]",
    "!!python/object:os.system x",
    "!x y",
    "? [a]",
    "{a: {b: c}: d}",
    "[[a]]",
    "[{a: 1}, [b]]",
    "a=b",
    "5s",
    f"{'9' * 400}s",
    f"{'9' * 400}g",
    "512m",
    "'unclosed",
    "'sh -c \"'",
    "./a:/b:ro",
    "/etc:/etc",
    "data:/data",
    "$A",
    "${A",
    "${A:?no}",
    "$$",
    "$",
    "${A:-" * 400,
    "[" * 2000,
    "{a: " * 400,
    "- - - -",
    "|\n      x",
)


def compose(random: Random) -> bytes:
    """Services of known keys and odd values, with anchors, tags and nests."""
    return either(random, COMPOSE, _compose)


def _compose(random: Random) -> str:
    if random.random() < 0.02:
        return _aliases(random)
    lines = ["services:"]
    for name in random.choices(("main", "db", "1", "~", "a.b", "? [x]", "main", "'\\0'"), k=random.randint(0, 3)):
        lines.append(f"  {name}:")
        pairs = [(random.choice(_COMPOSE_KEYS), random.choice(_SCALARS)) for _ in range(random.randint(0, 4))]
        lines += [f"    {key}: {value}" for key, value in pairs]
    others = random.choices(("volumes", "networks", "version", "x-y", "secrets", "1"), k=random.randint(0, 3))
    lines += [f"{name}: {random.choice(_SCALARS)}" for name in others]
    return "\n".join(lines)


def _aliases(random: Random) -> str:
    """Aliases that stand for more than memory holds, or for themselves."""
    if random.random() < 0.3:
        return random.choice(("services: &a {main: *a}", "x: &a [*a]\nservices: {main: {}}", "a: &a {<<: *a}"))
    rows = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    return "\n".join([*rows, "services: {main: {command: *a11}}"])
