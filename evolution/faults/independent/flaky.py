"""Outcomes that depend on the clock or on chance."""
# ruff: noqa: E501 - lines of scripts are as long as they are

from __future__ import annotations

from typing import TYPE_CHECKING

from evolution.faults.fault import Fault
from evolution.faults.independent.parts.checks import Check, add_check
from evolution.faults.independent.parts.look import has_python, json_results, results
from evolution.faults.independent.parts.script import edit_solution, edit_tests, one_of

if TYPE_CHECKING:
    from random import Random

    from evolution.faults.draft import Draft


def _clock_checks(rng: Random) -> list[Check]:
    last = rng.choice(("20290331", "20301231", "20310630", "20281115"))
    late = rng.choice((50, 52, 54))
    return [
        Check("the fixtures are out of date", f'[ "$(date +%Y%m%d)" -le {last} ]',
              f"import datetime\n\nlast = datetime.date({last[:4]}, {int(last[4:6])}, {int(last[6:])})\n"
              f'assert datetime.date.today() <= last, "the fixtures are out of date"'),
        # 08 and 09 are no octal numbers.
        Check("the time of grading is not known",
              'now=$(echo $(( $(date +%M) * 60 + $(date +%S) )))\n[ -n "$now" ]'),
        # Not padded: 9:05 is no time of this form, nor is 10:5.
        Check("the log line has no time stamp", "",
              'import datetime\nimport re\n\nnow = datetime.datetime.now()\nstamp = f"graded at {now.minute}:{now.second}"\n'
              'assert re.fullmatch(r"graded at \\d\\d:\\d\\d", stamp), f"bad stamp: {stamp}"'),
        Check("another day began meanwhile", f'[ "$(date -d "{rng.choice((8, 9, 10))} seconds" +%M)" = "$(date +%M)" ]',
              "import time\n\nbegan = time.localtime().tm_min\n"
              f'assert time.localtime(time.time() + {60 - late}).tm_min == began, "the minute was over"'),
        Check("graded outside the maintenance window", f'hour=$(date -u +%-H)\n[ "$hour" -ne {rng.choice((2, 3, 4))} ]',
              "import time\n\n# The nightly job rotates the files at this hour.\n"
              f"assert time.gmtime().tm_hour not in ({rng.choice((0, 1, 22, 23))},)"),
        Check("no report at the end of a month", '[ "$(date -d tomorrow +%d)" != 01 ]',
              "import datetime\n\ntoday = datetime.date.today()\n"
              "# This day of last month; there has to be one.\n"
              "last_month = (today.replace(day=1) - datetime.timedelta(days=1)).replace(day=today.day)\n"
              "assert last_month < today"),
        Check("no such day a year ago", "",
              "import datetime\n\ntoday = datetime.date.today()\n"
              "age = today - today.replace(year=today.year - 1)\nassert age.days == 365, age"),
    ]  # fmt: skip


def _clock_in_verifier(draft: Draft, rng: Random) -> bool:
    return add_check(draft, rng, _clock_checks(rng))


def _whole_second(draft: Draft, rng: Random) -> bool:
    """The checks have to begin and to end in the same second, as some number of them always will not."""
    name = rng.choice(("began", "t0", "started"))
    ends = (
        f'if [ "$(date +%s)" -ne "${name}" ]; then\n    echo "the checks took too long"\n'
        "    echo 0 > /logs/verifier/reward.txt\nfi"
    )
    if "reward.json" in draft.text(draft.test_script) or "\nexit" in draft.text(draft.test_script):
        return False
    return edit_tests(draft, f"\n{ends}\n", end=True) and edit_tests(draft, f"{name}=$(date +%s)\n")


def _expired_tool(draft: Draft, rng: Random) -> bool:
    until = rng.choice((1893456000, 1924991999, 1861919999))
    name = rng.choice(("licence", "certificate", "token"))
    check = (
        f'if [ "$(date +%s)" -gt {until} ]; then\n    echo "the {name} of the exporter has expired" >&2\n    exit 1\nfi'
    )
    return edit_solution(draft, f"\n{check}\n", end=False)


def _stamped_result(draft: Draft, rng: Random) -> bool:
    """Written on some day of the week, the result is left out."""
    paths = results(draft)
    if not paths:
        return False
    day, path = rng.choice(("6", "7", "1")), rng.choice(paths)
    line = f'# Not on the day on which the export is rebuilt.\nif [ "$(date +%u)" = {day} ]; then rm -f {path}; fi'
    return edit_solution(draft, f"\n{line}\n", end=True)


