"""Where all randomness of a run comes from: what a decision is about, never the order of arrival."""

from __future__ import annotations

import hashlib
import random


def derive_seed(*parts: str | int) -> int:
    """A number in [0, 2**31) that depends on every part and on nothing else."""
    digest = hashlib.sha256("\x1f".join(str(part) for part in parts).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def generator(*parts: str | int) -> random.Random:
    """A generator seeded by `derive_seed`."""
    return random.Random(derive_seed(*parts))  # noqa: S311 - reproducibility is the point
