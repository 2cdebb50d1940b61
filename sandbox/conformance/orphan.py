"""A process that starts sandboxes and waits to be killed: `python -m sandbox.conformance.orphan SUBJECT MARK COUNT`.

It prints one line, the ids of its sandboxes, when in each a process runs whose arguments hold MARK.
"""

from __future__ import annotations

import asyncio
import json
import sys

from sandbox.conformance.stage import TASK_FOLDER, narrowest_network
from sandbox.conformance.subject import Subject
from sandbox.task import Task


async def wait_to_be_killed(subject: Subject, mark: str, count: int) -> None:
    """Starts the sandboxes, says so, and sleeps."""
    backend = subject.make()
    capabilities = await backend.capabilities()
    image = await backend.build(Task.read(TASK_FOLDER))
    names = []
    for _ in range(count):
        sandbox = await backend.start(image, network=narrowest_network(capabilities))
        script = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3600)', "
        await sandbox.exec(["python3", "-c", f"{script}sys.argv[1]], stdout=-3, stderr=-3)", mark], cwd="/")
        names.append(sandbox.id)
    sys.stdout.write(json.dumps(names) + "\n")
    sys.stdout.flush()
    await asyncio.sleep(3600)


if __name__ == "__main__":
    asyncio.run(wait_to_be_killed(Subject.parsed(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
