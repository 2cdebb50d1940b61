"""Releases: whole or not at all, never overwritten, the same bytes for the same seed."""

import json

import pytest

from evolution.errors import ReleaseError
from evolution.lineage import Member, task_id
from evolution.plan import Plan
from evolution.reference import FrequencyTable
from evolution.release import Entry, manifest, release_folder, write_release
from evolution.sequence import Sequence, Step
from evolution.verdict import Verdict
from sandbox.task import Task

REFERENCE = FrequencyTable(domain="terminal", counts={"csv": {"awk": 8, "jq": 2}}, source="a test")
BEFORE = Sequence(steps=(Step(id="s1", scenario="csv", skill="awk"),))


@pytest.fixture
def released(make_task):
    """Two seeds and a child of each, as `write_release` takes them: (pairs, ancestors)."""
    pairs, seeds = [], []
    for name in ("beta", "alpha"):
        task = make_task(f"work/{name}", name=f"demo/{name}", text=f"The harder {name}.")
        seeds.append(Member(task_id=name, lineage=name, generation=0, content_hash=f"seed of {name}"))
        member = Member(
            task_id=task_id(name, 1, task.content_hash),
            lineage=name,
            generation=1,
            content_hash=task.content_hash,
            parent=f"seed of {name}",
            axis="skill",
            effort="low",
        )
        plan = Plan(axis="skill", effort="low", before=BEFORE, after=BEFORE.replace_skill(0, "jq"), rationale="rarer")
        verdicts = (Verdict(gate="oracle", passed=True, verdict_class="accepted", seconds=1.25),)
        pairs.append((Entry(member=member, plan=plan, verdicts=verdicts, base="host"), task))
    return tuple(pairs), tuple(seeds)


def tree(folder):
    """Every file below a folder with its bytes and run bit."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mode & 0o111)
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_holds_manifest_lineage_and_plain_tasks(tmp_path, released):
    pairs, seeds = released
    folder = write_release(tmp_path / "releases", 1, pairs, seeds, REFERENCE)
    assert folder == release_folder(tmp_path / "releases", 1) == tmp_path / "releases" / "generation-001"
    assert sorted(path.name for path in folder.iterdir()) == ["lineage.json", "manifest.json", "tasks"]
    written = json.loads((folder / "manifest.json").read_text())
    assert written["generation"] == 1
    for listed in written["tasks"]:
        assert Task.read(folder / listed["path"]).content_hash == listed["content_hash"]
    lineage = json.loads((folder / "lineage.json").read_text())
    assert len(lineage["nodes"]) == 4
    assert len(lineage["edges"]) == 2


def test_the_manifest_says_what_became_harder_and_holds_no_seconds(released):
    pairs, _ = released
    written = manifest(1, tuple(entry for entry, _ in pairs), REFERENCE)
    first, second = written["tasks"]
    assert [first["lineage"], second["lineage"]] == ["alpha", "beta"]  # sorted, whatever the order of arrival
    assert first["sequence_after"] == [{"id": "s1", "scenario": "csv", "skill": "jq"}]
    assert first["difficulty_after"] > first["difficulty_before"] > 0
    assert first["verdicts"] == [
        {"gate": "oracle", "passed": True, "verdict_class": "accepted", "code": "", "evidence": ""}
    ]
    assert "seconds" not in json.dumps(written)


def test_two_releases_are_the_same_bytes_whatever_the_order_and_the_times(tmp_path, released):
    pairs, seeds = released
    slower = [
        (
            entry.model_copy(update={"verdicts": tuple(v.model_copy(update={"seconds": 9.0}) for v in entry.verdicts)}),
            task,
        )
        for entry, task in reversed(pairs)
    ]
    one = write_release(tmp_path / "one", 1, pairs, seeds, REFERENCE)
    other = write_release(tmp_path / "other", 1, tuple(slower), seeds[::-1], REFERENCE)
    assert tree(one) == tree(other)


def test_a_release_again_changes_nothing(tmp_path, released):
    pairs, seeds = released
    folder = write_release(tmp_path, 1, pairs, seeds, REFERENCE)
    times = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert write_release(tmp_path, 1, pairs, seeds, REFERENCE) == folder
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == times


def test_another_release_never_overwrites(tmp_path, released):
    pairs, seeds = released
    folder = write_release(tmp_path, 1, pairs, seeds, REFERENCE)
    before = tree(folder)
    with pytest.raises(ReleaseError, match=r"generation-001 is released already .* use another --out"):
        write_release(tmp_path, 1, pairs[:1], seeds, REFERENCE)
    with pytest.raises(ReleaseError, match="released already"):  # the same tasks, but another past
        write_release(tmp_path, 1, pairs, (*seeds, seeds[0].model_copy(update={"content_hash": "x"})), REFERENCE)
    assert tree(folder) == before


def test_a_folder_of_somebody_else_is_not_taken_for_a_release(tmp_path, released):
    pairs, seeds = released
    (tmp_path / "generation-001").mkdir()
    (tmp_path / "generation-001" / "notes.txt").write_text("mine")
    with pytest.raises(ReleaseError, match="released already"):
        write_release(tmp_path, 1, pairs, seeds, REFERENCE)
    assert tree(tmp_path / "generation-001") == {"notes.txt": (b"mine", 0)}


def test_a_write_that_fails_leaves_nothing_visible_and_is_made_good(tmp_path, released, monkeypatch):
    pairs, seeds = released
    releases = tmp_path / "releases"
    write, written = Task.write, []

    def full_disk(task, target):
        if written:
            raise OSError(28, "No space left on device")
        written.append(target)
        return write(task, target)

    monkeypatch.setattr(Task, "write", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_release(releases, 1, pairs, seeds, REFERENCE)
    assert [path.name for path in releases.iterdir()] == [".generation-001.partial"]
    assert written

    monkeypatch.undo()
    folder = write_release(releases, 1, pairs, seeds, REFERENCE)
    assert [path.name for path in releases.iterdir()] == ["generation-001"]
    assert tree(folder) == tree(write_release(tmp_path / "whole", 1, pairs, seeds, REFERENCE))


def test_a_task_that_is_not_the_accepted_one_is_refused(tmp_path, released, make_task):
    (first, second), seeds = released
    other = make_task("other", text="Something else.")
    with pytest.raises(ReleaseError, match=f"is not the environment that was accepted as {second[0].member.task_id}"):
        write_release(tmp_path / "releases", 1, (first, (second[0], other)), seeds, REFERENCE)
    assert not (tmp_path / "releases").exists()


def test_a_task_that_changed_on_disk_since_is_not_released(tmp_path, released):
    pairs, seeds = released
    (pairs[1][1].root / "instruction.md").write_text("Something else.\n")
    with pytest.raises(Exception, match=r"instruction\.md"):
        write_release(tmp_path / "releases", 1, pairs, seeds, REFERENCE)
    assert not release_folder(tmp_path / "releases", 1).exists()
