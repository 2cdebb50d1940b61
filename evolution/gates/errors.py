"""What can go wrong with gates themselves, as opposed to what they find."""

from __future__ import annotations

from evolution.errors import EvolutionError


class GateError(EvolutionError):
    """A gate cannot be had or used: an unknown name, a plug-in that does not load, two gates of one name."""
