"""Where an answer can hide in the sandbox a solver gets, beyond the environment's plain files; and what is no leak."""

from __future__ import annotations

import base64
import gzip
import hashlib
import marshal
import sqlite3
import subprocess
import urllib.parse
from typing import TYPE_CHECKING

import pytest

from evolution.gates.leak import LeakGate

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow  # each test starts many sandboxes or processes


HEAD = "FROM python:3.12-bookworm\nWORKDIR /app\nCOPY data /app/data\n"
TYPED = """awk -F, '$3 == "paid" { print $1 "," $2 "," $4 }' /app/data/orders.csv > /app/out/paid.csv"""


def database(text: str) -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE notes (id INTEGER, body TEXT)")
    connection.executemany("INSERT INTO notes VALUES (?, ?)", [(1, "x" * 3000), (2, text)])
    connection.commit()
    return connection.serialize()


ENCODED = {
    "base64": lambda text: b"note: " + base64.b64encode(text),
    "wrapped base64": base64.encodebytes,
    "base64 of gzip": lambda text: base64.b64encode(gzip.compress(text)),
    "base32": base64.b32encode,
    "hexadecimal": lambda text: text.hex().encode(),
    "spaced hexadecimal": lambda text: text.hex(" ").encode(),
    "URL-quoted": lambda text: urllib.parse.quote(text).encode(),
    "UTF-16": lambda text: text.decode().encode("utf-16"),
    "ROT13": lambda text: text.decode().translate(ROT13).encode(),
    "backwards": lambda text: text[::-1],
    "a JSON string": lambda text: b'{"cell": "' + text.replace(b"\n", b"\\n").replace(b'"', b'\\"') + b'"}',
    "gzip amid a binary": lambda text: b"\x7fELF\0\1\2" * 40 + gzip.compress(text) + b"\0\3" * 50,
    "a database": lambda text: database(text.decode()),
}
LETTERS = "abcdefghijklmnopqrstuvwxyz"
ROT13 = str.maketrans(
    LETTERS + LETTERS.upper(),
    LETTERS[13:] + LETTERS[:13] + LETTERS[13:].upper() + LETTERS[:13].upper(),
)


@pytest.mark.parametrize("secret", ["solution/solve.sh", "tests/expected/paid.csv"])
@pytest.mark.parametrize("how", ENCODED)
async def test_encodings_are_undone(only_files, seed, how: str, secret: str) -> None:
    files = {**seed, "environment/notes.bin": ENCODED[how](seed[secret].encode())}
    verdict = await only_files(LeakGate(), files)
    assert "leak/encoded" in {finding.code for finding in verdict.findings}, verdict.evidence
    assert secret in verdict.evidence
    assert verdict.findings[0].where == "environment/notes.bin"


@pytest.mark.parametrize("how", ENCODED)
async def test_other_texts_may_be_encoded(check, seed, how: str) -> None:
    text = seed["environment/data/orders.csv"].encode()
    verdict = await check(LeakGate(), {**seed, "environment/data/notes.bin": ENCODED[how](text)})
    assert verdict.passed, verdict.evidence


def run(text: str) -> str:
    """A RUN line that writes a text without showing it to any rule that reads Dockerfiles."""
    shifted = base64.b85encode(text.encode()).decode()
    return f"python3 -c 'import base64,sys; sys.stdout.buffer.write(base64.b85decode(sys.argv[1]))' '{shifted}'"


BUILT = {
    "a shell's history": ("/root/.bash_history", f"ls\n{TYPED}\nexit\n", "history"),
    "Python's history": ("/home/dev/.python_history", f'import os\nos.system(r"""\n{TYPED}\n""")\n', "history"),
    "an editor's registers": ("/root/.viminfo", f'# Registers:\n""\t\tLINE\t0\n\t{TYPED}\n', "history"),
    "a swap file": ("/app/.solve.sh.swp", None, "history"),
    "a cache": ("/root/.cache/tool/blob", None, "cache"),
    "a log": ("/var/log/build.log", None, "cache"),
    "a folder of the system": ("/usr/local/share/notes", None, "built"),
    "a library folder": ("/usr/lib/python3/notes", None, "built"),
    "settings": ("/etc/notes.conf", None, "built"),
}


