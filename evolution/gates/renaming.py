"""Which outputs a child task calls by another name than its parent: a cheap way to look harder without being so."""

from __future__ import annotations

import posixpath
from itertools import islice, permutations
from typing import TYPE_CHECKING

from evolution.gates.scripts import absolute_paths, file_names, tests_of, text_of, word

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from sandbox.task import Task

Pairs = tuple[tuple[str, str], ...]

MOST_RENAMINGS = 24
"""All ways to pair four names; of more names, the likeliest ones."""
MOST_COPIED = 8


def contract_text(task: Task) -> str:
    """What a task says of its outputs: instruction and tests."""
    return "\n".join([task.instruction, *(text_of(task, file) or "" for file in tests_of(task))])


def shipped_names(*tasks: Task) -> frozenset[str]:
    """What the tasks' environments ship, by the last two parts of each path (`data/a.csv`): inputs, not outputs."""
    found: set[str] = set()
    for task in tasks:
        for file in task.under("environment"):
            parts = file.path.split("/")[1:]
            found |= {"/".join(parts[max(0, end - 2) : end]) for end in range(1, len(parts) + 1)}
    return frozenset(found)


def renamings(parent: str, child: str, shipped: Collection[str] = ()) -> tuple[dict[str, str], ...]:
    """Ways to turn names that vanished from the parent's text into names that are new in the child's.

    Each is a simultaneous replacement: a path, with it the folder and the bare file name where these vanished too. All
    pairings of outputs are tried, with the likeliest pairing of inputs in each.

    Args:
        parent: The parent's text.
        child: The child's text.
        shipped: The last two parts of paths that are inputs, or the only part.
    """
    found: list[dict[str, str]] = []
    for names_in in (absolute_paths, file_names):
        vanished, new = _moved(names_in(parent), names_in(child))
        old_inputs, old = _split(vanished, shipped)
        new_inputs, new = _split(new, shipped)
        inputs = _likeliest(old_inputs, new_inputs)
        for outputs in _pairings(old, new):
            names = _with_parts({**inputs, **outputs}, child)
            if names not in found:
                found.append(names)
        if found:
            break  # bare names are looked at only where no path moved
    return tuple(found[:MOST_RENAMINGS])


def copies(parent: str, child: str, shipped: Collection[str] = ()) -> tuple[Pairs, ...]:
    """Ways to copy what the parent's solution has left to the outputs that are new in the child: (from, to) pairs.

    First all new outputs filled by what vanished, as `renamings` pairs them; then every new output from one and the
    same old path, so that a new output that is an old one under another name is found out too.
    """
    old_paths = absolute_paths(parent)
    vanished, new = _moved(old_paths, absolute_paths(child))
    _, outputs = _split(new, shipped)
    if not outputs:
        return ()
    ways: list[Pairs] = [tuple(pairs.items()) for pairs in _pairings(_split(vanished, shipped)[1], outputs)]
    ways += [tuple((old, path) for path in outputs) for old in old_paths[:MOST_COPIED]]
    return tuple(dict.fromkeys(ways))[:MOST_RENAMINGS]


def _split(names: Sequence[str], shipped: Collection[str]) -> tuple[list[str], list[str]]:
    """Inputs and outputs among some names."""
    inputs = [name for name in names if {posixpath.basename(name), "/".join(name.split("/")[-2:])} & set(shipped)]
    return inputs, [name for name in names if name not in inputs]


def _moved(parent: Sequence[str], child: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names that vanished and names that are new."""
    return [name for name in parent if name not in child], [name for name in child if name not in parent]


def _pairings(old: list[str], new: list[str]) -> list[dict[str, str]]:
    """Old names paired with new ones, the likeliest pairing first: names of the same ending belong together."""
    if not old or not new:
        return []
    return list(islice(_all_pairings(old, new), MOST_RENAMINGS + 1))


def _all_pairings(old: list[str], new: list[str]) -> Iterator[dict[str, str]]:
    yield _likeliest(old, new)
    few, many = sorted((old, new), key=len)
    for chosen in permutations(many, len(few)):
        pairs = zip(old, chosen, strict=True) if few is old else zip(chosen, new, strict=True)
        yield dict(pairs)


def _likeliest(old: list[str], new: list[str]) -> dict[str, str]:
    """Each old name with the first free new one of the same base name, else of the same ending, else the first."""
    free = list(new)
    pairs: dict[str, str] = {}
    for name in old:
        if free:
            best = max(free, key=lambda other: (_likeness(name, other), -free.index(other)))
            pairs[name] = best
            free.remove(best)
    return pairs


def _likeness(one: str, other: str) -> int:
    same_name = posixpath.basename(one) == posixpath.basename(other)
    return 2 * same_name + (posixpath.splitext(one)[1] == posixpath.splitext(other)[1])


def _with_parts(pairs: Mapping[str, str], child: str) -> dict[str, str]:
    """The pairs, and with them folders and base names that the child does not know any more."""
    names = dict(pairs)
    for old, new in pairs.items():
        for part in (posixpath.dirname, posixpath.basename):
            before, after = part(old), part(new)
            if before and after and before not in {"/", after} and not word(before).search(child):
                names.setdefault(before, after)
    return names
