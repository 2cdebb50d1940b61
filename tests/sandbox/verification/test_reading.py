"""The reward is found whatever lies beside it, and what is no plain file is an error with the code of Harbor's own."""

from __future__ import annotations

import pytest

GOOD = "echo 1 > /logs/verifier/reward.txt"
AT = "/logs/verifier/reward"


@pytest.mark.parametrize(
    "odd",
    [
        f"mkfifo {AT}.json",
        f"mkdir {AT}.json",
        f"ln -s {AT}.txt {AT}.json",
        f"truncate -s 900M {AT}.json",
        f"cd {AT[:-7]} && python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('reward.json')\"",
    ],
    ids=["pipe", "folder", "link", "sparse", "socket"],
)
async def test_an_odd_reward_json_is_never_passed_over(folder, after, odd: str) -> None:
    found = await after(folder(f"{GOOD}; {odd}"))
    assert (found.reward, found.error_code) == (None, "not-a-file")


async def test_many_and_deep_logs_beside_it(folder, after) -> None:
    deep = "cd /logs/verifier; for n in {1..300}; do mkdir d; cd d; done; cd /logs/verifier; touch {1..2000}"
    found = await after(folder(f"{GOOD}; {deep}; head -c 20M /dev/zero > log"))
    assert found.reward.score == 1


async def test_a_reward_that_the_image_has_already(folder, after) -> None:
    planted = "RUN mkdir -p /logs/verifier /tests && echo 1 > /logs/verifier/reward.txt && echo > /tests/test.sh\n"
    assert (await after(folder(GOOD, dockerfile=planted))).reward.score == 1
    silent = await after(folder("true", dockerfile=planted))
    assert (silent.reward, silent.error_code) == (None, "missing")
    assert silent.leftovers == (), "the image's own files are not the agent's"