async def test_what_a_build_writes_is_read(check, seed) -> None:
    lines = "".join(
        f"RUN mkdir -p $(dirname {path}) && {run(text or seed['tests/expected/paid.csv'])} > {path}\n"
        for path, text, _ in BUILT.values()
    )
    verdict = await check(LeakGate(), {**seed, "environment/Dockerfile": HEAD + lines})
    found = {finding.where: finding.code for finding in verdict.findings}
    assert found == {path: f"leak/{code}" for path, _, code in BUILT.values()}, verdict.evidence


async def test_a_folder_that_the_instruction_names_excuses_no_answer(check, seed) -> None:
    line = f"RUN mkdir /etc/app && {run(seed['tests/expected/paid.csv'])} > /etc/app/notes.conf\n"
    verdict = await check(LeakGate(), {**seed, "environment/Dockerfile": HEAD + line})
    assert verdict.code == "leak/output", verdict.evidence


async def test_what_a_build_writes_may_be_anything_else(check, seed) -> None:
    written = {
        "/root/.bash_history": "cd /app\nawk -F, '{ print $1 }' /app/data/orders.csv\nls -la\n",
        "/var/log/build.log": seed["environment/data/orders.csv"],
        "/app/data/more.csv": "10,customer-1,open,100\n",
        "/home/dev/.viminfo": "# Registers:\n",
    }
    lines = "".join(f"RUN mkdir -p $(dirname {path}) && {run(text)} > {path}\n" for path, text in written.items())
    verdict = await check(LeakGate(), {**seed, "environment/Dockerfile": HEAD + lines})
    assert verdict.passed, verdict.evidence


async def test_a_text_that_a_later_line_removes(only_files, seed) -> None:
    lines = f"RUN cat > /opt/key <<'EOF'\n{seed['tests/expected/paid.csv']}EOF\nRUN rm /opt/key\n"
    verdict = await only_files(LeakGate(), {**seed, "environment/Dockerfile": HEAD + lines})
    assert verdict.code == "leak/layer", verdict.evidence
    assert verdict.findings[0].where == "environment/Dockerfile:4"


async def test_a_copied_file_that_a_later_line_removes(only_files, seed) -> None:
    lines = "COPY draft /opt/draft\nRUN rm -rf /opt/draft\n"
    files = {**seed, "environment/draft": seed["solution/solve.sh"], "environment/Dockerfile": HEAD + lines}
    verdict = await only_files(LeakGate(), files)
    assert verdict.code == "leak/copy"
    assert "environment/Dockerfile:5 removes /opt/draft, and the layer below keeps it" in verdict.evidence


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("ENV HINT={}", "environment"),
        ("ARG HINT={}", "layer"),
        ("LABEL hint={}", "layer"),
        ("RUN echo {} | base64 -d > /opt/x", "layer"),
    ],
)
async def test_values_in_a_dockerfile(only_files, seed, line: str, code: str) -> None:
    value = base64.b64encode(seed["tests/expected/paid.csv"].encode()).decode()
    verdict = await only_files(LeakGate(), {**seed, "environment/Dockerfile": f"{HEAD}{line.format(value)}\n"})
    assert verdict.code == f"leak/{code}", verdict.evidence
    assert "environment/Dockerfile:4" in verdict.findings[0].where


async def test_a_short_answer_in_a_variable(only_files, seed) -> None:
    files = {**seed, "tests/expected/total.txt": "total=1250.75\n"}
    told = 'env = { SUM = "total=1250.75" }\n'
    verdict = await only_files(LeakGate(), {**files, "task.toml": seed["task.toml"] + told})
    assert verdict.code == "leak/environment"
    assert "tests/expected/total.txt" in verdict.evidence
    row = 'ENV SAMPLE="customer-7\\\\t12\\\\tpaid"\n'
    table = {**files, "tests/expected/table.tsv": "customer-7\t12\tpaid\ncustomer-9\t4\topen\n"}
    verdict = await only_files(LeakGate(), {**table, "environment/Dockerfile": HEAD + row})
    assert verdict.code == "leak/environment"
    compose = "services:\n  main:\n    environment:\n      - SUM=total=1250.75\n"
    verdict = await only_files(LeakGate(), {**files, "environment/docker-compose.yaml": compose})
    assert verdict.code == "leak/environment"


