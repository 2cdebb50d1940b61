"""From a sequence to rendered steps: data, request, solution and checks of each, and the links between them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from agents.embedded.library import registry
from agents.embedded.library.framework import Checkpoint, FileContent, LibraryError, RenderedStep, View, stream
from agents.embedded.library.links import Destination, Link, link
from agents.embedded.library.story import organisation
from agents.embedded.library.wording import code

if TYPE_CHECKING:
    from agents.embedded.library.framework import Material, Posed, Scenario, Table
    from evolution.sequence import Sequence, Step

OUT = "/app/out"
"""Where results go, and all of a solver's that the checks read."""


@dataclass(frozen=True)
class ExternalLink:
    """A figure that something outside of the library leaves behind, for a step that is put behind a foreign task.

    Attributes:
        path: The file that holds it.
        description: The figure in words, after "the" ("number of lines in `/app/report.txt`").
        command: A shell command that prints it, and prints nothing when it is not there.
        value: What it prints when the foreign task is solved.
    """

    path: str
    description: str
    command: str
    value: str


def render_steps(sequence: Sequence, seed: int, *, entry: ExternalLink | None = None) -> tuple[RenderedStep, ...]:
    """Writes out the steps of a sequence.

    Args:
        sequence: The steps; each must be known and its skill usable in its scenario.
        seed: The lineage's data seed.
        entry: What the first step's lot hangs on; a lot named in the instruction when left out.

    Raises:
        LibraryError: A step is not known, or its skill has nothing to work on in its scenario.
    """
    before = Checkpoint(entry.path, entry.description, entry.command, entry.value) if entry else None
    rendered: list[RenderedStep] = []
    for step in sequence.steps:
        rendered.append(_render(step, seed, before))
        before = rendered[-1].checkpoint
    return tuple(rendered)


@lru_cache(maxsize=128)
def _render(step: Step, seed: int, before: Checkpoint | None) -> RenderedStep:
    """One step; kept for a while, since an author writes it out anew at each turn of a conversation."""
    scenario, skill = registry.pair(step)
    root = f"/app/data/{step.id}"
    material = _material(seed, step.id, step.scenario)
    view = View(scenario.words, _rooted(material, root), material.lots, root)
    posed = skill.pose(stream(seed, step.id, step.scenario, step.skill), view)
    lot = stream(seed, step.id, step.scenario, "lot").choice(material.lots)
    _check_answers_differ(step, posed, lot)
    leading = None
    if before is not None:
        leading = link(
            stream(seed, step.id, step.scenario, "link"), before, Destination(material.lots, lot, root, scenario.words)
        )
    out = f"{OUT}/{step.id}-{posed.file}"
    answer = posed.answers[lot]
    checks = _checks(step.id, posed, out)
    files = {f"data/{step.id}/{path}": FileContent(content) for path, content in material.files.items()}
    if leading is not None:
        files[f"data/{step.id}/{leading.file}"] = FileContent(leading.content)
    expectation = json.dumps(answer.expected, indent=1, sort_keys=True, ensure_ascii=True) + "\n"
    return RenderedStep(
        step=step,
        environment=dict(sorted(files.items())),
        paragraph=_paragraph(material, view, posed, _whereabouts(scenario, lot, leading), out),
        solution=_solution(view, posed, lot, leading, out),
        units=tuple(f"{step.id}::{unit}" for unit in posed.units),
        test_code=checks,
        tests={
            f"checks/{step.id}.py": FileContent(checks.encode()),
            f"expected/{step.id}.json": FileContent(expectation.encode()),
        },
        output_path=out,
        checkpoint=Checkpoint(
            path=out,
            description=posed.figure.replace("{out}", code(out)),
            command=posed.command.replace("{out}", out),
            value=answer.checkpoint,
            sha256=hashlib.sha256(answer.content.encode()).hexdigest() if answer.content else "",
        ),
        tools=registry.tools(step.scenario, step.skill),
        heading=scenario.words.heading,
    )


@lru_cache(maxsize=48)
def _material(seed: int, step_id: str, scenario: str) -> Material:
    """A step's data; kept for a while, since a child shares most steps with its parent."""
    return registry.scenarios()[scenario].material(stream(seed, step_id, scenario), organisation(seed))


def _rooted(material: Material, root: str) -> dict[str, Table]:
    return {
        name: dataclasses.replace(table, rules=table.rules.replace("{root}", root))
        for name, table in material.tables.items()
    }


def _check_answers_differ(step: Step, posed: Posed, lot: str) -> None:
    """A step whose lots share an answer could be solved without the step before it."""
    twins = [
        code for code, answer in posed.answers.items() if code != lot and answer.expected == posed.answers[lot].expected
    ]
    if twins:
        raise LibraryError(f"step {step.id} ({step}): the lots {lot} and {', '.join(twins)} have the same answer")


def _whereabouts(scenario: Scenario, lot: str, leading: Link | None) -> str:
    if leading is not None:
        return leading.sentence
    return f"Here, look at the {scenario.words.lot} {code(lot)} alone."


def _paragraph(material: Material, view: View, posed: Posed, whereabouts: str, out: str) -> str:
    rules = [rules for name in posed.tables if (rules := view.table(name).rules)]
    parts = [material.layout.replace("{root}", view.root), *rules, whereabouts, posed.request.replace("{out}", out)]
    return "\n\n".join(part.strip() for part in parts)


def _solution(view: View, posed: Posed, lot: str, leading: Link | None, out: str) -> str:
    lines = [
        "export LC_ALL=C",
        f"S={view.root} OUT={out} W=$(mktemp -d)",
        'mkdir -p "${OUT%/*}"',
        f"{leading.solution}\nLOT=${{LOT:-nowhere}}" if leading is not None else f"LOT={lot}",
        *(view.table(name).reader.strip() for name in posed.tables),
        posed.solution.strip(),
        'rm -rf "$W"',
    ]
    return "\n".join(lines) + "\n"


def _checks(step_id: str, posed: Posed, out: str) -> str:
    parts = [f'out = "{out}"\nwant = expected("{step_id}")\n']
    for unit, body in posed.units.items():
        lines = "".join(f"    {line}\n" if line else "\n" for line in body.strip("\n").split("\n"))
        parts.append(f"def check_{unit}():\n{lines}")
    return "\n\n".join(parts)
