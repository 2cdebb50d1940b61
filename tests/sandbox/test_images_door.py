"""`python -m sandbox.images`: an image goes from one store into another."""

from __future__ import annotations

import json
import subprocess
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox import images

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox.sandboxes import Sandboxes


@pytest.fixture
def door(
    sandboxes: Sandboxes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Calls it with a state directory of its own; `sandboxes` skips where there can be none."""

    def called(*arguments: str, state: str = "state") -> tuple[int, str, str]:
        monkeypatch.setenv("ENVOLVE_STATE", str(tmp_path / state))
        code = images.main(arguments)
        said = capsys.readouterr()
        return code, said.out, said.err

    return called


@pytest.fixture
def task(tmp_path: Path) -> Path:
    files = {
        "task.toml": 'schema_version = "1.4"\n[task]\nname = "tests/small"\n',
        "instruction.md": "Nothing.\n",
        "solution/solve.sh": "#!/bin/bash\n",
        "tests/test.sh": "#!/bin/bash\n",
        "environment/Dockerfile": "FROM small\nENV A=1\nWORKDIR /w\nRUN echo made > made\n",
    }
    for path, content in files.items():
        (tmp_path / "task" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "task" / path).write_text(content)
    return tmp_path / "task"


def test_from_an_archive_to_another_machine(
    door: Callable[..., tuple[int, str, str]], task: Path, tmp_path: Path, small_root: Path
) -> None:
    code, out, err = door("build", str(task), "--engines", "bubblewrap")
    assert (code, out) == (1, "")
    assert "python -m sandbox.images import small ARCHIVE" in err
    first = door("import", "small", str(small_root))
    assert first[0] == 0
    assert door("import", "small", str(small_root)) == first
    code, out, err = door("build", str(task))
    assert (code, err) == (0, "")
    reference = out.split()[1]
    listed = json.loads(door("list", "--json")[1])
    assert {entry["key"] for entry in listed} == {reference, next(e["key"] for e in listed if e["names"])}
    assert [entry["names"] for entry in listed if entry["names"]] == [["small:latest"]]
    assert "2 entries" in door("list")[1]

    assert door("export", str(task), str(tmp_path / "out.tar"))[0] == 0
    assert door("import", "exported:1", str(tmp_path / "out.tar"), state="other")[0] == 0
    (task / "environment/Dockerfile").write_text(
        "FROM exported:1\nRUN [ $A = 1 ] && [ $PWD = /w ] && read x < made && [ $x = made ]\n"
    )
    assert door("build", str(task), state="other")[0] == 0

    assert door("collect", "--unused-for", "1")[1] == "0 removed\n"
    assert door("collect", "--unused-for", "0", "--dry-run")[1].endswith("2 would be removed\n")
    assert door("collect", "--unused-for", "0")[1].endswith("2 removed\n")
    assert door("list")[1].startswith("0 entries")


def test_wrong_use(door: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    assert door("import", "x", str(tmp_path / "none"))[0] == 2
    for wrong in ((), ("collect",), ("build",), ("list", "--base", "nothing"), ("list", "--engines", "kaniko")):
        with pytest.raises(SystemExit) as caught:
            door(*wrong)
        assert caught.value.code == 2


@pytest.fixture
def small_root(tmp_path: Path) -> Path:
    """An archive of a root that has a shell, from this machine."""
    words = subprocess.run(["ldd", "/bin/bash"], capture_output=True, text=True, check=True).stdout.split()
    with tarfile.open(tmp_path / "small.tar.gz", "w:gz") as archive:
        for path in ("/bin/bash", *(word for word in words if word.startswith("/"))):
            archive.add(Path(path).resolve(), path.lstrip("/"))
        archive.add(Path("/bin/bash").resolve(), "bin/sh")
        for name in ("dev", "proc", "tmp", "etc"):
            member = tarfile.TarInfo(name)
            member.type, member.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(member)
    return tmp_path / "small.tar.gz"
