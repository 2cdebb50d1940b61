"""A person at a terminal in a sandbox: what a back end may offer beside `Sandbox`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sandbox.protocol import Sandbox


@runtime_checkable
class Interactive(Protocol):
    """A sandbox that can run a command at a terminal; ask `as_interactive` before you rely on it."""

    async def interact(
        self,
        command: str | Sequence[str],
        *,
        terminal_fd: int,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | int | None = None,
    ) -> int:
        """Runs a command at a terminal to its end.

        The terminal is the command's controlling one: Ctrl-C, job control and window size work. It is not limited in
        time; a cancelled caller kills it with all it started.

        Args:
            command: A shell command or an argument vector; see `Sandbox.exec`.
            terminal_fd: The terminal's side of a pseudo-terminal (`pty.openpty()[1]`); stays the caller's.
            cwd: Working directory; the image's when left out.
            env: Variables on top of the image's.
            user: User name or number; the image's when left out.

        Returns:
            The exit status; 128 + n when killed by signal n.

        Raises:
            SandboxLostError: The sandbox is gone.
            UnsupportedTaskError: The user cannot be had on this back end.
        """
        ...


def as_interactive(sandbox: Sandbox) -> Interactive | None:
    """The sandbox as one with terminals, where its back end has them."""
    if isinstance(sandbox, Interactive):
        return sandbox
    if sandbox.backend.name == "docker":
        from sandbox.docker.interacting import DockerTerminal
        from sandbox.docker.sandbox import DockerSandbox

        return DockerTerminal(sandbox) if isinstance(sandbox, DockerSandbox) else None
    return None
