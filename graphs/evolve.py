"""One generation of one lineage: both loops, and the next axis from the same environment when one fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langgraph.graph import END, START, StateGraph

from evolution.plan import Axis
from evolution.randomness import generator
from graphs.events import tell
from graphs.state import LineageState

if TYPE_CHECKING:
    from collections.abc import Iterable

Graph = StateGraph[LineageState, None, LineageState, LineageState]


def build_evolve(plan_loop: Graph, environment_loop: Graph, *, axes: Iterable[Axis] = tuple(Axis)) -> Graph:
    """One generation as an uncompiled graph (*Environment Evolution*, "axis order and fallback").

    `shuffle_axes` → `choose_axis` → `plan_loop` → `environment_loop`; a failure of either loop goes back to
    `choose_axis`, with the same parent.
    It ends with `outcome` `accepted` (and `candidate`), `rejected` when every axis has failed, or `infrastructure`.

    Args:
        plan_loop: Uncompiled, as from `build_plan_loop`.
        environment_loop: Uncompiled, as from `build_environment_loop`.
        axes: The axes that may be tried; each generation shuffles them by (seed, lineage, generation).
    """
    allowed = tuple(axes)

    async def shuffle_axes(state: LineageState) -> dict[str, Any]:
        # Whatever an earlier generation on the same thread of a checkpointer left there does not count.
        order = [str(axis) for axis in allowed]
        generator(state["seed"], state["lineage"], state["generation"], "axes").shuffle(order)
        return {"axes": order, "history": None}

    async def choose_axis(state: LineageState) -> dict[str, Any]:
        left = state["axes"]
        if not left:
            tell(state, "done", f"ended: every axis failed; the last one because {state.get('reason', 'of nothing')}")
            return {"axes": left, "axis": "", "outcome": "rejected"}
        axis, *rest = left
        return {
            "axes": rest,
            "axis": axis,
            "attempt": 0,
            "plan": None,
            "draft": "",
            "feedback": [],
            "outcome": "rejected",
        }

    def has_axis(state: LineageState) -> str:
        return "plan_loop" if state["axis"] else END

    def planned(state: LineageState) -> str:
        return "environment_loop" if state["outcome"] == "accepted" else "choose_axis"

    def built(state: LineageState) -> str:
        return "choose_axis" if state["outcome"] == "rejected" else END

    graph = StateGraph(LineageState)
    graph.add_node("shuffle_axes", shuffle_axes)
    graph.add_node("choose_axis", choose_axis)
    graph.add_node("plan_loop", plan_loop.compile())
    graph.add_node("environment_loop", environment_loop.compile())
    graph.add_edge(START, "shuffle_axes")
    graph.add_edge("shuffle_axes", "choose_axis")
    graph.add_conditional_edges("choose_axis", has_axis, ["plan_loop", END])
    graph.add_conditional_edges("plan_loop", planned, ["environment_loop", "choose_axis"])
    graph.add_conditional_edges("environment_loop", built, ["choose_axis", END])
    return graph
