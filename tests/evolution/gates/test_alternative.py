"""Right solutions that are not the reference pass, and tests that want one form without saying so are found out."""

from __future__ import annotations

import pytest

from evolution.gates.alternative import AlternativeGate
from evolution.gates.roles import Alternative, Roles
from evolution.gates.settings import GateSettings

pytestmark = pytest.mark.slow  # each test starts many sandboxes or processes

OUT = "/app/out/report.json"
INSTRUCTION = (
    f"From /app/data/orders.csv write {OUT}: a JSON object with `paid` (how many orders are paid) and `open`.\n"
)
SOLVE = """#!/bin/bash
mkdir -p /app/out
python3 -c '
import json
state = [line.split(",")[2] for line in open("/app/data/orders.csv")]
with open("/app/out/report.json", "w") as out:
    out.write(json.dumps({"paid": state.count("paid"), "open": state.count("open")}, indent=2) + "\\n")
'
"""
CHECK = 'import json\ntext = open("/app/out/report.json").read()\nfound = json.loads(text)\nassert found == {"paid": 5, "open": 4}\n'


@pytest.fixture
def report(seed) -> dict:
    """A sound task whose output is JSON."""
    kept = {path: text for path, text in seed.items() if not path.startswith("tests/expected")}
    script = "#!/bin/bash\nif python3 -I /tests/check.py; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n"
    return kept | {
        "instruction.md": INSTRUCTION,
        "solution/solve.sh": SOLVE,
        "tests/test.sh": script,
        "tests/check.py": CHECK,
    }


def strict(report, line: str, *, said: str = "") -> dict:
    return {**report, "tests/check.py": f"{CHECK}{line}\n", "instruction.md": INSTRUCTION + said}


async def test_a_sound_task_passes_with_its_forms_tried(check, report) -> None:
    verdict = await check(AlternativeGate(), report)
    assert verdict.passed, verdict.evidence
    assert verdict.measured == {"variants": 2, "solutions": 0}


async def test_a_task_without_alternatives_or_open_forms_passes(check, seed) -> None:
    verdict = await check(
        AlternativeGate(), {**seed, "instruction.md": seed["instruction.md"] + "Lines end with a newline.\n"}
    )
    assert verdict.passed, verdict.evidence
    assert verdict.measured["variants"] == 0


TOO_STRICT = [
    ("json-whitespace", "assert '\"paid\": 5' in text", "Indent it by two spaces.\n"),
    ("json-whitespace", "assert len(text.splitlines()) == 4", "The JSON is exactly as `jq .` prints it.\n"),
    ("json-key-order", 'assert list(found) == ["paid", "open"]', "Its keys come in the order given here.\n"),
    ("final-newline", 'assert text.endswith("\\n")', "The file ends with a newline.\n"),
]


@pytest.mark.parametrize(("what", "line", "said"), TOO_STRICT)
async def test_tests_that_want_one_form(check, report, what: str, line: str, said: str) -> None:
    verdict = await check(AlternativeGate(), strict(report, line))
    assert verdict.code == f"alternative/{what}", verdict.evidence
    assert OUT in verdict.evidence
    assert "AssertionError" in verdict.evidence
    assert (await check(AlternativeGate(), strict(report, line, said=said))).passed


async def test_numbers_escapes_and_digits_of_digests(check, report) -> None:
    made = SOLVE.replace(
        'state.count("open")}', 'state.count("open"), "mean": 5.0, "who": "J\\u00fcrgen", "sum": "ab" * 16}'
    )
    lines = {
        "number-format": 'assert isinstance(found["mean"], float)',
        "json-escapes": 'assert "\\\\u00fc" in text',
        "letter-case": 'assert found["sum"] == "ab" * 16',
    }
    said = "Also `mean`, `who` and `sum`, a hexadecimal text.\n"
    for what, line in lines.items():
        check_py = f"{CHECK.splitlines()[0]}\n{CHECK.splitlines()[1]}\nfound = json.loads(text)\n{line}\n"
        files = {**report, "solution/solve.sh": made, "tests/check.py": check_py, "instruction.md": INSTRUCTION + said}
        verdict = await check(AlternativeGate(), files)
        assert verdict.code == f"alternative/{what}", (what, verdict.evidence)


RIGHT = SOLVE.replace(", indent=2", "")
WRONG = SOLVE.replace("json.dumps(", "str(").replace("indent=2", '""')


async def test_a_supplied_solution_that_fails(check, report) -> None:
    passes = {**report, "alternatives/flat/solve.sh": RIGHT}
    assert (await check(AlternativeGate(), passes)).measured["solutions"] == 1
    verdict = await check(AlternativeGate(), {**report, "alternatives/odd/solve.sh": "#!/bin/bash\necho no >&2\n"})
    assert verdict.code == "alternative/supplied"
    assert "odd fails" in verdict.evidence


async def test_solutions_beside_the_tasks(check, report, tmp_path) -> None:
    script = tmp_path / "tests" / "orders" / "mine" / "solve.sh"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/bash\nfalse\n")
    gate = AlternativeGate.configured(GateSettings(alternatives=tmp_path), Roles())
    assert (await check(gate, report)).code == "alternative/supplied"


class Author:
    """Hands in what it was given."""

    name = "scripted"

    def __init__(self, *scripts: str, files: dict[str, bytes] | None = None) -> None:
        self.scripts = scripts
        self.files = files or {}

    async def alternatives(self, task, count: int) -> tuple[Alternative, ...]:
        return tuple(Alternative(f"a{number}", text, self.files) for number, text in enumerate(self.scripts[:count]))


async def test_a_model_may_be_wrong(check, report) -> None:
    """Its solution counts where it differs from the reference's outputs in an open respect of form alone."""
    gate = AlternativeGate(
        author=Author("#!/bin/bash\nmkdir -p /app/out; echo '{\"paid\": 1}' > /app/out/report.json\n")
    )
    verdict = await check(gate, report)
    assert verdict.passed
    assert [finding.suppressed != "" for finding in verdict.findings] == [True]
    picky = strict(report, "assert len(text.splitlines()) == 4")
    verdict = await check(AlternativeGate(author=Author(RIGHT)), picky)
    assert "alternative/author" in {finding.code for finding in verdict.findings if not finding.suppressed}


@pytest.mark.parametrize(
    "author", [Author(RIGHT, files={"a": b"", "a/b": b""}), Author(RIGHT, files={"../a": b""}), Author("\ud800")]
)
async def test_files_of_a_model_that_cannot_be_written_say_nothing_of_the_task(check, report, author) -> None:
    verdict = await check(AlternativeGate(author=author), report)
    assert verdict.passed
    ((code, suppressed),) = [(finding.code, finding.suppressed) for finding in verdict.findings]
    assert code == "alternative/author"
    assert "cannot be written" in suppressed


async def test_a_later_step(check, report) -> None:
    toml = report["task.toml"] + '[[steps]]\nname = "first"\n[[steps]]\nname = "second"\n'
    files = {path: text for path, text in report.items() if path.startswith("environment/")} | {"task.toml": toml}
    for step in ("first", "second"):
        for path in ("instruction.md", "solution/solve.sh", "tests/test.sh", "tests/check.py"):
            files[f"steps/{step}/{path}"] = report[path].replace("report.json", f"{step}.json")
    assert (await check(AlternativeGate(), files)).measured["variants"] == 4
    files["steps/second/tests/check.py"] += 'assert text.endswith("\\n")\n'
    verdict = await check(AlternativeGate(), files)
    assert verdict.code == "alternative/final-newline"
    assert "in step second" in verdict.evidence
