"""Finds gates by name, by `module:Class`, or among installed packages, and makes them with their settings."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, cast

from evolution.errors import EvolutionError
from evolution.gates.errors import GateError
from evolution.gates.roles import Roles
from evolution.gates.settings import GateSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evolution.verdict import Gate

ENTRY_POINTS = "envolve.gates"
BUILT_IN: Mapping[str, str] = {
    "rubric": "evolution.gates.rubric:RubricGate",
    "overlap": "evolution.gates.overlap:OverlapGate",
    "build": "evolution.gates.build:BuildGate",
    "leak": "evolution.gates.leak:LeakGate",
    "oracle": "evolution.gates.oracle:OracleGate",
    "noop": "evolution.gates.noop:NoopGate",
    "rerun": "evolution.gates.rerun:RerunGate",
    "exploit": "evolution.gates.exploit:ExploitGate",
    "alternative": "evolution.gates.alternative:AlternativeGate",
    "mutation": "evolution.gates.mutation:MutationGate",
    "harder": "evolution.gates.harder:HarderGate",
    "rubric-judge": "evolution.gates.rubric_judge:RubricJudgeGate",
    "calibration": "evolution.gates.calibration:CalibrationGate",
}
"""All gates of this package, in the order they are asked."""


DEFAULT_GATES = ("rubric", "leak", "build", "oracle", "noop", "rerun", "harder")
"""What an evolved environment must pass where nobody says otherwise."""


def default_gates() -> tuple[Gate, ...]:
    """The gates of `DEFAULT_GATES`, as they are made without settings."""
    return make_gates(DEFAULT_GATES)


def make_gates(
    names: Iterable[str], settings: GateSettings | None = None, roles: Roles | None = None
) -> tuple[Gate, ...]:
    """Makes gates.

    A class with a class method `configured(settings, roles)` is made by it, any other without arguments.

    Args:
        names: Names of `BUILT_IN`, names that installed packages register in the entry-point group `envolve.gates`,
            or `module:Class`.
        settings: Numbers and files the gates work with.
        roles: Who gives judgement where a gate needs it.

    Raises:
        GateError: There is no such gate, it cannot be loaded or made, or it lacks a role or a setting.
    """
    return tuple(_made(name, settings or GateSettings(), roles or Roles()) for name in names)


def gate_class(name: str) -> Any:
    """The class of a gate; see `make_gates`.

    Raises:
        GateError: As there.
    """
    where = name if ":" in name else BUILT_IN.get(name) or _registered().get(name)
    if where is None:
        known = ", ".join((*BUILT_IN, *sorted(_registered())))
        raise GateError(f"no gate {name!r}: choose from {known}, or give module:Class")
    module_name, _, attribute = where.partition(":")
    try:
        return getattr(importlib.import_module(module_name), attribute)
    except AttributeError as error:
        raise GateError(f"gate {name!r}: the module {module_name} has no {attribute} ({error})") from error
    except Exception as error:  # somebody else's module: anything may come of it
        said = f"{type(error).__name__}: {error}"
        raise GateError(f"gate {name!r}: the module {module_name!r} cannot be imported: {said}") from error


def _made(name: str, settings: GateSettings, roles: Roles) -> Gate:
    kind = gate_class(name)
    try:
        made = kind.configured(settings, roles) if hasattr(kind, "configured") else kind()
    except EvolutionError:
        raise
    except Exception as error:  # as above
        said = f"{type(error).__name__}: {error}"
        raise GateError(f"gate {name!r} cannot be made: {said}") from error
    if not all(hasattr(made, member) for member in ("name", "stage", "check")):
        raise GateError(f"gate {name!r}: what it makes has to have name, stage and check (evolution.verdict.Gate)")
    return cast("Gate", made)


def _registered() -> dict[str, str]:
    return {point.name: point.value for point in entry_points(group=ENTRY_POINTS)}
