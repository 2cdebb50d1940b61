"""Which fields the tests read from what a solver wrote, and whether anybody told the solver their names."""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_left, bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING

from evolution.gates.rubric_rules import Finding
from evolution.gates.scripts import Line, holds_word, tests_of, text_of, with_plain_line_ends

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sandbox.task import Task

_PYTHON = re.compile(r"\bpython3?\b")
_HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1")
_END = re.compile(r"^[ \t]*(\w+)[ \t]*$", re.MULTILINE)
_STATEMENT_END = re.compile(r"[|;)\n]")
_MOST_ARGUMENTS = 1000
"""Characters after a jq filter in which the file it reads is looked for."""
_MOST_PASSES = 50
"""How far loaded data is followed from name to name against the order of the lines."""
_JQ = re.compile(
    r"(?<![\w/.-])jq\b(?P<options>(?:\s{1,80}-\S{1,200}(?:\s{1,80}\w{1,80}\s{1,80}\S{1,200})?){0,16}?)"
    r"\s{1,80}(?P<quote>['\"])(?P<filter>.*?)(?P=quote)"
)
_JQ_FIELD = re.compile(
    r"(?<![\w$)\]])\.(?P<name>[A-Za-z_]\w*)|\.\[\"(?P<quoted>[^\"]+)\"\]|(?<=[\w\]])\.(?P<inner>[A-Za-z_]\w*)"
)
_LOADERS = {
    "json.load",
    "json.loads",
    "csv.DictReader",
    "load",
    "loads",
    "DictReader",
    "yaml.safe_load",
    "tomllib.loads",
}
_LOADERS |= {"tomllib.load"}


def field_rules(task: Task) -> Iterator[Finding]:
    """Every field that tests read from a loaded file is named in the instruction or in what the environment ships."""
    seen: set[str] = set()
    shipped: str | None = None
    for file in tests_of(task):
        text = with_plain_line_ends(text_of(task, file) or "")
        for number, name in fields_read(file.path, text):
            if name in seen or holds_word(task.instruction, name):
                continue
            seen.add(name)
            if shipped is None:
                shipped = "\n".join(text_of(task, each) or "" for each in task.under("environment"))
            if not holds_word(shipped, name):
                line = Line(file.path, number, text.split("\n")[number - 1])
                yield Finding("unnamed-field", f"{line}\n  reads the field {name!r}, which the instruction never names")


@lru_cache(maxsize=64)  # a child keeps most of its parent's test scripts
def fields_read(path: str, text: str) -> tuple[tuple[int, str], ...]:
    r"""(line number, field) for each field that a test script reads from JSON, CSV, YAML or TOML it has loaded.

    Args:
        path: The script's path; one that ends in `.py` is Python, any other a shell script.
        text: Its text, in which `\n` ends every line (`with_plain_line_ends`).
    """
    if path.endswith(".py"):
        return tuple(sorted(_python_fields(text, 0), key=lambda found: found[0]))
    found: list[tuple[int, str]] = []
    lines = [match.start() for match in re.finditer("\n", text)]
    blocks = _heredocs(text)
    for _begin, start, end in blocks:
        found += _python_fields(text[start:end], bisect_left(lines, start))
    begins = [begin for begin, _start, _end in blocks]
    for call in _JQ.finditer(text):
        block = bisect_right(begins, call.start()) - 1
        if (block >= 0 and call.start() < blocks[block][2]) or _builds(call["options"]):
            continue
        behind = text[call.end() : call.end() + _MOST_ARGUMENTS]
        if "/tests/" in _STATEMENT_END.split(behind, maxsplit=1)[0]:
            continue  # reads what the tests themselves bring
        number = bisect_left(lines, call.start("filter")) + 1
        for field in _JQ_FIELD.finditer(call["filter"]):
            found.append((number, field["name"] or field["quoted"] or field["inner"]))
    return tuple(dict.fromkeys(found))


