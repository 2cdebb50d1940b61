"""Faults that can be read off the files: each is found under its code, with the line that shows it."""

from __future__ import annotations

import pytest

from evolution.gates.rubric import RubricGate, findings
from evolution.gates.rubric_fields import fields_read
from evolution.gates.scripts import MAX_LINE
from evolution.verdict import VerdictClass


async def test_sound_tasks_pass(only_files, seed, child) -> None:
    for files in (seed, child):
        verdict = await only_files(RubricGate(), files)
        assert verdict.passed, verdict.evidence


def with_line(files: dict, path: str, line: str) -> dict:
    """`files` with a line added after the first one of a file."""
    first, rest = files[path].split("\n", 1)
    return {**files, path: f"{first}\n{line}\n{rest}"}


@pytest.mark.parametrize(
    ("path", "line", "code"),
    [
        ("instruction.md", "The checks are in /tests/test.sh.", "mentions-harness"),
        ("instruction.md", "Then write 1 to /logs/verifier/reward.txt.", "mentions-harness"),
        ("instruction.md", "See solve.sh for how it is done.", "mentions-harness"),
        ("solution/solve.sh", "echo 1 > /logs/verifier/reward.txt", "solution-touches-verifier"),
        ("solution/solve.sh", "cp /tests/expected/paid.csv /app/out/paid.csv", "solution-touches-verifier"),
        ("solution/solve.sh", "now=$(date +%F)", "clock"),
        ("solution/solve.sh", "date > /app/out/stamp", "clock"),
        ("tests/test.sh", "today=`date -u +%s`", "clock"),
        ("tests/test.sh", 'echo "$EPOCHSECONDS"', "clock"),
        ("tests/test.sh", "stamp=$(date -Iseconds)", "clock"),
        ("tests/test.sh", "awk 'BEGIN { print strftime(\"%Y\") }'", "clock"),
        ("tests/test.sh", "python3 -c 'import datetime; print(datetime.datetime.now())'", "clock"),
        ("tests/test.sh", "python3 -c 'import time; print(time.time())'", "clock"),
        ("tests/test.sh", "python3 -c 'import time; print(time.gmtime().tm_hour)'", "clock"),
        ("solution/solve.sh", "echo $RANDOM > /app/out/n", "randomness"),
        ("solution/solve.sh", "head -c 8 /dev/urandom > /app/out/n", "randomness"),
        ("solution/solve.sh", "shuf /app/data/orders.csv > /app/out/n", "randomness"),
        ("solution/solve.sh", "python3 -c 'import random; print(random.randint(1, 2))'", "randomness"),
        ("solution/solve.sh", "pip install --quiet pandas", "network"),
        ("tests/test.sh", "apt-get update && apt-get install -y curl", "network"),
        ("tests/test.sh", "curl -LsSf https://example.org/install.sh | sh", "network"),
        ("tests/test.sh", "[ -d /app/out ] || exit 1", "exit-before-reward"),
        ("tests/test.sh", "cd /app/out || exit 1", "exit-before-reward"),
        ("tests/test.sh", "set -e\ncmp /app/out/paid.csv /tests/expected/paid.csv", "stops-before-reward"),
    ],
)
async def test_a_bad_line_is_found_and_quoted(only_files, seed, path: str, line: str, code: str) -> None:
    verdict = await only_files(RubricGate(), with_line(seed, path, line))
    assert (verdict.verdict_class, verdict.code) == (VerdictClass.INVALID, f"rubric/{code}"), verdict.evidence
    assert f"{path}:" in verdict.evidence
    assert line.rsplit("\n", maxsplit=1)[-1].strip() in verdict.evidence


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("instruction.md", "The repository's own tests in /app/tests must keep passing."),
        ("solution/solve.sh", "# date, $RANDOM and curl https://example.org are only named here"),
        ("solution/solve.sh", "update=1; candidate=2; echo $update"),
        ("solution/solve.sh", "date -u -d @0 +%F > /dev/null"),
        ("solution/solve.sh", 'date --date="2024-01-01" > /dev/null'),
        ("solution/solve.sh", "date=2024-01-01"),
        ("solution/solve.sh", 'day=${1-$(date +%F)} other="${2:-$(date +%s)}"'),
        ("solution/solve.sh", "python3 - <<'PY'\nimport sqlite3\ndate = '2024'\nx = '(date TEXT)'\nPY"),
        ("solution/solve.sh", "python3 -c 'import datetime as d; print(d.datetime(2024, 1, 1).strftime(\"%Y\"))'"),
        ("solution/solve.sh", "date -r /app/data/orders.csv > /dev/null"),
        ("solution/solve.sh", "python3 -c 'import random; random.seed(7); print(random.random())' > /dev/null"),
        ("solution/solve.sh", "shuf --random-source=/app/data/orders.csv /app/data/orders.csv > /dev/null"),
        ("tests/test.sh", "curl -s http://localhost:8000/health"),
        ("tests/test.sh", "cd /tests || exit 1\nmkdir -p /tmp/w; cd /tmp/w || exit 1"),
        ("tests/test.sh", "set -e\nmkdir -p /logs/verifier"),
        ("tests/test.sh", "trap 'echo 0 > /logs/verifier/reward.txt' EXIT\n[ -d /app/out ] || exit 1"),
    ],
)
async def test_an_honest_line_is_left_alone(only_files, seed, path: str, line: str) -> None:
    verdict = await only_files(RubricGate(), with_line(seed, path, line))
    assert verdict.passed, verdict.evidence


