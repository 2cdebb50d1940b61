"""deepagents' protocol over a real sandbox: LangChain's own conformance suite, and what it does not ask."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("deepagents")
pytest.importorskip("langchain_tests")

from langchain_tests.integration_tests import SandboxIntegrationTests

from sandbox.deepagents import DeepAgentsSandbox, open_sandbox
from sandbox.errors import SandboxUnavailableError
from sandbox.task import Task

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TASK = {
    "task.toml": "",
    "instruction.md": "Nothing.\n",
    "environment/Dockerfile": "FROM python:3.12-bookworm\nWORKDIR /app\n",
    "tests/test.sh": "true\n",
}


ABSOLUTE = "deepagents 0.7.32 finds absolute paths, as its docstring says; the suite looks for relative ones"


def written(folder: Path) -> Task:
    for path, text in TASK.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return Task.read(folder)


@pytest.fixture(scope="module")
def opened(tmp_path_factory) -> Iterator[DeepAgentsSandbox]:
    task = written(tmp_path_factory.mktemp("deepagents") / "task")
    try:
        with open_sandbox(task, base=("*=host",)) as sandbox:
            sandbox.execute("ln -s $(command -v python3) /usr/local/bin/python")  # the suite wants this name, too
            yield sandbox
    except SandboxUnavailableError as error:
        pytest.skip(f"no sandbox on this machine: {error}")


class TestConformance(SandboxIntegrationTests):
    @pytest.fixture(scope="class")
    def sandbox(self, opened: DeepAgentsSandbox) -> DeepAgentsSandbox:
        return opened

    @pytest.mark.xfail(
        reason="deepagents 0.7.32's own BaseSandbox.write overwrites, as its docstring says", strict=True
    )
    def test_write_existing_file_fails(self, sandbox_backend, sandbox_test_root) -> None:
        super().test_write_existing_file_fails(sandbox_backend, sandbox_test_root)

    @pytest.mark.xfail(reason=ABSOLUTE, strict=True)
    def test_glob(self, sandbox_backend, sandbox_test_root) -> None:
        super().test_glob(sandbox_backend, sandbox_test_root)

    @pytest.mark.xfail(reason=ABSOLUTE, strict=True)
    def test_glob_basic_pattern(self, sandbox_backend, sandbox_test_root) -> None:
        super().test_glob_basic_pattern(sandbox_backend, sandbox_test_root)

    @pytest.mark.xfail(reason=ABSOLUTE, strict=True)
    def test_glob_with_directories(self, sandbox_backend, sandbox_test_root) -> None:
        super().test_glob_with_directories(sandbox_backend, sandbox_test_root)

    @pytest.mark.xfail(reason=ABSOLUTE, strict=True)
    def test_glob_hidden_files_explicitly(self, sandbox_backend, sandbox_test_root) -> None:
        super().test_glob_hidden_files_explicitly(sandbox_backend, sandbox_test_root)

    @pytest.mark.xfail(reason=ABSOLUTE, strict=True)
    def test_glob_with_character_class(self, sandbox_backend, sandbox_test_root) -> None:
        super().test_glob_with_character_class(sandbox_backend, sandbox_test_root)

    @pytest.mark.xfail(reason=ABSOLUTE, strict=True)
    def test_glob_with_question_mark(self, sandbox_backend, sandbox_test_root) -> None:
        super().test_glob_with_question_mark(sandbox_backend, sandbox_test_root)


def test_both_streams_come_as_one_in_order(opened) -> None:
    ran = opened.execute("echo one; echo two >&2; echo three; exit 3")
    assert (ran.output, ran.exit_code, ran.truncated) == ("one\ntwo\nthree\n", 3, False)


def test_a_command_that_takes_too_long_is_stopped_and_says_so(opened) -> None:
    ran = opened.execute("echo begun; sleep 60", timeout=1)
    assert ran.output.startswith("begun\n")
    assert "stopped after 1 s" in ran.output
    assert ran.exit_code == 137


def test_a_link_is_followed_inside_the_sandbox(opened) -> None:
    opened.execute("echo here > /app/real; ln -sf real /app/link; ln -sf /app/loop /app/loop")
    link, loop = opened.download_files(["/app/link", "/app/loop"])
    assert link.content == b"here\n"
    assert loop.content is None
    assert loop.error


async def test_the_sandbox_of_a_running_loop_serves_threads_and_other_loops(sandboxes, tmp_path) -> None:
    async with sandboxes.running(written(tmp_path / "task")) as sandbox:
        adapter = DeepAgentsSandbox(sandbox)
        assert (await adapter.aexecute("pwd")).output == "/app\n"
        assert (await asyncio.to_thread(adapter.execute, "echo thread")).output == "thread\n"
        assert (await asyncio.to_thread(lambda: asyncio.run(adapter.aexecute("echo loop")))).output == "loop\n"
        with pytest.raises(RuntimeError, match="wait for itself"):
            adapter.execute("true")


def test_no_thread_is_left_behind(opened, tmp_path) -> None:
    before = set(threading.enumerate())
    with open_sandbox(written(tmp_path / "task"), base=("*=host",)) as sandbox:
        assert sandbox.execute("true").exit_code == 0
        assert {thread.name for thread in set(threading.enumerate()) - before} >= {"sandbox loop"}
    assert "sandbox loop" not in {thread.name for thread in set(threading.enumerate()) - before}


def test_without_deepagents_the_error_says_what_to_install() -> None:
    code = "import sys; sys.modules['deepagents'] = None; import sandbox.deepagents"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ImportError: sandbox.deepagents needs the package deepagents" in run.stderr
    assert "pip install deepagents" in run.stderr
