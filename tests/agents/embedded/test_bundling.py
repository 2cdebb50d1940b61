"""A task's data goes over as one archive, unless there is little of it or no tar."""

import base64
import io
import tarfile

import pytest

from agents.embedded.bundling import ARCHIVE, FEW, archive, write_all
from agents.embedded.conversation import Call, Result
from agents.embedded.library import FileContent

DATA = {f"environment/data/{n}.txt": FileContent(f"{n}\n".encode(), executable=n == 0) for n in range(FEW + 1)}
FILES = {**DATA, "instruction.md": FileContent(b"Do it.\n")}


def played(paths: list[str], *, status: int = 0) -> list[Call]:
    script = write_all(paths, FILES)
    calls: list[Call] = []
    try:
        batch = next(script)
        while True:
            calls += batch
            answers = [Result(f"exit code: {status}\n" if call.tool == "run" else "written") for call in batch]
            batch = script.send(tuple(answers))
    except StopIteration:
        return calls


def test_much_data_goes_over_as_one_archive_and_the_rest_can_be_read() -> None:
    calls = played(sorted(FILES))
    assert [call.arguments.get("path", "run") for call in calls] == ["instruction.md", ARCHIVE, "run"]
    with tarfile.open(fileobj=io.BytesIO(base64.b64decode(str(calls[1].arguments["content"]))), mode="r") as tar:
        assert {entry.name: entry.mode for entry in tar} == {
            path: 0o755 if file.executable else 0o644 for path, file in DATA.items()
        }


def test_without_tar_every_file_is_written_by_itself() -> None:
    calls = played(sorted(DATA), status=127)
    assert [call.arguments["path"] for call in calls if call.tool == "write_file"] == [ARCHIVE, *sorted(DATA)]


@pytest.mark.parametrize("count", [0, 1, FEW])
def test_a_few_files_are_not_bundled(count: int) -> None:
    assert [call.tool for call in played(sorted(DATA)[:count])] == ["write_file"] * count


def test_the_archive_is_the_same_for_the_same_files() -> None:
    assert archive(sorted(DATA), DATA) == archive(sorted(DATA, reverse=True), DATA)
