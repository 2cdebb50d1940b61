"""Finds the agent that a word on the command line means: `oracle`, `nop`, `script:FILE`, `module:Class`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.trial.agent import Agent
from sandbox.trial.script_agent import ScriptAgent

if TYPE_CHECKING:
    from types import ModuleType

ORACLE, NOP = "oracle", "nop"
_SPELLINGS = {"oracle": ORACLE, "nop": NOP, "noop": NOP}
_SCRIPT = "script"


class AgentChoiceError(ValueError):
    """There is no such agent, or it cannot be used here; says what to write instead."""


@dataclass(frozen=True, slots=True)
class AgentChoice:
    """Who acts in a trial.

    Attributes:
        name: For the record: `oracle`, `nop`, or what was asked for.
        make: Makes the agent of one trial; `None` for the reference solution and for nothing at all.
        reference: `module:Class`, where it is one.
        options: What the class is called with.
    """

    name: str
    make: Callable[[], Agent] | None = None
    reference: str = ""
    options: Mapping[str, object] = field(default_factory=dict)


def choose_agent(text: str, options: Mapping[str, object] | None = None) -> AgentChoice:
    """The agent that `text` names; a class is imported now, and made anew for each trial.

    Args:
        text: `oracle`, `nop` (or `noop`), `script:FILE`, or `module:Class`: an `Agent`, or a subclass of
            `harbor.agents.base.BaseAgent` where Harbor is installed beside this project.
        options: Keyword arguments for the class.

    Raises:
        AgentChoiceError: There is none of that name, it is no agent, or a package it needs is missing.
    """
    given = dict(options or {})
    kind, colon, rest = text.partition(":")
    if not colon or kind == _SCRIPT:
        if given:
            raise AgentChoiceError(f"--agent {text} takes no options: they are for module:Class")
        return _script(Path(rest)) if colon else _built_in(text)
    made = _factory(text, kind, rest)
    return AgentChoice(text, lambda: _made(made, given, text), text, given)


def _built_in(text: str) -> AgentChoice:
    name = _SPELLINGS.get(text)
    if name is None:
        raise AgentChoiceError(f"--agent {text}: no such agent; give oracle, nop, script:FILE or module:Class")
    return AgentChoice(name)


def _script(file: Path) -> AgentChoice:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise AgentChoiceError(f"--agent script:{file}: {error.strerror}") from error
    return AgentChoice(f"script:{file.name}", lambda: ScriptAgent(content, file.name))


def _factory(text: str, module_name: str, attribute: str) -> Callable[..., object]:
    module = _imported(text, module_name)
    found: Callable[..., object] | None = getattr(module, attribute, None)
    if not callable(found):
        raise AgentChoiceError(f"--agent {text}: the module {module_name} has no class {attribute!r}")
    return found


def _imported(text: str, module_name: str) -> ModuleType:
    try:
        return importlib.import_module(module_name)
    except ImportError as error:
        if error.name is not None and error.name.split(".")[0] == "harbor":
            raise AgentChoiceError(
                f"--agent {text} is a Harbor agent, and Harbor is not installed here: install `harbor` and `envolve` "
                "into one environment of Python 3.12 or later, and run this command there"
            ) from error
        raise AgentChoiceError(f"--agent {text} cannot be imported: {error}") from error


def _made(factory: Callable[..., object], options: Mapping[str, object], text: str) -> Agent:
    if _is_harbor_agent(factory):
        from sandbox.harbor.agent import HarborAgent

        return HarborAgent(factory, options)
    try:
        agent = factory(**options)
    except TypeError as error:
        raise AgentChoiceError(f"--agent {text} cannot be made with the options {sorted(options)}: {error}") from error
    if not isinstance(agent, Agent):
        raise AgentChoiceError(
            f"--agent {text} is no agent: it needs `name`, `version` and `async act(instruction, sandbox, context)` "
            "(see sandbox.trial.agent.Agent), or has to be a subclass of harbor.agents.base.BaseAgent"
        )
    return agent


def _is_harbor_agent(factory: object) -> bool:
    return isinstance(factory, type) and any(
        base.__module__ == "harbor.agents.base" and base.__name__ == "BaseAgent" for base in factory.__mro__
    )
