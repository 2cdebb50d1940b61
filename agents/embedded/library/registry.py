"""What the library knows: the scenarios and skills that lie in its two folders, and which fit together.

A module `scenarios/web_access_logs.py` holds the class `WebAccessLogs`; likewise for skills. They are imported when
first asked for.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING, cast

from agents.embedded.library.framework import LibraryError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agents.embedded.library.framework import Scenario, Skill
    from evolution.sequence import Step

BASE_TOOLS = ("bash", "python3", "awk", "sed", "grep", "sort", "tar", "gzip", "sha256sum")


def _found(folder: str) -> list[object]:
    package = importlib.import_module(f"agents.embedded.library.{folder}")
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    return [getattr(importlib.import_module(f"{package.__name__}.{name}"), _class_name(name))() for name in names]


def _class_name(module: str) -> str:
    return "".join(word.capitalize() for word in module.split("_"))


@cache
def scenarios() -> Mapping[str, Scenario]:
    """Name → scenario."""
    return {scenario.name: scenario for scenario in cast("list[Scenario]", _found("scenarios"))}


@cache
def skills() -> Mapping[str, Skill]:
    """Name → skill."""
    return {skill.name: skill for skill in cast("list[Skill]", _found("skills"))}


def scenario_names() -> tuple[str, ...]:
    """All scenarios, in alphabetical order."""
    return tuple(sorted(scenarios()))


def skill_names() -> tuple[str, ...]:
    """All skills, in alphabetical order."""
    return tuple(sorted(skills()))


def compatible(scenario: str, skill: str) -> bool:
    """Whether both are known and the scenario's tables have every role that the skill needs."""
    if scenario not in scenarios() or skill not in skills():
        return False
    offered = scenarios()[scenario].roles
    return all(roles <= offered.get(table, frozenset()) for table, roles in skills()[skill].needs.items())


def knows(step: Step) -> bool:
    """Whether a step can be rendered."""
    return compatible(step.scenario, step.skill)


def rarity(name: str) -> int:
    """How rare a scenario or a skill is: 1 everyday … 5 hardly ever seen.

    Raises:
        LibraryError: Nothing of that name.
    """
    if name in scenarios():
        return scenarios()[name].rarity
    if name in skills():
        return skills()[name].rarity
    raise LibraryError(f"the library has no scenario and no skill {name!r}")


def tools(scenario: str, skill: str) -> tuple[str, ...]:
    """Commands that the base must have for this pair, in alphabetical order.

    Raises:
        LibraryError: The pair is not known or does not fit.
    """
    if not compatible(scenario, skill):
        raise LibraryError(f"the library cannot render {scenario}/{skill}")
    return tuple(sorted({*BASE_TOOLS, *scenarios()[scenario].tools}))


def pair(step: Step) -> tuple[Scenario, Skill]:
    """A step's scenario and skill.

    Raises:
        LibraryError: Not known, or the skill has nothing to work on there; the message says which.
    """
    if step.scenario not in scenarios():
        raise LibraryError(f"step {step.id}: unknown scenario {step.scenario!r}; known: {', '.join(scenario_names())}")
    if step.skill not in skills():
        raise LibraryError(f"step {step.id}: unknown skill {step.skill!r}; known: {', '.join(skill_names())}")
    if not knows(step):
        raise LibraryError(f"step {step.id}: the skill {step.skill!r} has nothing to work on in {step.scenario!r}")
    return scenarios()[step.scenario], skills()[step.skill]
