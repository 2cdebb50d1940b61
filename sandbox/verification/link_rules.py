"""Links that an agent left and that lead to what is only there while the verifier runs: the tests themselves.

An output that is a link to the expected output beside the tests would be compared with itself.
"""

from __future__ import annotations

import posixpath
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sandbox.verification.leftovers import Leftover, within

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.protocol import Change, Sandbox
    from sandbox.verification.leftovers import Scene

KIND: Final = "test-link"
GUARDED: Final = ("/tests", "/solution", "/logs/verifier", "/proc")
"""`/proc` leads everywhere (`/proc/self/root/tests`)."""
_LEAST: Final = ("/tests", "/logs/verifier")
_PATHS_AT_ONCE: Final = 500
# Its arguments are paths; prints those that are links, each with where it leads. Only bash and readlink are needed.
_SWEEP: Final = 'for path; do if [ -L "$path" ]; then printf "%s\\0%s\\0" "$path" "$(readlink -- "$path")"; fi; done'


def into_tests(change: Change, _: Scene) -> Leftover | None:
    """A link into one of the guarded folders."""
    if not change.link or change.kind == "removed" or not leads_into_tests(change.path, change.link):
        return None
    return Leftover(KIND, change.path, f"leads to {change.link}", suspicious=True)


def leads_into_tests(path: str, target: str) -> bool:
    """Whether a link at `path` may lead into a guarded folder, or to a folder around the tests.

    What stands behind a `..` is looked at as if it stood behind the root, since the folder before it may be a link.
    """
    parts = target.split("/")
    ways = [posixpath.join(posixpath.dirname(path), target)]
    ways += [f"/{'/'.join(parts[number + 1 :])}" for number, part in enumerate(parts) if part == ".."]
    for way in ways:
        place = posixpath.normpath(way)
        if any(within(place, folder) for folder in GUARDED) or any(within(folder, place) for folder in _LEAST):
            return True
    return False


async def with_links(sandbox: Sandbox, changes: Mapping[str, Change]) -> dict[str, Change]:
    """The changes with where their links lead, asked of the sandbox where its back end does not tell.

    A change whose `link` is still `None` could not be asked about: no bash, too slow, too much output.
    """
    told = dict(changes)
    unknown = [path for path, change in changes.items() if change.link is None and change.kind != "removed"]
    for start in range(0, len(unknown), _PATHS_AT_ONCE):
        batch = unknown[start : start + _PATHS_AT_ONCE]
        ran = await sandbox.exec(["bash", "-c", _SWEEP, "sweep", *batch], user=0, clean_env=True, timeout=60)
        if ran.exit_code != 0 or ran.timed_out or ran.truncated:
            continue
        words = [word.decode("utf-8", "surrogateescape") for word in ran.stdout.split(b"\0")]
        links = dict(zip(words[0::2], words[1::2], strict=False))
        told |= {path: replace(changes[path], link=links.get(path, "")) for path in batch}
    return told
