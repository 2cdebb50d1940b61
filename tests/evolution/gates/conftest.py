"""A small sound task, its sound child, and a way to write either down with a fault planted in it."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from evolution.plan import Axis, Effort, Plan
from evolution.sequence import Sequence, Step
from evolution.verdict import Candidate
from sandbox.task import Task

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from evolution.verdict import Gate, Verdict
    from sandbox.sandboxes import Sandboxes

Files = dict[str, str | bytes]

TOML = """schema_version = "1.4"
[task]
name = "tests/orders"
[metadata]
tools = ["awk", "sort"]
[metadata.evolution]
reward = "binary"
[agent]
timeout_sec = 60
[verifier]
timeout_sec = 60
[environment]
network_mode = "no-network"
"""
TEST_HEAD = """#!/bin/bash
mkdir -p /logs/verifier
echo 0 > /logs/verifier/reward.txt
units=()
failed=0
unit() {
  local name=$1 status=passed
  shift
  "$@" >/dev/null 2>&1 || { status=failed; failed=1; }
  units+=("{\\"name\\":\\"$name\\",\\"status\\":\\"$status\\",\\"message\\":\\"see $name\\"}")
}
"""
TEST_TAIL = """
(IFS=,; echo "{\\"results\\":{\\"tool\\":{\\"name\\":\\"bash\\"},\\"summary\\":{},\\"tests\\":[${units[*]}]}}") > /logs/verifier/ctrf.json
[ "$failed" = 0 ] && echo 1 > /logs/verifier/reward.txt
exit 0
"""
ORDERS = "".join(
    f"{number},customer-{number % 3},{'paid' if number % 2 else 'open'},{number * 10}\n" for number in range(1, 10)
)
PAID = "".join(f"{number},customer-{number % 3},{number * 10}\n" for number in range(1, 10, 2))
NET = "".join(
    f"{number},customer-{number % 3},{number * 10 - (5 if number in {3, 7} else 0)}\n" for number in range(1, 10, 2)
)


def totals(rows: str) -> str:
    sums: dict[str, int] = {}
    for row in rows.splitlines():
        _, customer, amount = row.split(",")
        sums[customer] = sums.get(customer, 0) + int(amount)
    return "".join(f"{customer} {amount}\n" for customer, amount in sorted(sums.items()))


PAID_STEP = """# envolve: step paid
awk -F, '$3 == "paid" { print $1 "," $2 "," $4 }' /app/data/orders.csv > /app/out/paid.csv
"""
NET_STEP = """# envolve: step net
awk -F, 'NR == FNR { back[$1] = $2; next } { print $1 "," $2 "," $3 - back[$1] }' \\
  /app/data/refunds.csv /app/out/paid.csv > /app/out/net.csv
"""


def totals_step(source: str) -> str:
    sums = "{ sum[$2] += $3 } END { for (customer in sum) print customer, sum[customer] }"
    return f"# envolve: step totals\nawk -F, '{sums}' /app/out/{source}.csv | sort > /app/out/totals.txt\n"


def sound_seed() -> Files:
    return {
        "task.toml": TOML,
        "instruction.md": "From /app/data/orders.csv (id, customer, state, amount) keep the paid orders as id,customer,amount "
        "in /app/out/paid.csv, then write the total of each customer, `customer total`, sorted, to /app/out/totals.txt.\n",
        "environment/Dockerfile": "FROM python:3.12-bookworm\nWORKDIR /app\nCOPY data /app/data\n",
        "environment/data/orders.csv": ORDERS,
        "solution/solve.sh": f"#!/bin/bash\nmkdir -p /app/out\n{PAID_STEP}{totals_step('paid')}",
        "tests/test.sh": TEST_HEAD
        + "unit paid::rows cmp /app/out/paid.csv /tests/expected/paid.csv\n"
        + "unit totals::sums cmp /app/out/totals.txt /tests/expected/totals.txt"
        + TEST_TAIL,
        "tests/expected/paid.csv": PAID,
        "tests/expected/totals.txt": totals(PAID),
    }


def sound_child() -> Files:
    return {
        **sound_seed(),
        "instruction.md": "From /app/data/orders.csv (id, customer, state, amount) keep the paid orders as id,customer,amount "
        "in /app/out/paid.csv, take what /app/data/refunds.csv (id,amount) gives back off the amounts in /app/out/net.csv, "
        "then write the net total of each customer, `customer total`, sorted, to /app/out/totals.txt.\n",
        "environment/data/refunds.csv": "3,5\n7,5\n",
        "solution/solve.sh": f"#!/bin/bash\nmkdir -p /app/out\n{PAID_STEP}{NET_STEP}{totals_step('net')}",
        "tests/test.sh": TEST_HEAD
        + "unit paid::rows cmp /app/out/paid.csv /tests/expected/paid.csv\n"
        + "unit net::rows cmp /app/out/net.csv /tests/expected/net.csv\n"
        + "unit totals::sums cmp /app/out/totals.txt /tests/expected/totals.txt"
        + TEST_TAIL,
        "tests/expected/net.csv": NET,
        "tests/expected/totals.txt": totals(NET),
    }


@pytest.fixture
def seed() -> Files:
    """The files of a sound task of two steps, `paid` and `totals`."""
    return sound_seed()


@pytest.fixture
def child() -> Files:
    """The files of its sound child: step `net` is inserted, and `totals` builds on it."""
    return sound_child()


@pytest.fixture
def plan() -> Plan:
    """The plan that leads from `seed` to `child`."""
    before = Sequence(
        steps=(Step(id="paid", scenario="orders", skill="filter"), Step(id="totals", scenario="orders", skill="sum"))
    )
    after = before.insert(1, (Step(id="net", scenario="refunds", skill="join"),))
    return Plan(axis=Axis.LENGTH, effort=Effort.HIGH, before=before, after=after)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Files], Task]:
    """Writes files down as a task; `.sh` files get their run bit."""
    numbers = itertools.count()

    def written(files: Files) -> Task:
        root = tmp_path / f"task-{next(numbers)}"
        for path, content in files.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content if isinstance(content, bytes) else content.encode())
            target.chmod(0o755 if path.endswith(".sh") else 0o644)
        return Task.read(root)

    return written


@pytest.fixture
def check(write: Callable[[Files], Task], sandboxes: Sandboxes) -> Callable[..., object]:
    """Asks one gate about some files, optionally as the child of others by a plan."""

    async def verdict(gate: Gate, files: Files, parent: Files | None = None, plan: Plan | None = None) -> Verdict:
        return await gate.check(Candidate(write(files), write(parent) if parent else None, plan), sandboxes)

    return verdict


@pytest.fixture
def only_files(write: Callable[[Files], Task]) -> Callable[..., object]:
    """Asks a gate that reads files only: whoever starts a sandbox here fails."""

    async def verdict(gate: Gate, files: Files) -> Verdict:
        return await gate.check(Candidate(write(files)), None)  # type: ignore[arg-type]

    return verdict
