"""Tasks that cannot be built, or whose scripts cannot run where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evolution.faults.fault import Fault
from evolution.faults.known.reading import append, in_script

if TYPE_CHECKING:
    from random import Random

    from evolution.faults.draft import Draft

_TOOLS = ("xsv", "mlr", "duckdb", "csvtool", "xmlstarlet", "trurl", "datamash", "gron", "dasel", "htmlq")
_MODULES = ("polars", "orjson", "deepdiff", "pyarrow", "rapidfuzz", "ijson")


def does_not_build(draft: Draft, random: Random) -> bool:
    """The Dockerfile has an instruction that fails."""
    name = random.choice(("fixtures", "vendor", "assets", "config"))
    line = random.choice(
        (
            f"COPY {name}/ /opt/{name}/",
            f"ADD {name}.tar.gz /opt/",
            f"RUN test -d /opt/{name}",
            f"RUN cp /opt/{name}/settings.ini /etc/app-settings.ini",
            f"COPPY {name} /opt/{name}",
            "RUN set -e; make -C /usr/src/app install",
        )
    )
    append(draft, line)
    return True


def missing_dependency(draft: Draft, random: Random) -> bool:
    """Solution or tests call something that the image does not have."""
    tool, module = random.choice(_TOOLS), random.choice(_MODULES)
    where = draft.solution_script if random.random() < 0.6 else draft.test_script  # noqa: PLR2004
    lines = random.choice(
        (
            f"set -e\n{tool} --version >/dev/null",
            f"{tool} --help >/dev/null 2>&1 || {{ echo 'need {tool}' >&2; exit 1; }}",
            f"python3 -c 'import {module}' || exit 1",
            f"printf 'a,b\\n1,2\\n' | {tool} | grep -q . || exit 3",
        )
    )
    in_script(draft, where, lines)
    return True


def carriage_returns(draft: Draft, random: Random) -> bool:
    """A script came through an editor that ends lines in CR LF."""
    scripts = [draft.test_script, draft.solution_script]
    path = random.choice(scripts)
    text = draft.text(path)
    draft.write(path, text.replace("\r\n", "\n").replace("\n", "\r\n"))
    return True


FAULTS = (
    Fault("does-not-build", "the Dockerfile has an instruction that fails", "running", does_not_build),
    Fault("missing-dependency", "solution or tests call a tool that the image lacks", "running", missing_dependency),
    Fault("carriage-returns", "a script has CR LF line ends", "running", carriage_returns),
)
