"""Seeds on their way in: a bad folder is refused with its reason and never stops the others."""

import os
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolution.intake import find_tasks, lineage_name, read_seeds
from evolution.sequence import is_name


def lineages(seeds):
    return [seed.lineage for seed in seeds]


def test_finds_tasks_at_any_depth_in_a_fixed_order(tmp_path, make_task):
    for path in ("b", "a/z", "a/deep/er/y", ".hidden/x"):
        make_task(f"tasks/{path}", text=path)
    (tmp_path / "tasks" / "README.md").write_text("no task")
    found = [str(path.relative_to(tmp_path)) for path in find_tasks((tmp_path / "tasks",))]
    assert found == ["tasks/a/deep/er/y", "tasks/a/z", "tasks/b"]


def test_a_task_may_be_named_itself_and_nothing_inside_it_is_searched(tmp_path, make_task):
    make_task("one")
    make_task("one/environment/inner", text="data of the task")
    assert list(find_tasks((tmp_path / "one",))) == [tmp_path / "one"]


def test_a_link_is_followed_where_it_is_named_and_not_below(tmp_path, make_task):
    make_task("real/one")
    (tmp_path / "real" / "circle").symlink_to(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert list(find_tasks((tmp_path / "link",))) == [tmp_path / "link" / "one"]


def test_a_broken_one_is_refused_with_its_reason_and_the_others_are_kept(tmp_path, make_task):
    good = make_task("tasks/good", name="demo/good")
    make_task("tasks/broken")
    (tmp_path / "tasks" / "broken" / "task.toml").write_text("[task\n")
    make_task("tasks/half")
    (tmp_path / "tasks" / "half" / "task.toml").unlink()
    (tmp_path / "tasks" / "old").mkdir()
    (tmp_path / "tasks" / "old" / "task.yaml").write_text("instruction: x\n")
    seeds, refusals = read_seeds((tmp_path / "tasks",))
    assert [seed.task.content_hash for seed in seeds] == [good.content_hash]
    reasons = {refusal.folder.name: refusal.reason for refusal in refusals}
    assert set(reasons) == {"broken", "half", "old"}
    assert "not valid TOML" in reasons["broken"]
    assert "line 1" in reasons["broken"]
    assert "task.toml: missing" in reasons["half"]
    assert "Terminal-Bench 1" in reasons["old"]


def test_a_folder_without_tasks_is_refused_not_passed_over(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    seeds, refusals = read_seeds((tmp_path / "empty", tmp_path / "absent", tmp_path / "file"))
    assert seeds == ()
    assert ["empty folder" in refusals[0].reason, "does not exist" in refusals[1].reason] == [True, True]
    assert "is not a folder" in refusals[2].reason


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look into every folder")
def test_a_folder_that_may_not_be_read_stops_nothing(tmp_path, make_task):
    make_task("tasks/good")
    closed = tmp_path / "tasks" / "closed"
    closed.mkdir(mode=0)
    seeds, refusals = read_seeds((tmp_path / "tasks",))
    closed.chmod(0o700)
    assert len(seeds) == 1
    assert [refusal.folder for refusal in refusals] == [closed]


def test_the_same_task_twice_is_refused_by_the_name_of_the_first(tmp_path, make_task):
    make_task("tasks/a", name="demo/copy")
    shutil.copytree(tmp_path / "tasks" / "a", tmp_path / "tasks" / "b")
    seeds, refusals = read_seeds((tmp_path / "tasks", tmp_path / "tasks" / "a"))
    assert lineages(seeds) == ["copy"]
    assert [(r.folder.name, r.reason) for r in refusals] == [
        ("b", "is the same task as copy"),
        ("a", "is the same task as copy"),
    ]


def test_tasks_of_one_name_are_told_apart_by_their_hash(tmp_path, make_task):
    make_task("tasks/a", name="one/copy", text="first")
    second = make_task("tasks/b", name="two/copy", text="second")
    seeds, refusals = read_seeds((tmp_path / "tasks",))
    assert refusals == ()
    assert lineages(seeds) == ["copy", f"copy-{second.content_hash[:6]}"]


def test_seeds_come_sorted_by_lineage(tmp_path, make_task):
    make_task("tasks/a", name="demo/zebra", text="z")
    make_task("tasks/b", name="demo/ant", text="a")
    assert lineages(read_seeds((tmp_path / "tasks",))[0]) == ["ant", "zebra"]


@pytest.mark.parametrize(
    ("name", "lineage"),
    [
        ("org/CSV Report", "csv-report"),
        ("org/__a..b__", "a-b"),
        ("plain", "plain"),
        ("org/задача", "task"),
        ("../../etc", "etc"),
        ("org/" + "x" * 48, "x" * 48),
    ],
)
def test_lineage_names(name, lineage):
    assert lineage_name(name) == lineage


@given(st.text())
def test_a_lineage_name_fits_a_folder_and_is_a_name(text):
    name = lineage_name(text)
    assert is_name(name)
    assert len(name) <= 48
    assert not name.endswith("-")
    assert lineage_name(name) == name


def test_long_names_stay_apart():
    one, other = lineage_name("x" * 60 + "1"), lineage_name("x" * 60 + "2")
    assert one != other
    assert len(one) == len(other) == 48
