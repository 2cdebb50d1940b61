"""A run folder: one process at a time, taken up again with the same settings, never overwritten."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from evolution.config import read_config
from evolution.errors import ConfigError, JournalError, RunLockedError
from evolution.rubrics import add_rubric
from evolution.run_folder import open_run, prune


@pytest.fixture
def config(tmp_path):
    def make(**settings):
        return read_config(None, {"seeds": ["tasks"], "out": tmp_path / "run", **settings})

    return make


def test_lays_the_folder_out(config, tmp_path):
    with open_run(config()) as folder:
        assert not folder.resumed
        assert folder.root == tmp_path / "run"
        assert folder.work("a", 2) == tmp_path / "run" / "work" / "a" / "g002"
        assert folder.seeds == tmp_path / "run" / "seeds"
        assert sorted(path.name for path in folder.root.iterdir() if "run.db" not in path.name) == [
            "config.yaml",
            "releases",
        ]
    assert read_config(tmp_path / "run" / "config.yaml", {}) == config()


def test_goes_on_where_it_was(config):
    with open_run(config()) as folder:
        asyncio.run(folder.journal.record("key", "value", kind="result"))
    with open_run(config()) as folder:
        assert folder.resumed
        assert asyncio.run(folder.journal.finished("key")) == "value"


HOLDER = """
import sys
from pathlib import Path
from evolution.config import read_config
from evolution.run_folder import open_run

