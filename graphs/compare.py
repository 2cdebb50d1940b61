"""The three ways to generate beside one another: the same seeds, models and gates, one run folder for each.

*AutoEnvScaling*, "three ways to generate, compared": `prompt` writes a whole task in one answer, `prompt+feedback` also
sees what the gates found, `loop` works in the terminal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evolution.config import MODES
from evolution.progress import silent
from evolution.run_folder import open_run
from graphs.assembly import assemble
from graphs.spending import Spending, spending

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evolution.config import RunConfig
    from evolution.progress import Listener
    from graphs.generations import Outcome


@dataclass(frozen=True, slots=True)
class ModeResult:
    """What one way to generate came to.

    Attributes:
        mode: Which.
        outcome: The run's outcome.
        spending: Its attempts and what they took.
    """

    mode: str
    outcome: Outcome
    spending: Spending


async def compare(
    config: RunConfig, modes: Iterable[str] = MODES, *, listen: Listener = silent
) -> tuple[ModeResult, ...]:
    """Runs the settings once in each mode, one after the other, below `config.out`; what is finished is not run again.

    Raises:
        EvolutionError: A run cannot be started.
    """
    found = []
    for mode in modes:
        own = config.model_copy(update={"mode": mode, "out": config.out / mode.replace("+", "-")})
        with open_run(own) as folder:
            async with assemble(folder, listen=listen) as run:
                outcome = await run.run()
            found.append(ModeResult(mode, outcome, spending(folder.journal, outcome.results)))
    return tuple(found)
