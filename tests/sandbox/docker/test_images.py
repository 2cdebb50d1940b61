"""Images from Dockerfiles and bases: built once, and each failure is whose it is."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox.docker.backend import DockerBackend
from sandbox.docker.context import context_digest
from sandbox.docker.stages import outer_stages, with_images
from sandbox.errors import ImageError, SandboxError, UnsupportedTaskError

if TYPE_CHECKING:
    from collections.abc import Callable

    from docker import DockerClient

    from sandbox.task import Task


def test_from_lines_are_found_and_replaced() -> None:
    text = (
        "# FROM nothing\nARG BASE=python:3.12\nFROM --platform=linux/amd64 ${BASE} AS one\nRUN <<EOF\nFROM inside\nEOF\n"
        "RUN echo \\\n  FROM continued\nfrom debian:12 as two\nFROM one\nCOPY --from=two /x /x\nFROM scratch\n"
    )
    stages = outer_stages(text)
    assert [(stage.line, stage.written, stage.image) for stage in stages] == [
        (3, "${BASE}", "python:3.12"),
        (9, "debian:12", "debian:12"),
    ]
    replaced = with_images(text, {stages[0]: "mine:1", stages[1]: "mine:2"}).splitlines()
    assert replaced[2] == "FROM --platform=linux/amd64 mine:1 AS one"
    assert replaced[8] == "from mine:2 as two"
    assert [line for n, line in enumerate(replaced) if n not in (2, 8)] == [
        line for n, line in enumerate(text.splitlines()) if n not in (2, 8)
    ]


@pytest.mark.parametrize("text", ["RUN true\n", "FROM\n", "FROM 'x\n"])
def test_a_dockerfile_without_a_base_is_the_tasks_fault(text: str) -> None:
    with pytest.raises(ImageError):
        outer_stages(text)


def test_the_context_is_known_by_its_content_alone(write_task: Callable[..., Task]) -> None:
    files = {"Dockerfile": "FROM x\n", "a.txt": "a", "run.sh": "#!/bin/sh\n", ".dockerignore": "left-out\n"}
    one, two = write_task(files), write_task(files | {"left-out": "of no matter"})
    assert context_digest(one, "FROM x\n") == context_digest(two, "FROM x\n")
    assert context_digest(write_task(files | {"a.txt": "b"}), "FROM x\n") != context_digest(one, "FROM x\n")


outside = [pytest.mark.outside, pytest.mark.asyncio(loop_scope="session")]


PLUGINS = Path(__file__).parents[3] / ".outside" / "docker-config"


@pytest.fixture(params=["plain", "buildkit"])
def builder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Both builders: which one builds hangs on the plug-in of the docker program."""
    if request.param == "plain":
        monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    elif PLUGINS.is_dir():
        monkeypatch.setenv("DOCKER_CONFIG", str(PLUGINS))
    has = shutil.which("docker") is not None
    has = has and not subprocess.run(["docker", "buildx", "version"], capture_output=True, check=False).returncode
    if has != (request.param == "buildkit"):
        pytest.skip("buildx is always there" if has else "no docker buildx (./run test --all brings it)")
    return request.param


