"""Prompt files: Markdown with named fields, written `{{field}}` so that JSON, TOML and shell can stand in them."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

from agents.errors import PromptError

_FIELD = re.compile(r"\{\{\s*([a-z][a-z0-9_]*)\s*\}\}")


def prompt(package: str, file: str, **fields: str) -> str:
    """Fills in a prompt file of a package; what is filled in is never read for fields again.

    Raises:
        PromptError: The file is missing, has a field that is not given, or lacks one that is.
    """
    return render(_template(package, file), fields, name=file)


def render(template: str, fields: dict[str, str], *, name: str = "prompt") -> str:
    """Fills in a template.

    Raises:
        PromptError: It has a field that is not given, or lacks one that is.
    """
    wanted = set(_FIELD.findall(template))
    missing, unused = sorted(wanted - set(fields)), sorted(set(fields) - wanted)
    if missing or unused:
        found = [f"field(s) not given: {', '.join(missing)}"] if missing else []
        found += [f"no place for field(s): {', '.join(unused)}"] if unused else []
        raise PromptError(f"{name}: {'; '.join(found)}")
    return _FIELD.sub(lambda match: fields[match[1]], template)


@cache
def _template(package: str, file: str) -> str:
    try:
        return (resources.files(package) / file).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise PromptError(f"{file}: no such prompt file in {package}") from error
