"""Instructions that share thirteen words in a row with held-out ones, and those that only seem to."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolution.gates import overlap_index
from evolution.gates.errors import GateError
from evolution.gates.overlap import OverlapGate, indexes_of
from evolution.gates.overlap_index import GRAM, OverlapIndex, words_of
from evolution.gates.registry import make_gates
from evolution.gates.settings import GateSettings
from evolution.verdict import VerdictClass

SHARED = "keep the paid orders as id,customer,amount in /app/out/paid.csv, then write the total of each"


@pytest.fixture
def held_out(tmp_path):
    folder = tmp_path / "held-out"
    for path, text in {
        "deep/one/task.toml": "",
        "deep/one/instruction.md": f"Do this now. {SHARED.upper()} customer.\n",
        "deep/one/solution/notes.md": "nothing of this counts " * 10,
        "deep/two/task.toml": "",
        "deep/two/steps/a/instruction.md": "Something else entirely.\n",
        "rows.jsonl": json.dumps({"id": "row-7", "prompt": "alpha " * 12 + "omega"}) + "\n",
        "plain.txt": "Twelve words in a row are too few to be held against you.\n",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


@pytest.fixture
def gate(held_out, tmp_path):
    return OverlapGate((held_out,), tmp_path / "cache")


async def test_shared_words_are_quoted_and_the_task_named(only_files, seed, gate) -> None:
    verdict = await only_files(gate, seed)
    assert (verdict.verdict_class, verdict.code) == (VerdictClass.INVALID, "overlap/held-out")
    assert "task held-out/deep/one" in verdict.evidence
    assert "'keep the paid orders as id customer amount in app out paid csv'" in verdict.evidence
    assert len(verdict.findings) == 1  # one run of words, not one finding for each gram in it


async def test_a_row_of_a_file_is_named(only_files, seed, gate) -> None:
    verdict = await only_files(gate, {**seed, "instruction.md": "Alpha, " * 12 + "OMEGA!\n"})
    assert "rows.jsonl:1 (row-7)" in verdict.evidence


async def test_twelve_words_in_a_row_pass(only_files, seed, gate) -> None:
    words = words_of(SHARED)[: GRAM - 1]
    verdict = await only_files(gate, {**seed, "instruction.md": f"{' '.join(words)} but otherwise.\n"})
    assert verdict.passed, verdict.evidence
    assert verdict.measured["held_out_grams"] > 0


async def test_what_is_no_instruction_does_not_count(only_files, seed, gate) -> None:
    verdict = await only_files(gate, {**seed, "instruction.md": "nothing of this counts " * 10})
    assert verdict.passed


def test_an_index_is_built_once_for_its_content(held_out, tmp_path, monkeypatch) -> None:
    indexes_of((held_out,), tmp_path / "cache")
    (folder,) = (tmp_path / "cache").iterdir()
    monkeypatch.setattr(OverlapIndex, "build", None)
    (index,) = indexes_of((held_out,), tmp_path / "cache")
    (saved,) = indexes_of((folder,), tmp_path / "nowhere")
    assert index.grams == saved.grams
    (held_out / "plain.txt").write_text("other words\n")
    with pytest.raises(TypeError):
        indexes_of((held_out,), tmp_path / "cache")


def test_a_collision_is_no_overlap(tmp_path, monkeypatch) -> None:
    def all_alike(numbers: list[int]) -> np.ndarray:
        return np.zeros(max(0, len(numbers) - GRAM + 1), dtype=np.uint64)

    monkeypatch.setattr(overlap_index, "_hashes", all_alike)
    texts = [("one", " ".join(f"a{n}" for n in range(30))), ("two", " ".join(f"b{n}" for n in range(30)))]
    index = OverlapIndex.build(texts, tmp_path / "index")
    assert list(index.hits(" ".join(f"c{n}" for n in range(30)))) == []
    (hit,) = index.hits(" ".join(f"b{n}" for n in range(5, 5 + GRAM)))
    assert hit.name == "two"


def test_normalisation() -> None:
    assert words_of("Ｗrite_to  `/app/OUT.csv`, ﬁrst: naïve Ünïts—2×3!") == [
        "write", "to", "app", "out", "csv", "first", "naïve", "ünïts", "2", "3",
    ]  # fmt: skip


words = st.lists(st.sampled_from("abcd"), max_size=40)


@given(held=st.lists(words, max_size=5), asked=words)
def test_hits_are_those_that_comparing_all_grams_finds(tmp_path_factory, held, asked) -> None:
    folder = tmp_path_factory.mktemp("index") / "index"
    index = OverlapIndex.build([(str(n), " ".join(text)) for n, text in enumerate(held)], folder)
    grams = {tuple(text[at : at + GRAM]) for text in held for at in range(len(text) - GRAM + 1)}
    wanted = [at for at in range(len(asked) - GRAM + 1) if tuple(asked[at : at + GRAM]) in grams]
    assert [hit.at for hit in index.hits(" ".join(asked))] == wanted


def test_the_registry_makes_it_with_its_setting(held_out) -> None:
    (gate,) = make_gates(["overlap"], GateSettings(held_out=(held_out,)))
    assert (gate.name, gate.stage) == ("overlap", 0)
    with pytest.raises(GateError, match="held_out"):
        make_gates(["overlap"])


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [("x.jsonl", "{", "x.jsonl:1: no JSON"), ("x.jsonl", "{}", "one of the fields"), ("x.bin", "", "no instruction")],
)
def test_what_cannot_be_read_is_said(tmp_path, path: str, text: str, said: str) -> None:
    folder = tmp_path / "held"
    folder.mkdir()
    (folder / path).write_text(text)
    with pytest.raises(GateError, match=said):
        indexes_of((folder,), tmp_path / "cache")
    with pytest.raises(GateError, match="does not exist"):
        indexes_of((tmp_path / "gone",), tmp_path / "cache")


async def test_shared_grams_are_counted_and_not_their_runs(only_files, seed, gate) -> None:
    verdict = await only_files(gate, seed)
    shared = len(words_of(SHARED)) - GRAM + 1
    assert shared > 1
    assert verdict.measured["shared_grams"] >= shared
    assert len(verdict.findings) == 1


def test_marks_belong_to_the_words_that_they_follow() -> None:
    assert words_of("हिन्दी में लिखो, e\u0301te\u0301 \u0301 ❤\ufe0f a_b") == ["हिन्दी", "में", "लिखो", "été", "a", "b"]
    assert words_of("שָׁלוֹם עֲלֵיכֶם") == ["שָׁלוֹם", "עֲלֵיכֶם"]


@pytest.mark.parametrize("name", ["a\udcff.txt", "rows.jsonl"])
def test_names_that_are_no_unicode_are_written_otherwise(tmp_path, name: str) -> None:
    folder = tmp_path / "held"
    folder.mkdir()
    text = "alpha " * GRAM
    row = json.dumps({"id": "x\ud800", "prompt": f"{text}\ud800"})
    (folder / name).write_text(row if name.endswith(".jsonl") else text)
    (index,) = indexes_of((folder,), tmp_path / "cache")
    (hit,) = index.hits(text)
    assert "\\ud" in hit.name
    hit.name.encode()


def test_a_row_that_is_nested_too_deeply_is_said(tmp_path) -> None:
    (tmp_path / "x.jsonl").write_text("[" * 100_000)
    with pytest.raises(GateError, match=r"x\.jsonl:1: no JSON"):
        indexes_of((tmp_path / "x.jsonl",), tmp_path / "cache")
