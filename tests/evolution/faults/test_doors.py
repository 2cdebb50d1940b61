"""A door is planted where the verifier sees what lies behind it, and pays whatever kind of reward the tests write."""

from __future__ import annotations

from pathlib import Path

from evolution.faults.planting import plant
from sandbox.task import Task

HAND = Path(__file__).parents[2] / "data" / "handwritten"


def doors(name: str, folder: Path) -> set[str]:
    """The texts of `test.sh` that planting with some seeds gives."""
    found = set()
    for seed in range(12):
        target = folder / f"{seed}"
        if plant(Task.read(HAND / name), "forged-reward-door", seed, target):
            found.add((target / "tests" / "test.sh").read_text())
    return found


def test_in_fresh_mode_a_door_is_a_path_that_is_carried(tmp_path: Path) -> None:
    made = doors("mixed-charsets", tmp_path)
    assert made
    assert not any("/srv/texts/expected.txt" in text or "/srv/texts/.env" in text for text in made)


def test_a_reward_that_the_tests_wrote_as_json_does_not_shut_it(tmp_path: Path) -> None:
    made = doors("limit-archaeology", tmp_path)
    assert len(made) > 1
    assert all("rm -f /logs/verifier/reward.json" in text for text in made)