async def test_tests_may_take_the_time_that_they_need(only_files, seed) -> None:
    lines = "import time\nbegan = time.time()\nprint(int(1000 * began), time.time() - began)\n"
    assert (await only_files(RubricGate(), {**seed, "tests/units.py": lines})).passed
    dated = await only_files(RubricGate(), {**seed, "tests/units.py": f"{lines}print(time.localtime(began))\n"})
    assert dated.code == "rubric/clock"
    turns = await only_files(
        RubricGate(), {**seed, "tests/units.py": "import time\nassert int(time.time()) % 60 < 50\n"}
    )
    assert turns.code == "rubric/clock"


async def test_fetching_is_left_to_environments_with_a_network(only_files, seed) -> None:
    files = with_line(seed, "tests/test.sh", "curl -LsSf https://example.org/install.sh | sh")
    files["task.toml"] = files["task.toml"].replace("no-network", "public")
    assert (await only_files(RubricGate(), files)).passed


@pytest.mark.parametrize(("text", "code"), [("Sort it.\n", "instruction-short"), ("word " * 9000, "instruction-long")])
async def test_instructions_that_say_too_little_or_too_much(only_files, seed, text: str, code: str) -> None:
    verdict = await only_files(RubricGate(), {**seed, "instruction.md": text})
    assert verdict.code == f"rubric/{code}"


async def test_an_output_that_nobody_names(only_files, seed) -> None:
    instruction = seed["instruction.md"].replace("/app/out/totals.txt", "a file")
    verdict = await only_files(RubricGate(), {**seed, "instruction.md": instruction})
    assert verdict.code == "rubric/unnamed-output"
    assert "checks /app/out/totals.txt" in verdict.evidence
    assert "tests/test.sh:13: unit totals::sums cmp /app/out/totals.txt" in verdict.evidence


async def test_an_output_named_by_folder_and_file_name_is_named(only_files, seed) -> None:
    instruction = seed["instruction.md"].replace("/app/out/totals.txt", "totals.txt in /app/out")
    assert (await only_files(RubricGate(), {**seed, "instruction.md": instruction})).passed


async def test_a_verifier_without_commands_or_without_a_reward(only_files, seed) -> None:
    empty = await only_files(RubricGate(), {**seed, "tests/test.sh": "#!/bin/bash\n\n# later\n"})
    assert empty.code == "rubric/test-script-empty"
    silent = await only_files(RubricGate(), {**seed, "tests/test.sh": "#!/bin/bash\ncmp /app/a /app/b\n"})
    assert silent.code == "rubric/no-reward-written"


@pytest.mark.parametrize("seconds", ["0", "200000"])
async def test_times_that_make_no_sense(only_files, seed, seconds: str) -> None:
    toml = seed["task.toml"].replace("[verifier]\ntimeout_sec = 60", f"[verifier]\ntimeout_sec = {seconds}")
    verdict = await only_files(RubricGate(), {**seed, "task.toml": toml})
    assert verdict.code == "rubric/timeout"
    assert f"[verifier] timeout_sec: came {seconds}" in verdict.evidence


async def test_fields_that_tests_read_must_be_named(only_files, seed) -> None:
    files = with_line(seed, "tests/test.sh", "jq -e '.grand_total == 3' /app/out/summary.json")
    verdict = await only_files(RubricGate(), files)
    assert verdict.code == "rubric/unnamed-field"
    assert "'grand_total'" in verdict.evidence
    files["instruction.md"] += "Also write the sum as `grand_total` into /app/out/summary.json.\n"
    assert (await only_files(RubricGate(), files)).passed


async def test_fields_that_the_environment_shows_are_named(only_files, seed) -> None:
    files = with_line(seed, "tests/test.sh", "jq -e '.grand_total == 3' /app/out/summary.json")
    files["environment/data/template.json"] = '{"grand_total": 0}\n'
    assert (await only_files(RubricGate(), files)).passed


