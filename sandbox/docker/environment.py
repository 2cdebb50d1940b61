"""The variables of a command: the engine adds the container's own, which are taken away by name where unwanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

COMMON_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MAX_WORD = (1 << 17) - 1  # of one argument or variable, as the kernel has it

_OF_THE_ENGINE = ("HOSTNAME", "TERM", "container")


def env_rows(given: Mapping[str, str], of_the_image: Iterable[str]) -> list[str]:
    """Rows for the engine: what the command is to see, and a bare name for each variable that it is not to see.

    PATH and LANG have a value where none is given; HOME is the user's, which the engine looks up.
    """
    wanted = {"PATH": COMMON_PATH, "LANG": "C.UTF-8", **given}
    unwanted = sorted({*of_the_image, *_OF_THE_ENGINE} - wanted.keys())
    return [*(f"{name}={value}" for name, value in wanted.items()), *unwanted]
