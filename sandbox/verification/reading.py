"""Reads what a verifier wrote, from outside: the reward and the test units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sandbox.errors import TransferError, UnsupportedTaskError
from sandbox.verification.ctrf import parse_ctrf
from sandbox.verification.folders import CTRF, REWARD_JSON, REWARD_TEXT, VERIFIER_LOGS, WRITTEN, was_written
from sandbox.verification.reward import RewardFileError, parse_reward

if TYPE_CHECKING:
    from collections.abc import Collection

    from sandbox.protocol import Sandbox
    from sandbox.verification.ctrf import Unit
    from sandbox.verification.reward import Reward

MAX_REWARD_BYTES: Final = 64 * 1024
MAX_CTRF_BYTES: Final = 4 * 1024 * 1024


async def written(sandbox: Sandbox) -> Collection[str]:
    """The names among `WRITTEN` at which something may lie; all of them where the back end cannot tell."""
    try:
        found = {change.path: change for change in await sandbox.changed_files((VERIFIER_LOGS,))}
    except UnsupportedTaskError:
        return WRITTEN
    folder = found.get(VERIFIER_LOGS)
    if folder is None or folder.kind != "added":  # the image has one: a file of the same bytes may be no change
        return WRITTEN
    return tuple(name for name in WRITTEN if was_written(f"{VERIFIER_LOGS}/{name}", found))


async def read_reward(sandbox: Sandbox, names: Collection[str]) -> Reward:
    """The reward, by Harbor's rules.

    Args:
        sandbox: Where the verifier ran, its processes dead.
        names: What `written` gave.

    Raises:
        RewardError: There is none; the class and its `code` say why.
    """
    json_text = await _read(sandbox, REWARD_JSON) if REWARD_JSON in names else None
    text = await _read(sandbox, REWARD_TEXT) if json_text is None and REWARD_TEXT in names else None
    return parse_reward(text, json_text)


async def read_units(sandbox: Sandbox, names: Collection[str]) -> tuple[Unit, ...]:
    """The test units, none where there is no report that can be read; `names` is what `written` gave."""
    if CTRF not in names:
        return ()
    try:
        return parse_ctrf(await sandbox.read_file(f"{VERIFIER_LOGS}/{CTRF}", max_bytes=MAX_CTRF_BYTES))
    except (FileNotFoundError, IsADirectoryError, TransferError):
        return ()


async def _read(sandbox: Sandbox, name: str) -> bytes | None:
    try:
        return await sandbox.read_file(f"{VERIFIER_LOGS}/{name}", max_bytes=MAX_REWARD_BYTES)
    except FileNotFoundError:
        return None
    except IsADirectoryError as error:
        raise RewardFileError(f"{name} is a folder") from error
    except TransferError as error:
        raise RewardFileError(f"{name} is larger than {MAX_REWARD_BYTES} bytes, a link, or no plain file") from error
