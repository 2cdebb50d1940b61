"""Who asks: an organisation out of the seed, and the words around a task's steps."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from agents.embedded.library.framework import Words, stream

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

_FIRST = (
    "Halden", "Norvik", "Castell", "Brandt", "Orrin", "Tessaly", "Kestrel", "Lindqvist", "Marlow", "Ostrava",
    "Pellworm", "Quill", "Rosenau", "Saltash", "Tiree", "Umber", "Vantaa", "Wexcombe", "Yarrow", "Zeeland",
)  # fmt: skip
_SECOND = (
    ("Freight", "haulier"), ("Clinics", "group of clinics"), ("Power", "regional utility"), ("Books", "bookseller"),
    ("Water", "water company"), ("Optics", "maker of lenses"), ("Ferries", "ferry line"), ("Seeds", "seed merchant"),
    ("Press", "newspaper"), ("Credit Union", "credit union"), ("Rail", "railway"), ("Dairies", "dairy"),
)  # fmt: skip
_ROLES = (
    "the on-call engineer", "the operations desk", "the internal auditor", "the platform team",
    "the head of IT operations", "the new data steward", "the migration team",
)  # fmt: skip
_MOST_NAMED = 5
GIVEN = (
    "anna", "bela", "carl", "dora", "emil", "fay", "gert", "hana", "ivo", "jana", "kurt", "lea", "milo", "nora",
    "otto", "pia", "rolf", "sara", "tom", "ute", "vera", "wim", "yara", "zoe",
)  # fmt: skip
FAMILY = (
    "berg", "castro", "dahl", "ebert", "falk", "grau", "holm", "ibsen", "jost", "klein", "lund", "moser", "nagy",
    "olsen", "pohl", "quist", "roth", "stern", "thoma", "unger", "voss", "weber", "zander",
)  # fmt: skip


@dataclass(frozen=True)
class Organisation:
    """Whose data it is; the same for all steps of a seed.

    Attributes:
        name: "Halden Freight".
        trade: "haulier".
        domain: "halden.example".
        asks: Who the work is for.
    """

    name: str
    trade: str
    domain: str
    asks: str


def organisation(seed: int) -> Organisation:
    """The organisation of a seed."""
    rng = stream(seed, "organisation")
    first = rng.choice(_FIRST)
    second, trade = rng.choice(_SECOND)
    return Organisation(f"{first} {second}", trade, f"{first.lower()}.example", rng.choice(_ROLES))


def people(rng: random.Random, count: int) -> list[str]:
    """Distinct user names of the form `anna.berg`."""
    names = [f"{given}.{family}" for given in GIVEN for family in FAMILY]
    return sorted(rng.sample(names, count))


def introduction(organisation: Organisation, stops: Sequence[Words], seed: int) -> str:
    """The paragraph that opens an instruction: whose data, what for, and that one step leads to the next."""
    rng = stream(seed, "introduction")
    who = f"{organisation.name}, a {organisation.trade},"
    opening = rng.choice((
        f"You are helping {organisation.asks} of {who} with a review of what its systems left behind.",
        f"This is a working copy of data from {who} put together for {organisation.asks}.",
        f"What follows was asked by {organisation.asks} of {who} and can be answered from files alone.",
    ))  # fmt: skip
    places = [stop.heading_in_text for stop in stops]
    if len(places) == 1:
        return f"{opening} It is about {places[0]}: {stops[0].errand}."
    return (
        f"{opening} The occasion: {stops[0].errand}. {_route(places)}; from the second part on, what the part before "
        f"it found decides where to look, so work in order."
    )


def _route(places: Sequence[str]) -> str:
    """The places in the order in which they come, not all of them where they are many."""
    stops = [place for place, _ in groupby(places)]
    if len(stops) == 1:
        return f"Every part is about {stops[0]}, with data of its own"
    if len(stops) > _MOST_NAMED:
        return f"The way leads through {stops[0]}, {stops[1]} and {len(stops) - 3} more places to {stops[-1]}"
    return f"The way leads through {', then '.join(stops[:-1])} and finally {stops[-1]}"


def output_rules() -> str:
    """The rules that hold for every result."""
    return (
        "- Results go to `/app/out/` (create it); leave everything below `/app/data/` as it is.\n"
        "- JSON results are one object in UTF-8 with exactly the keys named above. Figures are JSON integers unless a "
        "part says otherwise; the order of keys does not matter, the order of lists does.\n"
        "- CSV, TSV and text results are UTF-8 with every line, the last one too, ended by a single line feed. CSV "
        "fields are separated by commas and enclosed in double quotes only when they contain a comma, a double quote "
        "or a line break.\n"
        "- *Ascending* means by number for figures and by byte value for text (the order of `LC_ALL=C sort`).\n"
        "- The machine has no network, and none is needed."
    )
