"""Ways in which an environment gives its answer away, and shared text that is no leak."""

from __future__ import annotations

import bz2
import gzip
import io
import subprocess
import tarfile
import zipfile
import zlib

import pytest

from evolution.gates.leak import LeakGate
from evolution.gates.leak_archives import DEEPEST, MOST_MEMBERS, unpacked
from evolution.verdict import VerdictClass


async def test_sound_tasks_pass(check, seed, child) -> None:
    for files in (seed, child):
        verdict = await check(LeakGate(), files)
        assert verdict.passed, verdict.evidence


def tar(name: str, content: str, compression: str = "") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=f"w:{compression}") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(content.encode())
        archive.addfile(info, io.BytesIO(content.encode()))
    return stream.getvalue()


def zipped(name: str, content: str | bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return stream.getvalue()


def loose_object(content: str) -> bytes:
    return zlib.compress(f"blob {len(content)}\0{content}".encode())


PLANTED = {
    "the solution under another name": ("notes.txt", lambda f: f["solution/solve.sh"], "copy"),
    "the solution indented": ("notes.md", lambda f: f["solution/solve.sh"].replace("\n", "\n    "), "copy"),
    "one command of it in a history": (
        ".bash_history",
        lambda f: "ls\n" + f["solution/solve.sh"].split("\n")[3],
        "lines",
    ),
    "expected output": ("cache/a.bin", lambda f: f["tests/expected/paid.csv"], "copy"),
    "expected output amid other text": ("log", lambda f: "start\n" + f["tests/expected/paid.csv"] + "end\n", "copy"),
    "the verifier": ("old/check", lambda f: f["tests/test.sh"], "copy"),
    "by name alone": ("solution/solve.sh", lambda f: "# to do\n", "named"),
    "in a tar": ("a.tar", lambda f: tar("x", f["solution/solve.sh"]), "copy"),
    "in a tar.gz": ("a.tgz", lambda f: tar("x", f["solution/solve.sh"], "gz"), "copy"),
    "in a tar.xz": ("a.txz", lambda f: tar("x", f["solution/solve.sh"], "xz"), "copy"),
    "in a gz": ("a.gz", lambda f: gzip.compress(f["tests/expected/paid.csv"].encode()), "copy"),
    "in a bz2": ("a.bz2", lambda f: bz2.compress(f["tests/expected/paid.csv"].encode()), "copy"),
    "in a zip": ("a.zip", lambda f: zipped("x", f["solution/solve.sh"]), "copy"),
    "in a tar in a zip": ("a.zip", lambda f: zipped("a.tar", tar("x", f["solution/solve.sh"])), "copy"),
    "by name in a zip": ("a.zip", lambda f: zipped("repo/solution/solve.sh", ""), "named"),
    "as a git object": (
        "repo/.git/objects/ab/" + "c" * 38,
        lambda f: loose_object(f["solution/solve.sh"]),
        "copy",
    ),
    "in a git export": (
        "repo.export",
        lambda f: "blob\nmark :1\ndata 5\nhello\ncommit refs/heads/main\nM 100644 :1 solution/solve.sh\n",
        "named",
    ),
}


@pytest.mark.parametrize("case", PLANTED)
async def test_a_planted_answer_is_found(only_files, seed, case: str) -> None:
    path, content, code = PLANTED[case]
    verdict = await only_files(LeakGate(), {**seed, f"environment/{path}": content(seed)})
    assert (verdict.verdict_class, verdict.code) == (VerdictClass.INVALID, f"leak/{code}"), verdict.evidence
    assert f"environment/{path}" in verdict.evidence


async def test_the_evidence_of_shared_lines_quotes_the_solution(only_files, seed) -> None:
    line = seed["solution/solve.sh"].split("\n")[3]
    verdict = await only_files(LeakGate(), {**seed, "environment/.bash_history": line})
    assert f"section paid of solution/solve.sh, first:\n  solution/solve.sh:4: {line}" in verdict.evidence


@pytest.fixture
def pack(seed, tmp_path) -> bytes:
    """A git pack with the solution in a commit that a later one has taken back."""
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "draft").write_text(seed["solution/solve.sh"])
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "x"],
        ["rm", "-q", "draft"],
        ["gc", "-q"],
    ):
        subprocess.run(["git", *command], cwd=repository, check=True)
    (path,) = (repository / ".git/objects/pack").glob("*.pack")
    return path.read_bytes()


