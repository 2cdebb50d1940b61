"""Reviewing a release at a terminal: keys in, rubrics and reviews out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agents.scripted import ScriptedChatModel, calls
from evolution.gates.registry import make_gates
from evolution.gates.roles import Opinion, Roles
from evolution.gates.settings import GateSettings
from evolution.lineage import Member, task_id
from evolution.plan import Plan
from evolution.reference import FrequencyTable
from evolution.release import Entry, write_release
from evolution.reviewing import difference, released, reviews, transcript_text
from evolution.rubrics import read_rubrics
from evolution.sequence import Sequence, Step
from evolution.verdict import Candidate, Verdict
from sandbox.task import Task
from tests.evolution.conftest import write_task

pytestmark = pytest.mark.slow  # each test starts many sandboxes or processes


ROOT = Path(__file__).parents[2]
REFERENCE = FrequencyTable(domain="terminal", counts={"csv": {"awk": 8, "jq": 2}}, source="a test")
BEFORE = Sequence(steps=(Step(id="s1", scenario="csv", skill="awk"),))
HOSTILE = "Copy it.\x1b[2J\x1b]0;owned\x07\x1b]52;c;cm0=\x07\x9b31m Now."
WRITER = "tests.evolution.test_review:write_rubric"


def write_rubric(role: str, call: str) -> ScriptedChatModel:
    """A model for --model."""
    return ScriptedChatModel(
        script=[calls(("submit_rubric", {"text": "Every path is named\x1b[2J in the instruction."}))]
    )


def refuse(role: str, call: str) -> ScriptedChatModel:
    return ScriptedChatModel(script=lambda _: calls(("submit_rubric", {"text": "no"})))


@pytest.fixture
def run(tmp_path) -> Path:
    """A run folder with two released environments."""
    root = tmp_path / "run"
    pairs, seeds = [], []
    for name, text in (("alpha", "The harder alpha."), ("beta", HOSTILE)):
        seed = Task.read(write_task(root / "seeds" / name, name=f"demo/{name}"))
        task = Task.read(write_task(tmp_path / "work" / name, name=f"demo/{name}-g001", text=text))
        seeds.append(Member(task_id=name, lineage=name, generation=0, content_hash=seed.content_hash))
        member = Member(
            task_id=task_id(name, 1, task.content_hash),
            lineage=name,
            generation=1,
            content_hash=task.content_hash,
            parent=seed.content_hash,
            axis="skill",
            effort="low",
        )
        plan = Plan(axis="skill", effort="low", before=BEFORE, after=BEFORE.replace_skill(0, "jq"))
        verdict = Verdict(gate="oracle", passed=True, verdict_class="accepted")
        pairs.append((Entry(member=member, plan=plan, verdicts=(verdict,)), task))
        talk = root / "transcripts" / member.task_id / "skill-evolver-1.jsonl"
        talk.parent.mkdir(parents=True)
        lines = [
            {"turn": 0, "type": "human", "content": "Do\u2028it.\x1b[2J"},
            {"turn": 1, "type": "ai", "content": "", "tool_calls": [{"name": "run", "args": {"command": "ls"}}]},
            {"turn": 1, "type": "tool", "content": "x" * 7000, "name": "run"},
        ]
        talk.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    write_release(root / "releases", 1, tuple(pairs), tuple(seeds), REFERENCE)
    return root


class Session:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rubrics = folder / "rubrics.yaml"

    def __call__(self, run: Path, typed: str | bytes, *arguments: str) -> subprocess.CompletedProcess:
        """A reviewer who types."""
        command = [sys.executable, "-m", "evolution.review", str(run), *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
        data = typed.encode() if isinstance(typed, str) else typed
        done = subprocess.run(
            command, check=False, input=data, capture_output=True, cwd=self.folder, env=environment, timeout=120
        )
        done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
        return done


@pytest.fixture
def review(tmp_path) -> Session:
    return Session(tmp_path)


def verdicts(run: Path) -> dict[str, str]:
    return {name.partition("-")[0]: found.verdict for name, found in reviews(run).items()}


def test_accepts_and_rejects_and_the_reason_becomes_a_rubric(run, review):
    done = review(run, "a\nr\nThe text is odd.\n\n")
    assert done.returncode == 0, done.stderr
    assert "1 of 2   alpha-g001-" in done.stdout
    assert "csv/awk" in done.stdout
    assert "+The harder alpha." in done.stdout
    assert "1 accepted, 1 rejected in all" in done.stdout
    assert verdicts(run) == {"alpha": "accepted", "beta": "rejected"}
    (rubric,) = read_rubrics(review.rubrics).rubrics
    assert (rubric.id, rubric.text, rubric.reason, rubric.since) == ("r001", "The text is odd.", "The text is odd.", 1)
    assert rubric.task.startswith("beta-g001-")
    assert reviews(run)[rubric.task].rubric == "r001"
    assert "r001 is in rubrics.yaml, version 1." in done.stdout

    again = review(run, "")
    assert "1 of" not in again.stdout
    assert "1 accepted, 1 rejected in all" in again.stdout
    last = review(run, "s\na\n", "--again")
    assert "2 of 2" in last.stdout
    assert verdicts(run) == {"alpha": "accepted", "beta": "accepted"}


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("", {}),
        ("q\n", {}),
        ("s\nq\n", {}),
        ("s\na\n", {"beta": "accepted"}),
        ("?\nx\n\na\n", {"alpha": "accepted"}),
        ("r\n", {}),
        ("r\n\nq\n", {}),
        ("r\nodd", {"alpha": "rejected"}),
        ("r\nodd\n-\nq\n", {"alpha": "rejected"}),
        (b"r\n\xff\xfe odd\n-\nq\n", {"alpha": "rejected"}),
    ],
)
def test_what_was_said_before_the_end_is_kept(run, review, typed, said):
    done = review(run, typed)
    assert (done.returncode, done.stderr) == (0, "")
    assert verdicts(run) == said
    assert review.rubrics.exists() == (typed == "r\nodd")


def test_other_words_take_the_place_of_the_reason(run, review):
    review(run, "r\nodd\nEverything is even.\nr\nagain\nTwice: told.\n")
    rubrics = read_rubrics(review.rubrics)
    assert [(rubric.id, rubric.text, rubric.reason) for rubric in rubrics.rubrics] == [
        ("r001", "Everything is even.", "odd"),
        ("r002", "Twice: told.", "again"),
    ]
    assert rubrics.version == 2


def test_nothing_hostile_reaches_the_terminal(run, review):
    done = review(run, "s\ni\nd\nt\nc\nv\nq\n")
    assert "\x1b" not in done.stdout
    assert "\x9b" not in done.stdout
    assert "\x07" not in done.stdout
    assert "owned" not in done.stdout
    assert "Copy it.31m Now." in done.stdout
    assert "--- tests/test.sh" in done.stdout
    assert "=== skill-evolver-1" in done.stdout
    assert '→ run {"command": "ls"}' in done.stdout
    assert "(1000 more characters)" in done.stdout
    assert "oracle         passed" in done.stdout


def test_a_manifest_is_shown_as_safely_as_a_task(run, review):
    (manifest,) = run.glob("releases/*/manifest.json")
    document = json.loads(manifest.read_text())
    document["tasks"][0]["sequence_after"][0]["skill"] = "jq\x1b[2J"
    manifest.write_text(json.dumps(document))
    assert "\x1b" not in review(run, "q\n").stdout


def test_a_broken_file_of_rubrics_is_told_before_a_reason_is_typed(run, review):
    review.rubrics.write_text("rubrics: [{id: r001}]\n")
    done = review(run, "r\nodd\n\n")
    assert done.returncode == 2
    assert "rubrics.yaml: rubrics.0.text: Field required" in done.stderr
    assert done.stdout == ""
    assert verdicts(run) == {}


def test_a_rejection_counts_where_no_rubric_can_be_added(run, review):
    review.rubrics.write_text("{rubrics: []}\n")
    done = review(run, "r\nodd\n\n")
    assert done.returncode == 0
    assert "It is rejected, and no rubric came of it" in done.stdout
    assert list(verdicts(run).values()) == ["rejected"]
    assert review.rubrics.read_text() == "{rubrics: []}\n"


def test_a_place_where_no_rubrics_can_be_written_is_told_first(run, review):
    done = review(run, "r\nodd\n\n", "--rubrics", "none/rubrics.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no file can be made in" in done.stderr


@pytest.mark.parametrize("what", ["no run", "no manifest", "broken manifest", "lacking entry", "broken review"])
def test_what_cannot_be_reviewed_is_named(run, review, what, tmp_path):
    (manifest,) = run.glob("releases/*/manifest.json")
    told = "manifest.json: cannot be read"
    if what == "no run":
        run, told = tmp_path / "none", "no release in it"
    elif what == "no manifest":
        manifest.unlink()
        told = "no release in it"
    elif what == "broken manifest":
        manifest.write_text("[1]")
    elif what == "lacking entry":
        manifest.write_text('{"tasks": [{"id": "x"}]}')
        told = "entries lack axis, content_hash"
    else:
        (run / "reviews.jsonl").write_text('{"task_id": "a", "verdict": "accepted"}\n{"task": 1}\n')
        told = "reviews.jsonl:2: is no review"
    for more in ((), ("--model", WRITER)):
        done = review(run, "a\n", *more)
        assert (done.returncode, done.stdout) == (2, "")
        assert told in done.stderr
        assert "Traceback" not in done.stderr


def test_a_model_makes_a_rule_of_a_reason(run, review):
    done = review(run, "r\nwhere is /app/b?\n\nr\nand here\n\n", "--model", WRITER)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    first, second = read_rubrics(review.rubrics).rubrics
    assert first.text.endswith("in the instruction.")
    assert (first.reason, second.reason) == ("where is /app/b?", "and here")


def test_where_the_model_fails_the_reason_counts(run, review):
    done = review(run, "r\nodd\n\nq\n", "--model", "tests.evolution.test_review:refuse")
    assert done.returncode == 0
    assert "the reason is taken as it is" in done.stderr
    assert [rubric.text for rubric in read_rubrics(review.rubrics).rubrics] == ["odd"]
    wrong = review(run, "q\n", "--model", "nobody/knows")
    assert wrong.returncode == 2
    assert "--model nobody/knows" in wrong.stderr


def test_an_environment_without_its_parent_or_transcripts_is_shown(run):
    item = next(released(run))
    assert item.parent is not None
    assert "binary" not in difference(item.parent, item.task)
    assert difference(None, item.task) == "(its parent is not in the run folder)"
    assert transcript_text(()) == "(no transcript is kept)"
    (item.task.root / "environment" / "a").write_bytes(b"\xff\x00")
    (item.task.root / "environment" / "empty").touch()
    (item.task.root / "tests" / "test.sh").chmod(0o644)
    shown = difference(item.parent, Task.read(item.task.root))
    assert "binary environment/a: 4 bytes → 2 bytes" in shown
    assert "environment/empty: absent → 0 bytes, without its run bit" in shown
    assert "with its run bit → " in shown


async def test_added_rubrics_are_what_the_judge_is_asked(run, review):
    review(run, "r\nodd\n\nr\nold\n\n")
    review.rubrics.write_text(review.rubrics.read_text().replace("active: true", "active: false", 1))
    asked = []

    class Judge:
        name = "nobody"

        async def judge(self, task, criteria):
            asked.extend(criteria)
            return tuple(Opinion(each.id, each.id != "r002", "line 1") for each in criteria)

    (gate,) = make_gates(("rubric-judge",), GateSettings(rubrics=review.rubrics), Roles(judge=Judge()))
    verdict = await gate.check(Candidate(next(released(run)).task), None)
    assert [each.id for each in asked if each.id.startswith("r0")] == ["r002"]
    assert verdict.code == "rubric-judge/r002"
    assert "old" in verdict.evidence
