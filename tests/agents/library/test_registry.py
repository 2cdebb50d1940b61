from __future__ import annotations

from collections import Counter

import pytest

from agents.embedded import library
from evolution.sequence import Step

from .conftest import PAIRS


def test_every_skill_serves_three_scenarios_and_every_scenario_four_skills() -> None:
    scenarios, skills = Counter(a for a, _ in PAIRS), Counter(b for _, b in PAIRS)
    assert len(library.scenario_names()) >= 12
    assert len(library.skill_names()) >= 14
    assert {name: skills[name] for name in library.skill_names() if skills[name] < 3} == {}
    assert {name: scenarios[name] for name in library.scenario_names() if scenarios[name] < 4} == {}


def test_rarities_span_the_scale() -> None:
    for names in (library.scenario_names(), library.skill_names()):
        found = {library.rarity(name) for name in names}
        assert found <= {1, 2, 3, 4, 5}
        assert len(found) >= 4


def test_the_git_scenario_asks_for_git_and_no_other_does() -> None:
    asking = {scenario for scenario, skill in PAIRS if "git" in library.tools(scenario, skill)}
    assert asking == {"git-history"}


@pytest.mark.parametrize(
    ("scenario", "skill", "said"),
    [
        ("sunken-archive", "top-k-ties", "unknown scenario 'sunken-archive'"),
        ("web-access-logs", "divination", "unknown skill 'divination'"),
        ("web-access-logs", "dependency-order", "has nothing to work on in 'web-access-logs'"),
    ],
)
def test_what_is_not_known_is_named(scenario: str, skill: str, said: str) -> None:
    step = Step(id="s1", scenario=scenario, skill=skill)
    assert not library.knows(step)
    with pytest.raises(library.LibraryError, match=said):
        library.render_steps(sequence_of_step(step), 1)
    with pytest.raises(library.LibraryError):
        library.tools(scenario, skill)


def sequence_of_step(step: Step):
    from evolution.sequence import Sequence

    return Sequence(steps=(step,))
