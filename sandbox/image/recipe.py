"""How an image is made, as values: a base, and what is placed, unpacked and run on top of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Kind = Literal["folder", "file", "single", "link"]

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class ImageConfig:
    """What an image says of the commands that run in it.

    Attributes:
        env: Variables.
        workdir: Working directory.
        user: User, "" for root.
        triggers: `ONBUILD` instructions that a Dockerfile built on it is to run first.
    """

    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str = "/"
    user: str = ""
    triggers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing to place in the image.

    Attributes:
        kind: `single` is a file that goes *into* the target where that is a folder.
        target: Absolute path in the image.
        source: Path in the build context; of a link, what it points to.
        mode: Permissions.
        sha256: Of a file's bytes.
    """

    kind: Kind
    target: str
    source: str = ""
    mode: int = 0o755
    sha256: str = ""

    def row(self) -> tuple[Kind, str, str, int, str]:
        """Its fields in order."""
        return self.kind, self.target, self.source, self.mode, self.sha256


@dataclass(frozen=True, slots=True)
class Place:
    """Entries placed together, in order, for one owner ("" is root).

    Attributes:
        entries: What is placed.
        owner: For whom.
        texts: Contents of files that lie in the Dockerfile itself (here-documents), by their `Entry.source`; where
            there are any, every file of this step is one.
    """

    entries: tuple[Entry, ...]
    owner: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unpack:
    """An archive of the context unpacked into a folder."""

    source: str
    target: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Run:
    """A command run in the image as it is at that line.

    Attributes:
        command: Argument vector.
        line: Its line in the Dockerfile, from 1.
        env: All variables it sees.
        workdir: Where it runs.
        user: As whom, "" for root.
        text: What the Dockerfile says, for messages.
    """

    command: tuple[str, ...]
    line: int
    env: Mapping[str, str]
    workdir: str
    user: str
    text: str


Step = Place | Unpack | Run


@dataclass(frozen=True, slots=True)
class Recipe:
    """How an image is made.

    Attributes:
        image: What `FROM` names.
        steps: What is done on top of it, in order.
        env: Variables, the base's included.
        workdir: Working directory.
        user: User of commands, "" for root.
    """

    image: str
    steps: tuple[Step, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str = "/"
    user: str = ""

    @property
    def runs(self) -> bool:
        """Whether commands have to be run to make it."""
        return any(isinstance(step, Run) for step in self.steps)
