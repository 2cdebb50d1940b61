"""What differs from the image, told from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from sandbox.protocol import Change
from tests.sandbox.bubblewrap.conftest import LIMITS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from sandbox.protocol import Sandbox
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task


@pytest_asyncio.fixture(loop_scope="session")
async def seeded(sandboxes: Sandboxes, write_task: Callable[..., Task]) -> AsyncIterator[Sandbox]:
    """A sandbox of an image with files of its own: /app/a, /app/b, /app/d/x, /app/d/y."""
    files = dict.fromkeys(("a", "b", "d/x", "d/y"), "seed")
    task = write_task(
        {"Dockerfile": "FROM python:3.12-bookworm\nWORKDIR /app\nCOPY seed /app/\n"}
        | {f"seed/{name}": text for name, text in files.items()}
    )
    async with sandboxes.running(await sandboxes.build(task), limits=LIMITS) as running:
        yield running


def told(*lines: str) -> tuple[Change, ...]:
    """Changes from lines such as `added /app/x`."""
    kinds = {"added": "added", "changed": "changed", "removed": "removed"}
    return tuple(Change(path, kinds[kind]) for kind, path in (line.split(" ", 1) for line in lines))  # type: ignore[arg-type]


async def test_a_fresh_sandbox_has_no_changes(seeded: Sandbox) -> None:
    assert await seeded.changed_files() == ()
    await seeded.exec("cat /app/a; ls -R / >/dev/null 2>&1")
    assert await seeded.changed_files(["/app", "/usr"]) == ()


async def test_added_changed_and_removed_are_told_apart(seeded: Sandbox) -> None:
    await seeded.exec("echo new >a; rm b; mkdir -p e/f; touch e/f/g '/app/ü b'; ln -s /etc l; chmod 700 d")
    assert await seeded.changed_files(["/app"]) == told(
        "changed /app/a",
        "removed /app/b",
        "changed /app/d",
        "added /app/e",
        "added /app/e/f",
        "added /app/e/f/g",
        "added /app/l",
        "added /app/ü b",
    )


async def test_a_folder_is_no_change_because_of_what_is_in_it(seeded: Sandbox) -> None:
    await seeded.exec("touch d/new")
    assert await seeded.changed_files(["/app"]) == told("added /app/d/new")


async def test_what_came_and_went_is_no_change(seeded: Sandbox) -> None:
    await seeded.exec("touch d/tmp && rm d/tmp; mkdir t && rm -r t")
    assert await seeded.changed_files(["/app"]) == ()


async def test_a_folder_made_anew_hides_what_was_in_it(seeded: Sandbox) -> None:
    await seeded.exec("rm -r d && mkdir d && echo again >d/y && echo z >d/z")
    assert await seeded.changed_files(["/app"]) == told("removed /app/d/x", "changed /app/d/y", "added /app/d/z")


async def test_a_file_in_the_place_of_a_folder_and_the_other_way_round(seeded: Sandbox) -> None:
    await seeded.exec("rm -r d && touch d && rm a && mkdir a && touch a/below")
    assert await seeded.changed_files(["/app"]) == told("changed /app/a", "added /app/a/below", "changed /app/d")


async def test_changes_below_another_mount_and_of_single_paths(seeded: Sandbox) -> None:
    await seeded.exec("touch /usr/local/bin/tool /etc/x /app/y; rm /usr/bin/env")
    everything = await seeded.changed_files()
    assert everything == told("added /app/y", "added /etc/x", "removed /usr/bin/env", "added /usr/local/bin/tool")
    assert await seeded.changed_files(["/usr/local/bin/tool", "/nowhere"]) == told("added /usr/local/bin/tool")
    assert await seeded.changed_files(["/et"]) == ()
    assert await seeded.changed_files(["/usr/local/", "//etc/./x"]) == told("added /etc/x", "added /usr/local/bin/tool")


async def test_a_fork_counts_from_the_image_not_from_its_snapshot(sandboxes: Sandboxes, seeded: Sandbox) -> None:
    await seeded.exec("echo one >a; rm -r d; touch early; mkdir n; touch n/m")
    snapshot = await seeded.snapshot()
    async with sandboxes.running(snapshot) as fork:
        before = told("changed /app/a", "removed /app/d", "added /app/early", "added /app/n", "added /app/n/m")
        assert await fork.changed_files(["/app"]) == before
        await fork.exec("rm early n/m; touch late; mkdir d; touch d/x")
        assert await fork.changed_files(["/app"]) == told(
            "changed /app/a", "changed /app/d/x", "removed /app/d/y", "added /app/late", "added /app/n"
        )
    await sandboxes.backend.discard(snapshot)


async def test_a_link_in_the_way_leads_nowhere(seeded: Sandbox) -> None:
    await seeded.exec("rm -r d; ln -s /etc d; touch /etc/new")
    assert await seeded.changed_files(["/app/d"]) == told("changed /app/d")


async def test_a_tree_deeper_than_pythons_stack_is_told_and_removed(seeded: Sandbox) -> None:
    script = "import os\nfor _ in range(1500): os.mkdir('d'); os.chdir('d')\n"
    await seeded.exec(["python3", "-c", script], cwd="/deep")
    changes = await seeded.changed_files(["/deep"])
    assert len(changes) == 1501
    await seeded.remove("/deep")
    assert await seeded.changed_files(["/deep"]) == ()


@pytest.mark.parametrize("count", [3000])
async def test_many_changes_come_back_whole(seeded: Sandbox, count: int) -> None:
    await seeded.exec(["python3", "-c", f"for n in range({count}): open(f'/app/{{n:0100}}', 'w')"])
    changes = await seeded.changed_files(["/app"])
    assert len(changes) == count
    assert [change.path for change in changes] == sorted(change.path for change in changes)
