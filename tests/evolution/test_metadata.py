"""The table `[metadata.evolution]`: read, refused by field, stamped without touching anything else."""

import tomllib
from pathlib import Path

import pytest
import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st

from evolution.metadata import Evolution, read_evolution, stamp
from evolution.plan import Axis, Effort
from evolution.sequence import Sequence, Step
from sandbox.errors import TaskError
from sandbox.task import Task

SEQUENCE = Sequence(
    steps=(Step(id="s1", scenario="log-files", skill="filter"), Step(id="s2", scenario="csv-tables", skill="join"))
)
CHILD = Evolution(
    sequence=SEQUENCE,
    lineage="logs",
    generation=2,
    parent="ab" * 32,
    axis=Axis.LENGTH,
    effort=Effort.HIGH,
    seed=11,
    reward="fraction",
    license="MIT",
)
STEPS = (
    '[[metadata.evolution.sequence]]\nid = "s1"\nscenario = "log-files"\nskill = "filter"\n'
    '[[metadata.evolution.sequence]]\nid = "s2"\nscenario = "csv-tables"\nskill = "join"\n'
)


def task_of(root: Path, toml: str) -> Task:
    for folder in ("environment", "tests", "solution"):
        (root / folder).mkdir(parents=True)
    (root / "task.toml").write_bytes(toml.encode())
    (root / "instruction.md").write_text("Do it.\n")
    (root / "environment/Dockerfile").write_text("FROM debian:bookworm-slim\n")
    (root / "tests/test.sh").write_text("#!/bin/bash\n")
    (root / "solution/solve.sh").write_text("#!/bin/bash\n")
    return Task.read(root)


def toml_of(task: Task) -> str:
    return task.read_bytes("task.toml").decode()


class TestReading:
    @pytest.mark.parametrize("toml", ["", "[metadata]\nx = 1\n"])
    def test_a_task_without_the_table(self, tmp_path, toml):
        assert read_evolution(task_of(tmp_path / "t", toml)) is None

    def test_a_seed_may_hold_a_part(self, tmp_path):
        seed = read_evolution(task_of(tmp_path / "t", "[metadata.evolution]\nseed = 7\n" + STEPS))
        assert seed == Evolution(sequence=SEQUENCE, seed=7)
        assert seed is not None
        assert (seed.generation, seed.lineage, seed.parent, seed.axis, seed.effort) == (0, "", "", None, None)
        assert (seed.reward, seed.source, seed.license) == (None, None, None)

    def test_all_of_it(self, tmp_path):
        toml = (
            f'[metadata.evolution]\nlineage = "logs"\ngeneration = 2\nparent = "{"ab" * 32}"\naxis = "length"\n'
            f'effort = "high"\nseed = 11\nreward = "fraction"\nlicense = "MIT"\n{STEPS}'
        )
        assert read_evolution(task_of(tmp_path / "t", toml)) == CHILD

    @pytest.mark.parametrize(
        ("table", "field", "hint"),
        [
            ("seed = 1\n", "sequence", "is missing"),
            ("generation = -1\n" + STEPS, "generation", "came the number -1, expected a number of at least 0"),
            ('generation = "1"\n' + STEPS, "generation", "came the text '1', expected a whole number"),
            ("seed = true\n" + STEPS, "seed", "came true, expected a whole number"),
            (
                'axis = "width"\n' + STEPS,
                "axis",
                "came the text 'width', expected one of 'scenario', 'skill' or 'length'",
            ),
            ('effort = "mid"\n' + STEPS, "effort", "expected one of 'low', 'high' or 'max'"),
            ('reward = "points"\n' + STEPS, "reward", "expected one of 'binary' or 'fraction'"),
            ("lineage = 3\n" + STEPS, "lineage", "came the number 3, expected text"),
            ("colour = 3\n" + STEPS, "colour", "came the number 3, expected no such field"),
            ("sequence = []\n", "sequence", "at least one entry"),
            ("sequence = 3\n", "sequence", "came the number 3, expected a table"),
            (
                STEPS.replace('"join"', '"Join It"'),
                "sequence[1].skill",
                "came the text 'Join It', expected text that matches",
            ),
            (STEPS.replace('skill = "join"\n', ""), "sequence[1].skill", "is missing"),
            (STEPS.replace('"s2"', '"s1"'), "sequence", "these come twice: s1"),
        ],
    )
    def test_a_bad_field_is_named(self, tmp_path, table, field, hint):
        with pytest.raises(TaskError) as caught:
            read_evolution(task_of(tmp_path / "t", "[metadata.evolution]\n" + table))
        assert (caught.value.file, caught.value.field) == ("task.toml", f"metadata.evolution.{field}")
        assert hint in str(caught.value)

    def test_no_table_at_all(self, tmp_path):
        with pytest.raises(TaskError, match=r"task.toml \[metadata.evolution\]: came 'x', expected a table"):
            read_evolution(task_of(tmp_path / "t", '[metadata]\nevolution = "x"\n'))


