"""The verifier's folders in a sandbox, `/logs`, `/logs/verifier` and `/tests`: what stands in them, clearing them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sandbox.errors import TransferError
from sandbox.verification.leftovers import Leftover, within
from sandbox.verification.tests_folder import SCRIPT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.protocol import Change, Sandbox
    from sandbox.verification.leftovers import Found

TESTS: Final = "/tests"
LOGS: Final = "/logs"
VERIFIER_LOGS: Final = "/logs/verifier"
REWARD_TEXT, REWARD_JSON, CTRF = "reward.txt", "reward.json", "ctrf.json"
WRITTEN: Final = (REWARD_TEXT, REWARD_JSON, CTRF)
PYTEST_PLANTED: Final = ("conftest.py", "pytest.ini")


async def clear_verifier_folders(sandbox: Sandbox, *, real_logs: bool = False) -> None:
    """Makes `/logs` a real folder and `/logs/verifier`, `/tests` real and empty ones.

    What else is in a real `/logs` (artifacts the tests may read) stays.

    Args:
        sandbox: Where.
        real_logs: Whether `/logs` is known to be a real folder, so that nobody has to look.
    """
    await clear_verifier_logs(sandbox, real_logs=real_logs)
    await sandbox.remake_directory(TESTS)


async def clear_verifier_logs(sandbox: Sandbox, *, real_logs: bool = False) -> None:
    """Makes `/logs` a real folder and `/logs/verifier` a real and empty one; see `clear_verifier_folders`."""
    if not real_logs and await lies_at(sandbox, LOGS) != "folder":
        await sandbox.remake_directory(LOGS)
    # Open to all: the verifier may run as a user of its own.
    await sandbox.remake_directory(VERIFIER_LOGS, mode=0o777)


async def planted(sandbox: Sandbox, changes: Mapping[str, Change] | None) -> tuple[Leftover, ...]:
    """What an agent has put into the verifier's folders: links or files in their place, a reward, tests.

    Args:
        sandbox: Where.
        changes: What differs from the image in these folders, by path; `None` where nobody can tell, and every place
            is looked at.
    """
    found: list[Leftover] = []
    for path, kind in ((LOGS, "logs-folder"), (VERIFIER_LOGS, "logs-folder"), (TESTS, "tests-folder")):
        if _may_be_no_folder(path, changes) and await lies_at(sandbox, path) in {"file", "other"}:
            found.append(Leftover(kind, path, "a link or a file"))
    kinds = {leftover.kind for leftover in found}
    held = [] if "logs-folder" in kinds else [("reward-file", VERIFIER_LOGS, name) for name in WRITTEN]
    held += [] if "tests-folder" in kinds else [("tests-folder", TESTS, name) for name in (SCRIPT, *PYTEST_PLANTED)]
    for kind, folder, name in held:
        path = f"{folder}/{name}"
        if await lies_at(sandbox, path) != "missing" if changes is None else was_written(path, changes):
            found.append(Leftover(kind, path))
    return tuple(found)


def is_real_folder(path: str, changes: Mapping[str, Change]) -> bool:
    """Whether the changes alone show that a path is a real folder: something new lies below it."""
    return any(other != path and change.kind != "removed" and within(other, path) for other, change in changes.items())


def was_written(path: str, changes: Mapping[str, Change]) -> bool:
    """Whether something lies at a path that the image has not there."""
    change = changes.get(path)
    return change is not None and change.kind != "removed"


async def lies_at(sandbox: Sandbox, path: str) -> Found:
    """What lies at a path, as seen from outside."""
    try:
        await sandbox.read_file(path, max_bytes=1)
    except IsADirectoryError:
        return "folder"
    except FileNotFoundError:
        return "missing"
    except TransferError:
        return "other"
    return "file"


def _may_be_no_folder(path: str, changes: Mapping[str, Change] | None) -> bool:
    return changes is None or (was_written(path, changes) and not is_real_folder(path, changes))
