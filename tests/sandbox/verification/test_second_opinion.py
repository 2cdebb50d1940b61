"""What an agent put in place of the image's own is named, and the tests run without it too; the lower reward counts."""

from __future__ import annotations

from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.errors import UnsupportedTaskError
from sandbox.verification.isolate import Run
from sandbox.verification.leftovers import Leftover
from sandbox.verification.reward import Reward
from sandbox.verification.second_opinion import lower
from sandbox.verification.verify import verify

REWARD = "/logs/verifier/reward.txt"
DIFF = f"echo 42 > /tests/right; diff -q /tests/right /app/answer > /dev/null && echo 1 > {REWARD} || echo 0 > {REWARD}"
SHIM = "printf '#!/bin/sh\\nexit 0\\n' > {0}; chmod 755 {0}"
SHADOW = Leftover("shadowed-tool", "/usr/local/bin/diff")


def kinds(found) -> set[str]:
    return {leftover.kind for leftover in found.leftovers}


@pytest.mark.parametrize("where", ["/usr/local/bin/diff", "/usr/bin/diff"])
async def test_a_shim_of_a_tool_that_the_tests_use_earns_nothing(folder, after, where: str) -> None:
    found = await after(folder(DIFF), f"rm -f {where}; {SHIM.format(where)}")
    assert found.reward.score == 0
    assert [(left.path, left.suspicious) for left in found.leftovers] == [(where, True)]


async def test_the_work_done_counts_with_a_shim_beside_it(folder, after) -> None:
    found = await after(folder(DIFF), f"echo 42 > /app/answer; {SHIM.format('/usr/local/bin/diff')}")
    assert found.reward.score == 1
    assert kinds(found) == {"shadowed-tool"}


async def test_work_that_is_the_tool_is_excused(folder, after) -> None:
    toml = '[metadata]\ninstalls = ["diff"]'
    found = await after(folder(DIFF, toml=toml), SHIM.format("/usr/local/bin/diff"))
    assert found.reward.score == 1
    assert not any(leftover.suspicious for leftover in found.leftovers)


async def test_a_tool_that_is_gone_is_back_for_the_tests(folder, after) -> None:
    found = await after(folder(DIFF), "echo 42 > /app/answer; rm /usr/bin/diff")
    assert found.reward.score == 0, "the tests fail without it, as they would in Harbor"
    assert "replaced-tool" in kinds(found)
    silent = await after(
        folder(f"set -e\n{DIFF.partition(' > /dev')[0]}\necho 1 > {REWARD}"), "echo 42 > /app/answer; rm /usr/bin/diff"
    )
    assert silent.reward.score == 1, "no reward as it is, and one with the image's own in its place: that one counts"


async def test_a_reward_that_is_had_only_with_the_agents_own_is_none(folder, after) -> None:
    found = await after(folder(f"grade && echo 1 > {REWARD}"), SHIM.format("/usr/local/bin/grade"))
    assert (found.reward, found.error_code) == (None, "replaced-tool")
    assert "reward 1" in found.error
    assert "missing" in found.error
    assert "/usr/local/bin/grade" in found.error


async def test_what_the_tests_leave_in_the_agents_sandbox_is_the_run_that_counts(folder, sandboxes) -> None:
    task = folder(DIFF)
    async with sandboxes.running(task) as sandbox:
        await sandbox.exec(SHIM.format("/usr/local/bin/diff"))
        await verify(task, sandbox)
        assert (await sandbox.read_file(REWARD)).strip() == b"0"
        assert (await sandbox.exec("test -x /usr/local/bin/diff")).ok, "the agent's own sandbox stays as it was"


async def test_processes_and_planted_files_are_named(folder, after) -> None:
    agent = f"sleep 600 >/dev/null 2>&1 & mkdir -p /logs/verifier /tests; echo 1 > {REWARD}; echo > /tests/conftest.py"
    found = await after(folder(f"sleep 600 & echo 0 > {REWARD}"), agent)
    assert kinds(found) == {"process", "reward-file", "tests-folder", "survivor"}
    assert found.reward.score == 0
    links = await after(folder(f"echo 0 > {REWARD}"), "rm -rf /logs /tests; ln -s /app /logs; ln -s /app /tests")
    assert [(left.kind, left.path) for left in links.leftovers] == [
        ("logs-folder", "/logs"),
        ("tests-folder", "/tests"),
    ]


async def test_an_honest_run_leaves_nothing_to_name(folder, after) -> None:
    found = await after(folder(DIFF), "echo 42 > /app/answer; mkdir -p /srv/x; touch /srv/x/y /tmp/z")
    assert (found.reward.score, found.leftovers) == (1, ())


async def test_a_back_end_that_sees_no_changes_says_so(folder, sandboxes, monkeypatch: pytest.MonkeyPatch) -> None:
    # No back end here is without; the first of its promises that may be missing is taken away.
    async def cannot(*_: object, **__: object) -> None:
        raise UnsupportedTaskError("this back end sees no changes")

    task = folder(DIFF)
    async with sandboxes.running(task) as sandbox:
        monkeypatch.setattr(type(sandbox), "changed_files", cannot)
        await sandbox.exec("echo 42 > /app/answer")
        found = await verify(task, sandbox)
    assert found.reward.score == 1
    assert [(left.kind, "sees no changes" in left.note) for left in found.leftovers] == [("unseen", True)]


async def test_a_back_end_without_snapshots_says_so(folder, sandboxes, monkeypatch: pytest.MonkeyPatch) -> None:
    async def cannot(*_: object, **__: object) -> None:
        raise UnsupportedTaskError("this back end has no snapshots")

    task = folder(DIFF)
    async with sandboxes.running(task) as sandbox:
        monkeypatch.setattr(type(sandbox), "snapshot", cannot)
        await sandbox.exec(SHIM.format("/usr/local/bin/diff"))
        found = await verify(task, sandbox)
    assert kinds(found) == {"shadowed-tool", "unseen"}


def run(**rewards: float) -> Run:
    return Run(Reward(MappingProxyType(rewards))) if rewards else Run(None, "missing", "nothing was written")


def test_the_lower_reward_counts_key_by_key() -> None:
    both = lower(run(reward=1.0, style=0.2), run(reward=0.5, style=0.9), [SHADOW])
    assert dict(both.reward.rewards) == {"reward": 0.5, "style": 0.2}
    assert lower(run(), run(reward=1.0), [SHADOW]).reward.score == 1
    assert lower(run(), run(), [SHADOW]).error_code == "missing"


REWARDS = st.dictionaries(st.sampled_from(["reward", "style"]), st.floats(0, 1), min_size=1)


@given(REWARDS, REWARDS)
def test_a_second_run_never_raises_a_reward(first: dict[str, float], second: dict[str, float]) -> None:
    counted = lower(run(**first), run(**second), [SHADOW]).reward.rewards
    assert all(value <= first.get(key, 0.0) and value <= second.get(key, 0.0) for key, value in counted.items())
    assert dict(lower(run(**first), run(**first), [SHADOW]).reward.rewards) == first
