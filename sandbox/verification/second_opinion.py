"""Runs the verifier a second time without what is suspicious, and takes the lower reward."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from sandbox.errors import TransferError
from sandbox.siblings import fresh
from sandbox.verification.isolate import Run
from sandbox.verification.library_rules import CACHE
from sandbox.verification.reward import Reward

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.protocol import Sandbox
    from sandbox.verification.leftovers import Leftover, Scene

REPLACED: Final = "replaced-tool"
MAX_REVERTED: Final = 1 << 30
_SHOWN: Final = 5


async def revert(copy: Sandbox, leftovers: Sequence[Leftover], scene: Scene) -> None:
    """Puts back in `copy` what the image has in place of each leftover; what the agent added is removed.

    Raises:
        TransferError: There is too much to put back.
    """
    for leftover in leftovers:
        await copy.remove(leftover.path)
    had = [leftover.path for leftover in leftovers if not scene.is_added(leftover.path)]
    if had:
        with tempfile.TemporaryDirectory(prefix="envolve-revert-") as folder:
            archive = Path(folder) / "image.tar"
            async with fresh(copy) as clean:
                await clean.pack(had, archive, max_bytes=MAX_REVERTED)
            await copy.unpack(archive)
    if any(leftover.path == CACHE for leftover in leftovers):
        # The image's cache does not know the libraries that an honest agent has installed; one made by the image's own
        # program out of the image's own settings does. Where there is no such program, the image's cache stays.
        await copy.exec(["ldconfig"], user=0, clean_env=True, timeout=60)
    await copy.kill_processes()


def lower(as_is: Run, without: Run, suspicious: Sequence[Leftover]) -> Run:
    """The run that counts, of one with the suspicious leftovers and one without them.

    The lower reward, key by key. A reward that is had only without them counts; one that is had only with them is none.
    """
    if without.reward is None:
        if as_is.reward is None:
            return as_is
        given = ", ".join(f"{key} {value:g}" for key, value in sorted(as_is.reward.rewards.items())) or "nothing"
        said = (
            f"with what the agent left behind the verifier gave {given}; with the image's own in place of "
            f"{shown(suspicious)} it gave no reward ({without.error_code}): {without.error}"
        )
        return replace(as_is, reward=None, error_code=REPLACED, error=said)
    if as_is.reward is None:
        return without
    ours, theirs = as_is.reward.rewards, without.reward.rewards
    if ours == theirs:
        return as_is
    keys = dict.fromkeys((*ours, *theirs))
    least = {key: min(ours.get(key, 0.0), theirs.get(key, 0.0)) for key in keys}
    return replace(without, reward=Reward(MappingProxyType(least)))


def settled(without: Run) -> bool:
    """Whether the run without the leftovers has already decided: nothing lower than its 0 can come of the other."""
    return (
        without.score is not None
        and without.score <= 0
        and without.reward is not None
        and len(without.reward.rewards) == 1
    )


def not_put_back(error: TransferError, suspicious: Sequence[Leftover]) -> Run:
    """The run there could not be, since the image's files could not be put back."""
    return Run(None, REPLACED, f"what the agent changed ({shown(suspicious)}) cannot be put back: {error}")


def shown(suspicious: Sequence[Leftover]) -> str:
    """The first few of them, for a message."""
    paths = [f"{leftover.path} ({leftover.kind})" for leftover in suspicious[:_SHOWN]]
    more = f" and {len(suspicious) - _SHOWN} more" if len(suspicious) > _SHOWN else ""
    return ", ".join(paths) + more
