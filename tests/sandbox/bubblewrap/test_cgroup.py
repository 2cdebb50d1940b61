"""Which settings a limit becomes; that they hold is tested where a control group can be made, in `test_containment`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from sandbox.bubblewrap.cgroup import PREFIX, CgroupLimits, Hierarchy
from sandbox.protocol import Limits

if TYPE_CHECKING:
    from pathlib import Path

ALL = frozenset({"memory", "pids", "cpu"})
MIB = 1 << 20


@pytest.mark.parametrize(
    ("version", "join", "expected"),
    [
        (2, "cgroup.procs", {"memory.max": 64 * MIB, "memory.swap.max": 0, "pids.max": 7, "cpu.max": "150000 100000"}),
        (
            1,
            "tasks",
            {
                "memory.limit_in_bytes": 64 * MIB,
                "memory.memsw.limit_in_bytes": 64 * MIB,
                "pids.max": 7,
                "cpu.cfs_quota_us": 150000,
            },
        ),
    ],
)
def test_settings_of_both_versions(tmp_path: Path, version: int, join: str, expected: dict[str, object]) -> None:
    group = tmp_path / f"{PREFIX}{os.getpid()}-run-1"
    group.mkdir()
    (group / join).touch()
    limits = CgroupLimits((Hierarchy(tmp_path, ALL, version),))
    made = limits.make("run-1", Limits(memory_mb=64, processes=7, cpus=1.5))
    assert {path.name: path.read_text() for path in group.iterdir() if path.name != join} == {
        name: str(value) for name, value in expected.items()
    }
    assert len(made.joins) == 1
    assert limits.enforced == {"memory_mb", "processes", "cpus"}
    made.remove()


def test_what_is_not_limited_makes_no_group(tmp_path: Path) -> None:
    limits = CgroupLimits((Hierarchy(tmp_path, frozenset({"memory"}), 1),))
    assert limits.make("run-1", Limits(memory_mb=None)).folders == ()
    assert list(tmp_path.iterdir()) == []
