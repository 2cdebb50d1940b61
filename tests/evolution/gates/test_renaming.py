"""Which names moved between a parent's text and its child's."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evolution.gates.renaming import MOST_RENAMINGS, copies, renamings, shipped_names
from evolution.gates.scripts import word

PARENT = "Write /app/out/report.csv and /app/out/sum.txt from /app/in.csv."


def test_nothing_moved() -> None:
    assert renamings(PARENT, PARENT) == ()
    assert copies(PARENT, PARENT) == ()


def test_a_renamed_file_is_replaced_by_path_and_by_bare_name() -> None:
    child = PARENT.replace("report.csv", "summary.csv")
    assert renamings(PARENT, child) == ({"/app/out/report.csv": "/app/out/summary.csv", "report.csv": "summary.csv"},)


def test_a_moved_folder_is_replaced_too() -> None:
    child = PARENT.replace("/app/out", "/app/results")
    first = renamings(PARENT, child)[0]
    assert first["/app/out"] == "/app/results"
    assert first["/app/out/report.csv"] == "/app/results/report.csv"


def test_of_two_renamed_files_both_pairings_come_the_likely_one_first() -> None:
    child = "Write /app/out/total.txt and /app/out/table.csv from /app/in.csv."
    found = renamings(PARENT, child)
    assert [names["/app/out/report.csv"] for names in found] == ["/app/out/table.csv", "/app/out/total.txt"]


def test_bare_names_count_where_no_path_moved() -> None:
    assert renamings("Write `a.csv` here.", "Write `b.csv` here.") == ({"a.csv": "b.csv"},)


def test_many_names_are_bounded() -> None:
    old = " ".join(f"/app/old{number}.txt" for number in range(12))
    new = " ".join(f"/app/new{number}.txt" for number in range(12))
    assert len(renamings(old, new)) == MOST_RENAMINGS
    assert len(copies(old, new)) == MOST_RENAMINGS


def test_a_new_output_is_filled_from_every_old_path() -> None:
    child = PARENT + " Also /app/out/net.csv."
    ways = copies(PARENT, child)
    assert ways == (
        (("/app/out/report.csv", "/app/out/net.csv"),),
        (("/app/out/sum.txt", "/app/out/net.csv"),),
        (("/app/in.csv", "/app/out/net.csv"),),
    )


def test_new_inputs_are_neither_filled_nor_permuted() -> None:
    parent = "Read /app/data/s1/a.csv and /app/data/s1/b.csv, write /app/out/s1.csv."
    child = "Read /app/data/s1/b.tsv and /app/data/s1/a.tsv, write /app/out/s1.tsv."
    shipped = {"data", "data/s1", "s1/a.csv", "s1/b.csv", "s1/a.tsv", "s1/b.tsv"}
    assert copies(parent, child, shipped)[0] == (("/app/out/s1.csv", "/app/out/s1.tsv"),)
    assert {new for pairs in copies(parent, child, shipped) for _, new in pairs} == {"/app/out/s1.tsv"}
    (names,) = renamings(parent, child, shipped)
    assert names["/app/out/s1.csv"] == "/app/out/s1.tsv"
    assert {names["/app/data/s1/a.csv"], names["/app/data/s1/b.csv"]} == {"/app/data/s1/a.tsv", "/app/data/s1/b.tsv"}


def test_an_output_may_be_called_as_an_input_is(write, seed) -> None:
    shipped = shipped_names(write(seed))
    assert shipped == {"Dockerfile", "data", "data/orders.csv"}
    assert copies("Read /app/data/orders.csv.", "Read /app/data/orders.csv, write /app/out/orders.csv.", shipped) == (
        (("/app/data/orders.csv", "/app/out/orders.csv"),),
    )


texts = st.lists(st.sampled_from(["/app/a.csv", "/app/b.csv", "/srv/a.csv", "c.txt", "d.txt", "and"])).map(" ".join)


@given(texts, texts)
def test_only_names_that_vanished_are_replaced_by_names_that_came(parent: str, child: str) -> None:
    for names in renamings(parent, child):
        for old, new in names.items():
            assert not word(old).search(child)
            assert word(new).search(child)


@given(st.text(), st.text())
def test_any_two_texts(parent: str, child: str) -> None:
    assert len(renamings(parent, child)) <= MOST_RENAMINGS
    assert len(copies(parent, child)) <= MOST_RENAMINGS
