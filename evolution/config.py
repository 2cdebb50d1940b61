"""The settings of a run: one frozen value, the same from flags and from YAML, kept in the run folder."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from evolution.errors import ConfigError
from evolution.gates.registry import DEFAULT_GATES
from evolution.plan import Axis, Effort

if TYPE_CHECKING:
    from collections.abc import Iterator

ROLES = ("proposer", "critic", "evolver", "judge")
MODES = ("loop", "prompt+feedback", "prompt")
ON_THIS_MACHINE = ("*=host",)
MODEL_FIELDS = tuple(f"{role}_model" for role in ROLES)

_CREDENTIALS = re.compile(r"://[^/?#\s]*@|[?&](api[-_]?key|key|token|access_token|password|secret)=", re.IGNORECASE)
_LOOKS_LIKE_KEY = re.compile(r"(^|[^A-Za-z0-9])(sk-|key-|hf_|gh[opsu]_|xox[abp]-|AIza|AKIA)[A-Za-z0-9_-]{16,}")


class RunConfig(BaseModel):
    """Everything that says what a run does.

    Attributes:
        seeds: Task folders, or folders of task folders.
        out: The run folder.
        generations: How many generations to release; may be raised later to extend a finished run.
        seed: Number that all randomness derives from.
        model: Model string for every role that names none of its own.
        proposer_model: Model string of the proposer.
        critic_model: Model string of the critic.
        evolver_model: Model string of the difficulty-evolver.
        judge_model: Model string of the judge, who is asked by the gate `rubric-judge` alone.
        api_base: Address of an OpenAI-compatible server for the models, where the string alone does not say.
        axes: Difficulty axes to evolve along.
        mode: How environments are written (AutoEnvScaling, "three ways to generate"): `loop` works in a sandbox,
            `prompt+feedback` writes all files in one answer and sees what the gates found, `prompt` does not see it.
        effort: How much of the sequence one generation may edit.
        domain: Which reference distribution measures difficulty.
        rubrics: File of rubrics that people added; critics and judges go by them. The run keeps a copy.
        gates: Gates a child must pass, by name or `module:Class`.
        reruns: How often the `rerun` gate repeats the reference solution.
        plan_attempts: Plans per axis before the next axis is tried.
        repair_attempts: Environments per plan (the first one and its repairs) before the next axis is tried.
        sandbox: Back end, by name or `module:Class`.
        base: Base images, `IMAGE=DIR`, `IMAGE=TAR` or `IMAGE=host` (for `e2b`, `IMAGE=TEMPLATE`). Left out, bubblewrap
            takes this machine's own /usr for every image, and the others what the image's name says.
        userns: How user ids are mapped in sandboxes of bubblewrap: `auto`, `single` or `range`.
        workers: Lineages worked on at once; does not change the release.
        sandboxes: Sandboxes alive at once; 0 picks from workers and cores. Does not change the release.
        budget_usd: Dollars the models may cost; no limit when left out.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    seeds: Annotated[tuple[Path, ...], Field(min_length=1)]
    out: Path
    generations: Annotated[int, Field(ge=1, le=1000)] = 3
    seed: int = 0
    model: str = "embedded/author"
    proposer_model: str | None = None
    critic_model: str | None = None
    evolver_model: str | None = None
    judge_model: str | None = None
    api_base: str | None = None
    axes: Annotated[tuple[Axis, ...], Field(min_length=1)] = tuple(Axis)
    mode: Literal["loop", "prompt+feedback", "prompt"] = "loop"
    effort: Effort = Effort.HIGH
    domain: str = "terminal"
    rubrics: Path | None = None
    gates: Annotated[tuple[str, ...], Field(min_length=1)] = DEFAULT_GATES
    reruns: Annotated[int, Field(ge=2, le=100)] = 2
    plan_attempts: Annotated[int, Field(ge=1, le=20)] = 3
    repair_attempts: Annotated[int, Field(ge=1, le=20)] = 3
    sandbox: str = "bubblewrap"
    base: tuple[str, ...] = ON_THIS_MACHINE
    userns: Literal["auto", "single", "range"] = "auto"
    workers: Annotated[int, Field(ge=1, le=256)] = 4
    sandboxes: Annotated[int, Field(ge=0, le=1024)] = 0
    budget_usd: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _base_by_sandbox(cls, given: object) -> object:
        """Only bubblewrap can stand on this machine's own /usr."""
        if isinstance(given, dict) and "base" not in given and given.get("sandbox", "bubblewrap") != "bubblewrap":
            return {**given, "base": ()}
        return given

    @field_validator("axes", mode="after")
    @classmethod
    def _axes_once_each(cls, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return tuple(axis for axis in Axis if axis in axes)

    @model_validator(mode="after")
    def _holds_no_secret(self) -> Self:
        # The configuration is written to disk: keys belong in the environment, which is never stored.
        for name in ("model", *MODEL_FIELDS, "api_base"):
            value = getattr(self, name)
            if value is not None and (_CREDENTIALS.search(value) or _LOOKS_LIKE_KEY.search(value)):
                raise ValueError(
                    f"{name} seems to hold a key or password; give it in the provider's environment variable"
                )
        return self

    def model_for(self, role: str) -> str:
        """The model string of a role: its own, or the common one."""
        return getattr(self, f"{role}_model", None) or self.model

    def difference(self, other: RunConfig) -> tuple[str, ...]:
        """Names of the settings that differ and would change the release."""
        free = {"out", "workers", "sandboxes", "budget_usd", "generations", "api_base"}
        return tuple(
            name for name in type(self).model_fields if name not in free and getattr(self, name) != getattr(other, name)
        )

    def to_yaml(self) -> str:
        """As the YAML that `read_config` reads."""
        text: str = yaml.safe_dump(self.model_dump(mode="json", exclude_none=True), sort_keys=False, allow_unicode=True)
        return text


def read_config(path: Path | None, overrides: dict[str, Any], defaults: dict[str, Any] | None = None) -> RunConfig:
    """Merges settings: `overrides` (the command line) win over the YAML file, which wins over `defaults`.

    Raises:
        ConfigError: The file cannot be read, or a setting is unknown or wrong; names each.
    """
    settings: dict[str, Any] = {}
    if path is not None:
        try:
            loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise ConfigError(f"{path}: cannot be read as YAML ({error})") from error
        if not isinstance(loaded, dict):
            raise ConfigError(f"{path}: wants `setting: value` lines, got {type(loaded).__name__}")
        settings = loaded
    try:
        return RunConfig.model_validate({**(defaults or {}), **settings, **overrides})
    except ValidationError as error:
        raise ConfigError("; ".join(_problems(error))) from error


def _problems(error: ValidationError) -> Iterator[str]:
    """Each wrong setting once, with what it may be."""
    known = ", ".join(RunConfig.model_fields)
    told: set[str] = set()
    for problem in error.errors():
        # A list with a wrong item is reported a second time, as too short without it.
        setting = str(problem["loc"][0]) if problem["loc"] else "settings"
        if problem["type"] == "too_short" and setting in told:
            continue
        told.add(setting)
        name = ".".join(str(part) for part in problem["loc"]) or setting
        hint = f" (known: {known})" if problem["type"] == "extra_forbidden" else f", got {problem['input']!r}"
        yield f"{name}: {problem['msg'].removeprefix('Value error, ')}{hint if problem['loc'] else ''}"
