"""Gate `leak`: no part of solution, tests or expected output is within the solver's reach."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evolution.gates.leak_archives import unpacked
from evolution.gates.leak_secrets import Known, Suspect, recognised, secrets_of
from evolution.gates.outcomes import accepted, invalid
from evolution.gates.scripts import Line, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evolution.verdict import Candidate, Verdict
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task

MOST_SHOWN: Final = 10
_RECIPE: Final = re.compile(r"(^|/)(?:[\w.-]*Dockerfile[\w.-]*|docker-compose[\w.-]*\.ya?ml)$")
_NAMED: Final = re.compile(r"(?:^|[/!])(?:solution/solve\.(?:sh|bat)|tests/test\.(?:sh|bat))$|!solve\.(?:sh|bat)$")
_UPWARDS: Final = re.compile(r"(?:^|[\s\"'=:\[,])(?:\./)?\.\./[^\s\"',\]]*")
_HARNESS_FOLDER: Final = re.compile(r"(?:^|[\s\"'=,])/(?:tests|solution|logs/verifier)(?:[/\s\"'\],]|$)")
_COPIES: Final = re.compile(r"^\s*(?:COPY|ADD)\s", re.IGNORECASE)

# Prints what lies in the folders it is given; only bash itself is needed.
_LOOK: Final = (
    'shopt -s nullglob dotglob; for folder; do for file in "$folder"/*; do printf "%s\\0" "$file"; done; done'
)


class LeakGate:
    """Reads every file of the environment, packed ones too, then looks into a started sandbox.

    What it cannot see: what a `RUN` line or a download brings into the image, except in Harbor's own folders; text
    that is encoded or reworded; deltas in a git pack.

    Codes: `leak/named` (a file is called as the solution or the verifier), `leak/copy`, `leak/lines`,
    `leak/expected-value`, `leak/dockerfile` (a Dockerfile or compose file takes in what lies outside of the
    environment, or fills Harbor's folders), `leak/in-image` (the built image has files in `/tests`, `/solution` or
    `/logs/verifier`).
    """

    name: Final = "leak"
    stage: Final = 1

    async def check(self, candidate: Candidate, sandboxes: Sandboxes) -> Verdict:
        """Judges the candidate; raises what a sandbox raises."""
        task = candidate.task
        found = [*_recipe_findings(task), *_file_findings(task)]
        if not found:
            found = await _image_findings(task, sandboxes)
        if not found:
            return accepted(self.name)
        shown = [evidence for _, evidence in found[:MOST_SHOWN]]
        more = len(found) - MOST_SHOWN
        return invalid(self.name, found[0][0], "\n".join(shown + ([f"and {more} more"] if more > 0 else [])))


def _recipe_findings(task: Task) -> Iterator[tuple[str, str]]:
    for file in task.under("environment"):
        if not _RECIPE.search(file.path):
            continue
        for line in _logical_lines(file.path, text_of(task, file) or ""):
            if line.text.lstrip().startswith("#"):
                continue
            is_copy = _COPIES.match(line.text) is not None
            outside = _UPWARDS.search(line.text) if is_copy or not file.path.endswith("Dockerfile") else None
            if outside:
                yield "dockerfile", f"{line}\n  takes in {outside[0].strip()}, which lies outside of environment/"
            elif is_copy and "--from=" not in line.text and _HARNESS_FOLDER.search(line.text):
                yield "dockerfile", f"{line}\n  fills a folder that belongs to solution or verifier"


def _file_findings(task: Task) -> Iterator[tuple[str, str]]:
    secrets = secrets_of(task)
    known = Known(task)
    instruction = Suspect("instruction.md", task.instruction.encode())
    for secret in secrets:
        if secret.normal and recognised(secret, instruction, known=True):
            yield "copy", f"the instruction holds all the text of {secret.path}"
    handed_out = [file for step in task.steps if step.folder for file in task.under(f"{step.folder}/workdir")]
    for file in (*task.under("environment"), *handed_out):
        if file.link:
            continue
        content = task.read_bytes(file.path)
        # A recipe is no file of the image, but its RUN lines may write one: there, whole parts count.
        expected = known.names(file.path) or bool(_RECIPE.search(file.path))
        for path, data in [
            (file.path, content),
            *((inner.path, inner.content) for inner in unpacked(file.path, content)),
        ]:
            if _NAMED.search(path.removeprefix("environment/")):
                yield "named", f"environment file {path} is called as a solution or a verifier is"
            suspect = Suspect(path, data)
            for secret in secrets:
                match = recognised(secret, suspect, known=expected)
                if match:
                    yield match


async def _image_findings(task: Task, sandboxes: Sandboxes) -> list[tuple[str, str]]:
    async with sandboxes.running(task) as sandbox:
        looked = await sandbox.exec(["bash", "-c", _LOOK, "look", "/tests", "/solution", "/logs/verifier"], user=0)
    names = sorted(name.decode("utf-8", "replace") for name in looked.stdout.split(b"\0") if name)
    return [("in-image", f"the built image holds {', '.join(names[:MOST_SHOWN])}")] if names else []


def _logical_lines(path: str, text: str) -> Iterator[Line]:
    """Lines with those that a backslash continues joined to them, numbered by their first."""
    joined, first = "", 1
    for number, raw in enumerate(text.split("\n"), start=1):
        first = first if joined else number
        line = raw.rstrip("\r")
        if line.endswith("\\"):
            joined += f"{line[:-1]} "
            continue
        yield Line(path, first, joined + line)
        joined = ""
    if joined:
        yield Line(path, first, joined)
