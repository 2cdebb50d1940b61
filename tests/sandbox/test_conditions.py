"""Commands in a sandbox under other conditions see them, those of sandboxes started beside it as well."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from sandbox import perturbing
from sandbox.conditions import Condition, ConditionedBackend, running_under
from sandbox.conformance.stage import TASK_FOLDER
from sandbox.errors import SandboxError
from sandbox.local.backend import LocalBackend
from sandbox.perturbing import Survey, survey
from sandbox.protocol import Image, Sandbox, SandboxBackend
from sandbox.shifting import moments
from sandbox.siblings import fork, fresh
from sandbox.task import Task

if TYPE_CHECKING:
    from sandbox.sandboxes import Sandboxes


pytestmark = pytest.mark.slow  # each test starts many sandboxes or processes


@pytest_asyncio.fixture(loop_scope="session")
async def image(sandboxes: Sandboxes) -> Image:
    return await sandboxes.build(Task.read(TASK_FOLDER))


@pytest_asyncio.fixture(loop_scope="session")
async def found(sandboxes: Sandboxes, image: Image) -> Survey:
    async with sandboxes.running(image) as sandbox:
        return await survey(sandbox, test_cases=True)


def only(found: Survey, name: str, variant: int = 0) -> list[Condition]:
    if name not in found.variants:
        pytest.skip(f"{name} cannot be had here: {found.missing.get(name, 'it has no meaning')}")
    ways = found.variants[name]
    return [ways[variant % len(ways)]]


async def told(sandboxes: Sandboxes, image: Image, conditions: list[Condition], command: str) -> str:
    async with running_under(sandboxes, image, conditions) as sandbox:
        ran = await sandbox.exec(command)
        assert ran.ok, ran.error_text
        return ran.text.strip()


def test_a_conditioned_back_end_is_a_back_end() -> None:
    assert isinstance(ConditionedBackend(LocalBackend(), []), SandboxBackend)


async def test_its_sandboxes_are_sandboxes_of_that_back_end(sandboxes, image) -> None:
    backend = ConditionedBackend(sandboxes.backend, [Condition("greeting", env={"GREETING": "hello"})])
    assert await backend.capabilities() == await sandboxes.backend.capabilities()
    sandbox = await backend.start(image)
    try:
        assert isinstance(sandbox, Sandbox)
        assert sandbox.backend is backend
        assert (await sandbox.exec(["printenv", "GREETING"])).text == "hello\n"
        async with fresh(sandbox) as other:
            assert (await other.exec("echo $GREETING")).text == "hello\n"
        await sandbox.write_file("/kept", b"")
        async with fork(sandbox) as other:
            assert (await other.exec("ls /kept; echo $GREETING")).text == "/kept\nhello\n"
    finally:
        await sandbox.stop()


@pytest.mark.parametrize(
    ("name", "command", "expected"),
    [
        (perturbing.HOST_NAME, "uname -n; getent hosts $(uname -n) >/dev/null && echo known", "4f1c9a7be052\nknown"),
        (perturbing.CPUS, "nproc", "1"),
        (perturbing.LOAD, "nproc", "1"),
        (perturbing.UMASK, "umask; cd /tmp; touch new; stat -c %a new", "0002\n664"),
        (perturbing.TEMPORARY_FOLDER, "dirname $(mktemp)", "/var/tmp"),
    ],
)
async def test_a_command_sees_the_condition(sandboxes, image, found, name, command, expected) -> None:  # noqa: PLR0917
    assert await told(sandboxes, image, only(found, name), command) == expected
    assert await told(sandboxes, image, [], command) != expected


@pytest.mark.parametrize("name", [perturbing.LOCALE, perturbing.TIME_ZONE, perturbing.HASH_SEED])
async def test_a_command_sees_another_environment(sandboxes, image, found, name) -> None:
    command = "locale; date +%Z; python3 -c 'print([hash(str(n)) % 9 for n in range(99)])'"
    first = await told(sandboxes, image, only(found, name), command)
    assert first != await told(sandboxes, image, [], command)
    if name == perturbing.HASH_SEED:
        assert first == await told(sandboxes, image, only(found, name), command)
        assert first != await told(sandboxes, image, only(found, name, 1), command)


WAITS = """
import asyncio, subprocess, threading, time
before = time.monotonic()
time.sleep(0.01)
threading.Event().wait(0.01)
subprocess.Popen(["sleep", "0.01"]).wait(timeout=30)
asyncio.run(asyncio.wait_for(asyncio.sleep(0.01), 30))
assert time.monotonic() - before < 60
print(time.strftime("%Y-%m-%d", time.gmtime()))
"""


@pytest.mark.parametrize("variant", [0, 1])
async def test_the_clock_is_another_one_and_waiting_works(sandboxes, image, found, variant) -> None:
    clock = only(found, perturbing.CLOCK, variant)
    day = (datetime.now(UTC) + moments(datetime.now(UTC))[variant]).date()
    for command in (
        "date -u +%F",
        "perl -e 'use POSIX; print strftime(\"%F\", gmtime)'",
        f"timeout 60 python3 -I -S -c '{WAITS}'",
    ):
        shown = datetime.strptime(await told(sandboxes, image, clock, command), "%Y-%m-%d").replace(tzinfo=UTC)
        assert abs(shown.date() - day) <= timedelta(days=1), command


async def test_times_of_files_are_left_alone_or_moved_along(sandboxes, image, found) -> None:
    script = (
        "cd /tmp; echo x >new; touch -d 2020-01-01 old; cp -p new copy; find . -mmin -30 -type f | sort; stat -c %y old"
    )
    assert await told(sandboxes, image, only(found, perturbing.CLOCK), script) == "2020-01-01 00:00:00.000000000 +0000"
    shown = await told(sandboxes, image, [found.clock_with_files[0]], script)
    assert shown == "./copy\n./new\n./old\n2020-01-01 00:00:00.000000000 +0000".replace("./old\n", "")


@pytest.mark.parametrize("day", range(0, 800, 7))
def test_moments_differ_in_all_that_programs_ask_the_clock_for(day: int) -> None:
    now = datetime(2026, 1, 1, (day * 5) % 24, 30, tzinfo=UTC) + timedelta(days=day)
    first, second = (now + shift for shift in moments(now))
    assert first.year != now.year
    assert (first.hour < 12) != (now.hour < 12)
    assert (first.weekday() > 4) != (now.weekday() > 4)
    assert (first.day % 2, first.hour % 2) == (1 - now.day % 2, 1 - now.hour % 2)
    assert (second.month < 7) != (now.month < 7)
    assert min(first, second) > now


TESTS = {
    "test_pytest.py": "import pytest\nseen = []\n@pytest.mark.parametrize('n', [1, 2, 3])\ndef test_one(n):\n    print('ran', n)\n",
    "test_unit.py": "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): print('ran a')\n    def test_b(self): print('ran b')\n"
    "class B(unittest.TestCase):\n    def test_c(self): print('ran c')\n",
}


async def test_test_cases_run_in_reverse(sandboxes, image, found) -> None:
    for conditions, expected in (([], "abc"), (only(found, perturbing.TEST_ORDER), "cba")):
        async with running_under(sandboxes, image, conditions) as sandbox:
            for name, text in TESTS.items():
                await sandbox.write_file(f"/t/{name}", text.encode())
            ran = await sandbox.exec("python3 -m unittest -q test_unit", cwd="/t")
            assert [line[-1] for line in ran.text.splitlines() if line.startswith("ran")] == list(expected)
            isolated = await sandbox.exec(
                "cd /t; python3 -I test_unit.py; python3 -c 'import sys; print(sys.path[1:])'"
            )
            assert isolated.ok
            assert perturbing.FOLDER not in isolated.text


def test_pytest_runs_in_reverse(tmp_path: Path) -> None:
    """The host's pytest stands for one in an image, which this machine may not have."""
    import subprocess
    import sys

    folder = tmp_path / perturbing.TESTS
    folder.mkdir()
    (folder / "sitecustomize.py").write_bytes(Path(perturbing.__file__).with_name("reordering.py").read_bytes())
    (tmp_path / "test_pytest.py").write_text(TESTS["test_pytest.py"])
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-sq", "-p", "no:cacheprovider", "test_pytest.py"]
    ran = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(folder)}, capture_output=True, text=True, check=False
    )
    assert [line[-1] for line in ran.stdout.splitlines() if "ran" in line] == ["3", "2", "1"], ran.stdout + ran.stderr


