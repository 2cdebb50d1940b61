"""The wheel of this checkout in environments where another distribution also brings a package `agents`."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from sandbox.rooms import ROOMS

pytestmark = pytest.mark.outside

ROOT = Path(__file__).parents[2]


def pip(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "pip", *arguments], capture_output=True, text=True, check=False, timeout=300
    )


def pip_in(site, *arguments):
    """Runs pip on a virtual environment alone: it must neither see nor touch the envolve of the borrowed folder."""
    borrowed = site / "borrowed.pth"
    borrowed.unlink(missing_ok=True)
    done = pip("--python", str(site.parents[2]), *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    borrowed.write_text(sysconfig.get_path("purelib") + "\n")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A copy of the checkout: building in place would leave a `build/` there."""
    copy = tmp_path_factory.mktemp("source") / "envolve"
    ignored = shutil.ignore_patterns(".*", "build", "dist", "runs", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, copy, ignore=ignored, symlinks=True)
    return copy


@pytest.fixture(scope="module")
def wheel(source, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    built = pip("wheel", "--no-deps", "--wheel-dir", str(folder), str(source))
    assert built.returncode == 0, built.stdout + built.stderr
    return next(folder.glob("envolve-*.whl"))


@pytest.fixture(scope="module")
def intruder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("intruder")
    got = pip("download", "--no-deps", "--dest", str(folder), "openai-agents")
    if got.returncode != 0:
        pytest.skip(f"openai-agents cannot be downloaded: {got.stderr.strip().splitlines()[-1]}")
    return next(folder.glob("openai_agents-*.whl"))


@pytest.fixture
def environment(tmp_path):
    """Makes a virtual environment of these wheels, in this order; the rest it borrows from the one of the tests."""

    def make(*wheels):
        venv.create(tmp_path / "venv", with_pip=False)
        (site,) = (tmp_path / "venv" / "lib").glob("python3*/site-packages")
        for file in wheels:
            pip_in(site, "install", "--no-deps", "--no-index", str(file))
        return site

    return make


@pytest.fixture
def run(tmp_path):
    """Runs a program of the virtual environment in a folder that is not the checkout."""
    (tmp_path / "cwd").mkdir()

    def call(program, *arguments):
        return subprocess.run(
            [tmp_path / "venv" / "bin" / program, *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path / "cwd",
            env={key: value for key, value in os.environ.items() if not key.startswith("PYTHON")},
            timeout=120,
        )

    return call


# A wrong setting: the command comes past the check of the rooms, and no further.
PAST_THE_CHECK = ("--effort", "extreme")


def assert_works(run):
    assert run("python", "-m", "evolution.generation", "--help").returncode == 0
    for door in (("python", "-m", "evolution.generation"), ("envolve", "generation")):
        used = run(*door, *PAST_THE_CHECK)
        assert used.returncode == 2
        assert used.stderr.startswith("error: effort: "), used.stderr


def assert_names(run, *said):
    for door in (("python", "-m", "evolution.generation"), ("envolve", "generation")):
        used = run(*door, *PAST_THE_CHECK)
        assert used.returncode == 2
        assert "Traceback" not in used.stderr
        assert all(text in used.stderr for text in said), used.stderr


def test_the_wheel_holds_the_rooms_whole_and_nothing_else(wheel, source):
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    files = (path for room in ROOMS for path in (source / room).rglob("*") if path.is_file())
    assert packed == {path.relative_to(source).as_posix() for path in files}
    assert {name.partition("/")[0] for name in packed} == set(ROOMS)  # no tests, examples, benchmarks


def test_alone_it_works(environment, run, wheel):
    environment(wheel)
    assert_works(run)
    listed = run("envolve")
    assert listed.returncode == 0
    assert "generation" in listed.stdout
    assert run("envolve", "nonsense").returncode == 2


def test_without_seeds_the_wheel_says_where_they_are(environment, run, wheel):
    environment(wheel)
    used = run("envolve", "generation")
    assert used.returncode == 2
    assert "name task folders with --seeds DIR" in used.stderr


def test_installed_over_the_other_agents_it_works(environment, run, wheel, intruder):
    site = environment(intruder, wheel)
    assert (site / "agents" / "run.py").exists()  # what the other one left
    assert_works(run)
    assert run("python", "-c", "import agents.model, agents.roles.proposer, agents.roles.evolver").returncode == 0


def test_when_the_other_agents_came_after_it_is_named_with_the_way_out(environment, run, wheel, intruder):
    site = environment(wheel, intruder)
    assert_names(
        run,
        f"{(site / 'agents' / '__init__.py').resolve()} is not envolve's",
        "`openai-agents`",
        "a virtual environment for each",
        "pip install --force-reinstall",
    )
    checked = run("python", "-c", "from sandbox.rooms import check_rooms; check_rooms()")
    assert "RoomsError" in checked.stderr
    # The way out is one.
    pip_in(site, "install", "--force-reinstall", "--no-deps", "--no-index", str(wheel))
    assert_works(run)


def test_when_the_other_agents_was_removed_again_it_is_named(environment, run, wheel, intruder):
    site = environment(wheel, intruder)
    pip_in(site, "uninstall", "--yes", "openai-agents")
    assert not (site / "agents" / "__init__.py").exists()
    assert_names(run, "agents", "reinstall envolve")


def test_from_a_folder_with_its_own_agents_the_console_script_works(environment, run, wheel, tmp_path):
    environment(wheel)
    mine = tmp_path / "cwd" / "agents"
    mine.mkdir()
    (mine / "__init__.py").write_text('"""Mine."""\n')
    used = run("python", "-m", "evolution.generation", *PAST_THE_CHECK)
    assert used.returncode == 2
    assert f"`import agents` finds {mine.resolve()}" in used.stderr
    assert "console script `envolve`" in used.stderr
    used = run("envolve", "generation", *PAST_THE_CHECK)
    assert used.stderr.startswith("error: effort: "), used.stderr
    assert run("envolve").returncode == 0
