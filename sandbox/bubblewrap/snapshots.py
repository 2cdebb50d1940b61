"""The snapshots of one back end: frozen layers, and who still stands on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from sandbox.bubblewrap.roots import Root


@dataclass(frozen=True, slots=True)
class Stand:
    """What a sandbox is started from.

    Attributes:
        root: What it is stacked from.
        image_layers: How many layers of it, from the lowest, are the image's; one above them is a snapshot's.
        snapshot: The snapshot's reference; "" for an image.
    """

    root: Root
    image_layers: int
    snapshot: str = ""

    @property
    def frozen(self) -> Path | None:
        """The snapshot's layer."""
        return self.root.layers[self.image_layers] if self.snapshot else None


class Snapshots:
    """Keeps each snapshot's files as long as somebody may start from it, or lives on it.

    Args:
        remove: Removes folders, at leisure.
    """

    def __init__(self, remove: Callable[[Sequence[Path]], None]) -> None:
        self._remove = remove
        self._known: dict[str, Stand] = {}
        self._users: dict[str, int] = {}
        self._discarded: dict[str, Stand] = {}

    def add(self, stand: Stand) -> None:
        """Makes a frozen layer known."""
        self._known[stand.snapshot] = stand

    def take(self, reference: str) -> Stand:
        """A snapshot for one more sandbox, which gives it back when it ends.

        Raises:
            SandboxError: It is not known, or has been discarded.
        """
        stand = self._known.get(reference)
        if stand is None:
            raise SandboxError(f"snapshot {reference}: unknown here; it has been discarded, or its back end closed")
        self._users[reference] = self._users.get(reference, 0) + 1
        return stand

    def give_back(self, reference: str) -> None:
        """One sandbox less on a snapshot; "" for a sandbox that stood on none."""
        if not reference:
            return
        self._users[reference] -= 1
        if not self._users[reference]:
            del self._users[reference]
            self._free(reference)

    def discard(self, reference: str) -> None:
        """Forgets a snapshot; its files go when no sandbox stands on it."""
        stand = self._known.pop(reference, None)
        if stand is not None:
            self._discarded[reference] = stand
            self._free(reference)

    def clear(self) -> None:
        """Forgets all; their files lie in the run directory, and go with it."""
        self._known.clear()
        self._users.clear()
        self._discarded.clear()

    def _free(self, reference: str) -> None:
        stand = None if reference in self._users else self._discarded.pop(reference, None)
        if stand is not None and stand.frozen is not None:
            self._remove([stand.frozen])
