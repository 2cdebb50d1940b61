"""Findings that somebody decided to live with: per finding, with the reason shown, and useless entries named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolution.errors import ConfigError
from evolution.gates.outcomes import accepted, finding, infrastructure, invalid, judged, miscalibrated
from evolution.validation.suppressions import Suppression, Suppressions, read_suppressions

ONE, TWO = (
    finding("rubric", "clock", "first", "tests/test.sh:3"),
    finding("rubric", "network", "second", "solution/solve.sh:1"),
)


def entry(code, task="*", where="*", reason="known"):
    return Suppression(code=code, task=task, where=where, reason=reason)


def test_one_finding_of_two_is_taken_out_and_the_other_counts():
    revised = Suppressions([entry("rubric/clock")]).revise("a/b", judged("rubric", [ONE, TWO]))
    assert (revised.passed, revised.code) == (False, "rubric/network")
    assert [one.suppressed for one in revised.findings] == ["known", ""]
    assert "first" not in revised.evidence
    assert "second" in revised.evidence


def test_a_verdict_of_one_finding_passes_without_it_and_still_shows_it():
    revised = Suppressions([entry("noop/*", task="a/*")]).revise(
        "a/b", invalid("noop", "passes", "earns 1", {"reward": 1})
    )
    assert (revised.passed, revised.verdict_class, revised.code) == (True, "accepted", "")
    assert [(one.code, one.message, one.suppressed) for one in revised.findings] == [
        ("noop/passes", "earns 1", "known")
    ]
    assert revised.measured == {"reward": 1}


@pytest.mark.parametrize(
    "other", [entry("rubric/clock", task="x/y"), entry("rubric/clock", where="solution/*"), entry("rubric/clocks")]
)
def test_what_an_entry_does_not_speak_of_counts(other):
    suppressions = Suppressions([other])
    verdict = judged("rubric", [ONE])
    assert suppressions.revise("a/b", verdict) == verdict
    # An entry for tasks that were not looked at may well be needed.
    assert suppressions.unused == (() if other.task == "x/y" else (other,))


def test_what_is_ours_cannot_be_suppressed_and_difficulty_stays_difficulty():
    ours = infrastructure("oracle", "sandbox", "lost")
    assert Suppressions([entry("*")]).revise("a/b", ours) == ours
    hard = miscalibrated("calibration", "too-hard", "0")
    assert Suppressions([entry("*")]).revise("a/b", hard).passed
    both = hard.model_copy(
        update={"findings": (finding("calibration", "too-hard", "0"), finding("calibration", "other", "0"))}
    )
    assert Suppressions([entry("*/other")]).revise("a/b", both).verdict_class == "miscalibrated"
    assert Suppressions([entry("*")]).revise("a/b", accepted("noop")) == accepted("noop")


@given(
    st.lists(st.sampled_from(["clock", "network", "timeout"]), min_size=1, max_size=6),
    st.sets(st.sampled_from(["clock", "network", "timeout"])),
)
def test_a_verdict_passes_when_all_its_findings_are_covered(found, covered):
    verdict = judged("rubric", [finding("rubric", what, what) for what in found])
    revised = Suppressions([entry(f"rubric/{what}") for what in sorted(covered)]).revise("a/b", verdict)
    assert revised.passed == (set(found) <= covered)
    assert [one.code for one in revised.findings or verdict.findings] == [f"rubric/{what}" for what in found]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[suppress", "cannot be read as TOML"),
        ('[[suppress]]\ncode = "a"\ntask = "b"\n', "suppress.0.reason: Field required"),
        ('[[suppress]]\ncode = "a"\ntask = "b"\nreason = ""\n', "suppress.0.reason"),
        ('[[suppress]]\ncode = "a"\ntask = "b"\nreason = "c"\nfile = "d"\n', "suppress.0.file: Extra inputs"),
        ('[[suppressed]]\ncode = "a"\n', "suppressed: Extra inputs"),
    ],
)
def test_a_malformed_file_is_named_with_an_example(tmp_path, text, said):
    path = tmp_path / "s.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_suppressions(path)
    assert said in str(caught.value)
    example = str(caught.value).partition("looks like this:")[2]
    path.write_text(example)
    assert read_suppressions(path).entries[0].code == "rubric/clock"


def test_a_suppressed_finding_lets_later_gates_run_and_is_shown(command, put, tmp_path):
    put("a")
    file = tmp_path / "s.toml"
    entries = {"build/one": "looked at", "build/two": "also", "leak/*": "never"}
    file.write_text(
        "".join(
            f'[[suppress]]\ncode = "{code}"\ntask = "tests/*"\nreason = "{reason}"\n'
            for code, reason in entries.items()
        )
    )
    words = (tmp_path / "tasks", "--gates", "misbehaving:Picky", "oracle", "noop")
    refused = command(*words)
    assert refused.code == 1
    assert "not asked, as the above leaves nothing to say: oracle, noop" in refused.out
    assert "\x1b" not in refused.out
    for _ in range(2):  # the second time from what is kept
        passed = command(*words, "--suppressions", file)
        assert passed.code == 0
        assert "tests/a: suppressed build/one: looked at" in passed.out
        assert "tests/a: suppressed build/two: also" in passed.out
        assert "warning: the suppression of leak/* for tests/* covers nothing" in passed.out
        assert "build/one for" not in passed.out
    only_one = command(*words, "--suppressions", file, "--json")
    assert [one["suppressed"] for one in only_one.lines[0]["gates"]["build"]["findings"]] == ["looked at", "also"]