async def test_variables_that_say_nothing(check, seed) -> None:
    lines = "ENV STAGE=production VERSION=2.14.7-rc1\nLABEL maintainer=someone@example.org\n"
    files = {**seed, "environment/Dockerfile": HEAD + lines, "tests/expected/stage.txt": "production\n"}
    verdict = await check(LeakGate(), files)
    assert verdict.passed, verdict.evidence


PROGRAM = """
def reconcile_ledger(opening_balance, postings, rounding_unit):
    carried_forward = opening_balance
    for posting_amount, posting_kind in postings:
        carried_forward += posting_amount if posting_kind == "credit_entry" else -posting_amount
    return {"closing_balance": round(carried_forward / rounding_unit) * rounding_unit}
"""


def pyc(source: str) -> bytes:
    return b"\xcb\x0d\x0d\x0a" + b"\0" * 12 + marshal.dumps(compile(source, "x.py", "exec"))


async def test_compiled_code_of_the_solution(check, only_files, seed) -> None:
    solution = {**seed, "solution/ledger.py": PROGRAM}
    path = "environment/data/__pycache__/x.cpython-312.pyc"
    verdict = await only_files(LeakGate(), {**solution, path: pyc(PROGRAM)})
    assert verdict.code == "leak/cache", verdict.evidence
    assert "carried_forward" in verdict.evidence
    # The same names are no secret where a solver works on the program itself.
    given = {
        **solution,
        "environment/data/ledger.py": PROGRAM.replace("= opening_balance", "= abs(opening_balance)"),
        path: pyc(PROGRAM),
    }
    given["instruction.md"] = seed["instruction.md"] + "Mend /app/data/ledger.py.\n"
    verdict = await check(LeakGate(), given)
    assert verdict.passed, verdict.evidence


async def test_an_output_that_is_there_already(check, seed) -> None:
    # Nothing in tests/ holds it: they work out what they expect.
    files = {path: text for path, text in seed.items() if not path.startswith("tests/expected")}
    files["environment/data/old/paid.csv"] = seed["tests/expected/paid.csv"]
    verdict = await check(LeakGate(), files)
    assert verdict.code == "leak/output", verdict.evidence
    assert "/app/out/paid.csv" in verdict.evidence
    files["environment/data/old/paid.csv"] = base64.b64encode(seed["tests/expected/paid.csv"].encode()).decode()
    assert (await check(LeakGate(), files)).code == "leak/output"


async def test_an_input_that_is_copied_is_no_leak(check, seed) -> None:
    files = {path: text for path, text in seed.items() if not path.startswith("tests/expected")}
    files["environment/data/deep/er/page.txt"] = "".join(f"line {number} of a page\n" for number in range(20))
    files["solution/solve.sh"] += "cp -r /app/data/deep/er/* /app/out/\n"
    verdict = await check(LeakGate(), files)
    assert verdict.passed, verdict.evidence


async def test_a_tree_that_comes_back_in_part_is_no_leak(check, seed) -> None:
    page = "".join(f"line {number} of a page\n" for number in range(20))
    files = {**seed, "environment/data/ours/docs/page.txt": page, "tests/merged/docs/page.txt": page}
    files["solution/solve.sh"] += "cp -r /app/data/ours/* /app/out/\n"
    verdict = await check(LeakGate(), files)
    assert verdict.passed, verdict.evidence
    # Where it lies as an answer would, it is one.
    files["environment/data/expected/page.txt"] = files.pop("environment/data/ours/docs/page.txt")
    assert (await check(LeakGate(), files)).code == "leak/copy"


