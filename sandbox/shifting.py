"""Another clock for a sandbox's commands: a library in front of the C library, ours where this machine has a compiler.

libfaketime 0.9.10, which Debian 12 has, lets waiting fail or hang in Python 3.11 and later, so it comes second, and
each library has to show first that it shifts `date` and that Python can wait under it.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sandbox.conditions import FOLDER, Condition

if TYPE_CHECKING:
    from collections.abc import Mapping

_OWN: Final = f"{FOLDER}/clock.so"
_COPY: Final = f"{FOLDER}/libfaketime.so.1"
_INSTALLED: Final = tuple(
    f"/usr/{place}/{name}"
    for name in ("libfaketimeMT.so.1", "libfaketime.so.1")
    for place in (
        "lib/x86_64-linux-gnu/faketime",
        "lib/aarch64-linux-gnu/faketime",
        "lib/faketime",
        "lib64/faketime",
        "local/lib/faketime",
    )
)
_FAKETIME: Final = ({"FAKETIME_DONT_FAKE_MONOTONIC": "1"}, {"FAKETIME_DONT_FAKE_MONOTONIC": "0"})


@dataclass(frozen=True, slots=True)
class Shifter:
    """A library that may shift the clock.

    Attributes:
        library: Its path in the sandbox.
        content: Its bytes, where it has to be brought there.
        own: Whether it is the one of `shifting.c`.
        env: Variables that go with it.
    """

    library: str
    content: bytes = b""
    own: bool = False
    env: tuple[tuple[str, str], ...] = ()

    def variables(self, seconds: int, *, files: bool, since: int) -> Mapping[str, str]:
        """What shifts the clock by some seconds; with `files`, the times of files that are younger than `since` too."""
        if self.own:
            also = {"CLOCK_SHIFT_FILES_SINCE": str(since)} if files else {}
            return {"CLOCK_SHIFT": str(seconds), **also}
        also = {"FAKE_UTIME": "1"} if files else {"NO_FAKE_STAT": "1"}
        return {"FAKETIME": f"+{seconds}", **dict(self.env), **also}


@cache
def shifters() -> tuple[Shifter, ...]:
    """The libraries to try, the best one first; compiles ours at the first call."""
    own = _compiled()
    found = [Shifter(_OWN, own, own=True)] if own else []
    kinds = [tuple(env.items()) for env in _FAKETIME]
    found += [Shifter(path, env=env) for path in _INSTALLED for env in kinds]
    here = next((Path(path) for path in _INSTALLED if Path(path).is_file()), None)
    if here is not None:
        content = here.read_bytes()
        found += [Shifter(_COPY, content, env=env) for env in kinds]
    return tuple(found)


def _compiled() -> bytes:
    """The library of `shifting.c`; nothing where this machine has no C compiler that can make it."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return b""
    with tempfile.TemporaryDirectory(prefix="envolve-clock-") as folder:
        made = Path(folder) / "clock.so"
        with resources.as_file(resources.files("sandbox").joinpath("shifting.c")) as source:
            arguments = [compiler, "-shared", "-fPIC", "-O1", "-w", "-o", str(made), str(source), "-ldl"]
            ran = subprocess.run(arguments, check=False, capture_output=True, timeout=120)
        return made.read_bytes() if ran.returncode == 0 else b""


def told(shifter: Shifter | None, name: str, said: str, env: Mapping[str, str]) -> tuple[Condition, ...]:
    """A condition in which our library tells programs of other hardware (`PROCESSORS_TOLD`, `PAGES_TOLD`)."""
    if shifter is None or not shifter.own:
        return ()
    return (
        Condition(name, said, env, front={"LD_PRELOAD": shifter.library}, files={shifter.library: shifter.content}),
    )


def moments(now: datetime) -> tuple[timedelta, timedelta]:
    """Two shifts of the clock, both into the future: certificates and files of the image exist by then.

    One leads to another year, the other half of the day, a weekend on a working day and the other way round, and from
    an even to an odd day of the month and hour or back; the other one to another half of the year and day of the week.
    """

    def far(then: datetime) -> bool:
        return (
            then.year != now.year
            and (then.hour < 12) != (now.hour < 12)  # noqa: PLR2004 - noon
            and (then.weekday() > 4) != (now.weekday() > 4)  # noqa: PLR2004 - Friday
            and then.day % 2 != now.day % 2
            and then.hour % 2 != now.hour % 2
        )

    def near(then: datetime) -> bool:
        return (then.month < 7) != (now.month < 7) and then.weekday() != now.weekday()  # noqa: PLR2004 - July

    steps = [timedelta(days=days, hours=hours, minutes=17) for days in range(400, 440) for hours in range(7, 20)]
    first = next(step for step in steps if far(now + step))
    nearer = [step - timedelta(days=220) for step in steps]
    return first, next(step for step in nearer if near(now + step))


def clocks(
    shifter: Shifter, name: str, said: str, now: datetime | None, *, files: bool = False
) -> tuple[Condition, ...]:
    """The conditions of `moments`."""
    began = now or datetime.now(UTC)
    brought = {shifter.library: shifter.content} if shifter.content else {}
    return tuple(
        Condition(
            name,
            said,
            shifter.variables(int(shift.total_seconds()), files=files, since=int(datetime.now(UTC).timestamp())),
            front={"LD_PRELOAD": shifter.library},
            files=brought,
        )
        for shift in moments(began)
    )