async def test_git_packs_are_looked_into(only_files, seed, pack) -> None:
    verdict = await only_files(LeakGate(), {**seed, "environment/repo/.git/objects/pack/p.pack": pack})
    assert verdict.code == "leak/copy"
    assert "p.pack!object at byte" in verdict.evidence


async def test_a_digest_that_the_tests_expect(only_files, seed) -> None:
    digest = "0123456789abcdef" * 4
    files = {**seed, "tests/check.py": f'assert digest == "{digest}"\n', "environment/notes": f"sum {digest}\n"}
    verdict = await only_files(LeakGate(), files)
    assert verdict.code == "leak/expected-value"
    assert digest in verdict.evidence


@pytest.mark.parametrize(
    "line",
    [
        "COPY ../tests /app/data2",
        "ADD ./../solution/solve.sh /opt/",
        'COPY ["data", "/tests/data"]',
        "COPY data \\\n  /solution/",
    ],
)
async def test_dockerfiles_that_take_in_what_is_not_theirs(only_files, seed, line: str) -> None:
    verdict = await only_files(LeakGate(), {**seed, "environment/Dockerfile": f"FROM python:3.12-bookworm\n{line}\n"})
    assert verdict.code == "leak/dockerfile"
    assert "environment/Dockerfile:2:" in verdict.evidence


async def test_compose_files_that_mount_the_tests(only_files, seed) -> None:
    compose = "services:\n  main:\n    volumes:\n      - ../tests:/mnt\n"
    verdict = await only_files(LeakGate(), {**seed, "environment/docker-compose.yaml": compose})
    assert verdict.code == "leak/dockerfile"
    assert "docker-compose.yaml:4:" in verdict.evidence


async def test_what_the_built_image_holds_in_harbors_folders(check, seed) -> None:
    files = {
        **seed,
        "environment/old/x.txt": "1\n",
        "environment/Dockerfile": "FROM python:3.12-bookworm\nCOPY old /\n",
    }
    files["environment/old/tests/hint.txt"] = "a hint\n"
    verdict = await check(LeakGate(), files)
    assert verdict.code == "leak/in-image"
    assert "/tests/hint.txt" in verdict.evidence


HONEST = {
    "a script to repair": (
        {
            "environment/data/fix.py": "import sys\nvalue = compute_the_value(sys.argv[1], rounded=False)\nprint(value + 1)\n",
            "solution/solve.sh": "#!/bin/bash\ncat > /app/data/fix.py <<'EOF'\nimport sys\n"
            "value = compute_the_value(sys.argv[1], rounded=True)\nprint(value + 1)\nEOF\n",
        }
    ),
    "a pristine copy of an input": {"tests/pristine/orders.csv": None},
    "a value that the instruction names": {
        "environment/data/marker": "0123456789abcdef" * 4,
        "tests/check.py": 'assert marker == "' + "0123456789abcdef" * 4 + '"\n',
        "instruction.md": "Put " + "0123456789abcdef" * 4 + " into /app/out/paid.csv and /app/out/totals.txt.\n",
    },
    "common lines of code": {
        "environment/data/tool.py": 'import json\nif __name__ == "__main__":\n    with open(path, encoding="utf-8") as handle:\n',
        "solution/tool.py": 'import sys\nif __name__ == "__main__":\n    with open(path, encoding="utf-8") as handle:\n        pass\n',
    },
    "tests of the repository to work on": {"environment/data/tests/test_tool.py": "def test_tool(): pass\n"},
    "an empty file here and there": {"environment/data/__init__.py": "", "tests/__init__.py": ""},
    "something that only begins like an archive": {
        "environment/data/x.gz": b"\x1f\x8bnot really",
        "environment/y": b"PACK",
    },
}


@pytest.mark.parametrize("case", HONEST)
async def test_shared_text_that_is_no_leak(check, seed, case: str) -> None:
    planted = {
        path: seed["environment/data/orders.csv"] if text is None else text for path, text in HONEST[case].items()
    }
    verdict = await check(LeakGate(), {**seed, **planted})
    assert verdict.passed, verdict.evidence


def test_unpacking_is_bounded() -> None:
    bomb = gzip.compress(b"\0" * (200 << 20))
    assert sum(len(packed.content) for packed in unpacked("bomb.gz", bomb)) <= 64 << 20
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for number in range(MOST_MEMBERS + 50):
            archive.writestr(f"{number}", "")
    assert len(list(unpacked("many.zip", stream.getvalue()))) == MOST_MEMBERS
    nested = b"deep"
    for _ in range(10):
        nested = zipped("inner.zip", nested)
    assert len(list(unpacked("deep.zip", nested))) == DEEPEST