with open_run(read_config(None, {"seeds": ["tasks"], "out": Path(sys.argv[1])})):
    print("holding", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the run folder."""
    command = [sys.executable, "-c", HOLDER, tmp_path / "run"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "holding\n"
        yield process
        process.kill()


def test_a_second_process_is_refused_by_the_name_of_the_folder(config, holder, tmp_path):
    for settings in ({}, {"workers": 1}):
        with (
            pytest.raises(RunLockedError, match=r"another process is working in .*/run: .* --out"),
            open_run(config(**settings)),
        ):
            pass
    with pytest.raises(RunLockedError), open_run(config(), fresh=True):
        pass
    (tmp_path / "link").symlink_to(tmp_path / "run")
    with pytest.raises(RunLockedError), open_run(config(out=tmp_path / "link")):
        pass


def test_a_killed_process_leaves_no_lock(config, holder):
    holder.kill()
    holder.wait()
    with open_run(config()) as folder:
        assert folder.resumed


def test_a_run_that_failed_leaves_no_lock(config):
    with pytest.raises(ZeroDivisionError), open_run(config()):
        1 / 0  # noqa: B018
    with open_run(config()):
        pass


def test_fresh_moves_aside_and_deletes_nothing(config, tmp_path):
    for _ in range(3):
        with open_run(config(), fresh=True) as folder:
            assert not folder.resumed
            (folder.root / "mine.txt").write_text("kept")
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["run", "run.old-1", "run.old-2"]
    assert (tmp_path / "run.old-1" / "mine.txt").read_text() == "kept"
    assert (tmp_path / "run.old-2" / "config.yaml").is_file()


def test_other_settings_are_refused_by_name_and_change_nothing(config, tmp_path):
    with open_run(config()) as folder:
        folder.seeds.mkdir()
    before = (tmp_path / "run" / "config.yaml").read_text()
    with pytest.raises(ConfigError) as caught, open_run(config(seed=7, effort="low")):
        pass
    assert "seed: 0 → 7" in str(caught.value)
    assert "effort: high → low" in str(caught.value)
    assert "--fresh" in str(caught.value)
    assert (tmp_path / "run" / "config.yaml").read_text() == before
    with open_run(config(seed=7), fresh=True) as folder:
        assert folder.config.seed == 7


def test_a_start_that_took_no_seed_in_may_be_corrected(config):
    with open_run(config(seeds=["mistyped"])):
        pass
    with open_run(config(effort="low")) as folder:
        assert folder.config.effort == "low"


def test_fresh_moves_no_folder_of_something_else(config, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").write_text("years of work")
    with pytest.raises(ConfigError, match=r"holds no config\.yaml"), open_run(config(), fresh=True):
        pass
    assert (tmp_path / "run" / "thesis.tex").is_file()


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder in which no file can be made")
def test_a_folder_that_takes_no_file_is_not_taken_for_a_locked_one(config):
    with pytest.raises(ConfigError, match="cannot be used as a run folder"), open_run(config(out=Path("/proc/run"))):
        pass


def test_generations_may_be_raised_and_workers_changed(config, tmp_path):
    with open_run(config(generations=2, workers=4)):
        pass
    with open_run(config(generations=5, workers=1, budget_usd=3)) as folder:
        assert folder.resumed
        assert folder.config.generations == 5
    assert read_config(tmp_path / "run" / "config.yaml", {}).generations == 5


def test_a_folder_of_something_else_is_left_alone(config, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").write_text("years of work")
    with pytest.raises(ConfigError, match=r"is not empty and holds no config\.yaml"), open_run(config()):
        pass
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["thesis.tex"]


def test_an_empty_folder_is_taken(config, tmp_path):
    (tmp_path / "run").mkdir()
    with open_run(config()) as folder:
        assert not folder.resumed


@pytest.mark.parametrize("left", [[".config.yaml.partial"], ["config.yaml"], ["config.yaml", "releases"]])
def test_a_start_that_was_killed_on_the_way_can_be_made_again(config, tmp_path, left):
    with open_run(config()):
        pass
    text = (tmp_path / "run" / "config.yaml").read_text()
    with open_run(config(), fresh=True):
        pass
    root = tmp_path / "killed"
    root.mkdir()
    for name in left:
        (root / name).mkdir() if name == "releases" else (root / name).write_text(text)
    with open_run(config(out=root)) as folder:
        assert folder.releases.is_dir()


def test_a_file_is_no_run_folder(config, tmp_path):
    (tmp_path / "run").write_text("a file")
    with pytest.raises(ConfigError, match="run is not a folder: choose another with --out"), open_run(config()):
        pass
    with (
        pytest.raises(ConfigError, match="cannot be used as a run folder"),
        open_run(config(out=tmp_path / "run" / "below")),
    ):
        pass


def test_a_broken_config_or_journal_is_named(config, tmp_path):
    with open_run(config()):
        pass
    (tmp_path / "run" / "run.db").write_text("no database at all, " * 100)
    for extra in ("run.db-wal", "run.db-shm"):
        (tmp_path / "run" / extra).unlink(missing_ok=True)
    with pytest.raises(JournalError, match=r"run\.db is not a journal"), open_run(config()):
        pass
    (tmp_path / "run" / "config.yaml").write_text("sed: 1\n")
    with pytest.raises(ConfigError, match="sed: "), open_run(config()):
        pass


def test_the_current_folder_may_be_the_run_folder(config, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with open_run(config(out=Path())) as folder:
        assert folder.root == tmp_path / "here"
    with open_run(config(out=tmp_path / "here")) as folder:
        assert folder.resumed


def test_prune_removes_and_does_not_mind_what_is_gone(tmp_path):
    (tmp_path / "work" / "a").mkdir(parents=True)
    prune(tmp_path / "work", tmp_path / "kept")
    prune(tmp_path / "work", tmp_path / "kept")
    assert not (tmp_path / "work").exists()


def test_a_run_goes_by_its_own_copy_of_the_rubrics(config, tmp_path):
    file = tmp_path / "mine.yaml"
    add_rubric(file, "First.")
    with open_run(config(rubrics=str(file))) as folder:
        assert [rubric.text for rubric in folder.rubrics.active] == ["First."]
        assert folder.rubrics_file == tmp_path / "run" / "rubrics.yaml"
    add_rubric(file, "Second.")
    with open_run(config(rubrics=str(file))) as folder:
        assert [rubric.text for rubric in folder.rubrics.active] == ["First."]
    file.unlink()
    with open_run(config(rubrics=str(file))) as folder:
        assert len(folder.rubrics.active) == 1


def test_a_broken_file_of_rubrics_moves_nothing(config, tmp_path):
    with open_run(config()) as folder:
        assert folder.rubrics_file is None
    (tmp_path / "broken.yaml").write_text("rubrics: 1\n")
    for name in ("broken.yaml", "none.yaml"):
        with pytest.raises(ConfigError, match=name), open_run(config(rubrics=str(tmp_path / name)), fresh=True):
            pass
    assert not (tmp_path / "run.old-1").exists()


def test_transcripts_are_kept_when_candidates_go(tmp_path):
    work = tmp_path / "work"
    (work / "skill" / "environment-1").mkdir(parents=True)
    (work / "skill" / "evolver-1.jsonl").write_text("{}\n")
    prune(work, tmp_path / "kept" / "x-g001")
    prune(work, tmp_path / "kept" / "x-g001")
    assert [path.name for path in (tmp_path / "kept" / "x-g001").iterdir()] == ["skill-evolver-1.jsonl"]
    assert not work.exists()
