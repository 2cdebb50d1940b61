"""Reading tools on a folder: what they show, and that nothing outside of it can be had."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.excerpt import excerpt, visible
from agents.tools import READ_LIMIT, reading_tools
from agents.workspace import FolderWorkspace, WorkspaceError, relative_path
from sandbox.task import Task


async def use(root: Path, tool: str, **arguments: Any) -> str:
    (found,) = (made for made in reading_tools(FolderWorkspace(root)) if made.name == tool)
    return str(await found.ainvoke(arguments))


async def test_listing_shows_sizes_and_run_bits(parent: Task) -> None:
    lines = (await use(parent.root, "list_files")).splitlines()
    assert lines == sorted(lines)
    assert "environment/orders.csv  18 bytes" in lines
    assert "solution/solve.sh  60 bytes  executable" in lines
    assert await use(parent.root, "list_files", path="tests") == "tests/test.sh  47 bytes"


async def test_text_binary_and_parts(parent: Task) -> None:
    assert await use(parent.root, "read_file", path="environment/orders.csv") == "id,amount\n1,3\n2,4\n"
    part = await use(parent.root, "read_file", path="environment/orders.csv", offset=3, limit=6)
    assert part == "amount\n[... 9 more characters; go on with offset 9 ...]"
    (parent.root / "blob").write_bytes(b"\xff\x00\x01")
    assert (await use(parent.root, "read_file", path="blob")).startswith("error: blob: not UTF-8 text, 3 bytes")
    assert await use(parent.root, "read_file", path="blob", encoding="base64") == "/wAB"


async def test_long_files_are_cut_with_the_cut_stated(parent: Task) -> None:
    (parent.root / "long").write_text("a" * 80_000 + "the end")
    text = await use(parent.root, "read_file", path="long")
    assert len(text) < READ_LIMIT + 200
    assert text.endswith("the end")
    assert f"[... {80_007 - READ_LIMIT} characters left out; read them with offset and limit ...]" in text


@pytest.mark.parametrize(
    "path", ["../secret", "/etc/passwd", "environment/../../secret", "link", "linked/secret", "nul\0"]
)
async def test_no_path_leads_out(parent: Task, path: str) -> None:
    (parent.root.parent / "secret").write_text("top secret")
    (parent.root / "link").symlink_to("../secret")
    (parent.root / "linked").symlink_to("..")
    text = await use(parent.root, "read_file", path=path)
    assert text.startswith("error: ")
    assert "top secret" not in text
    assert "secret" not in await use(parent.root, "list_files")


async def test_links_inside_are_followed(parent: Task) -> None:
    (parent.root / "same.md").symlink_to("instruction.md")
    assert (await use(parent.root, "read_file", path="same.md")).startswith("Write the total")


@pytest.mark.parametrize(
    ("path", "told"),
    [("nothing", "no such file; list_files"), ("tests", "a folder, not a file"), ("tests/x/y", "no such file")],
)
async def test_what_is_not_there_says_what_to_do(parent: Task, path: str, told: str) -> None:
    assert told in await use(parent.root, "read_file", path=path)


async def test_listing_a_folder_that_is_not_there(parent: Task) -> None:
    assert (await use(parent.root, "list_files", path="nowhere")).startswith("error: nowhere: no such folder")


@given(st.text(max_size=40))
def test_a_path_that_is_let_through_stays_inside(path: str) -> None:
    try:
        checked = relative_path(path)
    except WorkspaceError:
        return
    assert not checked.is_absolute()
    assert ".." not in checked.parts


@given(st.text(max_size=300), st.integers(min_value=3, max_value=100))
def test_an_excerpt_keeps_head_and_tail_and_says_what_is_missing(text: str, limit: int) -> None:
    cut = excerpt(text, limit)
    if len(text) <= limit:
        assert cut == text
    else:
        head, tail = limit - limit // 3, limit // 3
        assert cut.startswith(text[:head])
        assert cut.endswith(text[len(text) - tail :])
        assert f"{len(text) - limit} characters left out" in cut


@given(st.text())
def test_nothing_a_terminal_would_obey_is_shown(text: str) -> None:
    assert not any(ord(c) < 32 and c not in "\n\t" for c in visible(text))
