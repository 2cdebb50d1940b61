"""What one validation was asked to do, as a value."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from evolution.errors import ConfigError
from evolution.gates.registry import BUILT_IN
from evolution.intake import find_tasks
from evolution.validation.suppressions import Suppressions, read_suppressions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evolution.gates.settings import GateSettings
    from sandbox.trial.network import NetworkChoice

OUT = Path("runs/validation")
ASKS = {"solver": "calibration", "judge": "rubric-judge", "attacker": "exploit", "author": "alternative"}
"""Which gate asks each role."""
IDLE_WITHOUT_ROLE = {"calibration": "solver", "rubric-judge": "judge"}
"""Gates that have nothing to say without their role; the others do without."""


@dataclass(frozen=True, slots=True)
class Job:
    """What the command was asked to do.

    Attributes:
        tasks: Task folders, in order, each once.
        settings: The gates' numbers and files.
        gates: Names of the gates, in the order they are asked.
        models: Model string, or `module:Class`, by role; without those that no gate asks.
        api_base: Address of a server for the models.
        budget_usd: Dollars they may cost.
        sandbox: Back end.
        base: What `FROM` stands for.
        network: Which network tasks get.
        workers: Tasks at once.
        sandboxes: Sandboxes alive at once.
        out: Where results are kept.
        fresh: Whether what is kept there is validated anew.
        as_json: Whether lines of JSON are printed.
        junit: Where JUnit XML goes.
        live: The live table; `None` decides by whether standard error is a terminal.
        quiet: Whether nothing is shown on the way.
        thorough: Whether a task goes on after a gate refused it.
        suppressions: What does not count.
    """

    tasks: tuple[Path, ...]
    settings: GateSettings
    gates: tuple[str, ...]
    models: Mapping[str, str] = field(default_factory=dict)
    api_base: str | None = None
    budget_usd: float | None = None
    sandbox: str = "bubblewrap"
    base: tuple[str, ...] = ()
    network: NetworkChoice = "task"
    workers: int = 4
    sandboxes: int = 8
    out: Path = OUT
    fresh: bool = False
    as_json: bool = False
    junit: Path | None = None
    live: bool | None = None
    quiet: bool = False
    thorough: bool = True
    suppressions: Suppressions = field(default_factory=Suppressions)

    @classmethod
    def of(cls, given: Mapping[str, Any], settings: GateSettings) -> Self:
        """From the command line's values, those not given left out.

        Raises:
            ConfigError: One is wrong.
        """
        cores = os.cpu_count() or 1
        models = {role: str(given.get(role) or given.get("model") or "") for role in ASKS}
        models = {role: model for role, model in models.items() if model}
        gates = _chosen(given, settings, models)
        sandbox = str(given.get("sandbox", "bubblewrap"))
        for name in ("workers", "sandboxes"):
            if given.get(name, 1) < 1:
                raise ConfigError(f"--{name}: {given[name]}, expected 1 or more")
        if not 0 <= given.get("budget_usd", 0) < math.inf:
            raise ConfigError(f"--budget-usd: {given['budget_usd']:g}, expected 0 or more")
        _all_of_use(given, gates)
        workers = given.get("workers", 2 * cores)
        return cls(
            tasks=_once(find_tasks(tuple(given["tasks"]))),
            settings=settings,
            gates=gates,
            models={role: model for role, model in models.items() if ASKS[role] in gates},
            api_base=given.get("api_base"),
            budget_usd=given.get("budget_usd"),
            sandbox=sandbox,
            base=tuple(given.get("base", ("*=host",) if sandbox == "bubblewrap" else ())),
            network=given.get("network", "task"),
            workers=workers,
            sandboxes=given.get("sandboxes", max(workers, 4 * cores)),
            out=given.get("out", OUT),
            fresh=bool(given.get("fresh")),
            as_json=bool(given.get("json")),
            junit=_writable(given.get("junit")),
            live=False if given.get("plain") else None,
            quiet=bool(given.get("quiet")),
            thorough=not given.get("fail_fast"),
            suppressions=read_suppressions(given["suppressions"]) if "suppressions" in given else Suppressions(),
        )


def _all_of_use(given: Mapping[str, Any], gates: tuple[str, ...]) -> None:
    """What is said to a gate that is not asked is a slip of the pen: nobody gives a model for nothing.

    Gates of other people's may use any setting and any role.

    Raises:
        ConfigError: Names the option and the gate.
    """
    needs = {**ASKS, "held_out": "overlap", "alternatives": "alternative", "rubrics": "rubric-judge"}
    for option, gate in needs.items():
        if given.get(option) and gate not in gates and all(name in BUILT_IN for name in gates):
            flag = option.replace("_", "-")
            raise ConfigError(
                f"--{flag} is for gate {gate}, which is not asked: add it to --gates, or leave --{flag} out"
            )
    if given.get("api_base") and not any(given.get(name) for name in ("model", *ASKS)):
        raise ConfigError("--api-base is where models are asked for, and none is named: give --model or a role's own")


def _once(folders: Iterable[Path]) -> tuple[Path, ...]:
    """Each folder once, also where one argument lies within another."""
    found: dict[Path, Path] = {}
    for folder in folders:
        found.setdefault(Path(os.path.realpath(folder)), folder)  # of a loop of links, too
    return tuple(found.values())


def _writable(junit: Path | None) -> Path | None:
    """Asked before anything runs: who has waited for hours wants the file."""
    if junit is not None and (junit.is_dir() or not os.access(junit.absolute().parent, os.W_OK)):
        raise ConfigError(f"--junit {junit}: cannot be written there; give a file in a folder that exists")
    return junit


def _chosen(given: Mapping[str, Any], settings: GateSettings, models: Mapping[str, str]) -> tuple[str, ...]:
    """The gates as asked; else all that need no parent and no role that is not there."""
    if "gates" in given:
        chosen = list(dict.fromkeys(given["gates"]))
    else:
        idle = [gate for gate, role in IDLE_WITHOUT_ROLE.items() if role not in models]
        chosen = [name for name in BUILT_IN if name not in (*idle, "harder")]
        if not settings.held_out:
            chosen.remove("overlap")
    skipped = given.get("skip", ())
    unknown = [name for name in skipped if name not in BUILT_IN and name not in chosen]
    if unknown:
        raise ConfigError(f"--skip {unknown[0]}: no such gate; there are {', '.join(BUILT_IN)}")
    left = tuple(name for name in chosen if name not in skipped)
    if not left:
        raise ConfigError("--skip leaves no gate to ask")
    return left
