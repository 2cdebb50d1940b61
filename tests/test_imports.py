"""What importing a room loads, and which way imports go."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = {"litellm", "langgraph", "langchain_core", "networkx", "torch", "ray", "docker", "vllm", "verl"}
FLAGS = {
    *(
        "--seeds",
        "--out",
        "--generations",
        "--model",
        "--proposer-model",
        "--critic-model",
        "--evolver-model",
        "--axes",
    ),
    *("--effort", "--sandbox", "--workers", "--seed", "--budget-usd", "--dry-run", "--resume", "--fresh", "--config"),
}


def python(*arguments, **options):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, cwd=ROOT, timeout=120, **options
    )


@pytest.mark.parametrize("room", ["evolution", "sandbox", "agents", "graphs", "rl"])
def test_importing_a_room_loads_nothing_heavy(room):
    program = f"import sys, {room}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    run = python("-c", program)
    assert run.returncode == 0, run.stderr
    assert room in run.stdout.split()
    assert HEAVY & set(run.stdout.split()) == set()


@pytest.mark.parametrize("module", ["task", "config", "journal", "lineage", "release", "run_folder", "intake"])
def test_the_domain_loads_nothing_heavy(module):
    room = "sandbox" if module == "task" else "evolution"
    run = python("-c", f"import sys, {room}.{module}; print(*{{name.partition('.')[0] for name in sys.modules}})")
    assert run.returncode == 0, run.stderr
    assert HEAVY & set(run.stdout.split()) == set()


def test_the_main_jobs_help_is_quick_and_names_every_flag():
    run = python("-X", "importtime", "-m", "evolution.generation", "--help")
    assert run.returncode == 0
    loaded = {line.rsplit("|", 1)[-1].strip().partition(".")[0] for line in run.stderr.splitlines()}
    assert "evolution" in loaded
    assert HEAVY & loaded == set()
    assert FLAGS - set(re.findall(r"--[a-z-]+", run.stdout)) == set()
    assert "exit codes: 0" in run.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--generations", "many"], "invalid int value: 'many'"),
        (["--generations", "0"], "generations: "),
        (["--effort", "extreme"], "effort: "),
        (["--axes", "depth"], "axes.0: "),
        (["--no-such-flag"], "unrecognized arguments: --no-such-flag"),
        (["--resume", "--fresh"], "not allowed with argument"),
        (["--config", "/nowhere/run.yaml"], "/nowhere/run.yaml: cannot be read"),
        (["--model", "openai/sk-abcdefghijklmnop0123"], "model seems to hold a key"),
    ],
)
def test_wrong_use_of_the_main_job_is_exit_2_and_says_what(arguments, said):
    run = python("-m", "evolution.generation", *arguments)
    assert run.returncode == 2
    assert said in run.stderr
    assert "Traceback" not in run.stderr
    assert run.stdout == ""


def test_rooms_import_downwards_only():
    program = Path(sys.executable).with_name("lint-imports")
    if not program.exists():
        pytest.skip("import-linter is not installed: ./run setup dev")
    run = subprocess.run([program, "--no-cache"], capture_output=True, text=True, check=False, cwd=ROOT, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(r"Contracts: \d+ kept, 0 broken", run.stdout)
