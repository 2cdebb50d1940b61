"""The frequency table: proper probabilities, more counts less surprise, and errors that name file and key."""

import json
from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolution.errors import ReferenceTableError
from evolution.reference import FrequencyTable, surprisals

NAMES = ("a", "b", "c", "d")
counts = st.dictionaries(
    st.sampled_from(NAMES), st.dictionaries(st.sampled_from(NAMES), st.integers(0, 10_000)), min_size=1
)
UNSEEN = "never-counted"


def table(counts, **weights):
    return FrequencyTable(domain="terminal", counts=counts, source="a test", **weights)


WORKED = {"logs": {"grep": 6, "awk": 2}, "backup": {"tar": 2, "grep": 0}}


def test_hand_worked_scenarios():
    # N = 10, V = 2, α = 1: (n + 1) / 13
    assert isclose(table(WORKED).scenario("logs"), 9 / 13)
    assert isclose(table(WORKED).scenario("backup"), 3 / 13)
    assert isclose(table(WORKED).scenario(UNSEEN), 1 / 13)


def test_hand_worked_skills():
    # marginal: grep 6, awk 2, tar 2; N = 10, V = 3: (n + 1) / 14.  β = 10, n(logs) = 8, n(backup) = 2.
    assert isclose(table(WORKED).skill("grep", "logs"), (6 + 10 * 7 / 14) / 18)
    assert isclose(table(WORKED).skill("tar", "logs"), (0 + 10 * 3 / 14) / 18)
    assert isclose(table(WORKED).skill("tar", "backup"), (2 + 10 * 3 / 14) / 12)
    assert isclose(table(WORKED).skill(UNSEEN, "backup"), (0 + 10 * 1 / 14) / 12)


@given(counts, st.sampled_from((*NAMES, UNSEEN)), st.sampled_from((*NAMES, UNSEEN)))
def test_probabilities_are_in_0_1(counts, scenario, skill):
    assert 0 < table(counts).scenario(scenario) <= 1
    assert 0 < table(counts).skill(skill, scenario) <= 1


@given(counts, st.sampled_from((*NAMES, UNSEEN)))
def test_known_names_and_the_unseen_sum_to_one(counts, scenario):
    reference = table(counts)
    assert isclose(sum(map(reference.scenario, (*reference.scenario_names, UNSEEN))), 1, rel_tol=1e-9)
    total = sum(reference.skill(skill, scenario) for skill in (*reference.skill_names, UNSEEN))
    assert isclose(total, 1, rel_tol=1e-9)


@given(counts, st.sampled_from(NAMES), st.sampled_from(NAMES), st.integers(1, 1000))
def test_more_counts_less_surprise(counts, scenario, skill, more):
    # Both names have to be known before, else the table also learns a new name.
    known = {**counts, scenario: {skill: 0, **counts.get(scenario, {})}}
    grown = {**known, scenario: {**known[scenario], skill: known[scenario][skill] + more}}
    assert table(grown).scenario(scenario) >= table(known).scenario(scenario)
    assert table(grown).skill(skill, scenario) >= table(known).skill(skill, scenario)


@given(counts, st.sampled_from((*NAMES, UNSEEN)))
def test_an_unknown_scenario_backs_off_to_the_marginal(counts, skill):
    merged = {}
    for skills in counts.values():
        for name, n in skills.items():
            merged[name] = merged.get(name, 0) + n
    marginal = (merged.get(skill, 0) + 1) / (sum(merged.values()) + len(merged) + 1)
    assert isclose(table(counts).skill(skill, UNSEEN), marginal)


def test_beta_weighs_the_marginal():
    light, heavy = table(WORKED, beta=0.001), table(WORKED, beta=1e9)
    assert isclose(light.skill("grep", "logs"), 6 / 8, rel_tol=1e-3)
    assert isclose(heavy.skill("grep", "logs"), 7 / 14, rel_tol=1e-3)


@given(counts)
def test_reads_what_was_written(tmp_path_factory, counts):
    path = tmp_path_factory.getbasetemp() / "table.json"
    path.write_text(json.dumps({"domain": "terminal", "source": "a test", "counts": counts}))
    assert FrequencyTable.read(path) == table(counts)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("{", "cannot be read"),
        ("[]", "`domain`"),
        ('{"source": "s", "counts": {"a": {"b": 1}}}', "`domain`"),
        ('{"domain": 1, "source": "s", "counts": {"a": {"b": 1}}}', "`domain` of type str"),
        ('{"domain": "d", "counts": {"a": {"b": 1}}}', "`source`"),
        ('{"domain": "d", "source": "s"}', "`counts` of type dict"),
        ('{"domain": "d", "source": "s", "counts": {}}', "`counts` is empty"),
        ('{"domain": "d", "source": "s", "counts": {"logs": 3}}', "counts.logs"),
        ('{"domain": "d", "source": "s", "counts": {"logs": {"grep": -1}}}', "counts.logs"),
        ('{"domain": "d", "source": "s", "counts": {"logs": {"grep": 1.5}}}', "counts.logs"),
        ('{"domain": "d", "source": "s", "counts": {"logs": {"grep": true}}}', "counts.logs"),
        ('{"domain": "d", "source": "s", "counts": {"logs": {"grep": NaN}}}', "counts.logs"),
        ("[" * 100_000, "cannot be read"),
    ],
)
def test_a_malformed_table_names_file_and_key(tmp_path, text, key):
    path = tmp_path / "mine.json"
    path.write_text(text)
    with pytest.raises(ReferenceTableError) as caught:
        FrequencyTable.read(path)
    assert str(path) in str(caught.value)
    assert key in str(caught.value)


def test_a_missing_table_names_the_file(tmp_path):
    with pytest.raises(ReferenceTableError, match=r"absent\.json"):
        FrequencyTable.read(tmp_path / "absent.json")


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_give_a_table_or_its_error(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "bytes.json"
    path.write_bytes(content)
    with pytest.raises(ReferenceTableError):
        FrequencyTable.read(path)


def test_a_proposer_is_shown_surprisals_of_what_is_known():
    shown = surprisals(table(WORKED))
    assert shown["scenario_surprisal"] == {"backup": 1.47, "logs": 0.37}  # −log 3/13, −log 9/13
    assert list(shown["skill_surprisal"]["logs"]) == ["awk", "grep", "tar"]
    assert shown["skill_surprisal"]["logs"]["grep"] == 0.49  # −log 11/18


def test_a_reference_that_lists_no_names_shows_nothing():
    class Certain:
        def scenario(self, scenario):
            return 1.0

        def skill(self, skill, scenario):
            return 1.0

    assert surprisals(Certain()) == {"scenario_surprisal": {}, "skill_surprisal": {}}
