"""What a task can do to the gate that reads it: traps for its parsers, and what would hide by being too much."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import re
import resource
import sqlite3
import subprocess
import sys
import tarfile
import time
import zipfile
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolution.gates import leak, leak_outputs
from evolution.gates.leak import LeakGate
from evolution.gates.leak_archives import BESIDE, unpacked
from evolution.gates.leak_compose import variables_of
from evolution.gates.leak_database import rows
from evolution.gates.leak_image import MOST_FILES, Built, built_files
from evolution.gates.leak_listing import ListingError, in_turns, listing, parsed
from evolution.gates.leak_packs import fits, packed_objects
from evolution.gates.leak_recipe import recipe_findings
from evolution.gates.leak_scan import Place, Scan
from evolution.gates.leak_shell import heredocs, quoted
from sandbox.protocol import ExecResult

if TYPE_CHECKING:
    from collections.abc import Callable


def seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


# Compose files.

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize("where", ["environment: [*i]", "environment: {A: *i}", "environment: *i"])
def test_aliases_are_not_expanded(where: str) -> None:
    text = f"{LAUGHS}services:\n  main:\n    {where}\n"
    assert sum(len(value) for *_, value in variables_of(text).found) < 1000


def test_services_that_share_their_variables_are_looked_at_once() -> None:
    shared = "x: &x {" + ", ".join(f"A{number}: b" for number in range(2000)) + "}\nservices:\n"
    text = shared + "".join(f"  s{number}: {{environment: *x}}\n" for number in range(2000))
    assert len(variables_of(text).found) == 2000
    assert variables_of("services: {a: {environment: {" + "A: b, " * 50_000 + "}}}").cut


@pytest.mark.parametrize(
    "given",
    [
        "5",
        "{a: !!int ''}",
        "{a: !!bool x}",
        "{a: !!timestamp x}",
        "[!!float x, 5, [a], {b: c}]",
        "!!set {a}",
        "&a [*a]",
    ],
)
def test_odd_compose_files_do_no_harm(write, seed, given: str) -> None:
    compose = f"services:\n  main:\n    environment: {given}\n"
    task = write({**seed, "environment/docker-compose.yaml": compose})
    assert not list(recipe_findings(task, Scan(task)))


def test_merged_mappings_are_read() -> None:
    text = "x: &x {A: one}\ny: &y {environment: {<<: *x, B: two}}\nservices: {main: {<<: [*y], image: z}}\n"
    assert variables_of(text).found == (("main", "B", "two"), ("main", "A", "one"))


# Databases.


def database(*statements: str) -> bytes:
    connection = sqlite3.connect(":memory:")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    return connection.serialize()


def test_computed_columns_are_not_computed() -> None:
    wide = ", ".join(f"c{number} AS (printf('%.1000000c', 'x'))" for number in range(150))
    data = database(
        f"CREATE TABLE t (id INTEGER, {wide})", "INSERT INTO t (id) VALUES (41)", "INSERT INTO t VALUES (7)"
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert rows(data) == b"41\n7"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_a_database_is_read_up_to_a_bound(monkeypatch) -> None:
    monkeypatch.setattr("evolution.gates.leak_database.MOST_MEMBER_BYTES", 1000)
    cut: list[bool] = []
    data = database("CREATE TABLE t (a)", *["INSERT INTO t VALUES ('" + "x" * 300 + "')"] * 9)
    assert len(rows(data, lambda: cut.append(True))) < 1000
    assert cut


def test_a_text_that_is_none_hides_no_other() -> None:
    data = database("CREATE TABLE t (a)", "INSERT INTO t VALUES (CAST(x'ff' AS TEXT))", "INSERT INTO t VALUES ('told')")
    assert rows(data).endswith(b"\ntold")


# Containers.


def zipped(**members: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def twice(data: str) -> bytes:
    return zipped(x=data, y="nothing").replace(b"y", b"x")


def tar(data: str) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:") as archive:
        info = tarfile.TarInfo("x")
        info.size = len(data.encode())
        archive.addfile(info, io.BytesIO(data.encode()))
    return stream.getvalue()


OTHER = b"nothing to see\n" * 20
CONTAINERS = {
    "the second gzip member": lambda text: gzip.compress(OTHER) + gzip.compress(text.encode()),
    "the second xz stream": lambda text: lzma.compress(OTHER) + b"\0" * 8 + lzma.compress(text.encode()),
    "the second bz2 stream": lambda text: bz2.compress(OTHER) + bz2.compress(text.encode()),
    "halves of two members": lambda text: gzip.compress(text[:90].encode()) + gzip.compress(text[90:].encode()),
    "a zipapp": lambda text: b"#!/usr/bin/env python3\n" + zipped(x=text),
    "a self-extracting archive": lambda text: b"\x7fELF\0\1\2" * 900 + zipped(x=text),
    "a text before a zip": lambda text: text.encode() + zipped(x="nothing"),
    "a text behind a zip": lambda text: zipped(x="nothing") + text.encode(),
    "a zip before a zip": lambda text: zipped(x=text) + zipped(x="nothing"),
    "a zip behind a gzip": lambda text: gzip.compress(OTHER) + zipped(x=text),
    "a text behind a gzip": lambda text: gzip.compress(OTHER) + text.encode(),
    "a member of the same name": twice,
    "a text behind what begins like a gzip": lambda text: gzip.compress(OTHER) + b"\x1f\x8b\n" + text.encode(),
    "a text behind a tar": lambda text: tar("nothing") + text.encode(),
    "a tar behind a tar": lambda text: tar("nothing") + tar(text),
    "a git export": lambda text: b"blob\ndata 400\n" + text.encode() + b"\nM 100644 :1 x\n",
}


@pytest.mark.parametrize("case", CONTAINERS)
async def test_containers_are_read_to_their_end(only_files, seed, case: str) -> None:
    files = {**seed, "environment/blob.bin": CONTAINERS[case](seed["solution/solve.sh"])}
    verdict = await only_files(LeakGate(), files)
    assert verdict.code in {"leak/copy", "leak/encoded"}, verdict.evidence
    assert "solution/solve.sh" in verdict.evidence


def test_many_small_members_are_bounded() -> None:
    data = gzip.compress(b"") * 100_000
    cut: list[str] = []
    assert seconds(lambda: list(unpacked("x.gz", data, cut.append))) < 3
    assert cut == ["x.gz"]
    chain = b"".join(zipped(x=str(number)) for number in range(50))
    assert len(list(unpacked("x.bin", chain, cut.append))) < 50
    assert [packed.path for packed in unpacked("a.gz", gzip.compress(b"a") + b"b" * 30)] == ["a.gz!", f"a.gz!{BESIDE}"]


# Git.


@pytest.fixture
def large_pack(tmp_path) -> bytes:
    """A pack of 2,000 small objects and one that cannot be compressed."""
    import random

    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(2000):
        (folder / f"{number}").write_text(f"{number * number} and {number}\n")
    (folder / "noise").write_bytes(random.Random(1).randbytes(7 << 20))
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "x"],
        ["gc", "-q"],
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)
    (path,) = (folder / ".git/objects/pack").glob("*.pack")
    return path.read_bytes()


def test_large_packs_are_walked_in_linear_time(large_pack) -> None:
    assert fits(large_pack)
    assert seconds(lambda: fits(large_pack)) < 1
    assert len(list(packed_objects(large_pack, {}))) == 2003
    assert seconds(lambda: list(unpacked("x.pack", large_pack))) < 3


@pytest.mark.parametrize("kind", [0xB0, 0xE0])
def test_numbers_without_end(kind: int) -> None:
    head = b"PACK\0\0\0\2\0\0\0\1"
    assert seconds(lambda: fits(head + bytes([kind]) + b"\xff" * 2_000_000 + b"\0" * 32)) < 0.5
    import zlib

    delta = zlib.compress(b"\xff" * 2_000_000)
    assert seconds(lambda: fits(head + b"\xf0\x89\x7a" + b"\0" * 20 + delta + b"\0" * 20)) < 0.5


# Shell texts.

_QUOTED = re.compile(r"'([^']{12,})'|\"((?:[^\"\\]|\\.){12,})\"", re.DOTALL)


@settings(max_examples=400, deadline=None)
@given(st.text(alphabet="ab'\"\\\n", max_size=80))
def test_quoted_strings_are_those_of_the_plain_pattern(text: str) -> None:
    assert list(quoted(text)) == [match[1] or match[2] for match in _QUOTED.finditer(text)]


def test_here_documents() -> None:
    text = "cat > a <<'EOF'\none\n<<X\nEOF\n\tcat <<-\tEND && cat <<B\ntwo\n\tEND\ncat <<NEVER\nEOF\n"
    assert list(heredocs(text)) == ["one\n<<X", "two"]


@pytest.mark.parametrize("pump", ['\\"', "<<AB\n", "'", '"', "<<'", "\\", "<<-\t", "'\"", "<<A"])
def test_shell_texts_are_read_in_linear_time(pump: str) -> None:
    text = pump * (300_000 // len(pump))
    assert seconds(lambda: list(quoted(text))) < 3
    assert seconds(lambda: list(heredocs(text))) < 3


# The image's own `find`.


class Endless:
    """A sandbox in which `find` prints without end."""

    told = 0

    async def exec(self, *_: object, on_output, **__: object) -> ExecResult:
        import asyncio

        while self.told < 1 << 30:
            on_output("stdout", b"y\n" * 500_000)
            self.told += 1_000_000
            await asyncio.sleep(0)
        return ExecResult(b"", b"", 0)


async def test_a_find_without_end_is_stopped() -> None:
    sandbox = Endless()
    with pytest.raises(ListingError, match="64 MiB"):
        await listing(sandbox)
    assert sandbox.told < 100_000_000


def test_rows_that_are_none_are_left_out() -> None:
    told = b"x y /p\0\0005 1.5 /a b\nc\0-1 2 /p\0" + b"9" * 5000 + b" 1 /p\0007 8.0 \xff\0003 4.0 /\xff\0"
    assert parsed(told) == {"/a b\nc": "5 1.5", "/\udcff": "3 4.0"}


def test_folders_take_turns() -> None:
    many = [f"/app/node_modules/p{number}/index.js" for number in range(500)]
    few = ["/root/.bash_history", "/root/a", "/srv/notes", "/app/main.py"]
    assert set(few) <= set(in_turns(sorted([*many, *few]))[:8])
    assert sorted(in_turns(many + few)) == sorted(many + few)


async def test_a_full_folder_starves_no_other(monkeypatch) -> None:
    sizes = {f"/app/lib/{number}": "10 1.0" for number in range(MOST_FILES + 100)}
    sizes |= {f"/app/{number}.bin": f"{8 << 20} 1.0" for number in range(9)}
    sizes |= {"/root/notes": "10 1.0", "/srv/x": "90000 1.0"}

    async def listed(_: object) -> dict[str, str]:
        return sizes

    async def fetched(_: object, paths: list[str]) -> dict[str, bytes]:
        return dict.fromkeys(paths, b"")

    monkeypatch.setattr("evolution.gates.leak_image.listing", listed)
    monkeypatch.setattr("evolution.gates.leak_image.fetched", fetched)
    built = await built_files(SimpleNamespace(), {"/x": "1 1"})
    assert "/root/notes" in built.files
    assert len(built.files) == MOST_FILES
    assert built.left_out == len(sizes) - MOST_FILES


# What is left out is said.


async def test_what_was_not_read_is_said(check, seed, monkeypatch) -> None:
    async def nothing(*_: object) -> dict[str, str]:
        return {}

    async def some(*_: object) -> Built:
        return Built({}, 3, "/srv/notes")

    monkeypatch.setattr(leak, "builds_files", lambda _: True)
    monkeypatch.setattr(leak, "base_listing", nothing)
    monkeypatch.setattr(leak, "built_files", some)
    verdict = await check(LeakGate(), seed)
    assert verdict.passed, verdict.evidence
    assert verdict.measured["left_out"] == 3
    assert [(one.code, bool(one.suppressed)) for one in verdict.findings] == [("leak/unseen", True)]
    assert "3 files of the image were not read" in verdict.findings[0].message


async def test_an_image_whose_find_has_no_end_is_refused(check, seed, monkeypatch) -> None:
    async def endless(*_: object) -> Built:
        raise ListingError("too much")

    async def nothing(*_: object) -> dict[str, str]:
        return {}

    monkeypatch.setattr(leak, "builds_files", lambda _: True)
    monkeypatch.setattr(leak, "base_listing", nothing)
    monkeypatch.setattr(leak, "built_files", endless)
    assert (await check(LeakGate(), seed)).code == "leak/listing"


async def test_doubts_that_are_not_tried_are_said(check, seed, monkeypatch) -> None:
    monkeypatch.setattr(leak_outputs, "MOST_DOUBTS", 0)
    files = {path: text for path, text in seed.items() if not path.startswith("tests/expected")}
    files["environment/data/old/paid.csv"] = seed["tests/expected/paid.csv"]
    verdict = await check(LeakGate(), files)
    assert verdict.passed
    assert verdict.measured["doubts_dropped"] == 1
    assert [(one.code, bool(one.suppressed)) for one in verdict.findings] == [("leak/unseen", True)]
    assert "environment/data/old/paid.csv" in verdict.findings[0].message


def test_what_is_kept_for_a_second_look_is_bounded_by_what_it_holds(write, seed) -> None:
    scan = Scan(write(seed))
    for number in range(40):
        list(scan.look(Place(f"{number}.gz"), gzip.compress(b"a") + b"\0" * (4 << 20)))
    assert sum(len(content) for content in {id(c): c for _, c, _ in scan.kept}.values()) <= 64 << 20
    assert scan.unseen.measured()["cut"]


def test_only_gits_own_files_are_held(write, seed, monkeypatch) -> None:
    held: list[str] = []
    monkeypatch.setattr(Scan, "git", lambda _, files, plain: held.extend([*files, *plain]) or iter(()))
    task = write({**seed, "environment/r/.git/HEAD": "x", "environment/r/.git/objects/ab/" + "c" * 38: "x"})
    list(leak._file_findings(task, Scan(task)))
    assert {path for path in held if "/" in path} == {
        "environment/r/.git/HEAD",
        "environment/r/.git/objects/ab/" + "c" * 38,
    }
    assert {file.sha256 for file in task.under("environment")} <= set(held)
    assert sys.getsizeof(held) < 10_000


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_stream_that_breaks_off_is_read_as_far_as_it_goes_and_hides_nothing(pack) -> None:
    content = pack(bytes(random.Random(1).choices(range(256), k=200_000)))[:90_000]
    cut: list[str] = []
    found = list(unpacked("half.gz", content, cut.append))
    assert cut == []
    assert not found or len(found[0].content) <= 200_000
