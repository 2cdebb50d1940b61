"""Every scenario's own reader finds on disk exactly the rows that were laid out."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from agents.embedded import library
from agents.embedded.library import registry
from agents.embedded.library.framework import Table, stream
from agents.embedded.library.story import organisation

MARKS = {"story", "spending"}


def read(table: Table, folder: Path, lot: str, work: Path) -> str:
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    script = f"export LC_ALL=C\nS={folder} LOT={lot} W={work}\n{table.reader}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return (work / f"{table.name}.tsv").read_text(encoding="utf-8")


def check(scenario: str, seed: int, root: Path, lots: slice) -> None:
    known = registry.scenarios()[scenario]
    missing = [tool for tool in known.tools if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"this machine has no {missing}")
    material = known.material(stream(seed, "s1", scenario), organisation(seed))
    assert set(material.tables) == set(known.roles)
    for path, content in material.files.items():
        target = root / "data" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    for table in material.tables.values():
        held = {role for rows in table.rows.values() for row in rows for role in row}
        assert known.roles[table.name] - MARKS <= held
        for lot in material.lots[lots]:
            assert read(table, root / "data", lot, root / "work") == table.tsv(lot), (table.name, lot)


@pytest.mark.parametrize("scenario", library.scenario_names())
def test_the_reader_finds_the_rows(scenario: str, tmp_path: Path) -> None:
    check(scenario, 11, tmp_path, slice(1, 2))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [101, 102, 103])
@pytest.mark.parametrize("scenario", library.scenario_names())
def test_the_reader_finds_the_rows_of_every_lot(scenario: str, seed: int, tmp_path: Path) -> None:
    check(scenario, seed, tmp_path, slice(None))


@pytest.mark.parametrize("scenario", library.scenario_names())
def test_sizes(scenario: str) -> None:
    for seed in (1, 2):
        material = registry.scenarios()[scenario].material(stream(seed, "s1", scenario), organisation(seed))
        assert sum(map(len, material.files.values())) < 60_000
        assert 50 <= sum(map(len, material.tables["records"].rows.values())) <= 2000
