"""A folder of a task arrives with some of its files in another form, whatever lies in it."""

from __future__ import annotations

import pytest

from sandbox.errors import TaskError, TransferError
from sandbox.task import Task
from sandbox.verification import sending
from sandbox.verification.sending import Sent, send_folder

CHANGED = {"test.sh": Sent(b"echo new\n", runs=True), "deep/er/file": Sent(b"added")}
FILES = {"tests/deep/other": "other", "tests/data": "data", "tests/run.sh": "echo run"}


@pytest.fixture
def sent(folder) -> Task:
    task = folder("echo old", files=FILES)
    (task.root / "tests/run.sh").chmod(0o755)
    (task.root / "tests/link").symlink_to("deep/other")
    (task.root / "tests/empty").mkdir()
    return Task.read(task.root)


@pytest.mark.parametrize("largest", [0, sending.MAX_COPIED], ids=["large", "small"])
async def test_changed_files_lie_over_the_folders_own(sent, sandboxes, monkeypatch, largest: int) -> None:
    monkeypatch.setattr(sending, "MAX_COPIED", largest)
    async with sandboxes.running(sent) as sandbox:
        await send_folder(sent, sandbox, "tests", "/tests", CHANGED)
        listed = await sandbox.exec("cd /tests && find . -printf '%y %m %P %l\n' | sort", user=0)
        assert listed.text.split("\n")[1:-1] == [
            "d 755 deep ",
            "d 755 deep/er ",
            "d 755 empty ",
            "f 644 data ",
            "f 644 deep/er/file ",
            "f 644 deep/other ",
            "f 755 run.sh ",
            "f 755 test.sh ",
            "l 777 link deep/other",
        ]
        assert await sandbox.read_file("/tests/test.sh") == b"echo new\n"
        assert await sandbox.read_file("/tests/deep/other") == b"other"


async def test_what_has_changed_since_the_task_was_read_is_not_sent(sent, sandboxes) -> None:
    (sent.root / "tests/data").write_text("evil")
    async with sandboxes.running(sent) as sandbox:
        with pytest.raises(TaskError, match="changed since"):
            await send_folder(sent, sandbox, "tests", "/tests", CHANGED)


async def test_a_link_of_the_folder_leads_no_changed_file_elsewhere(folder, sandboxes) -> None:
    task = folder("true", files={"environment/own/file": "own"})
    (task.root / "tests/own").symlink_to("../environment/own")
    task = Task.read(task.root)
    async with sandboxes.running(task) as sandbox:
        with pytest.raises(TransferError):
            await send_folder(task, sandbox, "tests", "/tests", {"own/file": Sent(b"evil")})
    assert (task.root / "environment/own/file").read_text() == "own"


async def test_a_file_where_a_folder_lies_is_refused(sent, sandboxes) -> None:
    async with sandboxes.running(sent) as sandbox:
        with pytest.raises(TransferError, match="below a file"):
            await send_folder(sent, sandbox, "tests", "/tests", {"data/below": Sent(b"")})
