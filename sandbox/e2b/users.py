"""Who a command runs as: the service takes names only, so numbers are looked up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox.e2b import files
from sandbox.errors import TransferError, UnsupportedTaskError

if TYPE_CHECKING:
    from sandbox.e2b.wire import Wire

ROOT_NAMES = frozenset({"", "root", "0", "0:0", "root:root"})
_COLUMNS = 7


async def user_name(wire: Wire, user: str) -> str:
    """The name of a user given by name or number; "" is root, never the service's own default.

    Raises:
        UnsupportedTaskError: The number has no name here, or a group was given.
    """
    if user in ROOT_NAMES:
        return "root"
    if ":" in user:
        raise UnsupportedTaskError(
            f"user {user!r}: the E2B service starts commands with a user's own groups only; give the name alone, or "
            "use the docker back end (--sandbox docker)"
        )
    if not user.isdecimal():
        return user
    try:
        table = (await files.read(wire, "/etc/passwd", 1 << 20)).decode("utf-8", "replace")
    except (FileNotFoundError, IsADirectoryError, TransferError):
        table = ""
    for line in table.splitlines():
        columns = line.split(":")
        if len(columns) == _COLUMNS and columns[2] == user:
            return columns[0]
    raise UnsupportedTaskError(
        f"user {user}: no user has this number in the sandbox, and the E2B service takes names only; add one to the "
        "template, or use the docker back end (--sandbox docker)"
    )