HEAD = 'schema_version = "1.4"  # as of spring\n\n[task]\nname = "demo/one" # its name\ndescription = "d"\n\n'
TAIL = "# what the solver may use\n[agent]\ntimeout_sec = 600   # ten minutes\n\n\n[environment]\nmemory_mb=512\n"
DOCUMENTS = {
    "nothing": "",
    "no metadata": HEAD + TAIL,
    "metadata": HEAD + "[metadata]\nx = 'y' # kept\n\n" + TAIL,
    "table in metadata": HEAD + "[metadata]\nx = 1\n\n[metadata.hardware]\ny = 2\n\n" + TAIL,
    "metadata in two places": HEAD + "[metadata]\nx = 1\n\n" + TAIL + "\n[metadata.late]\nz = 3\n",
    "metadata last, no newline": HEAD + TAIL + "[metadata]\nx = 1",
    "seed": HEAD + "[metadata]\nx = 1\n\n[metadata.evolution]\nseed = 3\n" + STEPS + "\n" + TAIL,
    "seed without steps": HEAD + "[metadata.evolution]\nseed = 3\n\n" + TAIL,
    "seed last": HEAD + TAIL + "\n[metadata.evolution]\nseed = 3\n" + STEPS + "# the end",
    "inline evolution": HEAD + "[metadata]\nevolution = { seed = 3 }\nx = 1\n\n" + TAIL,
    "inline metadata": 'metadata = { x = 1 }\n[task]\nname = "demo/one"\n' + TAIL,
    "dotted": 'task.name = "demo/one"\nmetadata.x = 1\n\n' + TAIL,
    "windows": (HEAD + "[metadata]\nx = 1\n\n" + TAIL).replace("\n", "\r\n"),
    "lookalike": HEAD + '[metadata]\nx = """\n[metadata.evolution]\nseed = 1\n"""\n\n' + TAIL,
}


def stamped(root: Path, toml: str, evolution: Evolution = CHILD) -> Task:
    return stamp(task_of(root / "t", toml), evolution, root / "u", name="logs/g2")


def rest_of(task: Task) -> dict[str, object]:
    """What `task.toml` says besides the name and our table."""
    document = tomllib.loads(toml_of(task))
    document.setdefault("metadata", {}).pop("evolution", None)
    document.setdefault("task", {}).pop("name", None)
    return document


