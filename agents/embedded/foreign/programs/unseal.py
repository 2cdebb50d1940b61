"""Unseals a file in place.

Usage: python3 unseal.py FILE KEY

A sealed file is text: the line `sealed file`, a salt, the SHA-256 of what it held, then that content in base64, each
byte combined by exclusive or with a stream. Block number n of the stream (from 0) is SHA-256(master + n), n as 8 bytes,
big-endian, where master is PBKDF2-HMAC-SHA256 of the key with the salt, 20000 rounds, 32 bytes.
"""

# ruff: noqa: B905, PLR2004, PTH123

from __future__ import annotations

import base64
import hashlib
import sys

HEAD = "sealed file"
ROUNDS = 20000


def combined(content: bytes, key: str, salt: str) -> bytes:
    """Seals and unseals: doing it twice gives the content again."""
    master = hashlib.pbkdf2_hmac("sha256", key.encode(), salt.encode(), ROUNDS)
    blocks = (hashlib.sha256(master + n.to_bytes(8, "big")).digest() for n in range(len(content) // 32 + 1))
    return bytes(a ^ b for a, b in zip(content, b"".join(blocks)))


def main() -> None:
    """Replaces the file by what it held; leaves it alone when the key is wrong."""
    if len(sys.argv) != 3:
        sys.exit("usage: python3 unseal.py FILE KEY")
    path, key = sys.argv[1:]
    with open(path, encoding="latin-1") as stream:
        lines = stream.read().split("\n")
    if lines[0] != HEAD:
        sys.exit(f"{path} is not sealed")
    salt, digest, *body = lines[1:]
    content = combined(base64.b64decode("".join(body)), key, salt)
    if hashlib.sha256(content).hexdigest() != digest:
        sys.exit("wrong key")
    with open(path, "wb") as stream:
        stream.write(content)


if __name__ == "__main__":
    main()
