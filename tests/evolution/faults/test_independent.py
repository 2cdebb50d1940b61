"""Each kind plants in sound tasks of every style, by the seed alone, and what it plants is a fault of that kind."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from evolution.faults.draft import Draft
from evolution.faults.independent import flaky, formats, leaks, machine, permissions, state, verdicts, waiting, wording
from evolution.faults.independent.parts.checks import Check, add_check
from evolution.faults.independent.parts.look import results
from evolution.faults.independent.parts.script import at_end
from evolution.faults.planting import kinds, plant, plant_in
from sandbox.task import Task
from sandbox.trial.steps import run_noop, run_reference
from sandbox.verification.verify import verify

ROOT = Path(__file__).parents[3]
SEEDS = ROOT / "examples/seeds/terminal"
FOREIGN = ROOT / "tests/data/foreign"
FRESH, JSON_SHARED, STEPS, BASH, OTHER_USER = (
    SEEDS / "backup-audit",
    FOREIGN / "inventory-reconcile",
    FOREIGN / "field-notes",
    FOREIGN / "access-log-digest",
    FOREIGN / "layered-settings",
)
TASKS = (FRESH, SEEDS / "stock-moves-export", JSON_SHARED, STEPS, BASH, OTHER_USER)
ROOMS = (flaky, formats, leaks, machine, permissions, state, verdicts, waiting, wording)
KINDS = sorted(fault.kind for room in ROOMS for fault in room.FAULTS)


def planted(folder, kind, seed, tmp_path):
    """The task with the fault."""
    target = tmp_path / f"{folder.name}-{kind}-{seed}"
    assert plant(Task.read(folder), kind, seed, target)
    return Task.read(target)


def with_fault(folder, tmp_path, way, seed=0):
    """The task with the fault that one way of planting makes."""
    draft = Draft.of(Task.read(folder))
    assert way(draft, Random(seed))
    target = tmp_path / f"{folder.name}-{way.__name__}-{seed}"
    draft.save(target)
    return Task.read(target)


async def reference(sandboxes, task):
    async with sandboxes.running(await sandboxes.build(task)) as sandbox:
        return await run_reference(task, sandbox)


async def noop(sandboxes, task):
    async with sandboxes.running(await sandboxes.build(task)) as sandbox:
        return await run_noop(task, sandbox)


def test_all_are_found():
    assert len(KINDS) == 16
    assert [kind for kind, fault in kinds().items() if fault.independent] == KINDS
    read = {kind for kind in KINDS if kinds()[kind].shown_by == "reading"}
    assert read == {"contradiction", "hidden-requirement", "over-strict-text"}


@pytest.mark.parametrize("folder", TASKS, ids=lambda path: f"{path.parent.name}-{path.name}")
@pytest.mark.parametrize("kind", KINDS)
def test_plants_by_the_seed_alone_or_leaves_the_draft(kind, folder):
    sound = Draft.of(Task.read(folder))
    seen = []
    for seed in range(8):
        draft, again = Draft(sound.files, sound.step), Draft(sound.files, sound.step)
        if plant_in(draft, kind, seed):
            assert draft.files != sound.files
            assert plant_in(again, kind, seed)
            assert again.files == draft.files
            seen += [draft.files] if draft.files not in seen else []
        else:
            assert draft.files == sound.files
    assert not seen or len(seen) >= 3


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_something_to_hold_on_to_in_several_tasks(kind):
    drafts = [Draft.of(Task.read(folder)) for folder in TASKS]
    assert sum(any(plant_in(draft, kind, seed) for seed in range(3)) for draft in drafts) >= 3


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_planted_is_still_a_task_with_sound_scripts(kind, tmp_path):
    for folder in TASKS:
        for seed in range(4):
            target = tmp_path / f"{folder.parent.name}-{folder.name}-{seed}"
            if not plant(Task.read(folder), kind, seed, target):
                continue
            task = Task.read(target)
            for file in task.files:
                text = task.read_bytes(file.path)
                if file.path.endswith(".py"):
                    compile(text, file.path, "exec")
                elif file.path.endswith(".sh"):
                    shell = subprocess.run(["bash", "-n"], input=text, capture_output=True, check=False)
                    assert shell.returncode == 0, (file.path, shell.stderr)


def test_results_are_read_off_the_texts():
    assert results(Draft.of(Task.read(JSON_SHARED))) == (
        "/app/out/discrepancies.json",
        "/app/out/summary.txt",
        "/app/out/unknown_skus.txt",
    )
    assert results(Draft.of(Task.read(BASH))) == ("/app/report/summary.csv", "/app/report/worst_client.txt")


def test_nothing_is_added_where_it_would_not_be_reached():
    assert at_end("#!/bin/bash\nexit 1\n", "echo more") is None
    assert at_end("#!/bin/bash\nexec true\n", "echo more") == "#!/bin/bash\ntrue\necho more\n"
    assert at_end("#!/bin/bash\ntrue\nexit 0\n", "echo more") == "#!/bin/bash\ntrue\necho more\nexit 0\n"


@pytest.mark.parametrize("folder", [FRESH, JSON_SHARED, STEPS, BASH], ids=lambda path: path.name)
async def test_an_added_check_decides(folder, tmp_path, sandboxes):
    """Wherever it went: one that holds changes nothing, one that does not takes points."""
    for seed, holds in ((1, True), (2, False), (3, False)):
        check = Check("no", "true" if holds else "false", "assert True" if holds else "assert False")
        task = with_fault(folder, tmp_path, lambda draft, rng, check=check: add_check(draft, rng, [check]), seed)
        result = await reference(sandboxes, task)
        assert result.score is not None, result
        assert (result.score == 1) is holds


@pytest.mark.parametrize("kind", ["flaky-random", "flaky-race"])
@pytest.mark.slow
async def test_flaky_ones_have_both_outcomes(kind, tmp_path, sandboxes):
    task = planted(BASH, kind, 1, tmp_path)
    image = await sandboxes.build(task)
    seen = set()
    for _ in range(40):
        async with sandboxes.running(image) as sandbox:
            seen.add((await run_reference(task, sandbox)).score == 1)
        if len(seen) == 2:
            break
    assert seen == {True, False}


@pytest.mark.parametrize("seed", range(5))
def test_chance_is_between_a_fifth_and_three_fifths(seed):
    """The checks themselves, many times in one process where they allow it."""
    for check in flaky._chance_checks(Random(seed)):
        if not check.python or "hash(" in check.python or "next(iter" in check.python:
            continue  # salted once for each process
        code, failed = compile(check.python, "check", "exec"), 0
        for _ in range(400):
            try:
                exec(code, {})  # noqa: S102 - the check itself
            except AssertionError:
                failed += 1
        assert 0.12 < failed / 400 < 0.7, check


def test_the_clock_decides():
    """Each check holds at some and fails at other moments of the next years, and mostly holds now."""
    for check in flaky._clock_checks(Random(3)):
        if "import datetime" not in check.python:
            continue
        held = []
        for step in range(3000):
            moment = 1_780_000_000 + step * 86_461
            day = datetime.fromtimestamp(moment, UTC)
            source = check.python.replace("datetime.datetime.now()", f"datetime.datetime.fromtimestamp({moment})")
            source = source.replace("datetime.date.today()", f"datetime.date({day.year}, {day.month}, {day.day})")
            try:
                exec(source, {})  # noqa: S102 - the check itself
                held.append(True)
            except (AssertionError, ValueError):
                held.append(False)
        assert True in held
        assert False in held


@pytest.mark.parametrize("way", [waiting._hang_in_solution, waiting._hang_in_tests, waiting._hang_in_check])
@pytest.mark.slow
async def test_hangs_until_the_time_is_over(way, tmp_path, sandboxes):
    result = await reference(sandboxes, with_fault(STEPS, tmp_path, way, 2))
    last = result.steps[-1]
    assert (last.solution.timed_out) is (way is waiting._hang_in_solution)
    assert (last.verification.error_code == "timeout") is (way is not waiting._hang_in_solution)


async def test_waits_for_ever_for_work_that_nobody_does(tmp_path, sandboxes):
    result = await noop(sandboxes, with_fault(BASH, tmp_path, waiting._hang_without_work))
    assert result.steps[-1].verification.error_code == "timeout"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("folder", [FRESH, JSON_SHARED], ids=lambda path: path.name)
async def test_no_reward_without_work(folder, seed, tmp_path, sandboxes):
    task = planted(folder, "no-reward", seed, tmp_path)
    assert (await reference(sandboxes, task)).score == 1
    assert (await noop(sandboxes, task)).score is None


WAYS = (
    permissions._helper_of_solution,
    permissions._tool_of_image,
    permissions._verifier_program,
    permissions._unwritable_results,
    permissions._unreadable_inputs,
    permissions._unreadable_results,
)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.slow
async def test_the_reference_fails_for_want_of_permission(way, tmp_path, sandboxes):
    result = await reference(sandboxes, with_fault(BASH, tmp_path, way))
    assert result.score != 1


@pytest.mark.parametrize("seed", range(3))
async def test_another_form_of_the_same_work_fails(seed, tmp_path, sandboxes):
    task = with_fault(JSON_SHARED, tmp_path, formats._json_form, seed)
    (path,) = [path for path in results(Draft.of(task)) if path.endswith(".json")]
    async with sandboxes.running(await sandboxes.build(task)) as sandbox:
        assert (await run_reference(task, sandbox)).score == 1
        value = json.loads(await sandbox.read_file(path))
        await sandbox.write_file(path, json.dumps(value, indent=7).encode())
        assert (await verify(task, sandbox)).reward.score < 1


def test_the_sentence_about_line_ends_goes():
    draft = Draft.of(Task.read(BASH))
    assert formats._no_longer_said(draft, Random(0))
    told, before = draft.text("instruction.md"), Draft.of(Task.read(BASH)).text("instruction.md")
    assert "newline" not in told
    assert "The directory `/app/report` does not exist yet." in told
    assert len(before) - len(told) < 60


@pytest.mark.parametrize("way", [state._cached_verdict, state._consumed_result, state._one_attempt])
async def test_verifying_again_gives_another_result(way, tmp_path, sandboxes):
    task = with_fault(BASH, tmp_path, way, 1)
    cached = way is state._cached_verdict
    async with sandboxes.running(await sandboxes.build(task)) as sandbox:
        first = await (run_noop if cached else run_reference)(task, sandbox)
        assert first.score == (0 if cached else 1)
        second = await (run_reference(task, sandbox) if cached else verify(task, sandbox))
        assert (second.score if cached else second.reward.score) == 0


def test_machine_checks_hold_here_and_fail_elsewhere():
    zone, umask = machine._machine_checks(Random(1))[:2]
    for check, here, there in ((zone, "TZ=UTC", "TZ=XYZ-7"), (umask, "umask 022;", "umask 077;")):
        held = []
        for setting in (here, there):
            before = setting if setting.startswith("umask") else f"export {setting};"
            script = f"{before} f() (\n{check.bash}\n)\nf"
            held.append(subprocess.run(["bash", "-c", script], check=False).returncode == 0)
            code = ["bash", "-c", f'{before} exec "$0" -I -c "$1"', sys.executable, check.python]
            held.append(subprocess.run(code, check=False, capture_output=True).returncode == 0)
        assert held == [True, True, False, False], check


async def test_a_task_for_one_machine_passes_here(tmp_path, sandboxes):
    for seed in range(3):
        assert (await reference(sandboxes, planted(BASH, "machine-dependence", seed, tmp_path))).score == 1


TELLING = re.compile(r"[^\s\\]{24,}|\S+ \S+ \S+ \S+")


def telling(task):
    """Pieces of the solution and of the expected results that nobody would guess."""
    sources = [file.path for file in task.files if file.path.startswith(("solution/", "tests/expected/"))]
    text = "\n".join(task.read_bytes(path).decode() for path in sources)
    return {line.strip().encode() for line in text.split("\n") if TELLING.search(line) and not line.startswith("#")}


@pytest.mark.parametrize("kind", ["leak-history", "leak-cache", "leak-layer"])
@pytest.mark.parametrize("seed", range(4))
def test_a_part_of_the_answer_goes_with_the_image(kind, seed, tmp_path):
    sound = Task.read(BASH)
    task = planted(BASH, kind, seed, tmp_path)
    image = b"\n".join(task.read_bytes(file.path) for file in task.under("environment"))
    image += b"\n" + image.replace(b'\\"', b'"').replace(b"\\n", b"\n").replace(b"\\\\", b"\\")
    expected = {b"/shop/checkout,18,4,69756", b"198.51.100.77\n"}
    before = b"\n".join(sound.read_bytes(file.path) for file in sound.under("environment"))
    pieces = {piece for piece in telling(sound) | expected if piece not in before}
    assert [piece for piece in pieces if piece in image] or b"198.51.100.77" in image.replace(before, b"")
    assert task.read_bytes("tests/test.sh") == sound.read_bytes("tests/test.sh")
    assert task.read_bytes("solution/solve.sh") == sound.read_bytes("solution/solve.sh")


@pytest.mark.parametrize(
    "way", [leaks._shell_history, leaks._log_of_a_run, leaks._left_in_temporary], ids=lambda w: w.__name__
)
async def test_a_leak_lies_in_a_started_sandbox(way, tmp_path, sandboxes):
    task = with_fault(STEPS, tmp_path, way, 1)
    piece = "line.split" if way is leaks._left_in_temporary else "aliases"
    async with sandboxes.running(await sandboxes.build(task)) as sandbox:
        look = f"grep -rlE '{piece}|alias' /root /home /var /opt /srv /app /usr/src /usr/local/src 2> /dev/null"
        found = await sandbox.exec(["bash", "-c", look])
        assert found.text.strip(), found


def test_a_database_has_the_same_bytes_with_every_library():
    data = leaks._database("text\n", ("/a",))
    assert data == leaks._database("text\n", ("/a",))
    assert data[96:100] == bytes(4)
    assert io.BytesIO(data).read(15) == b"SQLite format 3"


def test_the_instruction_alone_contradicts():
    for seed in range(12):
        sound, draft = Draft.of(Task.read(JSON_SHARED)), Draft.of(Task.read(JSON_SHARED))
        assert plant_in(draft, "contradiction", seed)
        assert {path for path in draft.files if draft.files[path] != sound.files[path]} == {"instruction.md"}


@pytest.mark.parametrize("seed", range(4))
async def test_what_is_never_said_is_required(seed, tmp_path, sandboxes):
    task = planted(JSON_SHARED, "hidden-requirement", seed, tmp_path)
    sound = Task.read(JSON_SHARED)
    assert task.read_bytes("instruction.md") == sound.read_bytes("instruction.md")
    async with sandboxes.running(await sandboxes.build(task)) as sandbox:
        assert (await run_reference(task, sandbox)).score == 1
    async with sandboxes.running(await sandboxes.build(task)) as sandbox:
        honest = await run_reference(task, sandbox, solution_of=sound)
        assert honest.score != 1
