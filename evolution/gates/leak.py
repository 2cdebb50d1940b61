"""Gate `leak`: no part of solution, tests or expected output is within the solver's reach."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, ClassVar, Final

from evolution.gates.leak_git import is_gits_own, roots_of
from evolution.gates.leak_image import base_listing, builds_files, built_files
from evolution.gates.leak_listing import Listing, ListingError
from evolution.gates.leak_outputs import output_findings
from evolution.gates.leak_recipe import RECIPE, recipe_findings, removals, value_findings
from evolution.gates.leak_scan import GATE, Place, Scan, hiding_place, is_git_file
from evolution.gates.leak_secrets import Suspect, recognised
from evolution.gates.outcomes import finding, judged
from sandbox.task.phase import agent_env, agent_user

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evolution.verdict import Candidate, Finding, Verdict
    from sandbox.protocol import Sandbox
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task

MOST_SHOWN: Final = 10
MOST_BASES: Final = 16
_OWN_VARIABLES = frozenset({"PATH", "HOME", "PWD", "OLDPWD", "SHLVL", "_", "LANG", "TERM", "HOSTNAME"})

# Prints what lies in the folders it is given; only bash itself is needed.
_LOOK: Final = (
    'shopt -s nullglob dotglob; for folder; do for file in "$folder"/*; do printf "%s\\0" "$file"; done; done'
)
_VARIABLES: Final = "cat /proc/1/environ 2>/dev/null; printf '\\0'; cat /proc/self/environ"


class LeakGate:
    """Reads all that a solver could open, by content: files, what is packed or encoded in them, git, the built image.

    Files of the environment and recipes come first. Then a sandbox is started: its variables, the files that a build
    made (those that the bare base has as well left out), and what the reference solution writes, which must not be
    there before. What it cannot see: what only running a program brings to light; text that is encrypted; real layers
    of an image whose instructions do not show what they hold (a download that a later line removes).
    """

    name: Final = GATE
    stage: Final = 1
    codes: ClassVar[Mapping[str, str]] = {
        "named": "a file is called as the solution or the verifier is",
        "copy": "a file is, or holds all the text of, a file of solution or tests",
        "lines": "a file holds a good part of the distinctive lines of solution or tests",
        "expected-value": "a file holds values that the tests expect and that nothing a solver is given says",
        "dockerfile": "a Dockerfile or compose file takes in what lies outside of the environment",
        "in-image": "the built image has files in /tests, /solution or /logs/verifier",
        "history": "a history, swap or backup file holds lines of solution or tests",
        "git": "a git object holds solution, tests or expected output",
        "layer": "an instruction of a Dockerfile holds them, removed by a later one or not",
        "cache": "a cache, a log or compiled code of the image holds them",
        "built": "another file that the build made holds them",
        "environment": "an environment variable holds them",
        "encoded": "a file holds them in an encoded form",
        "similar": "a file holds them in other words, and the reference solution does without it",
        "output": "a file holds what the reference solution writes, which does without it",
        "listing": "the image's `find` lists more files than any image has",
        "unseen": "not all could be looked at; this never counts against a task",
    }

    # Images never change under their reference, and listing one with a whole /usr takes a second.
    _bases: ClassVar[dict[str, Listing]] = {}

    async def check(self, candidate: Candidate, sandboxes: Sandboxes) -> Verdict:
        """Judges the candidate; raises what a sandbox raises."""
        task = candidate.task
        scan = Scan(task)
        found = [*recipe_findings(task, scan), *_file_findings(task, scan)]
        if not found:
            found = await self._image_findings(task, sandboxes, scan)
        measured = {"files": float(scan.looked_at), **scan.unseen.measured()}
        return judged(self.name, list(dict.fromkeys([*found, *scan.unseen.findings(self.name)])), measured)

    async def _image_findings(self, task: Task, sandboxes: Sandboxes, scan: Scan) -> list[Finding]:
        reads_image = builds_files(task)
        base = await base_listing(task, sandboxes, self._bases) if reads_image else {}
        while len(self._bases) > MOST_BASES:
            del self._bases[next(iter(self._bases))]
        async with sandboxes.running(task) as sandbox:
            found = [*await _in_harness_folders(sandbox), *await _variables(task, sandbox, scan)]
            if reads_image:
                try:
                    built = await built_files(sandbox, base)
                except ListingError as error:
                    return [*found, finding(GATE, "listing", str(error))]
                if built.left_out:
                    scan.unseen.note("left_out", built.example, built.left_out)
                found += _built_findings(task, built.files, scan)
            return found or await output_findings(task, sandbox, scan)


def _file_findings(task: Task, scan: Scan) -> Iterator[Finding]:
    instruction = Suspect("instruction.md", task.instruction.encode(), "the instruction")
    for secret in scan.secrets:
        if secret.normal and recognised(secret, instruction, known=True):
            yield finding(GATE, "copy", f"the instruction holds all the text of {secret.path}", "instruction.md")
    handed_out = [file for step in task.steps if step.folder for file in task.under(f"{step.folder}/workdir")]
    shown = [file for file in (*task.under("environment"), *handed_out) if not file.link]
    roots = roots_of(file.path for file in shown)
    git: dict[str, bytes] = {}
    gone = removals(task)
    for file in shown:
        content = task.read_bytes(file.path)
        if is_gits_own(file.path, content, roots):
            git[file.path] = content
        if is_git_file(file.path, roots):
            continue
        # A recipe is no file of the image, and is read line by line elsewhere: here, whole parts count.
        place = Place(file.path, known=True if RECIPE.search(file.path) else None)
        for said in scan.look(place, content):
            yield _in_a_layer(said, file.path, gone)
    yield from scan.git(git, {file.sha256 for file in shown})


def _in_a_layer(said: Finding, path: str, gone: tuple[tuple[int, str], ...]) -> Finding:
    """Adds that a file stays in its layer, where a later line of the Dockerfile removes one of its name."""
    base = path.rpartition("/")[2]
    for line, removed in gone:
        if removed.rstrip("/").rpartition("/")[2] == base:
            note = f"\n  environment/Dockerfile:{line} removes {removed}, and the layer below keeps it"
            return said.model_copy(update={"message": said.message + note})
    return said


async def _in_harness_folders(sandbox: Sandbox) -> list[Finding]:
    looked = await sandbox.exec(["bash", "-c", _LOOK, "look", "/tests", "/solution", "/logs/verifier"], user=0)
    names = sorted(name.decode("utf-8", "replace") for name in looked.stdout.split(b"\0") if name)
    said = f"the built image holds {', '.join(names[:MOST_SHOWN])}"
    return [finding(GATE, "in-image", said, names[0])] if names else []


async def _variables(task: Task, sandbox: Sandbox, scan: Scan) -> list[Finding]:
    """What the variables of the image, of a solver's shell and of the first process give away."""
    user = agent_user(task, task.steps[0])
    told = await sandbox.exec(["bash", "-c", _VARIABLES], env=agent_env(task), user=user)
    rows = [row.decode("utf-8", "replace").partition("=") for row in told.stdout.split(b"\0") if b"=" in row]
    values = {name: value for name, _, value in rows} | dict(sandbox.image.env)
    return [
        said
        for name, value in sorted(values.items())
        if name not in _OWN_VARIABLES
        for said in value_findings(scan, "environment variable", f"the variable {name}", name, value)
    ]


def _built_findings(task: Task, files: Mapping[str, bytes], scan: Scan) -> list[Finding]:
    """What files that the build made give away; those that are the task's own have been looked at."""
    own = {file.sha256 for file in task.under("environment")}
    roots = roots_of(files)
    found: list[Finding] = []
    for path, content in files.items():
        if is_git_file(path, roots) or hashlib.sha256(content).hexdigest() in own:
            continue
        found += scan.look(Place(path, hiding_place(path), "file of the image"), content)
    return [*found, *scan.git(files, {hashlib.sha256(content).hexdigest() for content in files.values()})]
