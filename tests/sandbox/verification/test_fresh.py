"""Verification in a clean sandbox: only declared artifacts reach the tests."""

from __future__ import annotations

import pytest

from sandbox.verification.verify import verify

REWARD = "/logs/verifier/reward.txt"
TOML = 'artifacts = ["/app/out"]\n[metadata]\nverification = "fresh"'
SHARED = 'artifacts = ["/app/out"]'
CHECK = f'if [ "$(cat /app/out/answer 2>/dev/null)" = 42 ]; then echo 1; else echo 0; fi > {REWARD}'
SOLVE = "mkdir -p /app/out; echo 42 > /app/out/answer; "


async def test_the_work_comes_along(folder, after) -> None:
    found = await after(folder(CHECK, toml=TOML), SOLVE)
    assert (found.reward.score, found.mode, found.leftovers) == (1, "fresh", ())
    assert (await after(folder(CHECK, toml=TOML))).reward.score == 0


@pytest.mark.parametrize(
    "cheat",
    [
        "printf '#!/bin/sh\\necho 42\\n' > /usr/local/bin/cat; chmod 755 /usr/local/bin/cat",
        "printf '#!/bin/sh\\necho 42\\n' > /tmp/c; chmod 755 /tmp/c; cp /tmp/c /usr/bin/cat",
        "mkdir -p /app/out; ln -s /tests/expected /app/out/answer",
        "mkdir -p /app/out; ln -s ../../tests/expected /app/out/answer",
        "mkdir -p /app/real; echo 42 > /app/real/answer; ln -s /app/real /app/out",
        f"mkdir -p /logs/verifier; echo 1 > {REWARD}",
    ],
)
async def test_nothing_else_does(folder, after, cheat: str) -> None:
    found = await after(folder(CHECK, toml=TOML, files={"tests/expected": "42\n"}), cheat)
    assert found.reward.score == 0


async def test_what_the_agent_took_away_is_gone_there_too(folder, after) -> None:
    shipped = {"environment/answer": "42\n"}
    task = folder(CHECK, toml=TOML, files=shipped, dockerfile="COPY answer /app/out/answer\n")
    assert (await after(task)).reward.score == 1
    assert (await after(task, "rm -r /app/out")).reward.score == 0


async def test_what_is_published_by_convention_comes_along(folder, after) -> None:
    found = await after(
        folder(f"cp /logs/artifacts/score {REWARD}", toml=TOML),
        "mkdir -p /logs/artifacts; echo 0.5 > /logs/artifacts/score",
    )
    assert found.reward.score == 0.5


async def test_owners_and_run_bits_come_along(folder, after) -> None:
    shows = f"stat -c '%a %u' /app/out/run; /app/out/run > {REWARD}"
    found = await after(
        folder(shows, toml=TOML),
        "mkdir -p /app/out; printf '#!/bin/sh\\necho 1\\n' > /app/out/run; chmod 4750 /app/out/run",
    )
    assert found.stdout.split()[0] == "750", "run bits stay, set-user bits go"
    assert found.reward.score == 1


async def test_settings_of_pytest_among_the_artifacts_are_left_out_of_a_second_run(folder, after) -> None:
    toml = 'artifacts = ["/app"]\n[metadata]\nverification = "fresh"'
    # What pytest would do, in a few words: a conftest.py in the working directory decides.
    acts = f"cd /app; [ -e conftest.py ] && echo 1 > {REWARD} || echo 0 > {REWARD}; : pytest"
    found = await after(folder(acts, toml=toml), "touch /app/conftest.py")
    assert found.reward.score == 0
    assert [(left.kind, left.path, left.suspicious) for left in found.leftovers] == [
        ("pytest-config", "/app/conftest.py", True)
    ]


async def test_without_artifacts_there_is_nothing_to_verify(folder, after) -> None:
    found = await after(folder(CHECK, toml='[metadata]\nverification = "fresh"'), SOLVE)
    assert (found.reward, found.error_code) == (None, "no-artifacts")
    assert 'artifacts = ["/app/out"]' in found.error


async def test_a_hook_collects_before_the_agent_is_ended(folder, after) -> None:
    toml = f'{TOML}\n[[verifier.collect]]\ncommand = "mkdir -p /app/out; cp /app/late /app/out/answer"'
    assert (await after(folder(CHECK, toml=toml), "echo 42 > /app/late")).reward.score == 1


async def test_each_step_carries_its_own_artifacts(folder, sandboxes) -> None:
    steps = [f'[[steps]]\nname = "{name}"\nartifacts = ["/srv/{name}"]' for name in ("one", "two")]
    toml = "\n".join(['[metadata]\nverification = "fresh"', *steps])
    files = {f"steps/{name}/instruction.md": "Do it.\n" for name in ("one", "two")}
    task = folder(f"ls /srv; echo 1 > {REWARD}", toml=toml, files=files)
    async with sandboxes.running(task) as sandbox:
        await sandbox.exec("touch /srv/one /srv/two")
        found = [await verify(task, sandbox, step=step) for step in task.steps]
    assert [verification.stdout.split() for verification in found] == [["one"], ["two"]]


async def test_each_mode_by_name(folder, after) -> None:
    shim = "printf '#!/bin/sh\\nexit 0\\n' > /app/tool; chmod 755 /app/tool"
    task = folder(f"[ -x /app/tool ] && echo 1 > {REWARD} || echo 0 > {REWARD}", toml=SHARED)
    assert (await after(task, shim)).mode == "shared"
    assert (await after(task, shim)).reward.score == 1
    assert (await after(task, shim, mode="fresh")).reward.score == 0


async def test_tests_are_known_by_their_digest(folder, after) -> None:
    one = await after(folder(CHECK, toml=TOML), SOLVE)
    same = await after(folder(CHECK, toml=SHARED), SOLVE)
    other = await after(folder(f"{CHECK} ", toml=TOML), SOLVE)
    assert one.tests_sha256 == same.tests_sha256 != other.tests_sha256
    assert len(one.tests_sha256) == 64