class TestBuilding:
    pytestmark = outside

    async def test_an_image_is_built_once_for_all_who_ask(
        self, builder: str, backend: DockerBackend, write_task: Callable[..., Task], engine: DockerClient
    ) -> None:
        task = write_task(
            {
                "for": builder,
                "Dockerfile": "FROM python:3.12 AS made\nRUN cat /proc/sys/kernel/random/uuid >/uuid\n"
                'FROM debian:12\nARG GREETING="none"\nCOPY --from=made /uuid /uuid\nCOPY . /srv/\nRUN mkdir /work\n'
                "ENV A=1 B='two words'\nWORKDIR /work\nUSER www-data\nENTRYPOINT [\"/bin/false\"]\n",
                ".dockerignore": "*.secret\n",
                "x.secret": "hidden",
                "run.sh": "#!/bin/sh\necho ran\n",
            },
            '[environment.env]\nFROM_TASK = "yes"\n',
        )
        images = await asyncio.gather(*(backend.build(task) for _ in range(6)))
        assert len(set(map(repr, images))) == 1
        image = images[0]
        assert {"A": "1", "B": "two words", "FROM_TASK": "yes"}.items() <= image.env.items()
        assert (image.workdir, image.user) == ("/work", "www-data")
        assert image.base.startswith("dir:")
        labels = engine.images.get(image.reference).labels
        assert labels["envolve.image"] == image.reference.rpartition(":")[2]
        sandbox = await backend.start(image)
        try:
            result = await sandbox.exec("/srv/run.sh; ls -A /srv; id -un; pwd; echo $B")
            assert result.text == "ran\n.dockerignore\nDockerfile\nfor\nrun.sh\nwww-data\n/work\ntwo words\n"
        finally:
            await sandbox.stop()

    async def test_a_build_that_fails_tells_the_end_of_its_log(
        self, builder: str, backend: DockerBackend, write_task: Callable[..., Task]
    ) -> None:
        broken = write_task({"Dockerfile": "FROM x\nRUN echo on my way; exit 3\n"})
        with pytest.raises(ImageError, match=r"(code: 3|on my way)[\s\S]*(code: 3|on my way)"):
            await backend.build(broken)
        with pytest.raises(ImageError, match=r"COPY failed|not found"):
            await backend.build(write_task({"Dockerfile": "FROM x\nCOPY nothing /\n"}))

    async def test_a_build_that_takes_too_long_is_stopped(
        self, builder: str, backend: DockerBackend, write_task: Callable[..., Task], engine: DockerClient
    ) -> None:
        task = write_task({"Dockerfile": "FROM x\nRUN sleep 600.25\n"}, "[environment]\nbuild_timeout_sec = 2.0\n")
        with pytest.raises(ImageError, match=r"not built within 2 s \(\[environment\] build_timeout_sec\)"):
            await backend.build(task)
        for _ in range(50):
            if "sleep 600.25" not in str([c.attrs["Args"] for c in engine.containers.list(ignore_removed=True)]):
                return
            await asyncio.sleep(0.2)
        pytest.fail("the build still runs")

    async def test_what_only_buildkit_can_is_said(
        self, builder: str, backend: DockerBackend, write_task: Callable[..., Task]
    ) -> None:
        task = write_task(
            {
                "Dockerfile": "FROM x\nCOPY --chmod=755 tool /usr/bin/tool\n",
                "tool": "#!/bin/sh\necho made\n",
                "for": builder,
            }
        )
        if builder == "plain":
            with pytest.raises(UnsupportedTaskError, match=r"needs BuildKit.*buildx"):
                await backend.build(task)
            return
        sandbox = await backend.start(await backend.build(task))
        try:
            assert (await sandbox.exec(["tool"])).text == "made\n"
        finally:
            await sandbox.stop()

    async def test_an_image_that_cannot_be_pulled_is_not_the_tasks_fault(
        self, engine: DockerClient, write_task: Callable[..., Task]
    ) -> None:
        backend = DockerBackend()
        try:
            with pytest.raises(SandboxError, match=r"--base 127\.0\.0\.1:9/none:1=DIR") as caught:
                await backend.build(write_task({"Dockerfile": "FROM 127.0.0.1:9/none:1\n"}))
            assert not isinstance(caught.value, ImageError)
        finally:
            await backend.close()

    async def test_a_saved_image_is_loaded_as_what_it_is(
        self, backend: DockerBackend, write_task: Callable[..., Task], engine: DockerClient, tmp_path: Path
    ) -> None:
        built = await backend.build(write_task({"Dockerfile": "FROM x\nRUN echo saved > /told\nENV A=1\n"}))
        with (tmp_path / "saved.tar").open("wb") as file:
            file.writelines(engine.api.get_image(built.reference))
        of_saved = DockerBackend(base=(f"saved={tmp_path / 'saved.tar'}",))
        try:
            image = await of_saved.build(write_task({"Dockerfile": "FROM saved\n"}))
            assert image.env["A"] == "1"
            sandbox = await of_saved.start(image)
            assert (await sandbox.exec("cat /told")).text == "saved\n"
        finally:
            await of_saved.close()

    async def test_this_machines_own_usr_is_no_base_here(
        self, engine: DockerClient, write_task: Callable[..., Task]
    ) -> None:
        backend = DockerBackend(base=("*=host",))
        try:
            with pytest.raises(UnsupportedTaskError, match="docker back end cannot build on this machine's own /usr"):
                await backend.build(write_task({"Dockerfile": "FROM x\n"}))
        finally:
            await backend.close()

    async def test_an_archive_is_a_base_and_a_ready_image_too(
        self, engine: DockerClient, debian: Path, write_task: Callable[..., Task], tmp_path: Path
    ) -> None:
        small = tmp_path / "small.tar"
        names = ["bin", "lib", "lib64", "usr/bin/bash", "usr/bin/dash", "usr/bin/sh", "usr/bin/cat", "usr/lib64"]
        libraries = [
            str(path.relative_to(debian))
            for name in ("libc.so.6", "libtinfo.so.6*", "ld-linux-x86-64.so.2")
            for path in (debian / "usr/lib/x86_64-linux-gnu").glob(name)
        ]
        subprocess.run(  # noqa: ASYNC221 - nothing else goes on meanwhile
            ["tar", "-C", str(debian), "-cf", str(small), *names, *libraries], check=True
        )
        backend = DockerBackend(base=(f"ready:1={small}",))
        try:
            task = write_task({"other": ""}, '[environment]\ndocker_image = "ready:1"\nworkdir = "/made"\n')
            image = await backend.build(task)
            assert image.base.startswith("tar:")
            sandbox = await backend.start(image)
            assert (await sandbox.exec("pwd")).text == "/made\n"
            await sandbox.write_file("/made/x", b"y")
            assert (await sandbox.exec("cat x")).text == "y"
            await backend.close()
            engine.images.remove(image.reference)
        finally:
            await backend.close()
