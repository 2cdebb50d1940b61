"""Reference distributions p_T: how common a scenario is in a domain, and a skill in that scenario.

*Environment Evolution* replaces the policy in D_θ by a reference distribution p_T of world knowledge. Anything with
the two methods of `Reference` can stand there; `FrequencyTable` is the one that is shipped.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from importlib import resources
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from evolution.errors import ReferenceTableError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Reference(Protocol):
    """p_T for one domain (the paper's g)."""

    def scenario(self, scenario: str) -> float:
        """p_T(σ | g), in (0, 1]."""
        ...

    def skill(self, skill: str, scenario: str) -> float:
        """p_T(κ | σ, g), in (0, 1]."""
        ...


@dataclass(frozen=True)
class FrequencyTable:
    """p_T estimated from counts, smoothed so that nothing has probability zero.

    Scenarios: additive smoothing, p(σ) = (n(σ) + α) / (N + α (V + 1)); the one more than V is everything unseen.
    Skills: the marginal p(κ) is smoothed likewise; given a scenario it is the Dirichlet-smoothed conditional
    p(κ | σ) = (n(σ, κ) + β p(κ)) / (n(σ) + β), where n(σ) = Σ_κ n(σ, κ) (MacKay and Peto, 1995: the marginal is the
    prior, β its weight in observations), so a scenario without counts falls back on the marginal.

    Attributes:
        domain: The domain the counts are of.
        counts: n(σ, κ) by scenario and skill; a known name may have count 0.
        source: What was counted, in words.
        alpha: α, pseudo-count of the additive smoothing.
        beta: β, weight of the marginal in a conditional.
    """

    domain: str
    counts: Mapping[str, Mapping[str, int]]
    source: str
    alpha: float = 1.0
    beta: float = 10.0
    _scenarios: Counter[str] = field(init=False, repr=False, compare=False, default_factory=Counter)
    _skills: Counter[str] = field(init=False, repr=False, compare=False, default_factory=Counter)

    def __post_init__(self) -> None:
        for scenario, skills in self.counts.items():
            self._scenarios[scenario] += sum(skills.values())
            self._skills.update(skills)

    def scenario(self, scenario: str) -> float:
        """p_T(σ | g)."""
        return self._additive(self._scenarios, scenario)

    def skill(self, skill: str, scenario: str) -> float:
        """p_T(κ | σ, g)."""
        seen = self.counts.get(scenario, {})
        prior = self._additive(self._skills, skill)
        return (seen.get(skill, 0) + self.beta * prior) / (sum(seen.values()) + self.beta)

    def _additive(self, counts: Counter[str], name: str) -> float:
        return (counts[name] + self.alpha) / (counts.total() + self.alpha * (len(counts) + 1))

    @property
    def scenario_names(self) -> tuple[str, ...]:
        """The scenarios it has counts for, sorted."""
        return tuple(sorted(self.counts))

    @property
    def skill_names(self) -> tuple[str, ...]:
        """The skills it has counts for, sorted."""
        return tuple(sorted(self._skills))

    @classmethod
    def read(cls, path: Path) -> FrequencyTable:
        """Reads a table: a JSON object with `domain`, `source` and `counts` (scenario → skill → whole number).

        Raises:
            ReferenceTableError: The file is missing or malformed.
        """
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise ReferenceTableError(f"{path}: cannot be read as a frequency table ({error})") from error
        for key, kind in (("domain", str), ("source", str), ("counts", dict)):
            if not isinstance(data, dict) or not isinstance(data.get(key), kind):
                raise ReferenceTableError(f"{path}: wants a JSON object with `{key}` of type {kind.__name__}")
        if not data["counts"]:
            raise ReferenceTableError(f"{path}: `counts` is empty: without a scenario everything would be certain")
        for scenario, skills in data["counts"].items():
            if not isinstance(skills, dict) or any(type(n) is not int or n < 0 for n in skills.values()):
                raise ReferenceTableError(f"{path}: counts.{scenario} wants whole numbers ≥ 0 by skill")
        return cls(domain=data["domain"], counts=data["counts"], source=data["source"])


def shipped(domain: str = "terminal") -> FrequencyTable:
    """The table that comes with the package.

    Raises:
        ReferenceTableError: No table for that domain.
    """
    with resources.as_file(resources.files("evolution") / "data" / f"{domain}.json") as path:
        return FrequencyTable.read(Path(path))


def surprisals(reference: Reference) -> dict[str, dict[str, Any]]:
    """What a proposer may be shown of a reference: −log p in nats, rounded, for the names that it knows.

    Returns:
        `scenario_surprisal` by scenario and `skill_surprisal` by scenario, then skill; both empty for a reference that
        cannot list its names.
    """
    if not isinstance(reference, FrequencyTable):
        return {"scenario_surprisal": {}, "skill_surprisal": {}}
    names = reference.scenario_names
    return {
        "scenario_surprisal": {name: round(-log(reference.scenario(name)), 2) for name in names},
        "skill_surprisal": {
            name: {skill: round(-log(reference.skill(skill, name)), 2) for skill in reference.skill_names}
            for name in names
        },
    }
