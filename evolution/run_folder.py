"""A run on disk: who may work in it, what it was started with, and where things lie.

runs/<name>/
  config.yaml    everything needed to run again
  run.db         the journal
  seeds/         copies of the seed environments, so that later edits of theirs cannot change the run
  rubrics.yaml   the rubrics that people had added when it was started
  work/          candidates and transcripts, by lineage and generation
  releases/      generation-001/, …
  transcripts/   of what is released, by task id: how each environment came about
  reviews.jsonl  what people said of released environments
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evolution.config import RunConfig, read_config
from evolution.errors import ConfigError, RunLockedError
from evolution.journal import Journal
from evolution.rubrics import Rubrics, read_rubrics, write_rubrics

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIG_FILE = "config.yaml"
SEEDS_FOLDER = "seeds"
RUBRICS_FILE = "rubrics.yaml"
TRANSCRIPTS_FOLDER = "transcripts"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """An open run folder; made by `open_run`, which holds its lock.

    Attributes:
        root: The folder.
        config: The settings in force.
        journal: The journal of finished work.
        resumed: Whether it held an earlier start's work.
    """

    root: Path
    config: RunConfig
    journal: Journal
    resumed: bool

    @property
    def releases(self) -> Path:
        """Where releases go."""
        return self.root / "releases"

    @property
    def seeds(self) -> Path:
        """Where the copies of the seeds lie."""
        return self.root / SEEDS_FOLDER

    @property
    def rubrics(self) -> Rubrics:
        """The rubrics that the run goes by.

        Raises:
            ConfigError: Somebody has broken the run's copy.
        """
        return read_rubrics(self.root / RUBRICS_FILE)

    @property
    def rubrics_file(self) -> Path | None:
        """The run's copy of the rubrics; `None` where it goes by none."""
        file = self.root / RUBRICS_FILE
        return file if file.exists() else None

    def transcripts(self, task_id: str) -> Path:
        """Where the transcripts of a released environment lie."""
        return self.root / TRANSCRIPTS_FOLDER / task_id

    def work(self, lineage: str, generation: int) -> Path:
        """Where candidates and transcripts of one lineage's generation go."""
        return self.root / "work" / lineage / f"g{generation:03d}"


@contextmanager
def open_run(config: RunConfig, *, fresh: bool = False) -> Iterator[RunFolder]:
    """Opens a run folder, makes it when missing, and holds its lock for the length of the `with` block.

    Args:
        config: The settings wanted. A folder that exists is taken up again when its own settings agree.
        fresh: Move an existing folder aside (`NAME.old-1`, …) and start anew; nothing is deleted.

    Raises:
        RunLockedError: Another process works in the folder.
        ConfigError: The folder was started with settings that lead to another release, is no run folder, or the disk
            refuses it.
        JournalError: Its run.db is no journal.
    """
    root = config.out.resolve()  # one lock and one name, however the folder was named
    with _locked(root):
        try:
            resumed = _prepare(root, config, fresh=fresh)
        except OSError as error:
            raise ConfigError(f"{root} cannot be used as a run folder ({error}): choose another with --out") from error
        with Journal(root / "run.db") as journal:
            yield RunFolder(root=root, config=config, journal=journal, resumed=resumed)


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    from filelock import FileLock, Timeout

    # Beside the folder: --fresh moves the folder while the lock is held.
    lock = FileLock(root.parent / f".{root.name}.lock")
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        if not Path(lock.lock_file).exists():  # what the lock says of some file systems that take no file
            raise ConfigError(
                f"{root} cannot be used as a run folder (no file can be made in {root.parent}): "
                "choose another with --out"
            ) from None
        raise RunLockedError(
            f"another process is working in {root}: wait for it, stop it, or choose another folder with --out"
        ) from None
    except OSError as error:
        raise ConfigError(f"{root} cannot be used as a run folder ({error}): choose another with --out") from error
    try:
        yield
    finally:
        lock.release()


def _prepare(root: Path, config: RunConfig, *, fresh: bool) -> bool:
    """Makes the folder ready; says whether it holds an earlier start's work."""
    has_copy = not fresh and (root / RUBRICS_FILE).exists()
    # Before anything is moved; a run that is taken up again goes by its copy, wherever the file is by then.
    rubrics = None if config.rubrics is None or has_copy else read_rubrics(config.rubrics, must_exist=True)
    if fresh and root.exists():
        _check_is_run_folder(root)
        root.rename(_free_name(root))
    resumed = _check_existing(root, config)
    root.mkdir(exist_ok=True)
    # The settings come first: whatever else is there, a start that was killed can be taken up again.
    _write_whole(root / CONFIG_FILE, config.to_yaml())
    (root / "releases").mkdir(exist_ok=True)
    if rubrics is not None:
        write_rubrics(rubrics, root / RUBRICS_FILE)
    return resumed


def _check_existing(root: Path, config: RunConfig) -> bool:
    if not root.exists() or not _check_is_run_folder(root):
        return False
    earlier = read_config(root / CONFIG_FILE, {"out": root})
    # Before seeds are taken in there is nothing that other settings could contradict: a mistyped one may be corrected.
    changed = config.difference(earlier) if (root / SEEDS_FOLDER).is_dir() else ()
    if changed:
        detail = ", ".join(f"{name}: {getattr(earlier, name)!s} → {getattr(config, name)!s}" for name in changed)
        raise ConfigError(
            f"{root} was started with other settings ({detail}): give the same ones, another --out, or --fresh"
        )
    return True


def _check_is_run_folder(root: Path) -> bool:
    """Says whether a start's settings are in the folder; an empty one may become a run folder, another may not."""
    if not root.is_dir():
        raise ConfigError(f"{root} is not a folder: choose another with --out")
    if (root / CONFIG_FILE).is_file():
        return True
    if all(path.name == _partial(CONFIG_FILE) for path in root.iterdir()):
        return False
    raise ConfigError(f"{root} is not empty and holds no {CONFIG_FILE}: choose another folder with --out")


def _free_name(root: Path) -> Path:
    number = 1
    while (candidate := root.with_name(f"{root.name}.old-{number}")).exists():
        number += 1
    return candidate


def _partial(name: str) -> str:
    return f".{name}.partial"


def _write_whole(path: Path, text: str) -> None:
    aside = path.with_name(_partial(path.name))
    with aside.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    aside.rename(path)


def prune(folder: Path, transcripts: Path) -> None:
    """Removes a folder of candidates that are released, once its transcripts are kept; a missing one is fine."""
    for file in sorted(folder.glob("*/*.jsonl")):
        transcripts.mkdir(parents=True, exist_ok=True)
        file.replace(transcripts / f"{file.parent.name}-{file.name}")
    shutil.rmtree(folder, ignore_errors=True)
