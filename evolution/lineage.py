"""Lineages: which environment came from which, over the generations of a run.

A `Member` is one accepted environment; `Lineages` holds them as a forest whose roots are the seeds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from evolution.plan import Axis, Effort
from evolution.sequence import Sequence

if TYPE_CHECKING:
    import networkx as nx


class Member(BaseModel):
    """One accepted environment of a lineage.

    Attributes:
        task_id: Its name in releases, `<lineage>-g<generation>-<hash>`; the lineage's own name for a seed.
        lineage: Name of the lineage.
        generation: 0 for the seed, then 1, 2, …
        content_hash: Hash of the task folder.
        parent: `content_hash` of the environment it was evolved from, "" for a seed.
        axis: The axis it was evolved along; `None` for a seed.
        effort: The effort; `None` for a seed.
        sequence: ξ; `None` for a seed whose sequence is not recorded.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    task_id: str
    lineage: str
    generation: int = Field(ge=0)
    content_hash: str
    parent: str = ""
    axis: Axis | None = None
    effort: Effort | None = None
    sequence: Sequence | None = None


def task_id(lineage: str, generation: int, content_hash: str) -> str:
    """The name of a child in releases; deterministic."""
    return f"{lineage}-g{generation:03d}-{content_hash[:8]}"


def forest(members: tuple[Member, ...]) -> nx.DiGraph[str]:
    """The members as a directed graph, parent → child, nodes by content hash with the member as attribute `member`.

    Raises:
        ValueError: Two members are the same environment, a child names no parent, or its parent is missing, belongs to
            another lineage, or is not exactly one generation older.
    """
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph()
    for member in members:
        if member.content_hash in graph:
            twin = graph.nodes[member.content_hash]["member"].task_id
            raise ValueError(f"{member.task_id} and {twin} are the same environment, {member.content_hash[:8]}")
        graph.add_node(member.content_hash, member=member)
    for member in members:
        if not member.parent:
            if member.generation:
                raise ValueError(f"{member.task_id}: names no parent, but is of generation {member.generation}")
            continue
        parent = graph.nodes.get(member.parent, {}).get("member")
        if parent is None:
            raise ValueError(f"{member.task_id}: its parent {member.parent[:8]} is not among the members")
        if parent.lineage != member.lineage or parent.generation != member.generation - 1:
            raise ValueError(
                f"{member.task_id}: its parent {parent.task_id} is generation {parent.generation} of {parent.lineage}, "
                f"expected generation {member.generation - 1} of {member.lineage}"
            )
        graph.add_edge(member.parent, member.content_hash, axis=str(member.axis), effort=str(member.effort))
    return graph


def lineage_document(members: tuple[Member, ...]) -> dict[str, Any]:
    """What `lineage.json` of a release holds: the forest, nodes and edges sorted (networkx' node-link form).

    Raises:
        ValueError: The members are no forest (see `forest`).
    """
    graph = forest(members)
    nodes = [graph.nodes[name]["member"].model_dump(mode="json") for name in sorted(graph)]
    edges = [{"source": a, "target": b, **data} for a, b, data in sorted(graph.edges(data=True), key=lambda e: e[:2])]
    return {
        "directed": True,
        "multigraph": False,
        "graph": {},
        "nodes": [{"id": n["content_hash"], **n} for n in nodes],
        "edges": edges,
    }
