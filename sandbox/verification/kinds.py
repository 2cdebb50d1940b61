"""The kinds of leftovers: what each is, whether the second run is without it, and what excuses it; and their rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sandbox.verification import library_rules, link_rules, python_rules, settings_rules, tool_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sandbox.protocol import Change
    from sandbox.verification.leftovers import Leftover, Scene

    Rule = Callable[[Change, Scene], Leftover | None]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of leftover.

    Attributes:
        meaning: What it is.
        reverted: Whether the second run puts back what the image had, where it is suspicious.
        excuse: What makes it no suspicion; "" where nothing has to.
    """

    meaning: str
    reverted: bool
    excuse: str = ""


_INSTALLS = "[metadata] installs names it"
_NAMED = f"{_INSTALLS}, or the instruction or the solution names the file"

KINDS: Final[Mapping[str, Kind]] = {
    "process": Kind("processes of the agent's that still ran, killed before the verifier", reverted=False),
    "survivor": Kind("processes that the verifier's own run left, killed before the reward was read", reverted=False),
    "logs-folder": Kind("/logs or /logs/verifier was a link or a file, made a folder again", reverted=False),
    "tests-folder": Kind("/tests was a link or a file, or held something, made an empty folder", reverted=False),
    "reward-file": Kind("a reward or a report was there before the verifier ran, removed", reverted=False),
    "artifact-link": Kind("an artifact that leads out of the artifacts, not carried over", reverted=False),
    "network-narrowed": Kind("the verifier's own environment ran without the network it asks for", reverted=False),
    "test-link": Kind("a link to the tests, which an output would be compared with", reverted=True),
    "unseen": Kind(
        "this back end cannot tell what the agent changed, or cannot run the verifier without it", reverted=False
    ),
    "replaced-tool": Kind(
        "a program of the image's that is another one now, or gone", True, f"{_INSTALLS}; see the rule"
    ),
    "shadowed-tool": Kind("a program that is found before the image's", True, f"{_INSTALLS}; see the rule"),
    "added-tool": Kind("a program that the image has not", True, _NAMED),
    "library": Kind("a library of the image's that is another one now, or is not found first any more", True, _NAMED),
    "preload": Kind("/etc/ld.so.preload", True, "its path in [metadata] installs"),
    "python-startup": Kind("what Python runs or reads at every start", True, _INSTALLS),
    "pytest-plugin": Kind("a plug-in that pytest loads by itself", True, _INSTALLS),
    "shadowed-module": Kind("a Python module that is loaded instead of another", True, _NAMED),
    "bytecode": Kind("compiled Python modules where the tests start Python isolated", reverted=True),
    "interpreter-startup": Kind("what perl or ruby runs at every start", True, _NAMED),
    "shell-startup": Kind("what shells read at their start", True, _NAMED),
    "pytest-config": Kind("settings or a conftest.py where pytest looks", True, _NAMED),
    "package-source": Kind("where package managers fetch from", True, _NAMED),
    "git-config": Kind("settings of git for all repositories", reverted=False),
    "git-hook": Kind("a hook in a repository", reverted=False),
    "user-database": Kind("users, groups or names of hosts", reverted=False),
}

RULES: Final[tuple[Rule, ...]] = (
    link_rules.into_tests,
    tool_rules.replaced_folder,
    library_rules.preload,
    library_rules.loader_file,
    python_rules.startup,
    python_rules.plugin,
    tool_rules.replaced_tool,
    tool_rules.shadowed_tool,
    tool_rules.added_tool,
    python_rules.bytecode,
    python_rules.shadowed_module,
    python_rules.changed_package,
    library_rules.library,
    library_rules.shadowing_library,
    library_rules.interpreter_startup,
    settings_rules.shell_startup,
    settings_rules.pytest_config,
    settings_rules.package_source,
    settings_rules.git_settings,
    settings_rules.git_hook,
    settings_rules.user_database,
)
"""In order: the first that knows a change has the word on it."""
