"""One generation: the order of the axes, the fallback from the same environment, and the end of a branch."""

from collections.abc import Callable
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph

from evolution.plan import Axis
from graphs.evolve import build_evolve
from graphs.state import Attempt, LineageState

START_STATE: LineageState = {
    "lineage": "l",
    "generation": 1,
    "seed": 3,
    "parent": "/the/parent",
    "work": "/work/here",
    "effort": "high",
}


def loop(answer: Callable[[LineageState], dict[str, Any]]) -> StateGraph:
    graph = StateGraph(LineageState)
    graph.add_node("only", answer)
    graph.add_edge(START, "only")
    graph.add_edge("only", END)
    return graph


def failing(seen: list[str], kind: str) -> Callable[[LineageState], dict[str, Any]]:
    def answer(state: LineageState) -> dict[str, Any]:
        seen.append(state["axis"])
        attempt = Attempt(axis=state["axis"], loop=kind, attempt=1, result="invalid", gate="critic", code="x")
        return {"outcome": "rejected", "reason": f"no {state['axis']}", "history": [attempt]}

    return answer


def accepting(state: LineageState) -> dict[str, Any]:
    return {"outcome": "accepted"}


async def evolve(plan: StateGraph, environment: StateGraph, **changes: Any) -> dict[str, Any]:
    return await build_evolve(plan, environment).compile().ainvoke({**START_STATE, **changes})


async def test_every_axis_is_tried_once_and_then_the_branch_ends() -> None:
    seen: list[str] = []
    final = await evolve(loop(failing(seen, "plan")), loop(accepting))
    assert sorted(seen) == sorted(Axis)
    assert final["outcome"] == "rejected"
    assert final["reason"] == f"no {seen[-1]}"
    assert [attempt["axis"] for attempt in final["history"]] == seen


async def test_the_order_depends_on_seed_lineage_and_generation_alone() -> None:
    async def order(**changes: Any) -> tuple[str, ...]:
        seen: list[str] = []
        await evolve(loop(failing(seen, "plan")), loop(accepting), **changes)
        return tuple(seen)

    assert await order() == await order()
    orders = {await order(seed=seed, generation=generation) for seed in range(4) for generation in range(4)}
    assert len(orders) > 3


async def test_a_failed_environment_falls_back_on_the_next_axis_from_the_same_parent() -> None:
    tried: list[str] = []

    def second_time_good(state: LineageState) -> dict[str, Any]:
        assert state["parent"] == "/the/parent"
        assert state["feedback"] == []
        tried.append(state["axis"])
        good = len(tried) == 2
        return {"outcome": "accepted" if good else "rejected", "reason": "first", "feedback": [], "candidate": "/child"}

    final = await evolve(loop(accepting), loop(second_time_good))
    assert final["outcome"] == "accepted"
    assert len(set(tried)) == 2


async def test_a_failure_of_ours_ends_the_generation_without_another_axis() -> None:
    tried: list[str] = []

    def broken(state: LineageState) -> dict[str, Any]:
        tried.append(state["axis"])
        return {"outcome": "infrastructure", "reason": "no sandbox"}

    final = await evolve(loop(accepting), loop(broken))
    assert final["outcome"] == "infrastructure"
    assert len(tried) == 1


async def test_only_the_allowed_axes_are_tried() -> None:
    seen: list[str] = []
    graph = build_evolve(loop(failing(seen, "plan")), loop(accepting), axes=[Axis.LENGTH])
    await graph.compile().ainvoke(START_STATE)
    assert seen == ["length"]


async def test_the_next_generation_on_the_same_thread_of_a_checkpointer_begins_anew() -> None:
    seen: list[str] = []
    graph = build_evolve(loop(failing(seen, "plan")), loop(accepting))
    serializer = JsonPlusSerializer(pickle_fallback=False)
    app = graph.compile(checkpointer=InMemorySaver(serde=serializer))
    thread: RunnableConfig = {"configurable": {"thread_id": "one"}}
    await app.ainvoke(START_STATE, thread)
    final = await app.ainvoke({**START_STATE, "generation": 2}, thread)
    assert sorted(seen[3:]) == sorted(Axis)
    assert [attempt["axis"] for attempt in final["history"]] == seen[3:]


def test_it_can_be_drawn() -> None:
    drawn = build_evolve(loop(accepting), loop(accepting)).compile().get_graph(xray=True).draw_mermaid()
    assert all(name in drawn for name in ("choose_axis", "plan_loop", "environment_loop"))
