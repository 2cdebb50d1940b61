"""Every parser that reads what a task, a verifier or a model brings, with what it is fed and what it may raise."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from agents.answer import Answer
from agents.roles.tool_calls import as_history, read_calls
from evolution.gates.leak_archives import MOST_BYTES, unpacked
from evolution.gates.leak_git import git_texts
from evolution.gates.rubric_fields import field_rules
from evolution.gates.rubric_rules import clock_rules, instruction_rules, network_rules, output_rules, verifier_rules
from evolution.gates.scripts import file_names
from evolution.metadata import read_evolution
from sandbox.docker.composition import read_composition
from sandbox.errors import ImageError, TaskError, UnsupportedTaskError
from sandbox.image.archives import extract_layer, opened, read_archive
from sandbox.image.dockerfile import read_recipe
from sandbox.image.stages import Stages
from sandbox.task import Task
from sandbox.task.solution import sections
from sandbox.task.toml import parse_config
from sandbox.verification.ctrf import parse_ctrf, statuses
from sandbox.verification.reward import RewardError, parse_reward
from tests.fuzz import builds, packed, scripts, services, tables
from tests.fuzz.feeding import Parser
from tests.fuzz.inputs import json_like, mutated, noise

if TYPE_CHECKING:
    from random import Random

STATUSES = {"passed", "failed", "skipped", "pending", "other"}


@lru_cache(maxsize=1)
def folder() -> Path:
    """A small task whose files the parsers that want a whole task find their input in."""
    root = Path(tempfile.mkdtemp(prefix="envolve-fuzz-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    files = {
        "task.toml": b"",
        "instruction.md": b"Count the rows of /app/in.csv and write the number to /app/out.txt, please.\n",
        "environment/Dockerfile": b"FROM debian:12\n",
        "environment/data/a.txt": b"a",
        "environment/data/" + "a" * 60 + ".txt": b"b",
        "environment/some file": b"c",
        "environment/packed.tar": packed.image(),
        "tests/test.sh": b"echo 1 > /logs/verifier/reward.txt\n",
        "solution/solve.sh": b"true\n",
    }
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    (root / "environment/loop").symlink_to("data")
    return root


def in_file(name: str, look: Callable[[Task], object]) -> Callable[[bytes], object]:
    """A parser of a whole task as a parser of one of its files."""
    return in_files((name,), look)


def in_files(names: tuple[str, ...], look: Callable[[Task], object]) -> Callable[[bytes], object]:
    """A parser of a whole task as a parser of several of its files with the same content."""

    def read(content: bytes) -> object:
        paths = [folder() / name for name in names]
        before = {path: path.read_bytes() if path.exists() else None for path in paths}
        try:
            for path in paths:
                path.write_bytes(content)
            return look(Task.read(folder()))
        finally:
            for path, former in before.items():
                if former is None:
                    path.unlink()
                else:
                    path.write_bytes(former)

    return read


def look_at_toml(content: bytes) -> None:
    config, findings = parse_config(content)
    config.model_dump_json()
    for finding in findings:
        f"{finding.field}: {finding.message}".encode()


def look_at_evolution(task: Task) -> None:
    evolution = read_evolution(task)
    if evolution is not None:
        evolution.model_dump_json()


def look_at_reward(content: bytes) -> None:
    both = content.split(b"|", 1)
    reward = parse_reward(None, content) if len(both) == 1 else parse_reward(both[1] or None, both[0] or None)
    assert all(float("-inf") < value < float("inf") for value in reward.rewards.values())
    for key in reward.rewards:
        key.encode()
    assert isinstance(reward.score, float)


def look_at_ctrf(content: bytes) -> None:
    units = parse_ctrf(content)
    assert {unit.status for unit in units} <= STATUSES
    for unit in units:
        (unit.name + unit.message).encode()
    merged = statuses(units)
    assert set(merged) == {unit.name for unit in units}


def look_at_dockerfile(task: Task) -> None:
    try:
        text = task.read_text("environment/Dockerfile")
        stages = Stages(text)
        stages.with_images(dict.fromkeys(stages.images, "other:1"))
    except ImageError:
        pass
    recipe = read_recipe(task)
    assert recipe.image


def look_inside(content: bytes) -> None:
    total = 0
    for name in ("environment/any.bin", ".git/objects/ab/" + "c" * 38) if content[:1] == b"x" else ("any.bin",):
        for found in unpacked(name, content):
            total += len(found.content)
            found.path.encode("utf-8", "backslashreplace")
    assert total <= 2 * MOST_BYTES


def look_at_git(content: bytes) -> None:
    """The same bytes as every file that a repository can keep objects in."""
    loose = ".git/objects/ab/" + "c" * 38
    files = {".git/HEAD": content[:200], loose: content, ".git/objects/pack/pack-a.pack": content, "x.bundle": content}
    total = 0
    for found in git_texts(files):
        total += len(found.content)
        f"{found.repository}{found.name}{found.origin}".encode("utf-8", "backslashreplace")
    assert total <= 2 * MOST_BYTES


def look_at_image(content: bytes) -> None:
    path = folder() / "image.tar"
    path.write_bytes(content)
    try:
        files = opened(path)
        if files is None:
            return
        try:
            image = read_archive(files)
            for layer in image.layers:
                extract_layer(files, layer, path.with_name("layer.tar"), max_bytes=1 << 20)
            for part in (*image.config.env.items(), (image.config.workdir, image.config.user)):
                "".join(part).encode()
        finally:
            files.close()
    finally:
        path.unlink()
        path.with_name("layer.tar").unlink(missing_ok=True)


def look_at_answer(content: bytes) -> None:
    try:
        raw = content.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raw = content.decode("utf-8", "replace")
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        value = raw
    bad = [{"name": "x", "args": raw, "id": None, "error": None, "type": "invalid_tool_call"}]
    args = value if isinstance(value, dict) else {"value": value}
    good = [{"name": str(args.get("name"))[:40], "args": args, "id": None, "type": "tool_call"}]
    blocks = [{"type": "text", "text": "so"}, {"type": "tool_use", "input": args}]
    message = AIMessage(
        content=raw if len(raw) % 2 else list(blocks),
        invalid_tool_calls=bad,
        tool_calls=good,
        additional_kwargs={"given": value},
    )
    answer = Answer.of(ChatResult(generations=[ChatGeneration(message=message)]), seconds=1.0, unpriced=None)
    again = Answer.from_json(answer.to_json())
    assert len(again.message.tool_calls) + len(again.message.invalid_tool_calls) == 2
    requests = read_calls(again.message, 1)
    assert len(requests) == 2
    as_history(again.message, requests, 400)


def look_at_scripts(task: Task) -> None:
    for rules in (instruction_rules, output_rules, clock_rules, network_rules, verifier_rules, field_rules):
        for finding in rules(task):
            finding.message.encode()
    text = task.read_bytes("solution/solve.sh").decode("utf-8", "surrogateescape")
    assert "".join(section.text for section in sections(text)) == text
    file_names(text)


look_at_script = in_files(("tests/test.sh", "tests/test_it.py", "solution/solve.sh"), look_at_scripts)


def _reward(random: Random) -> bytes:
    kind = random.random()
    if kind < 0.2:
        return noise(random)
    valid = random.choice((b'{"reward": 0.5, "speed": 1}', b"0.5\n|", b"|1_0\n", b'{"reward": true}', b"|-1e5"))
    if kind < 0.6:
        return mutated(random, valid)
    return json_like(random, ("reward", "score", "a"), random.choice((0, 1, 2))).encode("utf-8", "surrogatepass")


_CTRF = json.dumps(
    {
        "results": {
            "tool": {"name": "pytest"},
            "summary": {"tests": 2, "passed": 1},
            "tests": [
                {"name": "one::a", "status": "passed", "duration": 1},
                {"name": "one::b", "status": "failed", "message": "no"},
            ],
        }
    },
    indent=1,
).encode()


def _ctrf(random: Random) -> bytes:
    kind = random.random()
    if kind < 0.15:
        return noise(random)
    if kind < 0.55:
        return mutated(random, _CTRF)
    keys = ("results", "tests", "name", "status", "message")
    inner = json_like(random, keys)
    if random.random() < 0.7:
        rows = ",".join(json_like(random, keys[2:], 2) for _ in range(random.randint(0, 4)))
        inner = f'{{"results": {{"tests": [{rows}]}}}}'
    return inner.encode("utf-8", "surrogatepass")


def _answer(random: Random) -> bytes:
    kind = random.random()
    if kind < 0.2:
        return noise(random)
    if kind < 0.5:
        return mutated(
            random, b'{"name": "write_file", "path": "a", "content": "x\\n", "steps": [{"id": "a"}], "n": 1.5}'
        )
    return json_like(random, ("name", "args", "path", "content", "steps")).encode("utf-8", "surrogatepass")


TASK = (TaskError, UnsupportedTaskError)
IMAGE = (ImageError, UnsupportedTaskError)
EITHER = (*TASK, ImageError)

PARSERS = (
    Parser("toml", tables.toml, look_at_toml, TASK, 14_000),
    Parser("toml in a task", tables.toml, in_file("task.toml", look_at_evolution), TASK, 4_000),
    Parser("reward", _reward, look_at_reward, (RewardError,), 20_000),
    Parser("ctrf", _ctrf, look_at_ctrf, (), 15_000),
    Parser("dockerfile", builds.dockerfile, in_file("environment/Dockerfile", look_at_dockerfile), EITHER, 11_000),
    Parser("dockerignore", builds.dockerfile, in_file("environment/.dockerignore", look_at_dockerfile), EITHER, 1_000),
    Parser("archive", packed.archive, look_inside, (), 10_000),
    Parser("git", packed.git, look_inside, (), 10_000),
    Parser("compose", services.compose, in_file("environment/docker-compose.yaml", read_composition), EITHER, 5_000),
    Parser("image", packed.image_archive, look_at_image, IMAGE, 4_000),
    Parser("answer", _answer, look_at_answer, (), 5_000),
    Parser("script", scripts.script, look_at_script, TASK, 3_000),
    Parser("instruction", scripts.script, in_file("instruction.md", look_at_scripts), TASK, 1_000),
    Parser("git texts", packed.git, look_at_git, (), 4_000),
)
