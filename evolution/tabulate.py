"""`python -m evolution.tabulate`: a frequency table for `reference.FrequencyTable`, counted over your shell scripts.

The patterns file says by which regular expressions a scenario and a skill are recognised in a script. A script that
matches a scenario and a skill counts once for that pair; so a table says how often people script this skill in that
situation. `data/terminal-patterns.json` and the scripts of a Debian system made the table that is shipped.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

LARGEST_SCRIPT = 1 << 20
_SHEBANG = re.compile(rb"^#!\s*\S*/(?:env\s+)?(?:ba|da|k|z)?sh\b")


def scripts(roots: Iterable[Path]) -> Iterator[str]:
    """The texts of all shell scripts below `roots`, by path: files that start with a shell's `#!` or end in `.sh`."""
    for root in roots:
        for folder, names, files in os.walk(root):
            names.sort()
            for name in sorted(files):
                path = Path(folder) / name
                if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST_SCRIPT:
                    continue
                content = path.read_bytes()
                if _SHEBANG.match(content) or name.endswith(".sh"):
                    yield content.decode("utf-8", "replace")


def tabulate(
    texts: Iterable[str], scenarios: Mapping[str, str], skills: Mapping[str, str]
) -> tuple[dict[str, dict[str, int]], int]:
    """Counts in how many texts each (scenario, skill) pair occurs.

    Args:
        texts: The scripts.
        scenarios: A regular expression by scenario.
        skills: A regular expression by skill.

    Returns:
        n(σ, κ) by scenario and skill, zeros included, and the number of texts.
    """
    situations = {name: re.compile(pattern, re.MULTILINE) for name, pattern in scenarios.items()}
    abilities = {name: re.compile(pattern, re.MULTILINE) for name, pattern in skills.items()}
    counts: Counter[tuple[str, str]] = Counter()
    total = 0
    for text in texts:
        total += 1
        shown = [name for name, pattern in abilities.items() if pattern.search(text)]
        counts.update((s, k) for s, pattern in situations.items() if pattern.search(text) for k in shown)
    return {s: {k: counts[s, k] for k in sorted(abilities)} for s in sorted(situations)}, total


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m evolution.tabulate", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "patterns", type=Path, help="JSON: domain, source, and `scenarios` and `skills` as name → regex"
    )
    parser.add_argument("roots", type=Path, nargs="+", help="folders of shell scripts")
    arguments = parser.parse_args(argv)
    try:
        patterns = json.loads(arguments.patterns.read_text(encoding="utf-8"))
        counts, total = tabulate(scripts(arguments.roots), patterns["scenarios"], patterns["skills"])
        table = {
            "domain": patterns["domain"],
            "source": patterns["source"].format(scripts=total),
            "counts": counts,
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, re.error) as error:
        print(f"error: {arguments.patterns}: {error!r}", file=sys.stderr)
        return 2
    print(json.dumps(table, indent=1, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
