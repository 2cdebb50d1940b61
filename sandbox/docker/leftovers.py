"""What dead processes of this project left in the engine, and images that nobody uses any more."""

from __future__ import annotations

import datetime as dt
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.docker.engine import call_engine
from sandbox.docker.labels import BACKEND, IMAGE, KIND, OWNER, is_dead
from sandbox.errors import SandboxError
from sandbox.protocol import Stale

if TYPE_CHECKING:
    from collections.abc import Mapping

    import docker

_FRACTION = re.compile(r"\.\d+")
_LONGEST_BUILD_SECONDS = 6 * 3600  # a step of a build that is under way has no name either
_OURS = {"label": [f"{BACKEND}=docker"]}
_BY_NETWORKS = ("proxy",)  # swept by `Networks`


@dataclass(frozen=True, slots=True)
class Left:
    """One thing that can go: what it is, for a person, and the engine's id of it."""

    stale: Stale
    id: str


def dead_containers(client: docker.DockerClient) -> list[Left]:
    """Containers of processes that have ended; blocks."""
    rows = call_engine("looking for leftovers", client.api.containers, all=True, filters=_OURS)
    found = []
    for row in rows:
        labels = row.get("Labels") or {}
        kind = str(labels.get(KIND, "sandbox"))
        if kind in _BY_NETWORKS or not is_dead(labels, running=row.get("State") in ("running", "paused")):
            continue
        name = str((row.get("Names") or [row["Id"][:12]])[0]).lstrip("/")
        note = f"{row.get('Status', '')}, of process {labels.get(OWNER, '').partition('@')[0]}"
        found.append(Left(Stale(kind, name, note), str(row["Id"])))
    return found


def dead_snapshots(client: docker.DockerClient) -> list[Left]:
    """Snapshots of processes that have ended, and what builds left that never got a name; blocks."""
    found = []
    latest = time.time() - _LONGEST_BUILD_SECONDS
    for row in call_engine("looking for leftovers", client.api.images, all=False, filters=_OURS):
        labels = row.get("Labels") or {}
        is_snapshot = labels.get(KIND) == "snapshot"
        named = [tag for tag in row.get("RepoTags") or () if tag != "<none>:<none>"]
        if is_snapshot and is_dead(labels, running=False):
            note = f"{_megabytes(row)}, of process {labels.get(OWNER, '').partition('@')[0]}"
            found.append(Left(Stale("snapshot", str(row["Id"]), note), str(row["Id"])))
        elif not is_snapshot and IMAGE in labels and not named and int(row.get("Created") or 0) < latest:
            found.append(Left(Stale("image", str(row["Id"]), f"{_megabytes(row)}, without a name"), str(row["Id"])))
    return found


def unused_images(client: docker.DockerClient, seconds: float) -> list[Left]:
    """Images of tasks and bases that no sandbox was started from for so long; blocks.

    The engine itself keeps the record: `mark_used` names the image anew, and it remembers when that was.
    """
    now = dt.datetime.now(dt.UTC)
    found = []
    for row in call_engine("looking for old images", client.api.images, all=False, filters=_OURS):
        labels = row.get("Labels") or {}
        tags = [tag for tag in row.get("RepoTags") or () if tag != "<none>:<none>"]
        if labels.get(KIND) not in ("task", "base") or not tags:
            continue
        with suppress(SandboxError):  # somebody else removed it meanwhile
            details = call_engine("looking at an image", client.api.inspect_image, row["Id"])
            age = (now - _last_use(details)).total_seconds()
            if age >= seconds:
                note = f"{_megabytes(row)}, last used {age / 3600:.1f} h ago"
                found += [Left(Stale("image", tag, note), tag) for tag in tags if tag.startswith("envolve/")]
    return found


def mark_used(client: docker.DockerClient, name: str) -> None:
    """Remembers that an image is used now; blocks."""
    repository, _, tag = name.rpartition(":")
    call_engine(f"marking {name}", client.api.tag, name, repository, tag, force=True)


def remove_container(client: docker.DockerClient, container: str) -> None:
    """Removes a container and its volumes, whatever runs in it; one that is gone is fine. Blocks."""
    import docker.errors

    try:
        call_engine("removing a sandbox", client.api.remove_container, container, force=True, v=True)
    except SandboxError as error:
        cause = error.__cause__
        in_progress = isinstance(cause, docker.errors.APIError) and cause.status_code == 409  # noqa: PLR2004
        if not isinstance(cause, docker.errors.NotFound) and not in_progress:
            raise


def remove_image(client: docker.DockerClient, image: str) -> bool:
    """Removes an image unless something still stands on it; whether it is gone. Blocks."""
    import docker.errors

    try:
        call_engine("removing an image", client.api.remove_image, image, noprune=False)
    except SandboxError as error:
        return isinstance(error.__cause__, docker.errors.NotFound)
    return True


def _last_use(details: Mapping[str, object]) -> dt.datetime:
    metadata = details.get("Metadata")
    tagged = str(metadata.get("LastTagTime") or "") if isinstance(metadata, dict) else ""
    text = tagged if tagged and not tagged.startswith("0001") else str(details.get("Created"))
    return dt.datetime.fromisoformat(_FRACTION.sub("", text))


def _megabytes(row: Mapping[str, object]) -> str:
    return f"{int(str(row.get('Size') or 0)) >> 20} MiB"