async def test_a_log_of_what_was_written(check, seed) -> None:
    lines = seed["tests/expected/paid.csv"].splitlines()
    for head in ("[00:{:02d}] wrote: ", "2025-01-02T03:04:{:02d}Z ", "Jan  2 03:04:{:02d} ci solve[7]: "):
        log = "".join(f"{head.format(number)}{line}\n" for number, line in enumerate(lines))
        verdict = await check(LeakGate(), {**seed, "environment/data/nohup.out": log})
        assert verdict.code == "leak/output", (head, verdict.evidence)
        assert "without the heads of its lines" in verdict.evidence


async def test_a_commit_that_holds_an_output_by_its_name(only_files, seed, tmp_path) -> None:
    repository = tmp_path / "drop"
    repository.mkdir()
    (repository / "paid.csv").write_text(seed["tests/expected/paid.csv"])
    git(repository, "init -q", "add .", "commit -qm reference")
    (repository / "paid.csv").unlink()
    verdict = await only_files(LeakGate(), {**seed, **files_of(repository)})
    assert verdict.code == "leak/git", verdict.evidence


async def test_expected_results_in_a_folder_of_inputs(check, seed) -> None:
    digests = [hashlib.sha256(f"{number}".encode()).hexdigest()[:12] for number in range(60)]
    lines = "\n".join(digests) + "\n"
    files = {**seed, "tests/expected/rows.json": lines}
    files["instruction.md"] += "More of them are in /app/data/spool/, and are left alone.\n"
    at = "environment/data/spool/README.internal"
    assert (await check(LeakGate(), {**files, at: lines})).code == "leak/copy"
    verdict = await check(LeakGate(), {**files, at: "For reviewers.\n\n" + "\n".join(digests[10:55])})
    assert verdict.code == "leak/similar", verdict.evidence
    assert verdict.findings[0].where == at
    # It is an input where the reference solution needs it.
    needed = {**files, "environment/data/spool/rows.txt": lines}
    needed["solution/solve.sh"] += "for file in /app/data/spool/*; do cp $file /app/out/rows.json; done\n"
    verdict = await check(LeakGate(), needed)
    assert verdict.passed, verdict.evidence


async def test_expected_output_in_other_words(check, seed) -> None:
    rows = [row.split(",") for row in seed["tests/expected/paid.csv"].split()]
    totals = [f"order number 90{number} of {customer}: {int(amount) * 7}.25 EUR" for number, customer, amount in rows]
    files = {
        **seed,
        "tests/expected/report.txt": "\n".join(totals) + "\n",
        "environment/data/scraps/one.json": str([row.replace(": ", " = ") for row in totals]),
    }
    verdict = await check(LeakGate(), files)
    assert verdict.code == "leak/similar", verdict.evidence


def git(folder: Path, *commands: str) -> None:
    for command in commands:
        subprocess.run(  # noqa: S602 - lines of this file
            f"git -c user.name=a -c user.email=a@example.org {command}", shell=True, cwd=folder, check=True,
            capture_output=True,
        )  # fmt: skip


def repository(folder: Path) -> Path:
    folder.mkdir()
    git(folder, "init -q -b main")
    (folder / "tool.py").write_text("print('a tool')\n" * 30)
    git(folder, "add .", "commit -qm first")
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {f"environment/repo/{path.relative_to(folder)}": path.read_bytes() for path in found}


def lost(folder: Path) -> None:
    git(folder, "add .", "commit -qm second", "reset -q --hard HEAD~1", "reflog expire --expire=now --all")
    (folder / ".git/ORIG_HEAD").unlink()


def in_reflog(folder: Path) -> None:
    git(folder, "add .", "commit -qm second", "reset -q --hard HEAD~1")


def in_delta(folder: Path) -> None:
    """Two versions of a file, the older of which a pack keeps as a delta."""
    secret = (folder / "draft").read_bytes()
    filler = b"".join(b"%d filler %d\n" % (number * number, number) for number in range(400))
    (folder / "draft").write_bytes(filler + secret)
    git(folder, "add .", "commit -qm second")
    (folder / "draft").write_bytes(filler + b"the rest has been removed " * 40)
    git(folder, "add .", "commit -qm third", "gc -q --aggressive --prune=now")


