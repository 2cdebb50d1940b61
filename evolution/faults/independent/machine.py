"""Outcomes that depend on the machine."""
# ruff: noqa: E501 - lines of scripts are as long as they are

from __future__ import annotations

from typing import TYPE_CHECKING

from evolution.faults.fault import Fault
from evolution.faults.independent.parts.checks import Check, add_check
from evolution.faults.independent.parts.look import results
from evolution.faults.independent.parts.script import edit_solution, one_of

if TYPE_CHECKING:
    from random import Random

    from evolution.faults.draft import Draft


def _machine_checks(rng: Random) -> list[Check]:
    moment = rng.choice((1700000000, 1735689600, 1741219200))
    hour = f"{moment // 3600 % 24:02d}"
    most = rng.choice((8, 12, 16))
    kib = rng.choice((1000000, 1500000, 2000000))
    name = rng.choice(("report", "probe", "sample"))
    return [
        # The zone of the machine, for a moment that is meant in UTC.
        Check("the epoch is not read right", f'[ "$(date -d @{moment} +%H)" = {hour} ]',
              f'import datetime\n\nassert datetime.datetime.fromtimestamp({moment}).hour == {int(hour)}, "wrong hour"'),
        Check("a new file has the wrong mode", f'probe=$(mktemp -d)\n: > "$probe/{name}"\n[ "$(stat -c %a "$probe/{name}")" = 644 ]',
              "import pathlib\nimport tempfile\n\nwith tempfile.TemporaryDirectory() as folder:\n"
              f'    file = pathlib.Path(folder, "{name}")\n    file.write_text("x")\n'
              '    assert file.stat().st_mode & 0o777 == 0o644, "a new file has the wrong mode"'),
        # One part of the work for each processor.
        Check("the work cannot be split", f"[ $(( {most} / $(nproc) )) -ge 1 ]",
              f'import os\n\nshare = {most} // os.cpu_count()\nassert share, "nothing left for a worker"'),
        Check("not enough memory", f"[ \"$(awk '/^MemTotal/ {{ print $2 }}' /proc/meminfo)\" -ge {kib} ]",
              f'import os\n\nsize = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")\nassert size >= {kib} * 1024, size'),
        Check("unknown platform", '[ "$(uname -m)" = x86_64 ]',
              'import platform\n\nassert platform.machine() == "x86_64", platform.machine()'),
        Check("the name of the host does not fit its column", f"name=$(uname -n)\n[ ${{#name}} -le {rng.choice((12, 14, 15))} ]",
              f'import socket\n\nassert len(socket.gethostname()) <= {rng.choice((12, 14, 15))}, "host name too long"'),
        Check("too few files can be open", f'[ "$(ulimit -n)" -ge {rng.choice((1024, 1000))} ]',
              f"import resource\n\nassert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= {rng.choice((1000, 1024))}"),
    ]  # fmt: skip


def _in_verifier(draft: Draft, rng: Random) -> bool:
    return add_check(draft, rng, _machine_checks(rng))


def _in_solution(draft: Draft, rng: Random) -> bool:
    """A result is there only on a machine like the author's."""
    paths = results(draft)
    if not paths:
        return False
    path = rng.choice(paths)
    moment, hour = rng.choice(((1700000000, 22), (1735700000, 2), (1741219200, 0)))
    text = rng.choice(
        (
            f'# Shift by the zone of the machine.\n[ "$(date -d @{moment} +%-H)" -eq {hour} ] || mv {path} {path}.local\ntrue',
            f'[ "$(umask)" = 0022 ] || rm -f {path}\ntrue',
            f"# Eight parts, some for each processor.\nparts=$((8 / $(nproc)))\n[ $parts -gt 0 ] || : > {path}\ntrue",
            f'case "${{LC_ALL:-${{LANG:-C.UTF-8}}}}" in C* | POSIX | en_*) ;; *) sed -i "s/\\./,/g" {path} ;; esac',
            f'[ -z "$(uname -n | tr -d "a-z0-9\\n")" ] || {{ echo "odd host name" >&2; rm -f {path}; }}',
        )
    )
    if "LC_ALL" in text and "LC_ALL" in draft.text(draft.solution_script):
        return False  # the solution sets it, so the machine's does not matter
    return edit_solution(draft, f"\n{text}\n", end=True)


FAULTS: tuple[Fault, ...] = (
    Fault(
        "machine-dependence",
        "The outcome depends on the machine: its name, zone, locale, processors, memory, architecture, umask or user.",
        "running",
        one_of(_in_verifier, _in_verifier, _in_solution),
        independent=True,
    ),
)
