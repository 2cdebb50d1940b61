"""Finds a back end by name or `module:Class`; nothing is imported before it is asked for."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from sandbox.errors import SandboxUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sandbox.protocol import SandboxBackend

ENTRY_POINTS = "envolve.sandboxes"
_BUILT_IN = {
    "bubblewrap": "sandbox.bubblewrap.backend:BubblewrapBackend",
    "docker": "sandbox.docker.backend:DockerBackend",
    "e2b": "sandbox.e2b.backend:E2BBackend",
    "harbor": "sandbox.harbor.backend:HarborBackend",
    "local": "sandbox.local.backend:LocalBackend",
}
_EXTRAS = {"docker": "docker", "e2b": "e2b", "harbor": "harbor"}


def load_backend(name: str = "bubblewrap", *, base: Sequence[str] = (), **options: object) -> SandboxBackend:
    """Makes a back end.

    Args:
        name: `bubblewrap`, `docker`, `e2b`, `local`, `harbor` (any of Harbor's own environments), a name that an
            installed package registers in the entry-point group `envolve.sandboxes`, or `module:Class`.
        base: What `FROM` stands for, as rules IMAGE=DIR, IMAGE=TAR or IMAGE=host; for `e2b` IMAGE=TEMPLATE.
        options: Handed to the class as they are.

    Raises:
        SandboxUnavailableError: There is none of that name, or its package is missing.
        ValueError: A rule of `base` is wrong.
    """
    return backend_class(name)(base=tuple(base), **options)


def backend_class(name: str) -> Callable[..., SandboxBackend]:
    """The class of a back end; see `load_backend`.

    Raises:
        SandboxUnavailableError: As there.
    """
    reference = name if ":" in name else _BUILT_IN.get(name) or _registered().get(name)
    if reference is None:
        known = ", ".join(sorted({*_BUILT_IN, *_registered()}))
        raise SandboxUnavailableError(f"no sandbox back end {name!r}; known: {known}, or give module:Class")
    module, _, attribute = reference.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except ImportError as error:
        if name in _EXTRAS and error.name and error.name.split(".")[0] == name:
            raise SandboxUnavailableError(
                f"the {name} back end needs the package {error.name}: pip install 'envolve[{_EXTRAS[name]}]'"
            ) from error
        raise SandboxUnavailableError(f"the back end {name} cannot be imported: {error}") from error
    except AttributeError as error:
        raise SandboxUnavailableError(f"the back end {name}: {module} has no {attribute!r}") from error
    if not isinstance(found, type):
        raise SandboxUnavailableError(f"the back end {name}: {attribute!r} of {module} is no class")
    return found


def _registered() -> dict[str, str]:
    return {point.name: point.value for point in entry_points(group=ENTRY_POINTS)}
