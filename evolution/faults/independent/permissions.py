"""Files that the one who needs them may not read, write or run."""
# ruff: noqa: E501 - lines of scripts are as long as they are

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from evolution.faults.draft import DraftFile
from evolution.faults.fault import Fault
from evolution.faults.independent.parts.look import DOCKERFILE, inputs, is_fresh, results, runs_as_root
from evolution.faults.independent.parts.script import edit_solution, one_of

if TYPE_CHECKING:
    from random import Random

    from evolution.faults.draft import Draft

_USER = 1001


def _user_of(draft: Draft, role: str, user: int | str) -> None:
    def edit(document: Any) -> None:
        if role not in document:
            document[role] = {}
        document[role]["user"] = user

    draft.edit_settings(edit)


def _add_to_image(draft: Draft, lines: str) -> bool:
    if DOCKERFILE not in draft.files or re.search(r"^USER\b", draft.text(DOCKERFILE), re.MULTILINE):
        return False
    draft.write(DOCKERFILE, f"{draft.text(DOCKERFILE).rstrip()}\n\n{lines}\n")
    return True


def _tidying(rng: Random, path: str) -> tuple[str, str]:
    """A small program (its text, and the solution's lines up to its call) that a result goes through."""
    aside = rng.choice((f"{path}.raw", f"{path}.tmp", f"{path}.unchecked"))
    body = rng.choice(
        ('cat "$1" > "$2"\nrm "$1"\n', 'cp "$1" "$2" && rm -f "$1"\n', 'install -m 644 "$1" "$2"\nrm "$1"\n')
    )
    return f"#!/bin/bash\n# Usage: $0 FROM TO\n{body}", f"mv {path} {aside}\n@ {aside} {path}"


def _helper_of_solution(draft: Draft, rng: Random) -> bool:
    """A helper beside `solve.sh` is called as a program and has no run bit."""
    paths = results(draft)
    if not paths:
        return False
    name = rng.choice(("finish", "publish.sh", "tidy", "export.bash"))
    program, call = _tidying(rng, rng.choice(paths))
    draft.files[f"{draft.solution}/{name}"] = DraftFile(program.encode())
    return edit_solution(draft, f"\n{call.replace('@', f'/solution/{name}')}\n", end=True)


def _tool_of_image(draft: Draft, rng: Random) -> bool:
    """A tool in the image is copied without its run bit."""
    paths = results(draft)
    if not paths:
        return False
    name = rng.choice(("tidy-result", "publish", "normalise", "put-result"))
    folder = rng.choice(("/usr/local/bin", "/opt/tools", "/usr/local/libexec"))
    program, call = _tidying(rng, rng.choice(paths))
    draft.files[f"environment/tools/{name}"] = DraftFile(program.encode())
    return _add_to_image(draft, f"COPY tools/{name} {folder}/{name}") and edit_solution(
        draft, f"\n{call.replace('@', f'{folder}/{name}')}\n", end=True
    )


def _verifier_program(draft: Draft, rng: Random) -> bool:
    """`test.sh` hands over to a script that nobody made executable."""
    path = draft.test_script
    name = rng.choice(("verify", "grade.sh", "main.bash", "run_all"))
    new = f"{draft.tests}/{name}"
    if path not in draft.files or new in draft.files or "BASH_SOURCE" in draft.text(path):
        return False
    text = draft.text(path)
    draft.files[new] = DraftFile((text if text.startswith("#!") else f"#!/bin/bash\n{text}").encode())
    draft.write(path, f"#!/bin/bash\n{rng.choice(('exec ', '', 'env '))}/tests/{name}\n")
    return True


def _unwritable_results(draft: Draft, rng: Random) -> bool:
    """The agent is an ordinary user, and the folder for results belongs to root."""
    paths = results(draft)
    if not paths or not runs_as_root(draft):
        return False
    folder = rng.choice(paths).rsplit("/", 1)[0]
    mode = rng.choice(("755", "750", "555"))
    lines = rng.choice(
        (
            f"RUN mkdir -p {folder} && chmod {mode} {folder}",
            f"RUN install -d -o root -g root -m {mode} {folder}",
            f"# Results go here.\nRUN mkdir -p {folder} \\\n    && chown 0:0 {folder} && chmod {mode} {folder}",
        )
    )
    if not _add_to_image(draft, lines):
        return False
    _user_of(draft, "agent", rng.choice((_USER, 1000, 2000)))
    return True


def _unreadable_inputs(draft: Draft, rng: Random) -> bool:
    """The agent is an ordinary user, and may not read what it is to work on."""
    found, paths = inputs(draft), results(draft)
    if not found or not paths or not runs_as_root(draft):
        return False
    path = rng.choice(found)
    user = rng.choice((_USER, 1000, 2000))
    folders = " ".join(sorted({path.rsplit("/", 1)[0] for path in paths}))
    closed = rng.choice(
        (f"chmod -R go-rwx {path}", f"chown -R 0:0 {path} && chmod -R 700 {path}", f"chmod -R go= {path}")
    )
    if not _add_to_image(draft, f"RUN mkdir -p {folders} && chown {user} {folders} && {closed}"):
        return False
    _user_of(draft, "agent", user)
    return True


def _unreadable_results(draft: Draft, rng: Random) -> bool:
    """The verifier is an ordinary user, and the solution leaves its results to root alone."""
    paths = results(draft)
    if not paths or not runs_as_root(draft) or is_fresh(draft):
        return False
    listed = " ".join(paths)
    close = rng.choice((f"chmod 600 {listed}", f"chmod go-rwx {listed}", f"chmod 0400 {listed}"))
    _user_of(draft, "verifier", rng.choice((65534, _USER, 1000)))
    return edit_solution(draft, f"\n# Figures are confidential.\n{close}\n", end=True)


FAULTS: tuple[Fault, ...] = (
    Fault(
        "wrong-permissions",
        "A file or folder that the reference solution or the verifier needs may not be read, written or run by its user.",
        "running",
        one_of(
            _helper_of_solution,
            _tool_of_image,
            _verifier_program,
            _unwritable_results,
            _unreadable_inputs,
            _unreadable_results,
        ),
        independent=True,
    ),
)