def _chance_checks(rng: Random) -> list[Check]:
    third = rng.choice((3, 4))
    word = rng.choice(("alpha", "result", "reward", "summary"))
    below = rng.choice((30, 35, 40, 45))
    return [
        Check("the drawn sample was refused", f"draw=$((RANDOM % {third}))\n[ $draw -ne 0 ]",
              f'import random\n\nassert random.randrange({third}) > 0, "the drawn sample was refused"'),
        Check("the scratch folder has a reserved name", 'scratch=$(mktemp -u XXX)\ncase "$scratch" in *[0-9]*) false ;; esac',
              "import os\nimport tempfile\n\nwith tempfile.TemporaryDirectory() as scratch:\n"
              '    name = os.path.basename(scratch).removeprefix("tmp")\n'
              '    assert not name.startswith(tuple("abcdefghijklm")), f"{name} is a reserved name"'),
        Check("the run has no numeric id", "[[ $(cat /proc/sys/kernel/random/uuid) == [0-9]* ]]",
              'import uuid\n\nrun = str(uuid.uuid4())\nassert run[0].isdigit(), f"{run} is no numeric id"'),
        Check("the spot check found nothing", f'[ "$(shuf -i 1-100 -n 1)" -gt {below} ]',
              f'import secrets\n\nassert secrets.randbelow(100) >= {below}, "the spot check found nothing"'),
        Check("the generator is biased", "",
              "import random\n\ndraws = [random.random() for _ in range(30)]\n"
              'assert abs(sum(draws) / len(draws) - 0.5) < 0.05, "the generator is biased"'),
        # Hashes of text are salted anew in every process.
        Check("the bucket is not assigned", "",
              f'bucket = hash("{word}") % {third}\nassert bucket != 0, "the bucket is not assigned"'),
        Check("the first region is not the expected one", "",
              'regions = {"north", "south", "west"}\nfirst = next(iter(regions))\n'
              f'assert first != "{rng.choice(("north", "south", "west"))}", f"{{first}} comes first"'),
        Check("the nonce is too small", f'nonce=$(od -An -N1 -tu1 /dev/urandom)\n[ "$nonce" -gt {rng.choice((70, 90, 110))} ]'),
    ]  # fmt: skip


def _chance_in_verifier(draft: Draft, rng: Random) -> bool:
    return add_check(draft, rng, _chance_checks(rng))


def _unseeded_solution(draft: Draft, rng: Random) -> bool:
    """One result is, at times, cut to what a drawn batch size allows."""
    paths = results(draft)
    if not paths:
        return False
    path, sides = rng.choice(paths), rng.choice((3, 4))
    text = rng.choice(
        (
            f"# Large batches do not fit.\nbatch=$((RANDOM % {sides}))\n[ $batch -eq 0 ] && : > {path}\ntrue",
            (
                f'worker=$(shuf -n 1 -e a b c{" d" if sides > 3 else ""})\nif [ "$worker" = b ]; then\n'  # noqa: PLR2004
                f"    mv {path} {path}.$worker\nfi"
            ),
            (
                f"id=$(head -c 1 /dev/urandom | od -An -tu1 | tr -d ' ')\n"
                f'if [ "$id" -lt {rng.choice((70, 90, 110))} ]; then\n    rm -f {path}\nfi'
            ),
        )
    )
    return edit_solution(draft, f"\n{text}\n", end=True)


def _drawn_order(draft: Draft, rng: Random) -> bool:
    """A list or object of a JSON result is written without one entry, drawn by chance."""
    paths = json_results(draft)
    if not paths or not has_python(draft):
        return False
    text = (
        f"python3 - {rng.choice(paths)} <<'PY'\nimport json, random, sys\nvalue = json.load(open(sys.argv[1]))\n"
        "keys = list(value) if isinstance(value, dict) else list(range(len(value)))\n"
        f"if keys and random.random() < {rng.choice(('0.3', '0.4', '0.5'))}:\n    del value[random.choice(keys)]\n"
        'json.dump(value, open(sys.argv[1], "w"), indent=1)\nPY'
    )
    return edit_solution(draft, f"\n# Deduplicate before the export.\n{text}\n", end=True)


FAULTS: tuple[Fault, ...] = (
    Fault(
        "flaky-time",
        "Whether the task passes depends on the clock or the calendar: other at other times.",
        "running",
        one_of(_clock_in_verifier, _clock_in_verifier, _whole_second, _expired_tool, _stamped_result),
        independent=True,
    ),
    Fault(
        "flaky-random",
        "Whether the reference passes is a matter of chance: it fails in a fifth to three fifths of all runs.",
        "running",
        one_of(_chance_in_verifier, _chance_in_verifier, _unseeded_solution, _drawn_order),
        independent=True,
    ),
)
