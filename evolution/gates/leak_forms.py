"""All that a file holds, one text or blob at a time: itself, what is packed in it, and what is encoded in those."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evolution.gates.leak_archives import Packed, unpacked
from evolution.gates.leak_decoded import decoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def forms(path: str, content: bytes, on_cut: Callable[[str], None]) -> Iterator[tuple[str, bytes, bool]]:
    """What a file holds - itself, or what is packed in it - then what is encoded there.

    Args:
        path: What to call the file.
        content: Its bytes.
        on_cut: Told of each file that holds more than there is room for.

    Yields:
        Path, bytes, and whether they were encoded.
    """
    plain = [*unpacked(path, content, on_cut), Packed(path, content)]
    # One of which only names are known has not been opened: it is looked at as it lies.
    opened = {packed.path[:at] for packed in plain if packed.content for at in _marks(packed.path)}
    once: set[bytes] = set()
    leaves = []
    for packed in plain:
        if packed.path not in opened and packed.content not in once:
            once.add(packed.content)
            leaves.append(packed)
            yield packed.path, packed.content, False
        else:
            yield packed.path, b"", False  # its name, or its insides, are looked at
    for packed in leaves:
        for form in decoded(packed.path, packed.content, on_cut):
            yield form.path, form.content, True
            for inner in unpacked(form.path, form.content, on_cut):
                yield inner.path, inner.content, True


def _marks(path: str) -> Iterator[int]:
    """Where the names of what a path lies in end."""
    at = path.find("!")
    while at >= 0:
        yield at
        if at + 1 < len(path):
            yield at + 1
        at = path.find("!", at + 1)
