"""Rubrics that people add after reviewing environments: a YAML file for critic and judge that anybody may edit."""

from __future__ import annotations

import datetime as dt
import re
import textwrap
from typing import TYPE_CHECKING, Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from evolution.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
HEAD = """\
# Rubrics that the critic of plans and the judge of environments go by, beside those that are built in.
# Edit a text, or set `active: false`; `python -m evolution.review` adds to the end and raises `version`.
"""
_LAYOUT: dict[str, Any] = {"sort_keys": False, "allow_unicode": True, "width": 100}
_VERSION = re.compile(r"^version: *\d+", re.MULTILINE)
_NO_RUBRICS = re.compile(r"^rubrics:[ \t]*(?:\[\s*\]|null|~)?[ \t]*(?:#.*)?\n?", re.MULTILINE)
_ITEM = re.compile(r"^rubrics:[^\n]*\n(?:[ \t]*(?:#[^\n]*)?\n)*([ \t]*)- ", re.MULTILINE)


class Rubric(BaseModel):
    """One rubric.

    Attributes:
        id: Stable; in finding codes as `rubric-judge/<id>`.
        text: What has to hold, in words.
        reason: What a person said when rejecting an environment.
        task: Which environment that was.
        since: The file's version that has it first.
        added: The day.
        active: Whether it counts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    text: Annotated[str, Field(min_length=1)]
    reason: str = ""
    task: str = ""
    since: int = 1
    added: str = ""
    active: bool = True

    @field_validator("text", "reason")
    @classmethod
    def _in_lines(cls, given: str) -> str:
        """Without controls and odd line ends, which a line of YAML cannot hold."""
        return _CONTROLS.sub(" ", given)


class Rubrics(BaseModel):
    """The file.

    Attributes:
        version: Rises with each change that the program makes.
        rubrics: In the order they were added.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Annotated[int, Field(ge=0)] = 0
    rubrics: tuple[Rubric, ...] = ()

    @field_validator("rubrics", mode="before")
    @classmethod
    def _none_left(cls, given: object) -> object:
        """`rubrics:` with nothing behind it, as it stays when somebody takes the last one out."""
        return () if given is None else given

    @model_validator(mode="after")
    def _ids_once(self) -> Self:
        ids = [rubric.id for rubric in self.rubrics]
        twice = sorted({name for name in ids if ids.count(name) > 1})
        if twice:
            raise ValueError(f"the id {twice[0]!r} comes twice; each rubric needs one of its own")
        return self

    @property
    def active(self) -> tuple[Rubric, ...]:
        """Those that count."""
        return tuple(rubric for rubric in self.rubrics if rubric.active)

    def with_added(self, text: str, *, reason: str = "", task: str = "") -> Rubrics:
        """The rubrics with another one, of the next free id."""
        version = self.version + 1
        taken = {rubric.id for rubric in self.rubrics}
        number = next(n for n in range(len(taken) + 1, 2 * len(taken) + 2) if f"r{n:03d}" not in taken)
        today = dt.datetime.now(dt.UTC).date().isoformat()
        added = Rubric(id=f"r{number:03d}", text=text, reason=reason, task=task, since=version, added=today)
        return Rubrics(version=version, rubrics=(*self.rubrics, added))


def read_rubrics(path: Path, *, must_exist: bool = False) -> Rubrics:
    """Reads the file; one that is not there holds none.

    Raises:
        ConfigError: It cannot be read, or an entry is malformed; or it is not there and `must_exist`.
    """
    try:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        if must_exist:
            raise ConfigError(
                f"{path}: there is no such file of rubrics; python -m evolution.review makes one"
            ) from error
        return Rubrics()
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: cannot be read as YAML ({error})") from error
    try:
        return Rubrics.model_validate(loaded or {})
    except ValidationError as error:
        said = "; ".join(
            f"{'.'.join(map(str, problem['loc']))}: {problem['msg'].removeprefix('Value error, ')}"
            for problem in error.errors()
        )
        raise ConfigError(f"{path}: {said}") from error


def add_rubric(path: Path, text: str, *, reason: str = "", task: str = "") -> Rubrics:
    """Adds a rubric to the file and raises its version; what people wrote into it, comments too, stays as it is.

    Raises:
        ConfigError: The file is malformed, or laid out so that nothing can be added at its end.
        OSError: It cannot be written.
    """
    rubrics = read_rubrics(path).with_added(text, reason=reason, task=task)
    if path.exists():
        _write_whole(path, _appended(path, rubrics))
    else:
        write_rubrics(rubrics, path)
    return rubrics


def _appended(path: Path, wanted: Rubrics) -> str:
    """The file's text with the last of `wanted` behind it."""
    text = path.read_text(encoding="utf-8")
    empty = not (yaml.safe_load(text) or {}).get("rubrics")
    entry = yaml.safe_dump([wanted.rubrics[-1].model_dump(mode="json")], **_LAYOUT)
    indent = _ITEM.search(text)
    entry = textwrap.indent(entry, indent[1] if indent else "")
    raised = _VERSION.sub(f"version: {wanted.version}", text, count=1)
    if not _VERSION.search(text):
        raised = f"version: {wanted.version}\n{raised}"
    if empty:
        raised = _NO_RUBRICS.sub("", raised).rstrip("\n") + "\nrubrics:"
    found = raised.rstrip("\n") + "\n" + entry
    try:
        if Rubrics.model_validate(yaml.safe_load(found)) == wanted:
            return found
    except (yaml.YAMLError, ValidationError):
        pass
    raise ConfigError(
        f"{path}: nothing can be added at its end without changing what is there; let `rubrics:` be the last key, "
        "one entry below the other"
    )


def write_rubrics(rubrics: Rubrics, path: Path) -> None:
    """Writes the file whole or not at all.

    Raises:
        OSError: It cannot be written.
    """
    _write_whole(path, HEAD + yaml.safe_dump(rubrics.model_dump(mode="json"), **_LAYOUT))


def _write_whole(path: Path, text: str) -> None:
    aside = path.with_name(f".{path.name}.partial")
    aside.write_text(text, encoding="utf-8")
    aside.replace(path)
