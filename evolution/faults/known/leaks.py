"""Answers that lie where a solver finds them: in a file, in git, in a variable, in disguise."""

from __future__ import annotations

import base64
import codecs
import gzip
import json
import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from evolution.faults.fault import Fault
from evolution.faults.known.reading import answer, answer_line, append, put_in_image

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from evolution.faults.draft import Draft

LONGEST_VARIABLE = 600
WHO = b"Build <build@example.org>"
_DAY = 86_400
_EPOCH = 1_700_000_000


def in_a_file(draft: Draft, random: Random) -> bool:
    """A copy of solution or expected results is shipped beside the inputs."""
    name, content = answer(draft, random)
    stem, _, ending = name.rpartition(".")
    names = (f".{name}.swp", f"{stem}-final.{ending}", "notes.txt", f"{name}~", f"old-{name}", "README.internal")
    if random.random() < 0.3 and len(content) > 400:  # noqa: PLR2004 - the first half is enough to help
        content = content[: len(content) * 2 // 3]
    head = random.choice((b"", b"", b"For reviewers only, do not ship.\n\n"))
    put_in_image(draft, random.choice(names), head + content, random)
    return True


def in_git(draft: Draft, random: Random) -> bool:
    """A repository is shipped whose history holds the answer."""
    from dulwich.objects import Blob, Commit, ObjectID, Tree
    from dulwich.refs import Ref
    from dulwich.repo import Repo

    name, content = answer(draft, random)
    with tempfile.TemporaryDirectory() as folder:
        with Repo.init(folder) as repository:

            def commit(files: dict[str, bytes], parent: ObjectID | None, message: bytes, day: int) -> ObjectID:
                tree = Tree()
                for path, data in sorted(files.items()):
                    blob = Blob.from_string(data)
                    repository.object_store.add_object(blob)
                    tree.add(path.encode(), 0o100644, blob.id)
                repository.object_store.add_object(tree)
                made = Commit()
                made.tree, made.parents, made.message = tree.id, [parent] if parent else [], message
                made.author = made.committer = WHO
                made.author_time = made.commit_time = _EPOCH + day * _DAY
                made.author_timezone = made.commit_timezone = 0
                repository.object_store.add_object(made)
                return made.id

            readme = {"README.md": b"# Data drop\n\nSee the instruction.\n"}
            first = commit(readme, None, b"start\n", 0)
            second = commit({**readme, name: content}, first, b"add reference\n", 1)
            last = commit(readme, second, b"remove what solvers must not see\n", 2)
            way = random.choice(("history", "branch", "stash", "dangling", "tag"))
            head = first if way in {"branch", "stash", "dangling", "tag"} else last
            repository.refs[Ref(b"refs/heads/main")] = head
            repository.refs.set_symbolic_ref(Ref(b"HEAD"), Ref(b"refs/heads/main"))
            extra = {"branch": b"refs/heads/solution", "stash": b"refs/stash", "tag": b"refs/tags/v0.1"}.get(way)
            if extra is not None:
                repository.refs[Ref(extra)] = second
        root = Path(folder)
        target = random.choice(("/srv/data-drop", "/opt/upstream", "/app/.vendor"))
        for file in sorted(root.rglob("*")):
            if file.is_file():
                draft.write(f"environment/upstream/{file.relative_to(root).as_posix()}", file.read_bytes())
    draft.write("environment/upstream/README.md", readme["README.md"])
    append(draft, f"COPY upstream {target}")
    return True


def in_a_variable(draft: Draft, random: Random) -> bool:
    """A variable of the image holds an expected value."""
    line = answer_line(draft, random)
    if not line:
        return False
    value = line[:LONGEST_VARIABLE]
    name = random.choice(("EXPECTED_RESULT", "CHECK_VALUE", "GOLDEN", "REPORT_SAMPLE", "CI_FIXTURE"))
    if random.random() < 0.4:  # noqa: PLR2004

        def edit(settings: object) -> None:
            environment = settings.setdefault("environment", {})  # type: ignore[attr-defined]
            environment.setdefault("env", {})[name] = value

        draft.edit_settings(edit)
        return True
    quoted = json.dumps(value, ensure_ascii=False).replace("$", "\\$")
    append(draft, f"ENV {name}={quoted}")
    return True


def in_disguise(draft: Draft, random: Random) -> bool:
    """The answer is shipped encoded or packed."""
    name, content = answer(draft, random)
    ways: dict[str, Callable[[bytes], bytes]] = {
        "base64": base64.b64encode,
        "base64 lines": base64.encodebytes,
        "base32": base64.b32encode,
        "hex": lambda data: data.hex().encode(),
        "gzip": lambda data: gzip.compress(data, mtime=0),
        "zlib in base64": lambda data: base64.b64encode(zlib.compress(data)),
        "rot13": lambda data: codecs.encode(data.decode("utf-8", "replace"), "rot13").encode(),
        "reversed": lambda data: data[::-1],
    }
    way = random.choice(sorted(ways))
    data = ways[way](content)
    if random.random() < 0.4:  # noqa: PLR2004
        data = b'{"session": 7, "payload": "' + data + b'"}\n' if way != "gzip" else b"\x00\x01HDR" + data
    names = ("state.bin", ".session", "cache.dat", f"{name}.enc", "telemetry.blob")
    put_in_image(draft, random.choice(names), data, random)
    return True


FAULTS = (
    Fault("leak-file", "a copy of solution or expected results is shipped", "running", in_a_file),
    Fault("leak-git", "a shipped repository's history holds the answer", "running", in_git),
    Fault("leak-environment", "a variable of the image holds expected values", "running", in_a_variable),
    Fault("leak-encoded", "the answer is shipped encoded or packed", "running", in_disguise),
)
