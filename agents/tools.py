"""What a role can do: LangChain tools over a workspace; what goes wrong comes back as text that begins `error:`."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Annotated, Literal

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, ConfigDict, Field

from agents.excerpt import excerpt, visible
from agents.workspace import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agents.workspace import SandboxWorkspace, Workspace

READ_LIMIT = 64 << 10
OUTPUT_LIMIT = 16 << 10
LISTED = 1000
LONGEST_COMMAND = 600

Encoding = Literal["utf-8", "base64"]
FilePath = Annotated[str, Field(min_length=1, description="path relative to the task folder, such as tests/test.sh")]


class Arguments(BaseModel):
    """Arguments of a tool; what it does not know is refused, so that a misspelt one is not ignored."""

    model_config = ConfigDict(extra="forbid")


class ListFiles(Arguments):
    """Arguments of `list_files`."""

    path: Annotated[str, Field(description="folder to list; the whole task when left out")] = "."


class ReadFile(Arguments):
    """Arguments of `read_file`."""

    path: FilePath
    offset: Annotated[int, Field(ge=0, description="where to begin: characters, or bytes with base64")] = 0
    limit: Annotated[int, Field(ge=1, le=READ_LIMIT, description="how much to read, in the same unit")] = READ_LIMIT
    encoding: Annotated[Encoding, Field(description="base64 for files that are not UTF-8 text")] = "utf-8"


class WriteFile(Arguments):
    """Arguments of `write_file`."""

    path: FilePath
    content: Annotated[str, Field(description="the whole new content")]
    encoding: Annotated[Encoding, Field(description="how `content` is written")] = "utf-8"
    executable: Annotated[bool, Field(description="set the run bit")] = False


class EditFile(Arguments):
    """Arguments of `edit_file`."""

    path: FilePath
    old: Annotated[
        str, Field(min_length=1, description="text to replace; must occur exactly once, white space included")
    ]
    new: Annotated[str, Field(description="text to put in its place")]


class Run(Arguments):
    """Arguments of `run`."""

    command: Annotated[str, Field(min_length=1, description="a bash command; starts in the task folder")]
    timeout: Annotated[int, Field(ge=1, le=LONGEST_COMMAND, description="seconds after which it is killed")] = 120


def reading_tools(workspace: Workspace) -> list[BaseTool]:
    """`list_files` and `read_file`."""

    async def list_files(path: str = ".") -> str:
        entries = await workspace.list(path)
        lines = [f"{entry.path}  {entry.size} bytes{'  executable' if entry.executable else ''}" for entry in entries]
        if len(lines) > LISTED:
            lines[LISTED:] = [f"[... {len(lines) - LISTED} more files left out; list a folder of them ...]"]
        return "\n".join(lines) or "(no files)"

    async def read_file(path: str, offset: int = 0, limit: int = READ_LIMIT, encoding: Encoding = "utf-8") -> str:
        data = await workspace.read(path)
        if encoding == "base64":
            return base64.b64encode(data[offset : offset + limit]).decode("ascii")
        return _part(_text(path, data), offset, limit)

    return [
        _tool(list_files, ListFiles, "Lists the files of the task folder with their sizes in bytes, folders included."),
        _tool(read_file, ReadFile, f"Reads a file of the task folder. Longer ones are cut to {READ_LIMIT} characters."),
    ]


def working_tools(workspace: SandboxWorkspace) -> list[BaseTool]:
    """The reading tools, `write_file`, `edit_file` and `run`."""

    async def write_file(path: str, content: str, encoding: Encoding = "utf-8", *, executable: bool = False) -> str:
        data = _decoded(content) if encoding == "base64" else _encoded(content)
        await workspace.write(path, data, executable=executable)
        return f"wrote {len(data)} bytes to {path}"

    async def edit_file(path: str, old: str, new: str) -> str:
        text = _text(path, await workspace.read(path))
        found = text.count(old)
        if found != 1:
            raise ToolException(
                f"{path}: `old` occurs {found} times, it must occur once; read the file and give more of it"
            )
        content = text.replace(old, new).encode()
        await workspace.write(path, content, executable=await workspace.is_executable(path))
        return f"edited {path}, it now has {len(content)} bytes"

    async def run(command: str, timeout: int = 120) -> str:
        result = await workspace.run(command, float(timeout))
        ending = f"timed out after {timeout} s, killed" if result.timed_out else f"exit code: {result.exit_code}"
        parts = [ending]
        for name, stream in (("stdout", result.text), ("stderr", result.error_text)):
            if stream:
                parts.append(
                    f"{name}:\n{excerpt(visible(stream), OUTPUT_LIMIT, hint='write it to a file and read parts')}"
                )
        return "\n".join(parts)

    return [
        *reading_tools(workspace),
        _tool(
            write_file, WriteFile, "Writes a file of the task folder, replacing what is there; makes missing folders."
        ),
        _tool(edit_file, EditFile, "Replaces one passage of a text file of the task folder; keeps its run bit."),
        _tool(run, Run, "Runs a bash command in the task folder of the sandbox; returns exit code, stdout and stderr."),
    ]


def submit_tool(name: str, arguments: type[Arguments], description: str) -> BaseTool:
    """A tool that hands in a role's work: the role itself takes its arguments, so running it does nothing."""

    async def submit(**_: object) -> str:
        return "submitted"

    return StructuredTool.from_function(coroutine=submit, name=name, description=description, args_schema=arguments)


def error_text(message: object) -> str:
    """How a tool says what went wrong."""
    return f"error: {message}"


def _tool(action: Callable[..., Awaitable[str]], arguments: type[Arguments], description: str) -> BaseTool:
    async def guarded(**given: object) -> str:
        try:
            return await action(**given)
        except WorkspaceError as error:
            raise ToolException(str(error)) from error

    return StructuredTool.from_function(
        coroutine=guarded,
        name=action.__name__,
        description=description,
        args_schema=arguments,
        handle_tool_error=error_text,
    )


def _text(path: str, data: bytes) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ToolException(f"{path}: not UTF-8 text, {len(data)} bytes; read it with encoding 'base64'")
    return text


def _part(text: str, offset: int, limit: int) -> str:
    if offset == 0 and limit == READ_LIMIT:
        return excerpt(text, limit, hint="read them with offset and limit")
    if offset and offset >= len(text):
        raise ToolException(f"offset {offset} is behind the end: the file has {len(text)} characters")
    left = len(text) - offset - limit
    rest = f"\n[... {left} more characters; go on with offset {offset + limit} ...]" if left > 0 else ""
    return text[offset : offset + limit] + rest


def _decoded(content: str) -> bytes:
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ToolException(f"`content` is not base64 ({error}); encode it, or use encoding 'utf-8'") from error


def _encoded(content: str) -> bytes:
    try:
        return content.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolException(f"`content` holds half a character ({error.reason}); use encoding 'base64'") from error
