"""Finds out which other conditions an image's commands can be run under, and makes them (`sandbox.conditions`)."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, replace
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from sandbox.bubblewrap.arguments import OTHER_HOSTNAMES
from sandbox.conditions import FOLDER, Condition, Renamable, put
from sandbox.reordering import FOLDERS, TESTS
from sandbox.shifting import Shifter, clocks, shifters, told

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from datetime import datetime

    from sandbox.protocol import Sandbox

CLOCK, HOST_NAME, LOCALE, TIME_ZONE = "clock", "host-name", "locale", "time-zone"
CPUS, MANY_CPUS, LOAD, HASH_SEED, UMASK = "cpus", "many-cpus", "load", "hash-seed", "umask"
MACHINE, OPEN_FILES, MEMORY = "machine", "open-files", "memory"
TEMPORARY_FOLDER, TEST_ORDER, FOLDER_ORDER = "temporary-folder", "test-order", "folder-order"
NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        CLOCK: "the clock shows another year, weekday and half of the day",
        HOST_NAME: "the host name is another one",
        LOCALE: "the locale is another one",
        TIME_ZONE: "the local time is far from UTC",
        CPUS: "there is one processor only",
        MANY_CPUS: "programs are told of many processors (OMP_NUM_THREADS, which `nproc` goes by, and `sysconf`)",
        LOAD: "something else keeps the processor busy",
        HASH_SEED: "Python's hash seed is another one",
        MACHINE: "the machine calls itself one of 32 bits (`uname -m`)",
        OPEN_FILES: "a process may have 512 files open",
        MEMORY: "programs that ask the C library are told of 512 MiB of memory",
        UMASK: "new files may be written by their group (umask 002)",
        TEMPORARY_FOLDER: "TMPDIR is /var/tmp",
        TEST_ORDER: "the test cases run in reverse order",
        FOLDER_ORDER: "Python lists folders in reverse order",
    }
)
"""Every condition there is, in the order in which a culprit is looked for, and what it means."""

VARIANTS: Final = 2
"""How many different clocks and hash seeds there are to try."""

_PATIENCE: Final = 3.0
_PROCESSORS: Final = 24
"""Told by `sysconf`: who starts a process for each must not run out of memory."""
_PAGES: Final = 512 * 1024 * 1024 // 4096
_FOREIGN: Final = ("de_DE.UTF-8", "fr_FR.UTF-8", "tr_TR.UTF-8", "ru_RU.UTF-8", "ja_JP.UTF-8", "pt_BR.UTF-8")
_NO_CLOCK: Final = "there is no C compiler on this machine, and no libfaketime that works in the image"
_LOCALE_VARIABLES: Final = frozenset(
    ["LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_NUMERIC", "LC_TIME", "LC_MESSAGES", "LC_MONETARY"]
)
# Those with a decimal comma first; any other one sorts otherwise than by code points.
_LOCALES: Final = ("de_DE", "fr_FR", "es_ES", "sv_SE", "en_US", "en_GB")
_ZONES: Final = ("Pacific/Kiritimati", "Pacific/Chatham")
_SEEDS: Final = ("1", "4241")
_LOOK = r"""
echo "cpus $(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)"
for name in taskset setarch python3; do command -v "$name" >/dev/null && echo "has $name"; done
unset TZ; echo "zone $(date +%z)"
for zone in ZONES; do [ -f "/usr/share/zoneinfo/$zone" ] && echo "can $zone"; done
locale -a 2>/dev/null | sed 's/^/locale /'
[ -d /var/tmp ] && [ -w /var/tmp ] && echo "has /var/tmp"
year=$(date +%Y)
SHIFTERS
exit 0
"""
_SHIFT = r"""
if [ -z "${found-}" ] && [ -f 'LIBRARY' ] && said=$(LD_PRELOAD='LIBRARY' VARIABLES date +%Y 2>&1) &&
  [ "$said" -gt "$year" ] 2>/dev/null && LD_PRELOAD='LIBRARY' VARIABLES timeout 5 bash -c 'WAIT'; then
  found=1; echo "clock NUMBER"