HIDDEN = {
    "an earlier commit": (lambda f: git(f, "add .", "commit -qm a", "rm -q draft", "commit -qm b"), "main"),
    "the stash": (lambda f: git(f, "add .", "stash -q"), "refs/stash"),
    "the reflog": (in_reflog, "reflog of HEAD"),
    "an unreachable commit": (lost, "unreachable"),
    "another branch, packed": (
        lambda f: git(f, "switch -qc side", "add .", "commit -qm a", "switch -q main", "pack-refs --all", "gc -q"),
        "refs/heads/side",
    ),
    "a delta": (in_delta, "refs/heads/main"),
    "the index": (lambda f: (git(f, "add ."), (f / "draft").unlink()), "no tree names"),
    "a note": (lambda f: (git(f, "notes add -F draft"), (f / "draft").unlink()), "refs/notes/commits"),
    "a message": (
        lambda f: git(f, "add tool.py", "commit -q --allow-empty -F draft", "clean -qf"),
        "message of commit",
    ),
}


@pytest.mark.parametrize("where", HIDDEN)
async def test_git_is_read_whole(only_files, seed, tmp_path, where: str) -> None:
    hide, origin = HIDDEN[where]
    folder = repository(tmp_path / "repo")
    (folder / "draft").write_text(seed["solution/solve.sh"])
    hide(folder)
    files = files_of(folder)
    files.pop("environment/repo/draft", None)
    files.pop("environment/repo/.git/COMMIT_EDITMSG", None)  # found as a plain file
    verdict = await only_files(LeakGate(), {**seed, **files})
    assert verdict.code == "leak/git", verdict.evidence
    assert origin in verdict.evidence
    assert "solution/solve.sh" in verdict.evidence


async def test_git_bundles_are_read(only_files, seed, tmp_path) -> None:
    folder = repository(tmp_path / "repo")
    (folder / "draft").write_text(seed["tests/expected/paid.csv"])
    git(folder, "add .", "commit -qm a", "rm -q draft", "commit -qm b", "bundle create all.bundle --all")
    files = {**seed, "environment/all.bundle": (folder / "all.bundle").read_bytes()}
    verdict = await only_files(LeakGate(), files)
    assert "leak/git" in {finding.code for finding in verdict.findings}, verdict.evidence


async def test_a_repository_that_the_build_makes(check, seed) -> None:
    text = run(seed["solution/solve.sh"])
    line = (
        "RUN git init -q /srv/r && cd /srv/r && git config user.name a && git config user.email a@example.org && "
        f"{text} > x && git add . && git commit -qm a && git rm -q x && git commit -qm b\n"
    )
    verdict = await check(LeakGate(), {**seed, "environment/Dockerfile": HEAD + line})
    assert verdict.code == "leak/git", verdict.evidence


async def test_a_repository_to_work_on_is_no_leak(check, seed, tmp_path) -> None:
    folder = repository(tmp_path / "repo")
    right = "import sys\nvalue = compute_the_value(sys.argv[1], rounded=True)\nprint(value + 1)\n"
    (folder / "fix.py").write_text(right)
    git(folder, "add .", "commit -qm right")
    (folder / "fix.py").write_text(right.replace("True", "False"))
    git(folder, "add .", "commit -qm wrong", "gc -q")
    files = {
        **seed,
        **files_of(folder),
        "instruction.md": seed["instruction.md"] + "A commit in /app/repo broke fix.py: mend it.\n",
        "solution/fix.py": right,
        "tests/pristine/tool.py": (folder / "tool.py").read_bytes(),
    }
    verdict = await check(LeakGate(), files)
    assert verdict.passed, verdict.evidence


@pytest.mark.parametrize("cut", [30, 100, 250])
async def test_damaged_repositories_do_no_harm(check, seed, tmp_path, cut: int) -> None:
    folder = repository(tmp_path / "repo")
    git(folder, "gc -q")
    files = {path: data[:cut] if "objects" in path else data for path, data in files_of(folder).items()}
    verdict = await check(LeakGate(), {**seed, **files})
    assert verdict.passed, verdict.evidence
