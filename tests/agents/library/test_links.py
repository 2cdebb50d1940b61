"""A link leads the right figure to its lot, most wrong ones elsewhere, and no figure nowhere."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.embedded.library.framework import Checkpoint, stream
from agents.embedded.library.links import Destination, Link, link
from agents.embedded.library.registry import scenarios

LOTS = ("amber", "blue", "crimson", "green", "teal")
WORDS = scenarios()["service-config"].words


def followed(found: Link, folder: Path, figure: Path) -> str:
    (folder / found.file).write_bytes(found.content)
    script = f'export LC_ALL=C\nS={folder}\n{found.solution}\nprintf %s "$LOT"'.replace(
        "/app/out/figure.txt", str(figure)
    )
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout


def made(seed: int, value: str, target: str, sha256: str = "") -> Link:
    before = Checkpoint("/app/out/figure.txt", "figure in `x`", "cat /app/out/figure.txt", value, sha256)
    return link(stream(seed), before, Destination(LOTS, target, "/app/data/s2", WORDS))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 10**6),
    st.one_of(st.integers(0, 9).map(str), st.integers(0, 2**31).map(str), st.text("abc-.", min_size=1)),
    st.sampled_from(LOTS),
)
def test_the_right_figure_leads_to_the_target(seed: int, value: str, target: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figure = folder / "figure"
        found = made(seed, value, target)
        assert followed(found, folder, figure) == "", "no figure must lead nowhere"
        figure.write_text(value)
        assert followed(found, folder, figure) == target
        assert f"/app/data/s2/{found.file}" in found.sentence


def test_wrong_figures_lead_elsewhere(tmp_path: Path) -> None:
    """Each lot is about equally likely, so four of five wrong figures go astray."""
    figure = tmp_path / "figure"
    astray = 0
    for seed in range(30):
        found = made(seed, "1234", "green")
        figure.write_text(str(1234 + 1 + seed * 7))
        astray += followed(found, tmp_path, figure) != "green"
    assert astray >= 15


def test_every_kind_of_link_is_used() -> None:
    files = {made(seed, "77", "teal").file for seed in range(40)}
    assert files == {"rota.tsv", "bands.csv", "roster.txt", "pointers.txt"}
    assert any("of `/app/out/figure.txt`" in made(seed, "77", "teal", "ab" * 32).sentence for seed in range(40))