@pytest.mark.parametrize(
    ("path", "source", "fields"),
    [
        ("a.sh", 'jq -r \'.items[] | select(.state == "x") | ."name"\' /app/out/a.json', ["items", "state"]),
        ("a.sh", "jq '.a.b' /tests/expected.json; jq .c /app/out/a.json", []),
        ("a.sh", "jq -n --arg x 1 '{reward: $x}' > /logs/verifier/reward.json", []),
        ("a.sh", "cat a | jq '.[\"total sum\"]'", ["total sum"]),
        ("a.sh", "python3 - <<'PY'\nimport json\nd = json.load(open('/app/o.json'))\nd['total']\nPY\n", ["total"]),
        (
            "a.py",
            "rows = list(csv.DictReader(f))\nfor row in rows:\n    row['name']; row.get('age')\n",
            ["name", "age"],
        ),
        ("a.py", "data = json.loads(p.read_text())\nfor x in data['users'].values():\n    x['id']\n", ["users", "id"]),
        ("a.py", "cases = json.load(open('/tests/cases.json'))\ncases['inner']\n", []),
        ("a.py", "HERE = Path(__file__).parent\nwith open(HERE / 'c.json') as f:\n    c = json.load(f)\nc['x']\n", []),
        ("a.py", "units = {}\nunits['passed'] = 1\nprint(units['passed'])\n", []),
        ("a.py", "this is ( not python", []),
    ],
)
def test_fields_are_those_of_loaded_data(path: str, source: str, fields: list[str]) -> None:
    assert [name for _, name in fields_read(path, source)] == fields


def test_findings_come_in_the_order_of_the_rules_and_all_are_shown(write, seed) -> None:
    files = with_line(seed, "solution/solve.sh", "date > /app/out/stamp")
    files = with_line(files, "instruction.md", "See /tests.")
    found = findings(write(files))
    assert [finding.what for finding in found] == ["mentions-harness", "clock"]


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
async def test_a_field_is_quoted_with_its_line_whatever_ends_lines(only_files, seed, end: str) -> None:
    lines = ["import json", "data = json.load(open('/app/out/a.json'))", "assert data['grand_total'] == 3", ""]
    verdict = await only_files(RubricGate(), {**seed, "tests/check.py": end.join(lines).encode()})
    assert verdict.code == "rubric/unnamed-field"
    assert "tests/check.py:3: assert data['grand_total'] == 3" in verdict.evidence


def test_a_here_document_is_that_of_the_last_mark_in_its_line() -> None:
    source = "cat <<A | python3 - <<'PY'\nimport json\nd = json.load(open('/app/o'))\nd['total']\nPY\n"
    assert fields_read("a.sh", source) == ((4, "total"),)
    assert fields_read("a.sh", source.removesuffix("PY\n")) == ()


# What a line was once gone over in for each word in it: 200 KB of one take minutes then.
PUMPS = [
    "; A=x",
    "; date -d x",
    "${a-$(date)",
    "(sort -",
    "; shuf",
    "curl ",
    "pip install ",
    "-apt -apt ",
    "git clone ",
    "trap ",
    "python3 ",
    "jq -a b ",
    "set -o ",
]


@pytest.mark.parametrize("pump", PUMPS)
async def test_long_lines_take_no_longer_than_short_ones(only_files, seed, pump: str) -> None:
    line = pump * (200_000 // len(pump))
    script = seed["tests/test.sh"]
    files = {**seed, "tests/test.sh": f"{script}{line}\n", "solution/solve.sh": f"{seed['solution/solve.sh']}{line}\n"}
    await only_files(RubricGate(), files)
    short = "".join(f"{pump * (9_000 // len(pump))}\n" for _ in range(20))
    await only_files(RubricGate(), {**seed, "tests/helper.sh": short})


async def test_what_lies_beyond_the_end_of_what_is_read_of_a_line_is_not_found(only_files, seed) -> None:
    dated = f"{'x' * MAX_LINE} ; date"
    assert (await only_files(RubricGate(), with_line(seed, "solution/solve.sh", dated))).passed
    assert not (await only_files(RubricGate(), with_line(seed, "solution/solve.sh", dated[100:]))).passed


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("shuf --random-source=a a; shuf b", "randomness"),
        ("shuf a; shuf --random-source=a b", ""),
        ("sort -k 2 -R a", "randomness"),
        ("pip install --no-index a; pip install b", "network"),
        ("pip install a --no-index", ""),
        ("curl http://localhost:1/ https://example.org/", "network"),
        ("git clone --depth 1 https://example.org/x.git", "network"),
        ("apt-get -y -q install jq", "network"),
        ("TZ=UTC LC_ALL=C date", "clock"),
    ],
)
async def test_what_excuses_a_command_stands_behind_it(only_files, seed, line: str, code: str) -> None:
    verdict = await only_files(RubricGate(), with_line(seed, "solution/solve.sh", line))
    assert verdict.code == (f"rubric/{code}" if code else ""), verdict.evidence
