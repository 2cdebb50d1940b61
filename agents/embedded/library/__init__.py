"""What the embedded author knows how to write: complete Harbor tasks out of (scenario, skill) pairs.

Pure and deterministic: a sequence and a seed in, the bytes of a task folder out. All data of a step derives from (seed,
step id, scenario), what is asked of it from (seed, step id, scenario, skill), so that an edit of one step leaves the
files of the others as they are; only the routing file, the sentence, the solution and the checks of the step after it
change.

A new scenario is one file of `scenarios/`: a class with `name`, `rarity` (1 everyday … 5 hardly ever seen), `tools`
(what it needs beyond a plain Debian with Python), `words`, `roles` (which columns each of its tables has) and
`material(rng, organisation)`, which lays the data out on disk in several lots, with formats and irregularities of its
own, and gives, for each table, the true rows, the rules in words and the Bash lines that read them back.

A new skill is one file of `skills/`: a class with `name`, `rarity`, `needs` (the roles it asks for) and
`pose(rng, view)`, which chooses its thresholds from all lots together and gives the request in the scenario's words,
the Bash lines that do it, the right answer of every lot and the checks. The registry finds either by its file; the
tests run every pair that fits, for real.
"""

from agents.embedded.library.compose import ExternalLink, render_steps
from agents.embedded.library.framework import Checkpoint, FileContent, LibraryError, RenderedStep
from agents.embedded.library.registry import compatible, knows, rarity, scenario_names, skill_names, tools
from agents.embedded.library.task_folder import harness, render_task

__all__ = [
    "Checkpoint",
    "ExternalLink",
    "FileContent",
    "LibraryError",
    "RenderedStep",
    "compatible",
    "harness",
    "knows",
    "rarity",
    "render_steps",
    "render_task",
    "scenario_names",
    "skill_names",
    "tools",
]
