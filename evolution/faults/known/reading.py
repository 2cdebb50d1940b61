"""What the kinds of this folder read off a draft: outputs, answers, places in the image."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

    from evolution.faults.draft import Draft


LEAST_ANSWER = 40
LEAST_LINE = 12
_DIGIT = re.compile(r"\d")
_PATH = re.compile(r"(?<![\w./~$}:-])/(?:[A-Za-z0-9_.@+-]+/)*[A-Za-z0-9_.@+-]*[A-Za-z0-9_]")
_SYSTEM = ("/bin", "/dev", "/etc", "/lib", "/logs", "/proc", "/solution", "/sys", "/tests", "/tmp", "/usr")  # noqa: S108 - names only
_SCRIPTS = (".sh", ".py")
_COPY = re.compile(r"^(?:COPY|ADD)\s+(?P<source>[\w./-]+)\s+(?P<target>/[\w./-]+)\s*$", re.MULTILINE)


def outputs(draft: Draft) -> tuple[str, ...]:
    """Files that the instruction names, solution or tests speak of, and the image does not ship."""
    code = "\n".join(draft.text(path) for path in (*draft.below(draft.solution), *draft.below(draft.tests)))
    shipped = {path.rpartition("/")[2] for path in draft.below("environment")}
    found = dict.fromkeys(match[0] for match in _PATH.finditer(draft.text(draft.instruction)))
    return tuple(
        path
        for path in found
        if path in code
        and "." in path.rpartition("/")[2]
        and path.rpartition("/")[2] not in shipped
        and not path.startswith(_SYSTEM)
    )


def is_carried(draft: Draft, path: str) -> bool:
    """Whether the verifier sees what a solver leaves at a path: all of it, or in fresh mode only the artifacts."""
    settings = tomllib.loads(draft.text("task.toml"))
    if settings.get("metadata", {}).get("verification") != "fresh":
        return True
    declared = [entry for table in (settings, *settings.get("steps", ())) for entry in table.get("artifacts", ())]
    places = [entry if isinstance(entry, str) else entry.get("source", "") for entry in declared]
    return any(path == place or path.startswith(f"{place.rstrip('/')}/") for place in places)


def answers(draft: Draft) -> tuple[str, ...]:
    """Files of the tests that hold what is expected: text, no scripts, and no copies of what a solver has anyway."""
    shipped = {draft.files[path].content for path in draft.below("environment")}
    return tuple(
        path
        for path in draft.below(draft.tests)
        if not path.endswith(_SCRIPTS)
        and len(content := draft.files[path].content) >= LEAST_ANSWER
        and content not in shipped
        and b"\0" not in content
    )


def answer(draft: Draft, random: Random) -> tuple[str, bytes]:
    """The name and the content of something that gives the answer away: expected results, else the solution."""
    found = answers(draft)
    path = random.choice((*found, draft.solution_script)) if found else draft.solution_script
    return path.rpartition("/")[2], draft.files[path].content


def answer_line(draft: Draft, random: Random) -> str:
    """A telling line of the expected results, which a solver reads nowhere else; "" where there is none."""
    lines = [line.strip() for path in answers(draft)[:8] for line in draft.text(path).splitlines()]
    public = "".join(draft.text(path) for path in (draft.instruction, *draft.below("environment")))
    telling = [line for line in lines if len(line) >= LEAST_LINE and _DIGIT.search(line) and line not in public]
    return random.choice(telling) if telling else ""


def copied_folder(draft: Draft) -> tuple[str, str] | None:
    """A folder of the environment that the Dockerfile copies into the image: its path in the task, and there."""
    for match in _COPY.finditer(draft.text("environment/Dockerfile")):
        folder = f"environment/{match['source'].strip('/').removeprefix('./')}".rstrip("/.")
        if draft.below(folder):
            return folder, match["target"].rstrip("/")
    return None


def put_in_image(draft: Draft, name: str, content: bytes, random: Random) -> str:
    """Ships a file in the image, in a folder that is copied anyway where there is one; its path there."""
    place = copied_folder(draft)
    if place is not None:
        folders = sorted({path.rpartition("/")[0] for path in draft.below(place[0])})
        folder = random.choice(folders)
        draft.write(f"{folder}/{name}", content)
        return f"{place[1]}{folder.removeprefix(place[0])}/{name}"
    target = f"/opt/{random.choice(('share', 'tools', 'local'))}/{name}"
    draft.write(f"environment/{name}", content)
    append(draft, f"COPY {name} {target}")
    return target


def append(draft: Draft, line: str) -> None:
    """Adds a line to the Dockerfile, before its last one that sets a user or a command."""
    text = draft.text("environment/Dockerfile")
    lines = text.rstrip("\n").split("\n")
    at = next((n for n, each in enumerate(lines) if each.startswith(("USER", "CMD", "ENTRYPOINT"))), len(lines))
    draft.write("environment/Dockerfile", "\n".join([*lines[:at], line, *lines[at:]]) + "\n")


def in_script(draft: Draft, path: str, lines: str, *, at_end: bool = False) -> None:
    """Puts lines into a shell script: behind its `#!` and comments, or at its end (before a last `exit`)."""
    text = draft.text(path).rstrip("\n").split("\n")
    if at_end:
        at = len(text) - 1 if re.match(r"\s*exit\b", text[-1]) else len(text)
    else:
        at = next((n for n, line in enumerate(text) if line.strip() and not line.startswith("#")), len(text))
    draft.write(path, "\n".join([*text[:at], *lines.rstrip("\n").split("\n"), *text[at:]]) + "\n")


def wrap_tests(draft: Draft, script: str) -> None:
    """Replaces `test.sh` by a script that has the old one beside it as `checks.sh`."""
    draft.write(f"{draft.tests}/checks.sh", draft.files[draft.test_script].content, executable=True)
    draft.write(draft.test_script, script, executable=True)