class TestStamping:
    @pytest.mark.parametrize("toml", DOCUMENTS.values(), ids=DOCUMENTS)
    def test_it_reads_back_and_all_else_says_what_it_said(self, tmp_path, toml):
        child = stamped(tmp_path, toml)
        assert child.name == "logs/g2"
        assert child.root == tmp_path / "u"
        assert read_evolution(child) == CHILD
        assert rest_of(child) == rest_of(Task.read(tmp_path / "t"))

    @pytest.mark.parametrize("toml", DOCUMENTS.values(), ids=DOCUMENTS)
    def test_every_line_outside_stays_as_it_is(self, tmp_path, toml):
        child = stamped(tmp_path, toml)
        replaced = {"seed = 3", "evolution = { seed = 3 }", "metadata = { x = 1 }", *STEPS.splitlines()}
        after = iter(toml_of(child).split("\n"))
        for line in toml.replace("demo/one", "logs/g2").split("\n"):
            if line not in replaced and line.strip():
                # `in` moves the iterator on, so the lines have to come in their old order.
                assert line in after

    @pytest.mark.parametrize("toml", DOCUMENTS.values(), ids=DOCUMENTS)
    def test_stamping_twice_changes_only_what_changed(self, tmp_path, toml):
        once = stamped(tmp_path, toml)
        again = stamp(once, CHILD, tmp_path / "v", name="logs/g2")
        assert again.content_hash == once.content_hash
        third = stamp(once, CHILD.model_copy(update={"generation": 3}), tmp_path / "w", name="logs/g2")
        assert toml_of(third) == toml_of(once).replace("generation = 2", "generation = 3")

    def test_the_table_is_written_where_people_look_for_it(self, tmp_path):
        child = stamped(tmp_path, HEAD + "[metadata]\nx = 1\n\n[metadata.evolution]\nseed = 3\n" + STEPS + "\n" + TAIL)
        expected = (
            HEAD.replace("demo/one", "logs/g2")
            + '[metadata]\nx = 1\n\n[metadata.evolution]\nlineage = "logs"\ngeneration = 2\n'
            + f'parent = "{"ab" * 32}"\naxis = "length"\neffort = "high"\nseed = 11\nreward = "fraction"\nlicense = "MIT"\n\n'
            + STEPS.replace("[[", "\n[[").lstrip("\n")
            + "\n"
            + TAIL
        )
        assert toml_of(child) == expected

    def test_other_files_stay(self, tmp_path):
        child = stamped(tmp_path, HEAD + TAIL)
        rest = [file for file in child.files if file.path != "task.toml"]
        assert rest == [file for file in Task.read(tmp_path / "t").files if file.path != "task.toml"]

    @pytest.mark.parametrize("name", ["noslash", "a/b/c", ""])
    def test_a_bad_name_is_refused_and_nothing_is_left(self, tmp_path, name):
        task = task_of(tmp_path / "t", HEAD + TAIL)
        with pytest.raises(TaskError) as caught:
            stamp(task, CHILD, tmp_path / "u", name=name)
        assert caught.value.field == "task.name"
        assert [path.name for path in tmp_path.iterdir()] == ["t"]


NAMES = st.from_regex(r"[a-z0-9][a-z0-9-]{0,10}", fullmatch=True)
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
EVOLUTIONS = st.builds(
    Evolution,
    sequence=st.lists(
        st.builds(Step, id=NAMES, scenario=NAMES, skill=NAMES), min_size=1, max_size=4, unique_by=lambda s: s.id
    ).map(lambda steps: Sequence(steps=tuple(steps))),
    lineage=TEXT,
    generation=st.integers(0, 1000),
    parent=TEXT,
    axis=st.sampled_from(Axis) | st.none(),
    effort=st.sampled_from(Effort) | st.none(),
    seed=st.integers(0, 2**63 - 1),
    reward=st.sampled_from(["binary", "fraction"]) | st.none(),
    source=TEXT | st.none(),
    license=TEXT | st.none(),
)


class TestProperties:
    @settings(max_examples=50, deadline=None)
    @given(evolution=EVOLUTIONS, toml=st.sampled_from(sorted(DOCUMENTS.values())))
    def test_any_table_survives_any_document(self, evolution, toml, tmp_path_factory):
        assert read_evolution(stamped(tmp_path_factory.mktemp("task"), toml, evolution)) == evolution

    @settings(max_examples=50, deadline=None)
    @given(data=st.data())
    def test_any_metadata_stays(self, data, tmp_path_factory):
        values = st.recursive(
            st.integers(-9, 9) | TEXT | st.booleans(),
            lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
            max_leaves=4,
        )
        metadata = data.draw(st.dictionaries(TEXT.filter(lambda key: key != "evolution"), values, max_size=3))
        toml = tomlkit.dumps({"metadata": metadata, "agent": {"timeout_sec": 5}})
        child = stamped(tmp_path_factory.mktemp("task"), toml)
        assert {key: value for key, value in child.config.metadata.items() if key != "evolution"} == metadata
