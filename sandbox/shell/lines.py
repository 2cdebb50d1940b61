"""A shell made of single commands, for back ends without terminals: folder and variables last from line to line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.protocol import ExecResult, Sandbox, Stream

STATE: Final = "/tmp/.envolve-shell"  # noqa: S108 - in the sandbox, which is one person's alone
_SCRIPT: Final = """\
state=$1 line=$2
[ -f "$state" ] && . "$state"
eval "$line"
status=$?
{ export -p; printf 'cd -- %q\\n' "$PWD"; } > "$state"
exit "$status"
"""


class LineShell:
    """Runs one line after another in a sandbox.

    Args:
        sandbox: Where.
        user: Who the lines run as; the image's user when left out.
        env: Variables on top of the image's.
        cwd: Where the first line starts; the image's folder when left out.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        user: str | int | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._user = user
        self._env = dict(env or {})
        self._cwd = cwd
        self._state = f"{STATE}-{user if user is not None else 'default'}"

    async def run(self, line: str) -> ExecResult:
        """Runs a line; its output goes to this process' own as it comes."""
        return await self._sandbox.exec(
            ["bash", "-c", _SCRIPT, "envolve", self._state, line],
            cwd=self._cwd,
            env=self._env,
            user=self._user,
            on_output=_show,
        )


def _show(stream: Stream, data: bytes) -> None:
    out = sys.stdout if stream == "stdout" else sys.stderr
    out.buffer.write(data)
    out.buffer.flush()