async def test_python_lists_folders_in_reverse(sandboxes, image, found) -> None:
    script = (
        "mkdir -p /w/b /w/a /w/c/d; cd /w; python3 -c '\nimport glob, os, pathlib, shutil\n"
        'print(*os.listdir(), *glob.glob("*"), *(p.name for p in pathlib.Path().iterdir()), *next(os.walk("."))[1])\n'
        'shutil.rmtree("/w/c"); print(os.path.exists("/w/c"))\''
    )
    shown = await told(sandboxes, image, only(found, perturbing.FOLDER_ORDER), script)
    assert shown.splitlines() == [" ".join("cba" * 4), "False"]


async def test_what_the_task_settles_is_left_alone(sandboxes, image, found) -> None:
    names = (perturbing.TIME_ZONE, perturbing.LOCALE, perturbing.FOLDER_ORDER)
    async with running_under(sandboxes, image, [only(found, name)[0] for name in names]) as sandbox:
        env = {"TZ": "Europe/Berlin", "LANG": "C.UTF-8", "PYTHONPATH": "/own"}
        told = await sandbox.exec("echo $TZ $LC_ALL; echo $PYTHONPATH", env=env, clean_env=True)
    assert told.text.split() == ["Europe/Berlin", f"{perturbing.FOLDER}/{perturbing.FOLDERS}:/own"]


async def test_all_together_change_no_file_of_the_image(sandboxes, image, found) -> None:
    before = {*found.variants}
    assert before >= {perturbing.HOST_NAME, perturbing.LOCALE, perturbing.TIME_ZONE, perturbing.UMASK}
    async with running_under(sandboxes, image, found.together(0)) as sandbox:
        ran = await sandbox.exec("nproc; uname -n; echo $TMPDIR; exit 7")
        assert (ran.exit_code, ran.text.split()[1:]) == (7, ["4f1c9a7be052", "/var/tmp"])
        assert await sandbox.changed_files() == ()


async def test_a_load_ends_with_the_sandbox(sandboxes, image, found) -> None:
    async with running_under(sandboxes, image, only(found, perturbing.LOAD)) as sandbox:
        alone = (await sandbox.exec("ls /proc | grep -c '^[0-9]'")).text
    before = asyncio.all_tasks()
    assert int(alone) < 8, "nothing of the load is in the sandbox under test"
    assert not [task for task in before if "exec" in repr(task.get_coro()) and not task.done()]


async def test_a_host_name_that_cannot_be_changed_is_refused() -> None:
    class Plain:
        backend = LocalBackend()
        stopped = False

        async def stop(self) -> None:
            self.stopped = True

    plain = Plain()
    with pytest.raises(SandboxError, match="cannot change a host name"):
        await ConditionedBackend(plain.backend, [Condition("host-name", host_name="x")]).over(plain)
    assert plain.stopped
