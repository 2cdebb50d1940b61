"""A runner that will be killed: starts three sandboxes, leaves a process in each, says so, and waits.

Usage: killed_runner.py TASK SANDBOX MARK [BASE...]
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from sandbox.backends import load_backend
from sandbox.task import Task


async def main(task: str, name: str, mark: str, base: list[str]) -> None:
    backend = load_backend(name, base=base)
    image = await backend.build(Task.read(Path(task)))
    for _ in range(3):
        sandbox = await backend.start(image)
        await sandbox.exec(f"setsid sleep {mark} > /dev/null 2>&1 &")
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await sandbox.exec("sleep 600", timeout=600)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]))
