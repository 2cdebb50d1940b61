"""Start, run `true`, stop of Harbor's own Docker environment; run by Harbor's Python, not ours.

Usage: harbor_docker.py FOLDER IMAGE RUNS CONCURRENCY...
Prints one JSON object: for each concurrency the seconds of each episode and of all together, or why there are none.
"""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

from harbor.environments.docker.docker import DockerEnvironment
from harbor.models.task.config import EnvironmentConfig
from harbor.models.trial.paths import TrialPaths


async def episode(folder: Path, image: str) -> float:
    """One environment from start to stop."""
    with tempfile.TemporaryDirectory() as trial:
        paths = TrialPaths(trial_dir=Path(trial))
        paths.mkdir()
        name = f"bench-{uuid.uuid4().hex[:12]}"
        begun = time.perf_counter()
        environment = DockerEnvironment(
            environment_dir=folder / "hello-world" / "environment",
            environment_name="hello-world",
            session_id=name,
            trial_paths=paths,
            task_env_config=EnvironmentConfig(docker_image=image),
        )
        await environment.start(force_build=False)
        try:
            done = await environment.exec("true")
            assert done.return_code == 0
        finally:
            await environment.stop(delete=False)
        return time.perf_counter() - begun


async def main(folder: Path, image: str, runs: int, concurrencies: list[int]) -> None:
    """Measures each concurrency in turn."""
    found = {}
    await episode(folder, image)
    for concurrency in concurrencies:
        # Its stop alone waits ten seconds for a process that ignores the signal: few are enough.
        count = max(concurrency, min(runs, 4))
        limit = asyncio.Semaphore(concurrency)

        async def bounded(limit: asyncio.Semaphore = limit) -> float:
            async with limit:
                return await episode(folder, image)

        begun = time.perf_counter()
        episodes = await asyncio.gather(*(bounded() for _ in range(count)), return_exceptions=True)
        wall = time.perf_counter() - begun
        failed = [str(outcome) for outcome in episodes if isinstance(outcome, BaseException)]
        found[str(concurrency)] = _reason(failed) if failed else [episodes, wall]
        _remove_leftovers()
    print(json.dumps(found))


def _reason(failed: list[str]) -> str:
    pool = "could not find an available, non-overlapping IPv4 address pool"
    exhausted = sum(pool in message for message in failed)
    if exhausted:
        return f"{exhausted} episodes found no address pool left: each makes a network of its own"
    return f"{len(failed)} episodes failed: {failed[0][-300:]}"


def _remove_leftovers() -> None:
    """What episodes that failed have left; the names begin as `episode` makes them."""
    for listing, removal in ((["ps", "-a"], ["rm", "-f"]), (["network", "ls"], ["network", "rm"])):
        shown = ["--format", "{{.ID}}", "--filter", "name=^bench-"]
        listed = subprocess.run(["docker", *listing, *shown], capture_output=True, text=True, check=True)
        for name in listed.stdout.split():
            subprocess.run(["docker", *removal, name], capture_output=True, check=False)


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), [int(word) for word in sys.argv[4:]]))