fi
"""
# Some libraries have programs fail, or sleep for years, when they wait.
_WAIT = (
    "command -v python3 >/dev/null || exit 0; "
    'python3 -I -S -c "import time, threading; time.sleep(.001); threading.Event().wait(.001)" 2>/dev/null'
)


@dataclass(frozen=True, slots=True)
class Survey:
    """What can be otherwise for the commands of an image.

    Attributes:
        variants: By name, the ways in which it can be otherwise, the first to be tried first.
        missing: By name, why a condition cannot be had here. A condition in neither has no meaning for this image.
        clock_with_files: The clocks again, with the times of files moved along.
    """

    variants: Mapping[str, tuple[Condition, ...]]
    missing: Mapping[str, str]
    clock_with_files: tuple[Condition, ...] = ()

    def together(self, variant: int, without: Collection[str] = ()) -> tuple[Condition, ...]:
        """All conditions at once but those named `without`; `variant` counts from 0."""
        left = [name for name in self.variants if name not in without]
        # Load includes that there is one processor only.
        names = [name for name in left if name != CPUS or LOAD not in left]
        return tuple(self.variants[name][variant % len(self.variants[name])] for name in names)


async def survey(sandbox: Sandbox, *, test_cases: bool = False, now: datetime | None = None) -> Survey:
    """Looks what a sandbox's image has; leaves nothing behind in its files.

    Args:
        sandbox: A sandbox of the image; not under conditions.
        test_cases: Whether its tests are run by pytest or unittest.
        now: What the time is.

    Raises:
        SandboxError: The sandbox failed.
    """
    candidates = await asyncio.to_thread(shifters)
    brought = next((one for one in candidates if one.content), None)
    if brought is not None:
        await put(sandbox, brought.library, brought.content)
    script = _LOOK.replace("ZONES", " ".join(_ZONES)).replace("SHIFTERS", _attempts(candidates))
    ran = await sandbox.exec(["bash", "-c", script], cwd="/", user=0, timeout=60)
    seen = _Seen.read(ran.text)
    shifter = None if seen.clock is None else candidates[seen.clock]
    variants: dict[str, tuple[Condition, ...]] = {}
    missing: dict[str, str] = {}
    for name, ways in (
        (CLOCK, clocks(shifter, CLOCK, NAMES[CLOCK], now) if shifter else _NO_CLOCK),
        (HOST_NAME, _host_name(sandbox)),
        (LOCALE, _locale(seen)),
        (TIME_ZONE, _time_zone(seen)),
        (CPUS, _processor(seen)),
        (MANY_CPUS, _many_processors(shifter)),
        (LOAD, _load(seen)),
        (HASH_SEED, _hash_seeds() if "python3" in seen.has else ()),
        (MACHINE, _machine(seen)),
        (OPEN_FILES, _open_files()),
        (MEMORY, told(shifter, MEMORY, NAMES[MEMORY], {"PAGES_TOLD": str(_PAGES)})),
        (UMASK, _umask()),
        (TEMPORARY_FOLDER, _temporary_folder(seen)),
        (TEST_ORDER, _reordered(TEST_ORDER, TESTS) if test_cases and "python3" in seen.has else ()),
        (FOLDER_ORDER, _reordered(FOLDER_ORDER, FOLDERS) if "python3" in seen.has else ()),
    ):
        if isinstance(ways, str):
            missing[name] = ways
        elif ways and any(way.settled_by.isdisjoint(sandbox.image.env) for way in ways):
            variants[name] = ways
    return Survey(variants, missing, clocks(shifter, CLOCK, NAMES[CLOCK], now, files=True) if shifter else ())


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the look into an image found.

    Attributes:
        processors: Numbers of those that commands may use.
        has: Programs and folders that are there.
        zone: Its offset from UTC, as `date +%z` has it.
        zones: Which of `_ZONES` it knows.
        locales: As `locale -a` lists them.
        clock: Which of the libraries shifts the clock, counted from 0; `None` for none.
    """

    processors: tuple[int, ...]
    has: frozenset[str]
    zone: str
    zones: tuple[str, ...]
    locales: tuple[str, ...]
    clock: int | None

    @classmethod
    def read(cls, text: str) -> _Seen:
        rows = [line.split(" ", 1) for line in text.splitlines() if " " in line]

        def of(kind: str) -> tuple[str, ...]:
            return tuple(value for key, value in rows if key == kind and value)

        processors = tuple(number for part in of("cpus") for number in _numbers(part))
        zone = next(iter(of("zone")), "")
        return cls(
            processors,
            frozenset(of("has")),
            zone,
            of("can"),
            of("locale"),
            next((int(number) for number in of("clock")), None),
        )


def _attempts(candidates: tuple[Shifter, ...]) -> str:
    """Commands that say which library shifts the clock, the first one that does."""
    lines = []
    for number, one in enumerate(candidates):
        words = one.variables(40_000_000, files=False, since=0)
        line = _SHIFT.replace("LIBRARY", one.library).replace("NUMBER", str(number)).replace("WAIT", _WAIT)
        lines.append(line.replace("VARIABLES", " ".join(f"{name}={value}" for name, value in words.items())))
    return "".join(lines)


def _numbers(listed: str) -> Iterator[int]:
    for part in listed.split(","):
        first, _, last = part.strip().partition("-")
        if first.isdecimal():
            yield from range(int(first), int(last or first) + 1)


