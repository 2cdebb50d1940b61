"""What can go wrong with a run and with the domain's own files: each says what was tried, what came, what to do."""

from __future__ import annotations


class EvolutionError(Exception):
    """The root of what this room raises."""


class ConfigError(EvolutionError):
    """A setting is wrong, or two settings contradict each other; names the setting."""


class RunLockedError(EvolutionError):
    """Another process is at work in the run folder."""


class JournalError(EvolutionError):
    """The run's journal cannot be read, or holds something that contradicts what is done now."""


class ReferenceTableError(EvolutionError):
    """A frequency table is malformed; names the file and the key."""


class ReleaseError(EvolutionError):
    """A release folder exists and holds something else; releases are never overwritten."""
