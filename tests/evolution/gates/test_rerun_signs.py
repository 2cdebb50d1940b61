"""Signs of nondeterminism: lines that are some, and lines that only look so."""

from __future__ import annotations

import pytest

from evolution.gates.rerun_signs import STEADY, runs_test_cases, signs, weight

SOME = [
    ("x.sh", "echo $RANDOM", "chance"),
    ("x.sh", "shuf -n1 list", "chance"),
    ("x.py", "import random\nprint(random.choice(names))", "chance"),
    ("x.py", "value = os.urandom(8)", "chance"),
    ("x.py", "name = str(uuid.uuid4())", "random names"),
    ("x.sh", "work & other", ""),
    ("x.sh", "work > log 2>&1 &", "processes side by side"),
    ("x.sh", "ls *.gz | xargs -n1 -P 4 gunzip", "processes side by side"),
    ("x.py", "t = threading.Thread(target=work)", "threads or processes"),
    ("x.sh", "sleep 0.2", "waiting"),
    ("x.py", "    time.sleep(1)", "waiting"),
    ("x.sh", "exec 3<>/dev/tcp/localhost/80", "sockets"),
    ("x.sh", "stamp=$(date +%s%N)", "how long something takes"),
    ("x.sh", "today=$(date +%F)", "the time of day"),
    ("x.py", "now = datetime.now(UTC)", "the time of day"),
    ("x.sh", "work=/tmp/work.$$", "process numbers"),
    ("x.py", "for name in set(names):", "order of sets"),
    ("x.sh", "find /app -name '*.csv' | while read -r file; do", "order of folders"),
    ("x.py", "for name in os.listdir('/app'):", "order of folders"),
    ("x.sh", "find /app | sort; find /app", "order of folders"),
]
NONE = [
    ("x.py", "import random\nrandom.seed(7)\nprint(random.random())"),
    ("x.py", "rng = random.Random(4)\nprint(rng.random())"),
    ("x.sh", "date -d @0 +%F"),
    ("x.sh", "awk -F, '{ print $date }' # date"),
    ("x.sh", "# echo $RANDOM"),
    ("x.sh", "a && b || c; d 2>&1; e &> f"),
    ("x.sh", "find /app -type f | sort > list"),
    ("x.py", "for name in sorted(os.listdir('/app')):"),
    ("x.py", "mask = a & b"),
    ("x.txt", "echo $RANDOM"),
    ("x.sh", "find /app | sort; find /app -delete"),
]


@pytest.mark.parametrize(("name", "text", "kind"), SOME)
def test_a_sign(write, seed, name, text, kind) -> None:
    found = [sign.kind.name for sign in signs(write({**seed, f"solution/{name}": text}))]
    assert (kind in found) if kind else True
    assert len(found) <= 2


@pytest.mark.parametrize(("name", "text"), NONE)
def test_no_sign(write, seed, name, text) -> None:
    assert signs(write({**seed, f"solution/{name}": text})) == ()


def test_a_sign_says_where_and_raises_the_weight(write, seed) -> None:
    (sign,) = signs(write({**seed, "tests/helper.sh": "true\necho $RANDOM\n"}))
    assert str(sign.line) == "tests/helper.sh:2: echo $RANDOM"
    assert weight([]) == pytest.approx(STEADY)
    assert weight([sign]) > 0.8
    (elsewhere,) = signs(write({**seed, "environment/tool.sh": "echo $RANDOM\n"}))
    assert weight([]) < weight([elsewhere]) < weight([sign])


def test_who_runs_the_tests(write, seed) -> None:
    assert not runs_test_cases(write(seed))
    assert runs_test_cases(write({**seed, "tests/test_x.py": "import unittest\n"}))


@pytest.mark.parametrize(
    "pump", ["xargs ", "-sort -sort ", "time.strftime(", ";find ", ";find a | sort", "|LC_A=", "| "]
)
def test_long_lines_take_no_longer_than_short_ones(write, seed, pump: str) -> None:
    short = "".join(f"{pump * (9_000 // len(pump))}\n" for _ in range(20))
    signs(write({**seed, "tests/helper.sh": pump * (200_000 // len(pump)), "tests/other.sh": short}))