def _host_name(sandbox: Sandbox) -> tuple[Condition, ...] | str:
    if isinstance(sandbox, Renamable):
        return tuple(Condition(HOST_NAME, f"the host name is {name}", host_name=name) for name in OTHER_HOSTNAMES)
    if sandbox.backend.name == "docker":
        return ()  # every container has a name of its own, so that each run is one under this condition
    return f"the back end {sandbox.backend.name} gives every sandbox the host name it has"


def _locale(seen: _Seen) -> tuple[Condition, ...]:
    wide = [name for name in seen.locales if re.fullmatch(r"[a-z]{2,3}_[A-Z]{2}\.utf-?8", name, re.IGNORECASE)]
    ranked = sorted(wide, key=lambda name: _LOCALES.index(name[:5]) if name[:5] in _LOCALES else len(_LOCALES))
    chosen = next(iter(ranked), "POSIX")
    # A machine may name a locale that the image lacks: programs then fall back, scripts that read the name do not.
    names = (chosen, next(name for name in _FOREIGN if name not in seen.locales))
    return tuple(
        Condition(LOCALE, f"the locale is {name}", {"LC_ALL": name}, settled_by=_LOCALE_VARIABLES) for name in names
    )


def _time_zone(seen: _Seen) -> tuple[Condition, ...]:
    if seen.zone != "+0000":
        return ()  # the image has chosen one
    zone = next(iter(seen.zones), "<+1345>-13:45")
    return (Condition(TIME_ZONE, f"the time zone is {zone}", {"TZ": zone}, settled_by=frozenset({"TZ"})),)


def _processor(seen: _Seen) -> tuple[Condition, ...] | str:
    if "taskset" not in seen.has:
        return "the image has no taskset"
    if len(seen.processors) < 2:  # noqa: PLR2004 - there is one only as it is
        return ()
    prefix = ("taskset", "-c", str(seen.processors[-1]))
    return (Condition(CPUS, NAMES[CPUS], prefix=prefix, patience=_PATIENCE),)


def _many_processors(shifter: Shifter | None) -> tuple[Condition, ...]:
    settled = frozenset({"OMP_NUM_THREADS"})
    asked = {"PROCESSORS_TOLD": str(_PROCESSORS)}
    # Where a processor is all there is, `nproc` has to say so: it tells of many in every other run.
    first = told(shifter, MANY_CPUS, f"programs that ask the C library are told of {_PROCESSORS} processors", asked)
    plain = Condition(MANY_CPUS, "programs count the processors themselves")
    second = told(shifter, MANY_CPUS, NAMES[MANY_CPUS], {**asked, "OMP_NUM_THREADS": "64"})
    many = Condition(MANY_CPUS, NAMES[MANY_CPUS], {"OMP_NUM_THREADS": "64"})
    return (*(first or (plain,)), *(replace(way, settled_by=settled) for way in second or (many,)))


def _load(seen: _Seen) -> tuple[Condition, ...] | str:
    if "taskset" not in seen.has:
        return "the image has no taskset"
    if not seen.processors:
        return "the processors could not be told"
    busy = seen.processors[-1]
    prefix = ("taskset", "-c", str(busy))
    return (Condition(LOAD, NAMES[LOAD], prefix=prefix, load=busy, patience=_PATIENCE),)


def _hash_seeds() -> tuple[Condition, ...]:
    settled = frozenset({"PYTHONHASHSEED"})
    return tuple(
        Condition(HASH_SEED, NAMES[HASH_SEED], {"PYTHONHASHSEED": seed}, settled_by=settled) for seed in _SEEDS
    )


def _machine(seen: _Seen) -> tuple[Condition, ...] | str:
    if "setarch" not in seen.has:
        return "the image has no setarch"
    return (Condition(MACHINE, NAMES[MACHINE], prefix=("setarch", "linux32")),)


def _open_files() -> tuple[Condition, ...]:
    return (Condition(OPEN_FILES, NAMES[OPEN_FILES], prefix=("bash", "-c", 'ulimit -Sn 512; exec "$@"', "bash")),)


def _umask() -> tuple[Condition, ...]:
    return (Condition(UMASK, NAMES[UMASK], prefix=("bash", "-c", 'umask 002; exec "$@"', "bash")),)


def _temporary_folder(seen: _Seen) -> tuple[Condition, ...]:
    if "/var/tmp" not in seen.has:  # noqa: S108 - inside
        return ()
    settled = frozenset({"TMPDIR"})
    return (Condition(TEMPORARY_FOLDER, NAMES[TEMPORARY_FOLDER], {"TMPDIR": "/var/tmp"}, settled_by=settled),)  # noqa: S108


def _reordered(name: str, what: str) -> tuple[Condition, ...]:
    program = resources.files("sandbox").joinpath("reordering.py").read_bytes()
    folder = f"{FOLDER}/{what}"
    return (
        Condition(
            name,
            NAMES[name],
            front={"PYTHONPATH": folder},
            files={f"{folder}/sitecustomize.py": program},
        ),
    )
