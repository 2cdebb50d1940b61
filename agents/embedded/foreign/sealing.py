"""Sealed files: an input whose content only who has a figure can read."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from typing import Final

UNSEAL: Final = "unseal.py"
HEAD: Final = "sealed file"
ROUNDS: Final = 20_000
BLOCK: Final = 32
LINE: Final = 76


def program(name: str) -> bytes:
    """A program that goes into tasks."""
    return resources.files("agents.embedded.foreign").joinpath("programs", name).read_bytes()


def sealed(content: bytes, key: str, salt: str) -> bytes:
    """The sealed file that `programs/unseal.py` opens with `key`."""
    master = hashlib.pbkdf2_hmac("sha256", key.encode(), salt.encode(), ROUNDS)
    blocks = (hashlib.sha256(master + n.to_bytes(8, "big")).digest() for n in range(len(content) // BLOCK + 1))
    body = bytes(a ^ b for a, b in zip(content, b"".join(blocks), strict=False))
    text = base64.b64encode(body).decode("ascii")
    lines = [text[i : i + LINE] for i in range(0, len(text), LINE)]
    return "\n".join([HEAD, salt, hashlib.sha256(content).hexdigest(), *lines, ""]).encode("ascii")
