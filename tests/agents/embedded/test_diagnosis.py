"""What the author makes of findings: those about its folder tell it where to look, others tell it nothing."""

from agents.embedded.diagnosis import Finding, suspects

UNITS = "def check_header():\n    pass\n\n\ndef check_figures():\n    pass\n"
FOLDER = {
    "environment/Dockerfile": b"FROM python\nRUN test -d /opt/vendor\n",
    "environment/data/s1/hosts/.cache.json": b"{}\n",
    "instruction.md": b"Write `/app/out/s1-top-lock.csv` from /app/data/s1.\n",
    "solution/solve.sh": b"curl licence.example.net\r\necho 1 > /app/out/s1-top-lock.csv\n",
    "task.toml": b"",
    "tests/checks/s1.py": UNITS.encode(),
    "tests/expected/s1.json": b"{}\n",
    "tests/test.sh": b"today = datetime.date.today()\necho 'the schema could not be fetched'\n",
}
OWN = {
    "oracle/below-one": "the reference solution does not earn the full reward\nreward 0\ntest units that did not pass:\n"
    "  s1::header: failed - AssertionError: /app/out/s1-top-lock.csv is missing",
    "oracle/network": "end of the verifier's output:\n  bash: line 1: licence.example.net: Temporary failure",
    "rerun/verify-again": "verified at first: reward 0\nend of the verifier's output:\n  passed s1::header\n  passed s1::figures",
    "leak/copy": "[leak/copy] environment file environment/data/s1/hosts/.cache.json is the same as tests/expected/s1.json",
    "leak/image": "the environment does not build: environment/Dockerfile:2: RUN test -d /opt/vendor: exit status 1. It wrote",
    "rubric/clock": "[rubric/clock] tests/test.sh:1: today = datetime.date.today()\n  depends on the time of day",
    "noop/no-reward": "after no work at all\nend of the verifier's output:\n  the schema could not be fetched",
}
ANOTHERS = {
    "oracle/below-one": "reward 0\n  s1::header: failed - AssertionError: /app/out/s1-sessions.csv is missing\n"
    "  s1::lengths: failed - AssertionError: /app/out/s1-sessions.csv is missing",
    "oracle/network": "end of the verifier's output:\n  bash: line 1: mirror.example.org: Temporary failure",
    "rerun/verify-again": "verified at first: reward 0\n  passed s2::ranks\n  passed s2::ranked",
    "leak/copy": "[leak/copy] environment file environment/first/template.txt is the same as tests/expected/s1.json",
    "leak/image": "the environment does not build: environment/Dockerfile:6: RUN make -C /usr/src/app: exit status 2.",
    "rubric/clock": "[rubric/clock] tests/test.sh:7: stamp=$(date +%s)\n  depends on the time of day",
    "noop/no-reward": "after no work at all\nend of the verifier's output:\n  no licence for this machine",
}
SAYING_NOTHING = (
    "reward 0",
    "",
    "It was rejected.",
    "doing nothing earns a reward of 1",
    "tests/test.sh in /app/out, /app/data",
)
PLACE = {
    "oracle/below-one": "solution/solve.sh",
    "oracle/network": "solution/solve.sh",
    "rerun/verify-again": "tests/checks/s1.py",
    "leak/copy": "environment/data/s1/hosts/.cache.json",
    "leak/image": "environment/Dockerfile",
    "rubric/clock": "tests/test.sh",
    "noop/no-reward": "tests/test.sh",
}


def test_a_finding_about_the_folder_casts_suspicion_on_the_right_part() -> None:
    for code, text in OWN.items():
        assert PLACE[code] in suspects([Finding(code, text)], FOLDER), code
    assert not any(
        path.startswith("tests/checks") for path in suspects([Finding("leak/copy", OWN["leak/copy"])], FOLDER)
    )


def test_a_finding_about_another_folder_tells_nothing() -> None:
    for code, text in ANOTHERS.items():
        assert suspects([Finding(code, text)], FOLDER) == frozenset(), code


def test_a_finding_that_quotes_nothing_tells_nothing() -> None:
    for text in SAYING_NOTHING:
        for code in ("", *OWN):
            assert suspects([Finding(code, text)], FOLDER) == frozenset(), (code, text)


def test_what_a_finding_says_of_a_file_that_every_task_has_is_looked_up() -> None:
    said = [Finding("task/malformed", "solution/solve.sh: has Windows (CRLF) line ends: bash cannot run it")]
    assert suspects(said, FOLDER) == {"solution/solve.sh"}
    assert suspects(said, {**FOLDER, "solution/solve.sh": b"true\n"}) == frozenset()
