"""The number a verifier writes, parsed by Harbor's rules (design page "What Harbor makes of what a verifier writes").

`reward.json` beats `reward.txt`. A reward that is missing or cannot be read is an error with a code and never a 0: the
policy is not to blame for a verifier that broke.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

QUOTED_BYTES = 60
"""How much of an unreadable reward file an error quotes."""
_MOST_KEYS = 20  # of an ambiguous reward, named in the error


class RewardError(Exception):
    """A verifier left no usable reward.

    Attributes:
        code: Stable name of the kind of error, also used in `Verification.error_code`.
    """

    code = "reward"


class MissingRewardError(RewardError):
    """Neither reward file is there."""

    code = "missing"


class RewardParseError(RewardError):
    """A reward file is empty or holds something else than finite numbers."""

    code = "unparsable"


class RewardScalarError(RewardError):
    """`reward.json` holds a bare number where Harbor wants an object."""

    code = "scalar"


class RewardFileError(RewardError):
    """A reward file is a folder, a link, a device, or larger than what is read of it."""

    code = "not-a-file"


class AmbiguousRewardError(RewardError):
    """There are rewards, but no one of them is the score: several keys or none, and no `reward` among them."""

    code = "no-score"


@dataclass(frozen=True, slots=True)
class Reward:
    """What a verifier awarded.

    Attributes:
        rewards: Every key it wrote; `reward.txt` gives the single key `reward`. No range is checked here.
    """

    rewards: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def score(self) -> float:
        """The one number of it: the key `reward`, else the only key.

        Raises:
            AmbiguousRewardError: Several keys or none, and no `reward` among them.
        """
        if "reward" in self.rewards:
            return self.rewards["reward"]
        if len(self.rewards) == 1:
            return next(iter(self.rewards.values()))
        keys = ", ".join(key[:QUOTED_BYTES] for key in sorted(self.rewards)[:_MOST_KEYS]) or "no key at all"
        raise AmbiguousRewardError(f"the reward has {keys}: write a key `reward`, or a single key")


def parse_reward(text: bytes | None, json_text: bytes | None) -> Reward:
    """The reward of what stood in `reward.txt` and `reward.json` (`None` for a file that is not there).

    Raises:
        RewardError: There is none; the class and its `code` say why.
    """
    if json_text is not None:
        return parse_reward_json(json_text)
    if text is not None:
        return parse_reward_text(text)
    raise MissingRewardError("the verifier wrote neither /logs/verifier/reward.txt nor /logs/verifier/reward.json")


def parse_reward_text(content: bytes) -> Reward:
    """The reward in `reward.txt`: whatever Python's `float` accepts (`1` and a line end, `1_0`), finite.

    Raises:
        RewardParseError: Anything else.
    """
    try:
        value = float(content.decode("utf-8"))
    except ValueError as error:
        raise _unparsable("reward.txt", "is no number", content) from error
    if not math.isfinite(value):
        raise _unparsable("reward.txt", "is not finite", content)
    return Reward(MappingProxyType({"reward": value}))


def parse_reward_json(content: bytes) -> Reward:
    """The rewards in `reward.json`: an object of finite numbers (`true` counts as 1).

    Raises:
        RewardParseError: Not JSON, or anything in it that is no finite number, or a key that is no text.
        RewardScalarError: A bare number.
    """
    try:
        value = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _unparsable("reward.json", "is no JSON", content) from error
    if not isinstance(value, dict):
        number = _finite(value)
        if number is None:
            raise _unparsable("reward.json", "is no object of numbers", content)
        raise RewardScalarError(f'reward.json holds the bare number {number:g}: write {{"reward": {number:g}}}')
    rewards: dict[str, float] = {}
    for key, item in value.items():
        number = _finite(item)
        if number is None:
            raise _unparsable("reward.json", f"has no finite number under {key[:QUOTED_BYTES]!r}", content)
        if not _is_text(key):
            raise _unparsable("reward.json", f"has the key {key[:QUOTED_BYTES]!r}, half of a character", content)
        rewards[key] = number
    return Reward(MappingProxyType(rewards))


def _finite(value: object) -> float | None:
    """`value` as a finite float, or `None` when it is none."""
    if not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _is_text(key: str) -> bool:
    """Whether a key can be written down again: JSON also has escapes for one half of a surrogate pair."""
    try:
        key.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _unparsable(name: str, what: str, content: bytes) -> RewardParseError:
    if not content:
        return RewardParseError(f"{name} is empty")
    cut = "…" if len(content) > QUOTED_BYTES else ""
    return RewardParseError(f"{name} {what}; it starts with {content[:QUOTED_BYTES]!r}{cut}")
