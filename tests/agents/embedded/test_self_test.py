"""Trying a draft out: what comes of the runs, as findings."""

import pytest

from agents.embedded.self_test import findings_of, self_test
from agents.embedded.tools import Ran
from agents.roles.evolver import WORKSPACE


def printed(*runs):
    return Ran(0, "exit code: 0\nstdout:\n" + "".join(f"\n== {name} {reward}\nsaid {name}\n" for name, reward in runs))


@pytest.mark.parametrize(
    ("runs", "codes"),
    [
        ((("noop", "0"), ("oracle", "1"), ("oracle-again", "1.0")), []),
        ((("noop", "0.4"), ("oracle", "1"), ("oracle-again", "1")), []),
        ((("noop", "1"), ("oracle", "1"), ("oracle-again", "1")), ["noop/self-test"]),
        ((("noop", ""), ("oracle", "0.5"), ("oracle-again", "1")), ["noop/self-test", "oracle/self-test"]),
        ((("noop", "0"), ("oracle", "1"), ("oracle-again", "0")), ["rerun/self-test"]),
        ((("noop", "nan"), ("something", "else")), ["noop/self-test"]),
    ],
)
def test_rewards_that_are_not_as_they_should_be_are_found(runs, codes):
    found = findings_of(printed(*runs))
    assert [finding.code for finding in found] == codes
    assert all("said " in finding.text for finding in found)


def test_a_run_that_does_not_end_is_a_finding():
    (finding,) = findings_of(Ran(None, "timed out after 240 s, killed\nstdout:\nlast words"))
    assert finding.code == "oracle/timed-out"
    assert finding.text.endswith("last words")


async def run(sandbox):
    script = self_test()
    (call,) = next(script)
    result = await sandbox.exec(call.arguments["command"], cwd=WORKSPACE, timeout=120)
    return findings_of(Ran(result.exit_code, f"exit code: {result.exit_code}\nstdout:\n{result.text}"))


async def test_a_sound_draft_passes_and_a_broken_one_does_not(sandboxes, library_task):
    async with sandboxes.running(library_task) as sandbox:
        await sandbox.upload(library_task.root, WORKSPACE)
        before = await sandbox.exec("find . -type f -exec stat -c '%a %n' {} + | sort", cwd=WORKSPACE)
        assert await run(sandbox) == []
        after = await sandbox.exec("find . -type f -exec stat -c '%a %n' {} + | sort", cwd=WORKSPACE)
        assert after.text == before.text
        await sandbox.write_file(f"{WORKSPACE}/solution/solve.sh", b"echo gave up >&2\n")
        assert [finding.code for finding in await run(sandbox)] == ["oracle/self-test", "rerun/self-test"]
        await sandbox.write_file(f"{WORKSPACE}/tests/test.sh", b"echo 1 > /logs/verifier/reward.txt\n", mode=0o644)
        assert [finding.code for finding in await run(sandbox)] == ["noop/self-test"]
        await sandbox.write_file(f"{WORKSPACE}/tests/test.sh", b"echo no licence here; exit 3\n", mode=0o755)
        found = await run(sandbox)
        assert [finding.code for finding in found] == ["noop/self-test", "oracle/self-test", "rerun/self-test"]
        assert "no licence here" in found[0].text
