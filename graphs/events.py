"""Custom events of the graphs: what a live table shows, what a caller may stream with `stream_mode="custom"`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import AsyncCallbackHandler
from langgraph.config import get_stream_writer

from evolution.progress import Event

if TYPE_CHECKING:
    from tenacity import RetryCallState

    from evolution.progress import Listener, Loop
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


class ModelWaits(AsyncCallbackHandler):
    """Tells when a model call failed and is waited for: a LangChain callback handler, for the graph's `callbacks`.

    Args:
        listen: Is told.
        at: Where the lineage is; `at` moves on with its events.
    """

    def __init__(self, listen: Listener, at: Event) -> None:
        self.listen, self.at = listen, at

    async def on_retry(self, retry_state: RetryCallState, **_: Any) -> None:
        """Tells how long is waited, and why."""
        error = retry_state.outcome.exception() if retry_state.outcome else None
        seconds = retry_state.next_action.sleep if retry_state.next_action else 0.0
        message = f"waits {seconds:.0f} s for the model: request {retry_state.attempt_number} failed: {error}"
        self.listen(replace(self.at, gate="", message=message))
