"""Archives of images become bases: what they hold is there, and nothing of them gets out."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import subprocess
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
import zstandard

from sandbox.bubblewrap.backend import BubblewrapBackend
from sandbox.errors import ImageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task

Member = tuple[tarfile.TarInfo, bytes]
CONFIG = {"Env": ["PATH=/bin", "FROM_IMAGE=yes"], "WorkingDir": "/w", "User": "0"}


def entry(
    name: str, content: bytes = b"", *, kind: bytes = tarfile.REGTYPE, link: str = "", mode: int = 0o755
) -> Member:
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.mode, member.size = kind, link, mode, len(content)
    return member, content


def folder(name: str) -> Member:
    return entry(name, kind=tarfile.DIRTYPE)


def tar(*members: Member) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for member, content in members:
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


@pytest.fixture(scope="module")
def shell() -> list[Member]:
    """What a sandbox needs to start and to look around, from this machine."""
    programs = [Path("/bin/bash"), Path("/bin/cat"), Path("/bin/ls")]
    wanted = set(programs)
    for program in programs:
        words = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout.split()
        wanted.update(Path(word) for word in words if word.startswith("/"))
    files = [entry(str(path).lstrip("/"), path.resolve().read_bytes()) for path in sorted(wanted)]
    return [*(folder(name) for name in ("dev", "proc", "tmp", "etc")), *files]


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def layout(*layers: bytes, config: dict[str, Any] = CONFIG) -> dict[str, bytes]:
    """The files of an OCI layout."""
    blobs: dict[str, bytes] = {}

    def put(content: bytes, **more: Any) -> dict[str, Any]:
        blobs[f"blobs/sha256/{digest(content).partition(':')[2]}"] = content
        return {"digest": digest(content), "size": len(content), **more}

    described = put(json.dumps({"os": "linux", "architecture": "amd64", "config": config}).encode())
    manifest = {"schemaVersion": 2, "config": described, "layers": [put(layer) for layer in layers]}
    other = put(b"{}", platform={"os": "linux", "architecture": "none"})
    index = {"manifests": [other, put(json.dumps(manifest).encode())]}
    return {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}', "index.json": json.dumps(index).encode(), **blobs}


def saved(*layers: bytes) -> dict[str, bytes]:
    """The files of what `docker save` has long been writing."""
    names = [f"{number}/layer.tar" for number in range(len(layers))]
    manifest = [{"Config": "c.json", "RepoTags": ["x:1"], "Layers": names}]
    return {
        "manifest.json": json.dumps(manifest).encode(),
        "c.json": json.dumps({"config": CONFIG}).encode(),
        **dict(zip(names, layers, strict=True)),
    }


def write_folder(files: dict[str, bytes], to: Path) -> Path:
    for name, content in files.items():
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        (to / name).write_bytes(content)
    return to


def write_tar(files: dict[str, bytes], to: Path) -> Path:
    to.write_bytes(tar(*(entry(name, content) for name, content in files.items())))
    return to


@pytest_asyncio.fixture(loop_scope="session")
async def look(
    sandboxes: Sandboxes, tmp_path: Path, write_task: Callable[..., Task]
) -> AsyncIterator[Callable[..., Any]]:
    """Runs a command in an image whose base is an archive."""
    made: list[BubblewrapBackend] = []

    async def run(archive: Path, command: str) -> str:
        backend = BubblewrapBackend(base=(f"x:1={archive}",), state=tmp_path / "state")
        made.append(backend)
        image = await backend.build(write_task({"Dockerfile": "FROM x:1\nENV MORE=$FROM_IMAGE\n"}))
        sandbox = await backend.start(image)
        result = await sandbox.exec(command)
        await sandbox.stop()
        return result.text + result.error_text

    yield run
    for backend in made:
        await backend.close()


@pytest.mark.parametrize("form", ["oci folder", "oci tar", "docker save", "gzip", "zstd", "whole in gzip"])
async def test_layers_and_settings(look: Callable[..., Any], shell: list[Member], tmp_path: Path, form: str) -> None:
    pack = {"gzip": gzip.compress, "zstd": zstandard.compress}.get(form, bytes)
    layers = [
        tar(
            *shell,
            folder("w"),
            folder("d"),
            entry("d/old", b"1"),
            entry("d/stays", b"2"),
            entry("link", kind=b"2", link="d"),
        ),
        tar(folder("o"), entry("o/hidden", b"3"), entry("o/s/hidden", b"4"), entry("both", b"low")),
        tar(
            entry("d/.wh.old"),
            entry("o/s/new", b"5"),
            entry("o/.wh..wh..opq"),
            entry("o/first", b"6"),
            entry("both", b"high"),
            entry("hard", kind=tarfile.LNKTYPE, link="both"),
            entry("link", b"a file now"),
            entry(".wh..wh.aufs"),
            entry(".wh.never-there"),
        ),
    ]
    files = (saved if form == "docker save" else layout)(*map(pack, layers))
    archive = write_folder(files, tmp_path / "layout") if form == "oci folder" else write_tar(files, tmp_path / "x.tar")
    if form == "whole in gzip":
        archive.write_bytes(gzip.compress(archive.read_bytes()))
    command = "echo $PWD $FROM_IMAGE $MORE $PATH; ls -A /d /o /o/s; cat /both /hard /link; [ /both -ef /hard ] && echo; ls -A /"
    said = await look(archive, command)
    assert said.startswith("/w yes yes /bin\n/d:\nstays\n\n/o:\nfirst\ns\n\n/o/s:\nnew\nhighhigha file now\n")
    assert ".wh" not in said


async def test_hostile_entries_stay_inside(look: Callable[..., Any], shell: list[Member], tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("untouched")
    up = "../" * 12
    device = entry("device", kind=tarfile.CHRTYPE)
    layer = tar(
        *shell,
        folder("w"),
        entry(f"{up}{outside}/above", b"x"),
        entry(f"{outside}/absolute", b"x"),
        entry("out", kind=tarfile.SYMTYPE, link=str(outside)),
        entry("out/file", b"overwritten"),
        entry("file", kind=tarfile.SYMTYPE, link=f"{outside}/file"),
        entry("file", b"a file of its own"),
        device,
        entry(f"{up}{outside}/.wh.file"),
    )
    said = await look(write_tar(saved(layer), tmp_path / "x.tar"), f"cat /file; echo; ls {outside}; ls /device")
    assert said.startswith("a file of its own\nabove\nabsolute\n")
    assert "/device" in said.splitlines()[-1]
    assert sorted(path.name for path in outside.iterdir()) == ["file"]
    assert (outside / "file").read_text() == "untouched"


@pytest.mark.parametrize(
    ("member", "says"),
    [
        (entry("hard", kind=tarfile.LNKTYPE, link="../../../etc/hostname-of-this-machine"), "'hard': a hard link to"),
        (entry("hard", kind=tarfile.LNKTYPE, link="d"), "'hard': a hard link to 'd', which is no file"),
        (entry("d/.wh..."), "a whiteout of nothing"),
        (entry("odd", kind=b"Z"), "'odd': an entry of a kind"),
        (entry("f/below", b"x"), None),
        (entry("n" * 300, b"x"), "too long"),
    ],
)
async def test_what_cannot_be_is_refused_by_name(
    look: Callable[..., Any], shell: list[Member], tmp_path: Path, member: Member, says: str | None
) -> None:
    archive = write_tar(saved(tar(*shell, folder("w"), folder("d"), entry("f", b"1"), member)), tmp_path / "x.tar")
    if says is None:
        assert (await look(archive, "cat /f/below")) == "x"
        return
    with pytest.raises(ImageError, match=says) as caught:
        await look(archive, "true")
    assert str(archive) in str(caught.value)
    assert list((tmp_path / "state/store/aside").iterdir()) == []
    assert not list((tmp_path / "state/store/bases").glob("tar-*"))


def bomb(kind: str) -> bytes:
    """A layer that is small and says it is large."""
    member = tarfile.TarInfo("zeros")
    member.size = 1 << 50
    header = member.tobuf()
    return gzip.compress(header) if kind == "header" else zstandard.compress(bytes(1 << 24))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda files: {**files, "index.json": b"{"}, "index.json: no JSON"),
        (lambda files: {**files, "index.json": b"[]"}, "a JSON object was expected"),
        (lambda files: {**files, "index.json": b'{"manifests": []}'}, "0 images for this machine"),
        (
            lambda files: {**files, "index.json": b'{"manifests": [{"digest": "sha256:../../x"}]}'},
            "a digest of another form",
        ),
        (lambda files: {name: text for name, text in files.items() if len(text) < 10_000}, "is missing"),
        (lambda files: {name: text.replace(b"ELF", b"FLE", 1) for name, text in files.items()}, "damaged"),
        (lambda _files: layout(b"\x1f\x8b" + bytes(100)), "the archive is broken"),
        (lambda _files: layout(bomb("header")), "'zeros': more than .* bytes"),
    ],
)
async def test_a_broken_archive_is_the_images_fault(
    look: Callable[..., Any], shell: list[Member], tmp_path: Path, change: Callable[..., dict[str, bytes]], says: str
) -> None:
    files = change(layout(tar(*shell, folder("w"))))
    with pytest.raises(ImageError, match=says):
        await look(write_tar(files, tmp_path / "x.tar"), "true")


async def test_several_images_in_one_archive_are_told_apart_by_name(
    look: Callable[..., Any], shell: list[Member], tmp_path: Path
) -> None:
    files = saved(tar(*shell, folder("w"), entry("which", b"one")), tar(*shell, folder("w"), entry("which", b"two")))
    one, two = "0/layer.tar", "1/layer.tar"

    def manifest(*names: str) -> bytes:
        rows = [{"Config": "c.json", "RepoTags": [n], "Layers": [f]} for n, f in zip(names, (one, two), strict=True)]
        return json.dumps(rows).encode()

    archive = write_tar({**files, "manifest.json": manifest("y:1", "x:1")}, tmp_path / "x.tar")
    assert await look(archive, "cat /which") == "two"
    archive = write_tar({**files, "manifest.json": manifest("y:1", "z:1")}, tmp_path / "z.tar")
    with pytest.raises(ImageError, match=r"2 images \(y:1, z:1\), none of them named 'x:1'"):
        await look(archive, "true")
