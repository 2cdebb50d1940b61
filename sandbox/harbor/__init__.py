"""Harbor and this project, plugged into each other; needs Harbor (Python 3.12 or later), except for this module.

* Our sandboxes as environments of Harbor: `harbor run -p TASK -e sandbox.harbor:BubblewrapEnvironment -a oracle`, with
  `--ek base=IMAGE=DIR` for what `FROM` stands for (several: `--ek 'base=["IMAGE=DIR", "IMAGE=host"]'`), and
  `sandbox.harbor:SandboxEnvironment --ek sandbox=NAME` for any back end of ours, by name or `module:Class`.
* Harbor's environments as a back end of ours: `--sandbox sandbox.harbor:HarborBackend`.
* Harbor's agents in our trials: `python -m sandbox.trial TASK --agent module:Class`.

What may come in: what knows Harbor's classes. Nothing else of this project imports it.
"""

from __future__ import annotations

import importlib

_WHERE = {
    "SandboxEnvironment": "sandbox.harbor.environment",
    "BubblewrapEnvironment": "sandbox.harbor.environment",
    "DockerEnvironment": "sandbox.harbor.environment",
    "E2BEnvironment": "sandbox.harbor.environment",
    "HarborBackend": "sandbox.harbor.backend",
    "HarborAgent": "sandbox.harbor.agent",
}

__all__ = [
    "BubblewrapEnvironment",
    "DockerEnvironment",
    "E2BEnvironment",
    "HarborAgent",
    "HarborBackend",
    "SandboxEnvironment",
]


def __getattr__(name: str) -> object:
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.split(".")[0] == "harbor":
            raise ImportError(
                f"sandbox.harbor.{name} needs Harbor: install `harbor` and `envolve` into one environment of Python "
                "3.12 or later",
                name=error.name,
            ) from error
        raise
