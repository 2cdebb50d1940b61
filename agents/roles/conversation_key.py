"""Where the calls of a conversation are journalled: under all that it starts from, so that no other one finds them."""

from __future__ import annotations

import hashlib


def conversation_key(role: str, *starts_from: str) -> str:
    """The prefix of the journal keys of one conversation.

    Args:
        role: Whose it is.
        starts_from: Model, seed, system prompt, assignment: another value of any makes another conversation.
    """
    digest = hashlib.sha256()
    for part in starts_from:
        encoded = part.encode("utf-8", "surrogateescape")
        digest.update(f"{len(encoded)} ".encode() + encoded)
    return f"{role}/{digest.hexdigest()[:32]}"
