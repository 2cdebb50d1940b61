"""A verifier with an environment of its own, as in Harbor: built from its tests, reached by artifacts alone."""

from __future__ import annotations

import pytest

from sandbox.errors import UnsupportedTaskError
from sandbox.verification.separate import verifier_environment, view_of

REWARD = "/logs/verifier/reward.txt"
SEPARATE = (
    'artifacts = ["/app/out", {source = "/srv/log", exclude = ["*.tmp"]}]\n[verifier]\nenvironment_mode = "separate"'
)
CHECK = f'[ "$(cat /app/out/answer)" = "$(cat /expected)" ] && echo 1 > {REWARD} || echo 0 > {REWARD}'
OWN = {
    "tests/Dockerfile": "FROM python:3.12-bookworm\nENV OWN=yes\nCOPY . /tests\nCOPY expected /expected\nWORKDIR /work\n",
    "tests/expected": "42\n",
}
SOLVE = "mkdir -p /app/out; echo 42 > /app/out/answer"


async def test_tests_that_are_in_the_verifiers_image(folder, after) -> None:
    task = folder(CHECK, toml=SEPARATE, files=OWN)
    found = await after(task, SOLVE)
    assert (found.reward.score, found.mode) == (1, "separate")
    assert (await after(task, "mkdir -p /app/out; echo 41 > /app/out/answer; echo 41 > /expected")).reward.score == 0


async def test_it_runs_in_its_own_environment_and_sees_artifacts_alone(folder, after) -> None:
    shows = f"pwd; echo $OWN; ls /app; ls /srv/log; ls /logs; echo 1 > {REWARD}"
    agent = f"{SOLVE}; touch /app/other; mkdir -p /srv/log /logs/artifacts; touch /srv/log/a /srv/log/b.tmp"
    found = await after(folder(shows, toml=SEPARATE, files=OWN), agent)
    assert found.stdout.split() == ["/work", "yes", "out", "a", "artifacts", "verifier"]


async def test_without_a_dockerfile_it_is_the_agents_environment_anew(folder, after) -> None:
    shows = f"cat /app/shipped; ls /app; echo 1 > {REWARD}"
    task = folder(shows, toml=SEPARATE, files={"environment/shipped": "as built\n"}, dockerfile="COPY shipped /app/\n")
    found = await after(task, f"{SOLVE}; echo changed > /app/shipped")
    assert found.stdout == "as built\nout\nshipped\n"


async def test_settings_of_the_verifiers_environment(folder, after) -> None:
    toml = SEPARATE.partition("[verifier]")[0] + '[verifier.environment]\nworkdir = "/elsewhere"\nenv = { A = "b" }'
    found = await after(folder(f"pwd; echo $A; echo 1 > {REWARD}", toml=toml, files=OWN), SOLVE)
    assert found.stdout == "/elsewhere\nb\n"
    # Unset is `public`, which is not to be had on every back end: said, and run without.
    assert {leftover.kind for leftover in found.leftovers} <= {"network-narrowed"}


async def test_services_beside_the_main_one_are_harbors(folder, after) -> None:
    toml = f'{SEPARATE}\n[[verifier.collect]]\ncommand = "true"\nservice = "database"'
    with pytest.raises(UnsupportedTaskError, match="database"):
        await after(folder(CHECK, toml=toml, files=OWN), SOLVE)


def test_which_environment_it_is(folder, tmp_path) -> None:
    own = folder(CHECK, toml=SEPARATE, files=OWN)
    environment = verifier_environment(own, own.steps[0])
    assert (environment.folder, environment.bundled) == ("tests", True)
    view = view_of(own, environment, tmp_path / "view")
    assert view.read_text("environment/Dockerfile").startswith("FROM python")
    assert view.content_hash != own.content_hash
    named = folder(CHECK, toml='[verifier.environment]\ndocker_image = "judge:1"')
    assert verifier_environment(named, named.steps[0]).config.docker_image == "judge:1"
    plain = folder(CHECK, toml=SEPARATE)
    assert verifier_environment(plain, plain.steps[0]).folder == "environment"
    assert view_of(plain, verifier_environment(plain, plain.steps[0]), tmp_path / "none").root == plain.root


def test_a_steps_own_environment_comes_first(folder) -> None:
    toml = '[verifier]\nenvironment_mode = "separate"\n[[steps]]\nname = "one"\n[[steps]]\nname = "two"'
    files = {f"steps/{name}/instruction.md": "Do it.\n" for name in ("one", "two")}
    task = folder(CHECK, toml=toml, files={**files, **OWN, "steps/two/tests/Dockerfile": "FROM python:3.12-bookworm\n"})
    assert [verifier_environment(task, step).folder for step in task.steps] == ["tests", "steps/two/tests"]
