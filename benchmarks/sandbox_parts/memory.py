"""Memory of idle sandboxes: the proportional set size of every process that they bring."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psutil

from sandbox.protocol import Limits, Sandbox, SandboxBackend
from sandbox_parts.subjects import Subjects

COUNT = 20
AT_ONCE = 16
MOST_MEGABYTES = 4096
_ENGINE = frozenset({"dockerd", "containerd", "containerd-shim-runc-v2", "containerd-shim", "docker-proxy"})


async def per_idle_sandbox(subjects: Subjects) -> dict[str, float]:
    """MiB of one idle sandbox of each back end."""
    found = {}
    for name, (backend, image) in subjects.backends.items():
        engine = name == "docker"
        before = _pss(engine=engine)
        started = await _started(backend, image, COUNT)
        await asyncio.sleep(1)
        found[name] = round((_pss(engine=engine) - before) / COUNT / (1 << 20), 2)
        await asyncio.gather(*(sandbox.stop() for sandbox in started))
        print(f"memory of an idle sandbox of {name}: {found[name]} MiB")
    return found


async def alive_at_once(subjects: Subjects, count: int) -> dict[str, object]:
    """Starts so many bubblewrap sandboxes, asks each something, and adds up their memory."""
    backend, image = subjects.backends["bubblewrap"]
    before, available = _pss(), psutil.virtual_memory().available
    started = await _started(backend, image, count)
    results = await asyncio.gather(*(sandbox.exec("echo $$") for sandbox in started))
    assert all(result.ok for result in results)
    megabytes = (_pss() - before) / (1 << 20)
    of_machine = (available - psutil.virtual_memory().available) / (1 << 20)
    await asyncio.gather(*(sandbox.stop() for sandbox in started))
    print(
        f"{count} sandboxes alive at once: {megabytes:.0f} MiB of their processes, {of_machine:.0f} MiB less available "
        "on the machine, the kernel's share included"
    )
    missed = [f"{count} sandboxes take {of_machine:.0f} MiB"] if max(megabytes, of_machine) > MOST_MEGABYTES else []
    return {"count": count, "processes_mb": round(megabytes), "machine_mb": round(of_machine), "missed": missed}


async def _started(backend: SandboxBackend, image: object, count: int) -> list[Sandbox]:
    limit = asyncio.Semaphore(AT_ONCE)

    async def start() -> Sandbox:
        async with limit:
            return await backend.start(image, limits=Limits(memory_mb=64, processes=32))  # type: ignore[arg-type]

    return list(await asyncio.gather(*(start() for _ in range(count))))


def _pss(*, engine: bool = False) -> int:
    """Bytes of this process and all its descendants; with `engine`, of a Docker engine and its containers too."""
    processes = {psutil.Process(), *psutil.Process().children(recursive=True)}
    for process in psutil.process_iter(["name"]) if engine else ():
        if process.info["name"] in _ENGINE:
            processes |= {process, *_children(process)}
    return sum(_pss_of(process.pid) for process in processes)


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _pss_of(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except (OSError, ProcessLookupError):
        return 0
    return sum(int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith("Pss:"))
