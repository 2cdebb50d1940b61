"""Looks at what an agent changed in a sandbox, from outside, and names what could reach the verifier."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from sandbox.errors import TransferError, UnsupportedTaskError
from sandbox.verification.classify import classify, questions
from sandbox.verification.folders import lies_at
from sandbox.verification.leftovers import DEFAULT_PATH, Leftover, Scene
from sandbox.verification.link_rules import with_links
from sandbox.verification.tests_folder import work_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sandbox.protocol import Change, Image, Sandbox
    from sandbox.task import Task, TaskStep
    from sandbox.verification.leftovers import Found
    from sandbox.verification.tests_folder import Tests

MAX_CONTENT: Final = 64 * 1024
_AT_ONCE: Final = 16


@dataclass(frozen=True, slots=True)
class Seen:
    """What differs from the image.

    Attributes:
        changes: By path; `None` where the back end cannot tell.
        why: Why it cannot.
    """

    changes: Mapping[str, Change] | None
    why: str = ""


async def see(sandbox: Sandbox, under: Sequence[str] = ("/",)) -> Seen:
    """What differs from the image at or below some paths."""
    try:
        return Seen({change.path: change for change in await sandbox.changed_files(under)})
    except UnsupportedTaskError as error:
        return Seen(None, str(error))


async def look(
    task: Task, sandbox: Sandbox, step: TaskStep, tests: Tests, seen: Seen
) -> tuple[Scene, tuple[Leftover, ...]]:
    """The leftovers among what was seen; asks the sandbox only what the changes themselves leave open.

    A back end that cannot tell gives one leftover, `unseen`: the reward stands, and nobody takes it for a checked one.
    """
    changes = await with_links(sandbox, seen.changes or {})
    scene = Scene(
        changes=changes,
        path=path_folders(sandbox.image),
        workdir=task.config.environment.workdir or sandbox.image.workdir,
        tests=tests.text,
        task=work_text(task, step),
        installs=installs(task),
    )
    if seen.changes is None:
        return scene, (Leftover("unseen", "", f"the agent's changes could not be looked at: {seen.why}"),)
    blind = sum(change.link is None and change.kind != "removed" for change in changes.values())
    unseen = (Leftover("unseen", "", f"of {blind} changed paths it could not be told whether they are links"),)
    asked = await asyncio.to_thread(questions, scene)
    limit = asyncio.Semaphore(_AT_ONCE)

    async def content(path: str) -> bytes | None:
        async with limit:
            try:
                return await sandbox.read_file(path, max_bytes=MAX_CONTENT)
            except (FileNotFoundError, IsADirectoryError, TransferError):
                return None

    async def found(path: str) -> Found:
        async with limit:
            return await lies_at(sandbox, path)

    places = await asyncio.gather(*(found(path) for path in asked.found))
    contents = await asyncio.gather(*(content(path) for path in asked.contents))
    scene = replace(
        scene,
        found=dict(zip(asked.found, places, strict=True)),
        contents={path: text for path, text in zip(asked.contents, contents, strict=True) if text is not None},
    )
    found_ones = await asyncio.to_thread(classify, scene)
    return scene, (*found_ones, *unseen) if blind else found_ones


def path_folders(image: Image) -> tuple[str, ...]:
    """The folders of an image's PATH, each once, without those that are relative."""
    folders = (folder.rstrip("/") for folder in (image.env.get("PATH") or DEFAULT_PATH).split(":"))
    return tuple(dict.fromkeys(folder for folder in folders if folder.startswith("/")))


def installs(task: Task) -> frozenset[str]:
    """`[metadata] installs`: tools and packages whose installing is the work, or absolute paths."""
    listed = task.config.metadata.get("installs")
    return (
        frozenset(name for name in listed if isinstance(name, str)) if isinstance(listed, list | tuple) else frozenset()
    )
