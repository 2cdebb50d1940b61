"""What comes along when artifacts are carried: archives are sifted entry by entry. No sandbox needed."""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.errors import UnsupportedTaskError
from sandbox.verification.carrying import carried_entries, collect, excluded

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Entry = tuple[str, bytes, str]  # name, type, link target


class Packed:
    """A stand-in for a sandbox that packs these entries, and nothing else."""

    def __init__(self, entries: Sequence[Entry], mode: int = 0o644) -> None:
        self.entries = entries
        self.mode = mode

    async def pack(self, paths: Sequence[str], target: Path, *, max_bytes: int) -> None:
        assert max_bytes
        with tarfile.open(target, "w:") as archive:
            for name, kind, link in self.entries:
                info = tarfile.TarInfo(name)
                info.type, info.linkname, info.mode, info.uid = kind, link, self.mode, 1234
                archive.addfile(info, io.BytesIO())


async def sifted(
    folder: Path, *entries: Entry, sources: Sequence[str] = ("/app/out",), image_links: bool = True
) -> tuple[list[str], list[str]]:
    """Names that come along, and paths of links that do not."""
    carried = await collect(Packed(entries), dict.fromkeys(sources, ()), folder, image_links=image_links)
    with tarfile.open(carried.archive) as archive:
        return archive.getnames(), [leftover.path for leftover in carried.leftovers]


FILE, FOLDER, LINK, HARD = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE


@pytest.mark.parametrize(
    ("target", "comes"),
    [
        ("b", True),
        ("/app/out/b", True),
        ("../out/b", True),
        ("/usr/bin/python3", True),
        ("/tests/expected.txt", False),
        ("../../tests/expected.txt", False),
        ("/logs/verifier/reward.txt", False),
        ("d/../../../tests/expected.txt", False),
        ("/app/out/../../tests/expected.txt", False),
        ("/proc/self/root/tests", False),
        ("/app/outside", False),
    ],
)
async def test_a_link_comes_along_when_it_stays_among_the_artifacts(tmp_path: Path, target: str, comes: bool) -> None:
    names, refused = await sifted(tmp_path, ("app/out", FOLDER, ""), ("app/out/a", LINK, target))
    assert ("app/out/a" in names, refused) == (comes, [] if comes else ["/app/out/a"])


async def test_links_to_the_images_files_stay_out_of_another_image(tmp_path: Path) -> None:
    names, refused = await sifted(tmp_path, ("app/out/a", LINK, "/usr/bin/python3"), image_links=False)
    assert (names, refused) == ([], ["/app/out/a"])


async def test_nothing_below_a_link_and_nothing_beside_the_artifacts(tmp_path: Path) -> None:
    names, _ = await sifted(
        tmp_path,
        ("app/out/d", LINK, "e"),
        ("app/out/d/f", FILE, ""),
        ("app/outside", FILE, ""),
        ("app/out/../../etc/passwd", FILE, ""),
        ("app/out/fifo", tarfile.FIFOTYPE, ""),
        ("app/out/e", FILE, ""),
        ("app/out/h", HARD, "app/out/e"),
        ("app/out/shadow", HARD, "etc/shadow"),
    )
    assert names == ["app/out/d", "app/out/e", "app/out/h"]


async def test_owners_stay_and_set_user_bits_go(tmp_path: Path) -> None:
    carried = await collect(
        Packed([("app/out/a", FILE, "")], mode=0o6755), {"/app/out": ()}, tmp_path, image_links=True
    )
    with tarfile.open(carried.archive) as archive:
        (member,) = archive.getmembers()
    assert (member.uid, member.mode) == (1234, 0o755)
    assert carried.present == {"/app/out"}


@pytest.mark.parametrize(
    ("pattern", "path", "out"),
    [
        ("*.log", "a.log", True),
        ("*.log", "deep/er/a.log", True),
        ("node_modules", "node_modules/x/y.js", True),
        ("node_modules", "web/node_modules/x", True),
        ("./cache", "cache/x", True),
        ("*.log", "a.logs", False),
        ("cache", "cached", False),
    ],
)
def test_patterns_are_those_of_tar(pattern: str, path: str, out: bool) -> None:
    assert excluded(path, (pattern,)) is out


def test_artifacts_of_the_task_and_of_the_step(folder) -> None:
    toml = (
        'artifacts = ["out", {source = "/var/log/app.log", exclude = ["*.gz"]}]\n[[steps]]\nname = "one"\n'
        'artifacts = ["/srv/one"]\n[[steps]]\nname = "two"'
    )
    files = {f"steps/{name}/instruction.md": "Do it.\n" for name in ("one", "two")}
    task = folder("true", toml=toml, files=files)
    one, two = (carried_entries(task, step, "/app") for step in task.steps)
    assert one == {"/app/out": (), "/var/log/app.log": ("*.gz",), "/srv/one": (), "/logs/artifacts": ()}
    assert "/srv/one" not in two


@pytest.mark.parametrize("source", ["/", "/tests", "/tests/x", "/logs", "/logs/verifier"])
def test_the_verifiers_own_folders_are_no_artifacts(folder, source: str) -> None:
    task = folder("true", toml=f'artifacts = ["{source}"]')
    with pytest.raises(UnsupportedTaskError, match="declare less"):
        carried_entries(task, task.steps[0], "/app")


@given(st.lists(st.sampled_from(["..", ".", "a", "out", "app", "tests", ""]), max_size=7).map("/".join))
async def test_no_link_leads_to_the_tests(tmp_path_factory: pytest.TempPathFactory, target: str) -> None:
    names, _ = await sifted(
        tmp_path_factory.mktemp("x"), ("app/out/l", LINK, target), ("app/out/l2", LINK, f"l/{target}")
    )
    if "app/out/l" not in names:
        return  # the other one leads through it, and so nowhere
    # Followed by hand: every folder on the way is a real one, but for `l`, which is followed by its own target.
    for name in names:
        text = target if name.endswith("l") else f"l/{target}"
        assert not resolved(text, target).startswith("/tests")


def resolved(text: str, inner: str) -> str:
    place: list[str] = [] if text.startswith("/") else ["app", "out"]
    ahead, steps = text.split("/"), 0
    while ahead and steps < 100:
        name, ahead, steps = ahead[0], ahead[1:], steps + 1
        if name == "..":
            place = place[:-1]
        elif name not in {"", "."}:
            if place == ["app", "out"] and name == "l":
                place, ahead = ([] if inner.startswith("/") else place), inner.split("/") + ahead
            else:
                place = [*place, name]
    return "/" + "/".join(place)
