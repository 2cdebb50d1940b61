"""The curves as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.generation_parts.figures import Row

PANELS = (
    ("first", "valid at the first attempt", True),
    ("valid", "valid within the attempts", True),
    ("sound", "valid and as planned", True),
    ("tokens_per_valid", "tokens per valid environment", False),
    ("usd_per_valid", "dollars per valid environment", False),
    ("gate_seconds_per_valid", "gate seconds per valid environment", False),
)
A_ROW = 3


def draw(rows: Sequence[Row], path: Path) -> None:
    """Writes a PNG: the shares with their 95 % Wilson intervals, and the costs, over the fault rate."""
    import altair as alt

    panels = [_panel(alt, rows, *panel) for panel in PANELS]
    lines = [alt.hconcat(*panels[at : at + A_ROW]) for at in range(0, len(panels), A_ROW)]
    path.parent.mkdir(parents=True, exist_ok=True)
    alt.vconcat(*lines).save(str(path), format="png", scale_factor=2)


def _panel(alt: Any, rows: Sequence[Row], column: str, title: str, share: bool) -> Any:
    wanted = (column, f"{column}_low", f"{column}_high") if share else (column,)
    values = [
        {
            "mode": row["mode"],
            "faults": float(str(row["fault_rate"])),
            **{name: float(str(row[name])) for name in wanted},
        }
        for row in rows
        if row[column] != ""
    ]
    x = alt.X("faults:Q", title="fault rate of the author")
    colour = alt.Color("mode:N", title="")
    scale = alt.Scale(domain=[0, 1]) if share else alt.Scale(type="linear", zero=True)
    base = alt.Chart(alt.Data(values=values)).properties(width=260, height=200, title=title)
    lines = base.mark_line(point=True).encode(x=x, y=alt.Y(f"{column}:Q", title="", scale=scale), color=colour)
    if not share:
        return lines
    band = base.mark_area(opacity=0.15).encode(x=x, y=f"{column}_low:Q", y2=f"{column}_high:Q", color=colour)
    return band + lines
