"""How checks are run: what an outcome is made of, whatever a back end does."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from sandbox.conformance import running
from sandbox.conformance.checks import NotOfferedError, all_checks, check, expect, expect_error
from sandbox.conformance.running import chosen, run_checks
from sandbox.conformance.stage import missing
from sandbox.conformance.subject import Subject, read_option
from sandbox.protocol import Capabilities

if TYPE_CHECKING:
    from sandbox.conformance.checks import Check
    from sandbox.conformance.stage import Stage

LOCAL = Subject("local", options={"i_am_in_a_sandbox": True, "as_it_stands": True})


async def outcome_of(one: Check) -> running.Outcome:
    (outcome,) = await run_checks(LOCAL, [one])
    return outcome


def test_ids_are_unique_and_say_their_theme_and_each_has_one_sentence() -> None:
    checks = all_checks()
    assert len({one.id for one in checks}) == len(checks) > 100
    for one in checks:
        assert one.id.count(".") == 1
        assert one.promise.endswith(".")
        assert one.promise[0].isupper() or one.promise[0] == "`"
        assert one.run.__doc__


async def test_what_holds_passes() -> None:
    @check("test.holds", "Holds.")
    async def holds(stage: Stage) -> None:
        async with stage.sandbox() as sandbox:
            expect((await sandbox.exec("true")).ok, "ok", "", "")

    assert (await outcome_of(holds)).status == "passed"


async def test_a_broken_promise_says_expected_got_and_what_to_do() -> None:
    @check("test.broken", "Breaks.")
    async def broken(stage: Stage) -> None:
        expect(False, "rain", "snow", "take an umbrella")

    outcome = await outcome_of(broken)
    assert (outcome.status, outcome.message) == ("failed", "expected rain; got snow; take an umbrella")


class ForeignError(Exception):
    """As the package of some cloud raises it: of no kind that we know."""


async def test_a_foreign_error_is_a_failure_and_the_next_check_runs() -> None:
    @check("test.foreign", "Raises.")
    async def foreign(stage: Stage) -> None:
        raise ForeignError("out of money")

    @check("test.next", "Holds.")
    async def following(stage: Stage) -> None:
        return

    first, second = await run_checks(LOCAL, [foreign, following])
    assert first.status == "failed"
    assert "ForeignError: out of money" in first.message
    assert second.status == "passed"


async def test_a_check_that_hangs_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    @check("test.hangs", "Hangs.")
    async def hangs(stage: Stage) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(running, "_PATIENCE_SECONDS", 0.1)
    outcome = await outcome_of(hangs)
    assert outcome.status == "failed"
    assert "--only test.hangs" in outcome.message


async def test_what_is_not_offered_is_not_passed() -> None:
    @check("test.needs", "Needs.", needs=("snapshot",))
    async def needs(stage: Stage) -> None:
        raise AssertionError("never run")

    @check("test.lacks", "Lacks.", lacks=("networks.host",))
    async def lacks(stage: Stage) -> None:
        raise AssertionError("never run")

    @check("test.refuses", "Refuses.")
    async def refuses(stage: Stage) -> None:
        raise NotOfferedError("changed_files: cannot tell")

    outcomes = await run_checks(LOCAL, [needs, lacks, refuses])
    assert [outcome.status for outcome in outcomes] == ["not offered"] * 3
    assert "snapshot" in outcomes[0].message
    assert "networks.host" in outcomes[1].message
    assert "cannot tell" in outcomes[2].message


@pytest.mark.parametrize(
    ("needs", "first"),
    [
        ((), ""),
        (("snapshot",), ""),
        (("users", "snapshot"), "users"),
        (("limits.cpus",), ""),
        (("limits.memory_mb",), "limits.memory_mb"),
        (("networks.public",), "networks.public"),
        (("isolation",), ""),
    ],
)
def test_the_first_missing_capability_is_named(needs: tuple[str, ...], first: str) -> None:
    capabilities = Capabilities(snapshot=True, limits=frozenset({"cpus"}))
    assert missing(needs, capabilities) == first


def test_isolation_is_missing_where_the_machines_network_is_all_there_is() -> None:
    assert missing(("isolation",), Capabilities(networks=frozenset({"host"}))) == "isolation"


def test_checks_are_chosen_by_theme_id_and_pattern() -> None:
    ids = [one.id for one in chosen(all_checks(), ["network", "*.count", "exec.env"])]
    assert {"killing.count", "exec.env", "network.none"} <= set(ids)
    assert not any(name.startswith("files.") for name in ids)
    assert "exec.clean_env" not in ids
    assert chosen(all_checks(), []) == all_checks()


@pytest.mark.parametrize(
    ("text", "value"), [("a=1", 1), ("a=1.5", 1.5), ("a=true", True), ("a=FALSE", False), ("a=x=y", "x=y"), ("a=", "")]
)
def test_options_become_what_they_look_like(text: str, value: Any) -> None:
    key, read = read_option(text)
    assert (key, read, type(read)) == ("a", value, type(value))


def test_an_option_without_a_value_is_refused() -> None:
    with pytest.raises(ValueError, match="KEY=VALUE"):
        read_option("fast")


async def test_expected_errors_are_told_by_kind() -> None:
    async def raises(error: BaseException) -> None:
        raise error

    assert str(await expect_error(raises(KeyError("x")), KeyError, "it", "")) == "'x'"
    for error in (ForeignError("no"), ValueError("no")):
        with pytest.raises(Exception, match=f"expected KeyError for it; got {type(error).__name__}: no"):
            await expect_error(raises(error), KeyError, "it", "remedy")
    with pytest.raises(Exception, match="got no error"):
        await expect_error(asyncio.sleep(0), KeyError, "it", "remedy")
