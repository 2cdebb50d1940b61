"""What has to hold of every input that parses: round trips, finite numbers, rules of merging."""

import io
import json
import math
import re
import tarfile
import zipfile

import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st

from evolution.gates.leak_archives import unpacked
from sandbox.docker.interpolation import interpolate
from sandbox.image.context import _glob
from sandbox.image.instructions import instructions
from sandbox.image.words import expand, pairs, words
from sandbox.task.solution import section_ids, sections, without_sections
from sandbox.task.toml import parse_config, parse_toml
from sandbox.verification.ctrf import Unit, parse_ctrf, statuses
from sandbox.verification.reward import RewardError, parse_reward, parse_reward_json, parse_reward_text

FINITE = st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
NAME = st.from_regex(r"[a-z][a-z0-9]{0,6}", fullmatch=True)
WORD = st.text(st.sampled_from("abc019-_./'\"\\ $"), min_size=1, max_size=12)


@given(st.dictionaries(TEXT, FINITE, max_size=5))
def test_rewards_come_back(rewards):
    assert dict(parse_reward_json(json.dumps(rewards).encode()).rewards) == rewards
    assert dict(parse_reward_json(json.dumps(rewards, ensure_ascii=False).encode()).rewards) == rewards


@given(FINITE)
def test_a_number_comes_back(number):
    assert parse_reward_text(f" {number!r}\n".encode()).score == number


@given(st.binary(max_size=30) | st.text(st.sampled_from("0123456789.eE+-_nainfty \n")).map(str.encode))
def test_a_reward_that_parses_is_finite_and_json_wins(content):
    for text, json_text in ((content, None), (None, content), (content, b'{"reward": 1}')):
        try:
            reward = parse_reward(text, json_text)
        except RewardError:
            continue
        assert all(map(math.isfinite, reward.rewards.values()))
        assert json_text != b'{"reward": 1}' or reward.score == 1


UNITS = st.lists(
    st.builds(Unit, st.sampled_from("abcd"), st.sampled_from(["passed", "failed", "skipped", "pending", "other"])),
    max_size=9,
)


@given(UNITS)
def test_units_come_back(units):
    rows = [{"name": unit.name, "status": unit.status, "message": unit.message} for unit in units]
    assert parse_ctrf(json.dumps({"results": {"tests": rows}}).encode()) == tuple(units)


@given(UNITS, UNITS)
def test_a_unit_has_passed_when_it_passed_each_time(units, more):
    merged = statuses(units)
    assert list(merged) == sorted({unit.name for unit in units})
    for name, status in merged.items():
        own = {unit.status for unit in units if unit.name == name}
        assert status in own
        assert (status == "passed") == (own == {"passed"})
    both = statuses([*units, *more])
    assert all(both[name] == status for name, status in merged.items() if status != "passed")


PLAIN = st.recursive(
    TEXT | st.booleans() | st.integers(-(2**127), 2**127) | FINITE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAME, inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(TEXT, PLAIN, max_size=4))
def test_metadata_comes_back(metadata):
    content = tomlkit.dumps({"metadata": metadata}).encode()
    assert parse_toml(content).get("metadata", {}) == metadata
    assert parse_config(content)[0].metadata == metadata


@given(st.lists(st.tuples(st.sampled_from(["ENV", "RUN", "LABEL"]), NAME), max_size=6))
def test_instructions_come_back(rows):
    text = "\n".join(["FROM x", *(f"{name} {value}" for name, value in rows)])
    found = [(row.line, row.name, row.value) for row in instructions(text)]
    assert found == [(1, "FROM", "x"), *((line, *row) for line, row in enumerate(rows, start=2))]


def _quoted(word):
    return '"' + re.sub(r'(["$\\])', r"\\\1", word) + '"'


@given(st.lists(WORD, max_size=4), st.dictionaries(NAME, WORD, min_size=1, max_size=3))
def test_quoted_words_come_back(given_words, variables):
    assert words(" ".join(map(_quoted, given_words)), {}) == given_words
    assert pairs(" ".join(f"{name}={_quoted(value)}" for name, value in variables.items()), {}) == variables
    for name, value in variables.items():
        assert expand(f"a${{{name}}}b", variables) == f"a{value}b"


@given(TEXT, st.dictionaries(NAME, TEXT, max_size=3))
def test_dollars_of_a_compose_file_come_back(text, variables):
    assert interpolate(text.replace("$", "$$"), variables) == text
    for name, value in variables.items():
        assert interpolate(f"${{{name}}}-${{none:-${name}}}", variables) == f"{value}-{value}"


def _naive(pattern):
    """The pattern as the expression one would write first, which can take time without end."""
    plain = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]", "[^a]": "[^a/]", "[ab]": "[ab]"}
    parts = re.findall(r"(?<![^/])\*\*/|\*\*|\[[^\]]*\]|.", pattern)
    return "".join(plain.get(part, re.escape(part)) for part in parts)


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from(["a", "b", "/", "*", "**", "**/", "?", "[^a]", "[ab]"]), max_size=8),
    st.text("ab/", max_size=9),
)
def test_patterns_match_what_a_plain_translation_matches(parts, path):
    pattern = "".join(parts)
    for rest in ("", "(?:/.*)?"):
        assert bool(re.fullmatch(_glob(pattern, rest), path)) == bool(re.fullmatch(_naive(pattern) + rest, path))


SCRIPT = st.lists(st.sampled_from(["a\n", "# envolve: step x\n", "# envolve: step y\r\n", "\n", "b"]), max_size=9).map(
    "".join
)


@given(SCRIPT, st.sets(st.sampled_from("xy")))
def test_sections_are_the_script(script, left_out):
    assert "".join(section.text for section in sections(script)) == script
    rest = without_sections(script, left_out)
    assert set(section_ids(rest)) == set(section_ids(script)) - left_out
    assert without_sections(rest, left_out) == rest


FILES = st.dictionaries(
    NAME, st.binary(max_size=50).filter(lambda content: not content.startswith((b"PK", b"BZh"))), max_size=4
)


@given(FILES)
def test_what_was_packed_comes_out(files):
    packed, zipped = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive, zipfile.ZipFile(zipped, "w") as other:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
            other.writestr(name, content)
    for stream in (packed, zipped) if files else ():
        found = {each.path: each.content for each in unpacked("x", stream.getvalue())}
        assert {f"x!{name}": content for name, content in files.items()}.items() <= found.items()