def _heredocs(text: str) -> list[tuple[int, int, int]]:
    """Here-documents given to Python: where the command begins, and where the text begins and ends."""
    ends: dict[str, list[int]] = {}
    for word in _END.finditer(text):
        ends.setdefault(word[1], []).append(word.start())
    found: list[tuple[int, int, int]] = []
    start = 0
    for line in text.split("\n")[:-1] if "<<" in text else ():
        begin, end = start, start + len(line) + 1
        start = end
        python = _PYTHON.search(line) if "<<" in line else None
        heads = list(_HEREDOC.finditer(line, python.end())) if python else []
        if python is None or not heads or (found and begin + python.start() < found[-1][2]):
            continue
        closing = ends.get(heads[-1][2], [])
        nearest = bisect_left(closing, end)
        if nearest < len(closing):
            found.append((begin + python.start(), end, closing[nearest]))
    return found


def _builds(options: str) -> bool:
    """Whether a jq call makes JSON out of arguments rather than reading some."""
    return re.search(r"\s(?:-\w*n|--null-input)\b", options) is not None


def _python_fields(source: str, before: int) -> Iterator[tuple[int, str]]:
    """Fields of loaded data in Python source; nothing when it does not parse (it may be a template)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what the script says, none of it ours
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last: nested too deeply for the parser
        return
    nodes = tuple(ast.walk(tree))
    own = _own_names(nodes)
    loaded = _loaded_names(nodes, own)
    for node in nodes:
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            container, key = node.value, node.slice
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "get"
            and node.args
        ):
            container, key = node.func.value, node.args[0]
        else:
            continue
        name = key.value if isinstance(key, ast.Constant) else None
        if isinstance(name, str) and name and _is_loaded(container, loaded, own):
            yield before + node.lineno, name


def _loaded_names(nodes: Sequence[ast.AST], own: frozenset[str]) -> frozenset[str]:
    """Variables that hold loaded data or parts of it."""

    def grow(known: frozenset[str], node: ast.AST) -> set[str]:
        if isinstance(node, ast.Assign) and _is_loaded(node.value, known, own):
            return {name for target in node.targets for name in _names(target)}
        if isinstance(node, (ast.For, ast.comprehension)) and _is_loaded(node.iter, known, own):
            return _names(node.target)
        return set()

    kinds = (ast.Assign, ast.For, ast.comprehension)
    return _fixpoint([node for node in nodes if isinstance(node, kinds)], grow)


def _own_names(nodes: Sequence[ast.AST]) -> frozenset[str]:
    """Variables that lead to what the tests themselves bring: paths below `/tests` or beside the script."""

    def grow(known: frozenset[str], node: ast.AST) -> set[str]:
        if isinstance(node, ast.Assign) and _is_own(node.value, known):
            return {name for target in node.targets for name in _names(target)}
        if isinstance(node, ast.withitem) and node.optional_vars is not None and _is_own(node.context_expr, known):
            return _names(node.optional_vars)
        return set()

    return _fixpoint([node for node in nodes if isinstance(node, (ast.Assign, ast.withitem))], grow)


def _fixpoint(nodes: Sequence[ast.AST], grow: Callable[[frozenset[str], ast.AST], set[str]]) -> frozenset[str]:
    """Goes over the nodes until none adds a name; each sees what those before it have added."""
    known: frozenset[str] = frozenset()
    for _ in range(_MOST_PASSES):
        before = known
        for node in nodes:
            more = grow(known, node)
            if not more <= known:
                known |= more
        if known == before:
            break
    return known


def _names(target: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}


def _is_own(node: ast.expr, own: frozenset[str]) -> bool:
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and (part.id == "__file__" or part.id in own):
            return True
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.startswith("/tests"):
            return True
    return False


def _is_loaded(node: ast.expr, loaded: frozenset[str], own: frozenset[str] = frozenset()) -> bool:
    """Whether an expression is loaded data or a part of it."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        return node.id in loaded
    if not isinstance(node, ast.Call):
        return False
    if _dotted(node.func) in _LOADERS:
        return not any(_is_own(argument, own) for argument in node.args)
    if isinstance(node.func, ast.Attribute) and node.func.attr in {"get", "values", "items"}:
        return _is_loaded(node.func.value, loaded, own)
    passes_on = isinstance(node.func, ast.Name) and node.func.id in {"list", "sorted", "next", "reversed", "enumerate"}
    return passes_on and bool(node.args) and _is_loaded(node.args[0], loaded, own)


def _dotted(node: ast.expr) -> str:
    """`a.b.c` as written; "" for an expression that is no such name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join((node.id, *reversed(parts))) if isinstance(node, ast.Name) else ""
