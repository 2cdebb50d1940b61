"""The checks can fail: each broken back end is caught by the check of the promise it breaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sandbox.conformance.checks import all_checks
from sandbox.conformance.running import run_checks
from sandbox.conformance.subject import Subject
from tests.sandbox.conformance import broken
from tests.sandbox.conformance.broken import breaking

if TYPE_CHECKING:
    from sandbox.sandboxes import Sandboxes

pytestmark = pytest.mark.slow

CASES: dict[str, tuple[str, Any]] = {
    "children survive a time-out": ("timeouts.setsid", breaking(exec=broken.leaves_children)),
    "a time-out is not said": ("timeouts.said", breaking(exec=broken.says_no_time_out)),
    "a status is raised": ("exec.exit_status", breaking(exec=broken.raises_for_status)),
    "a shell reads arguments": ("exec.argv", breaking(exec=broken.quotes_no_arguments)),
    "clean_env is ignored": ("exec.clean_env", breaking(exec=broken.keeps_the_environment)),
    "users are ignored": ("exec.unknown_user", breaking(exec=broken.ignores_users)),
    "output is decoded": ("bytes.kept", breaking(exec=broken.decodes_output)),
    "streams are joined": ("bytes.apart", breaking(exec=broken.joins_streams)),
    "output is not capped": ("bytes.cut", broken.Uncapped),
    "output fills the memory": ("bytes.memory", broken.Uncapped),
    "output is told too late": ("bytes.told_at_once", breaking(exec=broken.tells_at_the_end)),
    "told output is cut": ("bytes.told", breaking(exec=broken.tells_at_the_end)),
    "a background process holds up the result": ("killing.background", breaking(exec=broken.holds_up_the_result)),
    "nothing is killed": ("killing.all", breaking(kill_processes=broken.kills_nothing)),
    "nothing is counted": ("killing.count", breaking(kill_processes=broken.counts_nothing)),
    "a write follows a link": ("files.write", breaking(write_file=broken.writes_through_links)),
    "a read follows a link": ("files.read", breaking(read_file=broken.reads_through_links)),
    "a removal follows a link": ("files.remove", breaking(remove=broken.removes_through_links)),
    "a download follows links": ("downloads.tree", breaking(download=broken.follows_links_out)),
    "removed files are not told": ("changes.kinds", breaking(changed_files=broken.forgets_removals)),
    "forks share files": ("snapshots.apart", broken.SharedForks),
    "forks are empty": ("snapshots.fork", broken.EmptyForks),
    "limits are silently ignored": ("limits.refused", broken.SilentLimits),
    "a promised limit is not set": ("limits.memory", broken.FreeMemory),
    "the host's network is shared": ("network.none", broken.OnHostNetwork),
    "the host's sockets are reached": ("network.sockets", broken.OnHostNetwork),
    "stop stops nothing": ("cleanup.processes", breaking(stop=broken.stops_nothing)),
    "a stopped sandbox answers": ("cleanup.after_stop", breaking(stop=broken.stops_nothing)),
    "sweep does nothing": ("cleanup.killed", broken.LazySweep),
    "stale sees nothing": ("cleanup.killed", broken.BlindToStale),
    "close closes nothing": ("cleanup.close", broken.Kept),
}
BY_ID = {check.id: check for check in all_checks()}


@pytest.mark.parametrize(("check", "wrap"), CASES.values(), ids=CASES.keys())
async def test_what_is_broken_is_caught(check: str, wrap: Any, sandboxes: Sandboxes) -> None:
    kept = broken.Kept(sandboxes.backend)
    subject = Subject("bubblewrap", ("*=host",), wrap=lambda _unused: wrap(kept))
    try:
        (outcome,) = await run_checks(subject, [BY_ID[check]])
    finally:
        await sandboxes.backend.sweep()
    if outcome.status == "not offered":
        pytest.skip(outcome.message)
    assert outcome.status == "failed", outcome
    assert outcome.message.startswith("expected ")
    assert "; got " in outcome.message
    assert "only the errors that the protocol names" not in outcome.message or check == "exec.exit_status"
