"""Writing with mistakes in it, and repairing what comes back: the same for the writer and for the evolver's loop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from agents.embedded.diagnosis import Finding, suspects
from agents.embedded.library import FileContent
from agents.embedded.mistakes import slip
from agents.embedded.options import Options


@dataclass(frozen=True, slots=True)
class Repair:
    """What is done about findings.

    Attributes:
        written: Files to write.
        removed: Files to remove.
    """

    written: Mapping[str, FileContent]
    removed: tuple[str, ...] = ()


def with_slip(wanted: Mapping[str, FileContent], options: Options, seed: int) -> Mapping[str, FileContent]:
    """A draft as it is really written."""
    mistake = slip(wanted, options.faults, seed) if options.faults else None
    return mistake.files if mistake is not None else wanted


def with_slip_within(
    wanted: Mapping[str, FileContent], rewritten: frozenset[str], options: Options, seed: int
) -> Mapping[str, FileContent]:
    """A repair as it is really written: a mistake counts when it spoils nothing but files that are rewritten or new."""
    again = with_slip(wanted, options, seed)
    spoilt = {path for path in wanted if again.get(path) != wanted[path]}
    return again if spoilt <= rewritten else wanted


def repairs(
    wanted: Mapping[str, FileContent],
    folder: Mapping[str, bytes],
    wrong: Iterable[str],
    findings: Iterable[Finding],
    *,
    options: Options,
    seed: int,
) -> Repair:
    """Writes anew what the findings cast suspicion on; what they do not speak of stays, right or wrong.

    Args:
        wanted: The files as they should be.
        folder: The files as they are, for what findings quote.
        wrong: Paths of `wanted` that are missing in the folder or not as they should be.
        findings: What is said of the folder.
        options: How the author works: a repair may have a mistake in it, too.
        seed: Of the request.
    """
    missing = {path: b"" for path in wanted if path not in folder}
    looked_at = suspects(findings, {**folder, **missing})
    rewritten = frozenset(wrong) & looked_at
    stale = {path for path in folder if path not in wanted and path in looked_at}
    if not rewritten and not stale:
        return Repair({})
    again = with_slip_within(wanted, rewritten, options, seed)
    written = {path: again[path] for path in sorted(again) if path in rewritten or path not in wanted}
    gone = {path for path in rewritten if path not in again} & folder.keys()
    return Repair(written, tuple(sorted((stale - again.keys()) | gone)))
