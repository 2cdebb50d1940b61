"""Dockerfiles with RUN, without any image builder: each line in a sandbox of what there is so far."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox.bubblewrap.backend import BubblewrapBackend
from sandbox.errors import ImageError, UnsupportedTaskError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox.protocol import Capabilities
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task

FROM = "FROM python:3.12-bookworm\n"


async def test_commands_see_what_earlier_lines_made(
    sandboxes: Sandboxes, write_task: Callable[..., Task], capabilities: Capabilities
) -> None:
    assert capabilities.dockerfile_run
    dockerfile = (
        f"{FROM}ARG WHO=arg\nENV GREETING=hello\nWORKDIR /app\nCOPY f /app/\n"
        "RUN echo $GREETING $WHO from $PWD > said && chmod 640 said && rm f\n"
        'SHELL ["/bin/bash", "-c"]\nRUN [[ $0 == /bin/bash ]] && echo bash > shell\n'
        'RUN ["/bin/sh", "-c", "echo exec > exec"]\n'
        "RUN <<EOF\nset -e\ncat said > copy\nEOF\nCOPY <<EOF made\n$GREETING\nEOF\nENV GREETING=later\n"
    )
    image = await sandboxes.build(write_task({"Dockerfile": dockerfile, "f": "gone"}))
    assert (image.workdir, image.env["GREETING"]) == ("/app", "later")
    assert "WHO" not in image.env
    async with sandboxes.running(image) as sandbox:
        assert (await sandbox.exec("cat said copy shell exec made; stat -c %a said; ls; cat /proc/1/comm")).text == (
            "hello arg from /app\nhello arg from /app\nbash\nexec\nhello\n640\ncopy\nexec\nmade\nsaid\nshell\nbash\n"
        )


async def test_a_user_is_who_runs_what_follows(
    sandboxes: Sandboxes, write_task: Callable[..., Task], capabilities: Capabilities
) -> None:
    if not capabilities.users:
        pytest.skip("needs several user ids: root, or subordinate ids")
    dockerfile = (
        f"{FROM}RUN echo 'bob:x:1234:1234::/home/bob:/bin/bash' >> /etc/passwd && mkdir -m 777 /w\n"
        "USER bob\nRUN echo $HOME > /w/home; id -u > /w/id\nUSER 7:8\nRUN id -u > /w/seven\n"
    )
    image = await sandboxes.build(write_task({"Dockerfile": dockerfile}))
    async with sandboxes.running(image) as sandbox:
        assert (await sandbox.exec("cd /w; cat home id seven; stat -c '%u %g' id seven; id -u")).text == (
            "/home/bob\n1234\n7\n1234 1234\n7 8\n7\n"
        )
    with pytest.raises(ImageError, match=r"Dockerfile:3: RUN true: user 'nosuch' is not in"):
        await sandboxes.build(write_task({"Dockerfile": f"{FROM}USER nosuch\nRUN true\n"}))


async def test_a_failing_line_is_named_with_what_it_said(sandboxes: Sandboxes, write_task: Callable[..., Task]) -> None:
    dockerfile = f"{FROM}RUN true\n\nRUN echo to out && \\\n  echo to err >&2; exit 3\n"
    with pytest.raises(ImageError, match=r"environment/Dockerfile:4: RUN echo to out .*exit status 3") as caught:
        await sandboxes.build(write_task({"Dockerfile": dockerfile}))
    assert str(caught.value).endswith("The last lines:\nto out\nto err")
    with pytest.raises(ImageError, match=r"(?s)Dockerfile:2: .*exit status 127.*not found"):
        await sandboxes.build(write_task({"Dockerfile": f'{FROM}RUN ["no-such-program"]\n'}))


async def test_what_a_line_leaves_running_is_gone_for_the_next(
    sandboxes: Sandboxes, write_task: Callable[..., Task]
) -> None:
    dockerfile = f"{FROM}RUN (sleep 600 & echo $! > /pid)\nRUN ! kill -0 $(cat /pid) && echo gone > /was\n"
    async with sandboxes.running(write_task({"Dockerfile": dockerfile})) as sandbox:
        assert (await sandbox.exec("cat /was")).text == "gone\n"


async def test_time_to_build_is_bounded(sandboxes: Sandboxes, write_task: Callable[..., Task]) -> None:
    task = write_task({"Dockerfile": f"{FROM}RUN echo started; sleep 600\n"}, "[environment]\nbuild_timeout_sec = 1\n")
    with pytest.raises(ImageError, match=r"Dockerfile:2: .*build_timeout_sec.* was up.* The last lines:\nstarted"):
        await sandboxes.build(task)


async def test_a_failed_build_leaves_nothing_and_is_tried_again(
    sandboxes: Sandboxes, write_task: Callable[..., Task], tmp_path: Path
) -> None:
    backend = BubblewrapBackend(state=tmp_path / "state")
    try:
        task = write_task({"Dockerfile": f"{FROM}RUN false\n"})
        for _ in range(2):
            with pytest.raises(ImageError, match="exit status 1"):
                await backend.build(task)
        store = tmp_path / "state/store"
        assert [list((store / name).iterdir()) for name in ("images", "layers", "aside")] == [[], [], []]
    finally:
        await backend.close()


@pytest.fixture
def own_network() -> str:
    """The network name space of this process."""
    return str(Path("/proc/self/ns/net").readlink())


async def test_network_of_a_build(
    sandboxes: Sandboxes, write_task: Callable[..., Task], tmp_path: Path, own_network: str
) -> None:
    task = write_task({"Dockerfile": f"{FROM}RUN readlink /proc/self/ns/net > /net\n"})
    found = []
    for network in ("host", "none"):
        backend = BubblewrapBackend(state=tmp_path / network, build_network=network)
        try:
            sandbox = await backend.start(await backend.build(task))
            found.append((await sandbox.exec("cat /net")).text.strip())
        finally:
            await backend.close()
    assert [network == own_network for network in found] == [True, False]


async def test_bubblewrap_may_be_left_out(
    sandboxes: Sandboxes, write_task: Callable[..., Task], tmp_path: Path
) -> None:
    backend = BubblewrapBackend(state=tmp_path / "state", engines=())
    try:
        assert not (await backend.capabilities()).dockerfile_run
        with pytest.raises(UnsupportedTaskError, match=r"Dockerfile:2: RUN on the base `host`"):
            await backend.build(write_task({"Dockerfile": f"{FROM}RUN true\n"}))
        await backend.build(write_task({"Dockerfile": f"{FROM}ENV A=1\n"}))
    finally:
        await backend.close()
    with pytest.raises(ValueError, match="no image builder 'kaniko'; known: bubblewrap, docker, buildah, podman"):
        BubblewrapBackend(engines=("kaniko",))
