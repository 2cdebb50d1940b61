"""What can be tied to a foreign task, read off its files."""

import pytest

from agents.embedded.conversation import CannotError
from agents.embedded.foreign.dockerfile import parse
from agents.embedded.foreign.reading import Foreign, Input
from agents.embedded.tools import Listed


def task(dockerfile, toml=None, instruction="Read /app/in.csv, write /app/out.txt.", **files):
    texts = {
        "environment/Dockerfile": dockerfile,
        "instruction.md": instruction,
        "solution/solve.sh": "sort /app/in.csv > /app/out.txt\n",
        "tests/test.sh": "cmp /app/out.txt /tests/out.txt\n",
    }
    listed = {path: Listed(path, len(text), path.endswith(".sh")) for path, text in texts.items()}
    listed |= {path: Listed(path, size, False) for path, size in {"environment/in.csv": 500, **files}.items()}
    return Foreign(toml or {}, listed, texts, parse(dockerfile))


COPY = "FROM debian\nCOPY in.csv /app/\n"


def test_an_input_that_the_solution_reads_and_the_output_it_writes():
    found = task(COPY)
    assert found.inputs() == [Input(Listed("environment/in.csv", 500, False), "/app/in.csv", 3)]
    assert found.outputs() == ["/app/out.txt"]
    assert found.places() == ("front", "end")


@pytest.mark.parametrize(
    "dockerfile",
    [
        f"{COPY}RUN python3 /app/prepare.py /app/in.csv\n",  # needed to build the image
        f'{COPY}CMD ["serve", "/app/in.csv"]\n',
        f"{COPY}USER ann\n",  # the solver cannot open it in place
        "FROM debian\nCOPY --from=data in.csv /app/\n",
    ],
)
def test_inputs_that_cannot_be_taken_away(dockerfile):
    assert task(dockerfile).inputs() == []


def test_an_input_in_a_repository_could_be_read_from_its_history():
    found = task("FROM debian\nCOPY . /app/\n", **{"environment/.git/HEAD": 20})
    assert found.inputs() == []


def test_an_unprivileged_solver_needs_a_file_of_its_own():
    owned = "FROM debian\nCOPY --chown=7:7 in.csv /app/\nUSER 7\n"
    assert [each.path for each in task(owned).inputs()] == ["/app/in.csv"]
    assert task(owned).user == "7"
    assert task(owned, {"agent": {"user": 0}}).user == ""


def test_ignored_large_and_unmentioned_files_are_no_inputs():
    assert task("FROM debian\nCOPY . /app/\n", **{"environment/in.csv": 10**6}).inputs() == []
    beside = task("FROM debian\nCOPY other.bin /app/\n", **{"environment/other.bin": 99})
    assert beside.likely_inputs() == []  # only its folder is spoken of


def test_paths_may_be_spelt_with_variables_of_the_image():
    found = task(
        "FROM debian\nENV OUT=/app\n", instruction="Write `$OUT/out.txt` and ${OUT}/none.txt, not $HOME/x.txt."
    )
    assert found.outputs() == ["/app/out.txt"]


def test_where_nothing_can_be_tied_it_says_so():
    with pytest.raises(CannotError, match="neither an input file"):
        task("FROM debian\n", instruction="Set the clock.").places()
    steps = {"steps": [{"name": "one"}], "multi_step_reward_strategy": "final"}
    with pytest.raises(CannotError, match="only the last step"):
        task("FROM debian\n", steps).places()
    assert task("FROM debian\n", {"steps": [{"name": "one"}]}).places() == ("end",)
    assert task(COPY, instruction="Sort /app/in.csv.").places() == ("front",)
    assert task(COPY, steps).places() == ("front",)
