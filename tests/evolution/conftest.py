"""Task folders to test the domain on."""

import pytest

from sandbox.task import Task


def write_task(folder, name="demo/copy", text="Copy `/app/a` to `/app/b`."):
    """A small Harbor task; tasks with other texts have other content hashes."""
    files = {
        "task.toml": f'schema_version = "1.4"\n\n[task]\nname = "{name}"\n',
        "instruction.md": f"{text}\n",
        "environment/Dockerfile": "FROM python:3.12-bookworm\nCOPY a /app/a\n",
        "environment/a": "one\n",
        "solution/solve.sh": "#!/bin/bash\ncp /app/a /app/b\n",
        "tests/test.sh": "#!/bin/bash\ncmp /app/a /app/b && echo 1 > /logs/verifier/reward.txt\n",
    }
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    for script in folder.rglob("*.sh"):
        script.chmod(0o755)
    return folder


@pytest.fixture
def make_task(tmp_path):
    """Writes a task below the test's folder and reads it: `make_task("tasks/copy", text="…")`."""

    def make(path, **what):
        return Task.read(write_task(tmp_path / path, **what))

    return make
