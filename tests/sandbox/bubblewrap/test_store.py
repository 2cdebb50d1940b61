"""The image store: shared by processes, collected without taking anything from the living."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox.bubblewrap.backend import BubblewrapBackend
from sandbox.bubblewrap.collecting import detach, kept, too_much, unused
from sandbox.bubblewrap.roots import Root
from sandbox.bubblewrap.store import ImageStore, StoredImage
from sandbox.errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task

DAY = 86_400.0
FROM = "FROM python:3.12-bookworm\n"


@pytest.fixture
def store(tmp_path: Path) -> ImageStore:
    return ImageStore(tmp_path / "store", "run")


def add(store: ImageStore, key: str, *, on: str = "", megabytes: int = 1, days: float = 0) -> None:
    """An image of its own, or a layer on another, last used some days ago."""
    folder = store.layer(key) if on else store.flat(key) / "root"
    folder.mkdir(parents=True)
    (folder / "content").write_bytes(os.urandom(megabytes << 20))
    base = store.flat(on) / "root" if on else folder
    store.save(key, StoredImage(Root((("/", (base,)),), (folder,) if on else ()), f"dir:{key}"))
    store.lease(key).touch()
    moment = time.time() - days * DAY
    os.utime(store.lease(key), (moment, moment))


def test_what_nobody_used_is_found_and_what_stands_on_it_goes_first(store: ImageStore) -> None:
    add(store, "old-base", days=9)
    add(store, "old-child", on="old-base", days=8)
    add(store, "needed-base", days=9)
    add(store, "new-child", on="needed-base")
    found = unused(store, 7 * DAY)
    assert [stale.name for stale in found] == ["old-child", "old-base"]
    assert "unused for 8.0 days" in found[0].note
    assert "1 MB" in found[0].note
    taken = detach(store, [stale.name for stale in found])
    assert len(taken) == 2
    assert [entry.key for entry in kept(store)] == ["needed-base", "new-child"]
    assert store.load("old-child") is None
    assert store.load("new-child") is not None


def test_what_is_in_use_is_not_taken(store: ImageStore, tmp_path: Path) -> None:
    add(store, "base", days=9)
    add(store, "child", on="base", days=9)
    other = ImageStore(tmp_path / "store", "other")
    assert other.use("child") is not None
    assert unused(store, 0.0) == ()
    assert detach(store, ["child", "base"]) == []
    other.close()
    assert unused(store, DAY) == ()  # used just now
    assert len(detach(store, ["child", "base"])) == 2


def test_a_killed_process_gives_its_leases_back(store: ImageStore) -> None:
    add(store, "image", days=9)
    code = (
        "import sys; from pathlib import Path; from sandbox.bubblewrap.store import ImageStore\n"
        "s = ImageStore(Path(sys.argv[1]), 'x'); s.use('image'); print('ready', flush=True); sys.stdin.read()"
    )
    arguments = [sys.executable, "-c", code, str(store.folder)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert detach(store, ["image"]) == []
        process.kill()
    assert len(detach(store, ["image"])) == 1


def test_size_is_bounded_by_what_was_used_longest_ago(store: ImageStore) -> None:
    for number in range(4):
        add(store, f"image-{number}", megabytes=2, days=number + 1)
    add(store, "imported", megabytes=2, days=99)
    store.name("debian:12", "imported")
    assert too_much(store, 100 << 20) == ()
    assert sorted(stale.name for stale in too_much(store, 7 << 20)) == ["image-2", "image-3"]
    assert "imported" not in [stale.name for stale in too_much(store, 0)]
    (named,) = (stale for stale in unused(store, 50 * DAY) if stale.name == "imported")
    assert "imported as debian:12" in named.note
    detach(store, ["imported"])
    assert store.named("debian:12") is None


def test_a_store_may_be_moved(store: ImageStore, tmp_path: Path) -> None:
    add(store, "base")
    add(store, "child", on="base")
    store.folder.rename(tmp_path / "elsewhere")
    moved = ImageStore(tmp_path / "elsewhere", "run").load("child")
    assert moved is not None
    assert moved.root.layers == (tmp_path / "elsewhere/layers/child",)


def test_folders_have_the_permissions_of_the_store(tmp_path: Path) -> None:
    assert (ImageStore(tmp_path / "own", "run").folder / "bases").stat().st_mode & 0o777 == 0o700
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o770)
    assert (ImageStore(tmp_path / "shared", "run").folder / "bases").stat().st_mode & 0o777 == 0o770


BUILD = """
import asyncio, sys
from pathlib import Path
from sandbox.bubblewrap.backend import BubblewrapBackend
from sandbox.task import Task
async def main():
    backend = BubblewrapBackend(state=Path(sys.argv[1]))
    image = await backend.build(Task.read(Path(sys.argv[2])))
    sandbox = await backend.start(image)
    print(image.reference, (await sandbox.exec("cat /when")).text.strip())
    await backend.close()
asyncio.run(main())
"""


@pytest.mark.usefixtures("sandboxes")
def test_two_processes_build_the_same_image_once(write_task: Callable[..., Task], tmp_path: Path) -> None:
    dockerfile = f"{FROM}RUN sleep 0.2; head -c 16 /dev/urandom | od -An -tx1 | tr -d ' ' > /when\n"
    task = write_task({"Dockerfile": dockerfile})
    arguments = [sys.executable, "-c", BUILD, str(tmp_path / "state"), str(task.root)]
    processes = [subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = {process.communicate(timeout=120)[0] for process in processes}
    assert [process.returncode for process in processes] == [0, 0]
    assert len(said) == 1
    assert len(said.pop().split()) == 2
    assert list((tmp_path / "state/store/aside").iterdir()) == []


async def test_a_back_end_sweeps_images_and_never_those_it_runs(
    sandboxes: Sandboxes, write_task: Callable[..., Task], tmp_path: Path
) -> None:
    task = write_task({"Dockerfile": f"{FROM}COPY f /f\n", "f": "x"})
    one, two = BubblewrapBackend(state=tmp_path / "state"), BubblewrapBackend(state=tmp_path / "state")
    try:
        image = await one.build(task)
        sandbox = await one.start(image)
        assert await two.stale(images_unused_for=0) == ()
        await two.sweep(images_unused_for=0)
        assert (await sandbox.exec("cat /f")).text == "x"
        await one.close()
        assert image.reference in [stale.name for stale in await two.stale(images_unused_for=0)]
        assert await two.stale(images_unused_for=3600) == ()
        await two.sweep(images_unused_for=0)
        assert await two.stale(images_unused_for=0) == ()
        with pytest.raises(SandboxError, match="not in the image store"):
            await two.start(image)
        assert (await (await two.start(await two.build(task))).exec("cat /f")).text == "x"
    finally:
        await one.close()
        await two.close()


async def test_a_store_that_others_share(
    sandboxes: Sandboxes, write_task: Callable[..., Task], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENVOLVE_STORE", str(tmp_path / "shared"))
    task = write_task({"Dockerfile": f"{FROM}RUN echo $RANDOM$RANDOM > /when\n"})
    said = set()
    for state in ("one", "two"):
        backend = BubblewrapBackend(state=tmp_path / state)
        try:
            said.add((await (await backend.start(await backend.build(task))).exec("cat /when")).text)
        finally:
            await backend.close()
    assert len(said) == 1
    assert json.loads(next((tmp_path / "shared/images").iterdir()).read_text())["base"] == "host"
