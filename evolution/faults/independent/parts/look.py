"""Reads off a task what its text says: results, inputs, users, how it is verified."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evolution.faults.draft import Draft

DOCKERFILE = "environment/Dockerfile"
_PATH = re.compile(r"(?<![\w$}/.*<])(/[A-Za-z0-9_][\w.+-]*(?:/[\w.+-]+)+)(?![\w/<*]|\.\w)")
_WRITTEN = re.compile(r">\s*\"?(/[\w./+-]+)")
_NOT_RESULTS = ("/tests/", "/logs/", "/solution/", "/tmp/", "/usr/", "/bin/", "/dev/", "/proc/", "/etc/", "/sys/")  # noqa: S108 - names to leave out
_COPY = re.compile(r"^(?:COPY|ADD)\s+((?:--\S+\s+)*)(.+)$", re.MULTILINE)


def settings(draft: Draft) -> dict[str, Any]:
    """`task.toml`, parsed."""
    return tomllib.loads(draft.text("task.toml"))


def is_fresh(draft: Draft) -> bool:
    """Whether the verifier gets a sandbox of its own, clean or separate."""
    found = settings(draft)
    separate = found.get("verifier", {}).get("environment_mode") == "separate"
    return bool(separate or found.get("metadata", {}).get("verification") == "fresh")


def runs_as_root(draft: Draft) -> bool:
    """Whether agent and verifier are root."""
    found = settings(draft)
    tables = [found, *found.get("steps", [])]
    users = [table.get(role, {}).get("user") for table in tables for role in ("agent", "verifier")]
    dockerfile = draft.text(DOCKERFILE) if DOCKERFILE in draft.files else ""
    return not re.search(r"^USER\s+(?!root|0)", dockerfile, re.MULTILINE) and all(
        user in (None, 0, "root") for user in users
    )


def texts(draft: Draft, folder: str) -> str:
    """All text below a folder."""
    return "\n".join(draft.text(path) for path in draft.below(folder) if not draft.files[path].link)


def has_python(draft: Draft) -> bool:
    """Whether the image has Python, so far as one can tell."""
    dockerfile = draft.text(DOCKERFILE) if DOCKERFILE in draft.files else ""
    return bool(re.search(r"^FROM\s+python|\bpython3\b", dockerfile, re.MULTILINE)) or any(
        "python3" in texts(draft, folder) for folder in (draft.tests, draft.solution)
    )


def results(draft: Draft) -> tuple[str, ...]:
    """Absolute paths of the files that the reference solution writes and the tests read, as far as the texts name them.

    What is an input by its name is left out, unless the solution writes to it.
    """
    solution, tests = texts(draft, draft.solution), texts(draft, draft.tests)
    told = draft.text(draft.instruction) if draft.instruction in draft.files else ""
    inputs = {path.rsplit("/", 1)[-1] for path in draft.files if path.startswith("environment/") or "/workdir/" in path}
    written = set(_WRITTEN.findall(solution))
    declared = settings(draft).get("artifacts", [])
    found = dict.fromkeys(path for path in declared if isinstance(path, str) and "." in path.rsplit("/", 1)[-1])
    for source in (tests, told):
        for path in _PATH.findall(source):
            named = path.rstrip(".")
            name = named.rsplit("/", 1)[-1]
            if named.startswith(_NOT_RESULTS) or "." not in name.strip(".") or name.endswith(".git"):
                continue
            if named in written or (name not in inputs and (named in solution or name in solution)):
                found[named] = None
    for folder, name in _named_alone(told):
        if name not in inputs and name in tests and name in solution:
            found[f"{folder}/{name}"] = None
    return tuple(found)


def _named_alone(told: str) -> list[tuple[str, str]]:
    """Names of files without a folder, each with the folder that was last spoken of: "in `/app/out` write `a.txt`"."""
    folder, found = "", []
    for quoted in re.findall(r"`(/?[\w./-]+)`", told):
        if quoted.startswith("/") and "." not in quoted.rsplit("/", 1)[-1]:
            folder = quoted.rstrip("/")
        elif folder and re.fullmatch(r"[\w-]+\.[a-z]{2,4}", quoted):
            found.append((folder, quoted))
    return found


def json_results(draft: Draft) -> tuple[str, ...]:
    """Results that are JSON."""
    return tuple(path for path in results(draft) if path.endswith(".json"))


def copied(draft: Draft) -> tuple[tuple[str, str], ...]:
    """What the Dockerfile copies: (path below `environment/`, absolute target), folders without their last slash."""
    if DOCKERFILE not in draft.files:
        return ()
    found = []
    text = draft.text(DOCKERFILE)
    workdir = workdir_of(draft)
    for flags, rest in _COPY.findall(text):
        words = rest.split()
        if "--from" in flags or rest.startswith("[") or "<<" in rest or len(words) < 2:  # noqa: PLR2004 - a source and a target
            continue
        *sources, target = words
        if not target.startswith("/"):
            target = f"{workdir}/{target.removeprefix('./')}"
        for source in sources:
            name = source.rstrip("/").removeprefix("./")
            is_folder = bool(draft.below(f"environment/{name}"))
            into = target.endswith("/") and not is_folder
            found.append((name, f"{target}{name.rsplit('/', 1)[-1]}" if into else target.rstrip("/")))
    return tuple(found)


def workdir_of(draft: Draft) -> str:
    """The last `WORKDIR`."""
    found = re.findall(r"^WORKDIR\s+(/\S+)", draft.text(DOCKERFILE), re.MULTILINE) if DOCKERFILE in draft.files else []
    return str(found[-1]).rstrip("/") if found else "/"


def inputs(draft: Draft) -> tuple[str, ...]:
    """Absolute paths that come with the image and that the solution names; none that holds a result."""
    solution, outputs = texts(draft, draft.solution), results(draft)
    found = dict.fromkeys(target for _, target in copied(draft))
    return tuple(
        path
        for path in found
        if path in solution and not any(output.startswith((f"{path}/", path)) for output in outputs)
    )


def low_timeout(draft: Draft, role: str, seconds: float) -> None:
    """Gives agent or verifier little time, where the fault is."""

    def edit(document: Any) -> None:
        table = document
        if draft.step:
            name = draft.step.rsplit("/", 1)[-1]
            table = next(step for step in document["steps"] if step["name"] == name)
        if role not in table:
            table[role] = {}
        table[role]["timeout_sec"] = seconds

    draft.edit_settings(edit)
