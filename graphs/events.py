"""Custom events of the graphs: what a live table shows, what a caller may stream with `stream_mode="custom"`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph.config import get_stream_writer

from evolution.progress import Event

if TYPE_CHECKING:
    from evolution.progress import Loop
    from graphs.state import LineageState


def tell(state: LineageState, loop: Loop, message: str, *, attempt: int = 0, gate: str = "") -> None:
    """Streams an event of the lineage whose state this is."""
    get_stream_writer()(
        Event(
            lineage=state["lineage"],
            generation=state["generation"],
            loop=loop,
            axis=state.get("axis", ""),
            attempt=attempt,
            gate=gate,
            message=message,
        )
    )
