"""Small changes of shell scripts, found in their syntax tree, and of the programs inside of them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from evolution.gates.mutation_edits import PROGRAMS, Edit, generic_edits, nearby_number, shown
from evolution.gates.mutation_python import is_python, python_edits
from sandbox.verification.leftovers import words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Language, Node, Parser

# What nothing can be learned from leaving out: without it all that follows fails, or nothing changes.
_SETTING_UP: Final = words(
    "set shopt export mkdir cd local declare readonly trap : true exit return read continue source . rm rmdir umask "
    "ulimit wait sleep shift unset break exec"
)
_FLAGS: Final = {
    "sort": "unrfgdhVs",
    "uniq": "cdui",
    "grep": "vixwoc",
    "egrep": "vixwoc",
    "zgrep": "vixwoc",
    "tr": "dcs",
    "comm": "123",
    "head": "",
    "tail": "",
    "wc": "",
    "cut": "",
    "join": "a",
}
_TESTS: Final = {
    "-eq": "-ne",
    "-ne": "-eq",
    "-lt": "-le",
    "-le": "-lt",
    "-gt": "-ge",
    "-ge": "-gt",
    "-z": "-n",
    "-n": "-z",
    "=": "!=",
    "==": "!=",
    "!=": "==",
    "<": "<=",
    ">": ">=",
    "<=": "<",
    ">=": ">",
    "-f": "-d",
    "-d": "-f",
}
_STATEMENTS: Final = frozenset(
    {"program", "do_group", "compound_statement", "if_statement", "subshell", "else_clause", "elif_clause", "case_item"}
)
_CODE: Final = frozenset({"awk", "gawk", "mawk", "sed", "jq", "perl", "bc", "sqlite3"})
_TARGETS: Final = tuple(ending.encode() for ending in PROGRAMS)
_PYTHONS: Final = re.compile(r"python[\d.]*")
_NUMERIC: Final = re.compile(rb"([-+]?)(\d+)")
_KEY: Final = re.compile(rb"(-k|-f|-c)?(\d+)(.*)")
_SORT_KEY: Final = re.compile(rb"(-k[\d.,]+)([nrVgfh]+)")
_PLAIN: Final = re.compile(rb"""(["']?)[A-Za-z0-9][\w .-]*\1""")


def shell_edits(code: bytes, *, depth: int = 2) -> Iterator[Edit]:
    """Every small change of a shell script; whether it parses with one of them `parses_as_shell` says.

    Args:
        code: The script.
        depth: How deep shell scripts in its here-documents are looked into, each of which may hold others.
    """
    root = _parser().parse(code).root_node
    broken = root.has_error  # some sound scripts are beyond the grammar; theirs cannot be told any more
    for edit in _edits(root, code, depth):
        yield edit if broken else edit.inside("shell", len(code))


def parses_as_shell(code: bytes) -> bool:
    """Whether the grammar knows all that is in a script."""
    return not _parser().parse(code).root_node.has_error


def _parser() -> Parser:
    """A parser of its own for each call: one may not be used by two threads at once."""
    from tree_sitter import Parser

    return Parser(_grammar())


@lru_cache(maxsize=1)
def _grammar() -> Language:
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


def _edits(root: Node, code: bytes, depth: int) -> Iterator[Edit]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        waiting.extend(reversed(node.children))
        if node.type == "heredoc_body":
            yield from _heredoc(node, code, depth)
        yield from _MAKERS[node.type](node, code) if node.type in _MAKERS else ()
        if node.parent is not None and node.parent.type in _STATEMENTS:
            yield from _dropped(node)


def _dropped(node: Node) -> Iterator[Edit]:
    """The whole statement left out."""
    if node.type not in {"command", "redirected_statement", "pipeline"} or _is_condition(node):
        return
    name, writes = _name(_first_command(node)), any(child.type == "file_redirect" for child in node.children)
    if name not in _SETTING_UP and not (name in {"echo", "printf", "cat"} and not writes):
        yield _replaced(node, b":", "drop", "left out:")


def _is_condition(node: Node) -> bool:
    """Whether a statement is what an `if` asks."""
    if node.parent is None or node.parent.type not in {"if_statement", "elif_clause"}:
        return False
    following = node.next_sibling
    while following is not None and following.type in {";", "\n"}:
        following = following.next_sibling
    return following is not None and following.type == "then"


def _pipeline(node: Node, _code: bytes) -> Iterator[Edit]:
    stages = node.named_children
    for stage in stages[1:]:
        command = _first_command(stage)
        if command is not None and _name(command) not in {"read", "while", "xargs", "tar", "gzip", "tee"}:
            yield _replaced(command, b"cat", "stage", "a stage is left out:")


def _command(node: Node, code: bytes) -> Iterator[Edit]:
    name = _name(node)
    words = [child for child in node.named_children if child.type != "command_name"]
    yield from _programs(name, words, code)
    if name not in _FLAGS:
        return
    for word in words:
        text = word.text or b""
        if name in {"head", "tail", "cut"} and (number := _NUMERIC.fullmatch(text)):
            new = number[1] + nearby_number(number[2])
            yield _replaced(word, new, "constant", f"{shown(new)} comes for")
        if not text.startswith(b"-") or text.startswith(b"--") or text == b"-":
            continue
        letters = text[1:]
        for place, letter in enumerate(letters.decode("utf-8", "replace")):
            if letter in _FLAGS[name] and not (place and letters[:place].startswith((b"t", b"k"))):
                left = letters[:place] + letters[place + 1 :]
                new = b"-" + left if left else b""
                yield _replaced(word, new, "flag", f"-{letter} is left out of `{name}`:")
        key = _KEY.fullmatch(text)
        if key and key[1] and (name, key[1]) in {("sort", b"-k"), ("cut", b"-f"), ("cut", b"-c")}:
            new = key[1] + nearby_number(key[2]) + key[3]
            yield _replaced(word, new, "constant", f"{shown(new)} comes for")
        if name == "sort" and (kind := _SORT_KEY.fullmatch(text)):
            for place, letter in enumerate(kind[2].decode()):
                new = kind[1] + kind[2][:place] + kind[2][place + 1 :]
                yield _replaced(word, new, "flag", f"{letter} is left out of the key of `sort`:")


def _programs(name: str, words: list[Node], code: bytes) -> Iterator[Edit]:
    """Programs given as an argument: `awk '…'`, `python3 -c '…'`."""
    for before, word in zip([None, *words], words, strict=False):
        if word.type != "raw_string":
            continue
        start, inside = word.start_byte + 1, code[word.start_byte + 1 : word.end_byte - 1]
        if _PYTHONS.fullmatch(name) and before is not None and before.text == b"-c":
            found = python_edits(inside)
        elif name in _CODE:
            found = generic_edits(inside)
        else:
            continue
        yield from (edit.moved(start) for edit in found if b"'" not in edit.new)


def _heredoc(node: Node, code: bytes, depth: int) -> Iterator[Edit]:
    """Programs in a here-document, whoever reads it."""
    inside = code[node.start_byte : node.end_byte]
    whole = node.parent.parent if node.parent is not None else None
    name = _name(_first_command(whole)) if whole is not None else ""
    target = next((c.text or b"" for c in _below(whole, "file_redirect")), b"") if whole is not None else b""
    if inside.startswith(b"#!") and b"sh" in inside.split(b"\n", 1)[0]:
        found = shell_edits(inside, depth=depth - 1) if depth else iter(())
    elif is_python(inside) and (_PYTHONS.fullmatch(name) or inside.startswith(b"#!") or target.endswith(b".py")):
        found = python_edits(inside)
    elif name in _CODE or target.endswith((b".awk", b".c", b".js", b".pl", b".rb", b".go", b".rs")):
        found = generic_edits(inside)
    else:
        return
    yield from (edit.moved(node.start_byte) for edit in found)


def _below(node: Node | None, kind: str) -> Iterator[Node]:
    for child in node.children if node is not None else ():
        if child.type == kind:
            yield child
        elif child.type == "heredoc_redirect":
            yield from _below(child, kind)


def _list(node: Node, _code: bytes) -> Iterator[Edit]:
    for child in node.children:
        if child.type in {"&&", "||"}:
            new = b"||" if child.type == "&&" else b"&&"
            yield _replaced(child, new, "connector", f"{new.decode()} comes for")


def _redirect(node: Node, _code: bytes) -> Iterator[Edit]:
    for child in node.children:
        if child.type == ">>":
            yield _replaced(child, b">", "append", f"`{shown(node.text or b'')}` does not append any more:")


def _operator(node: Node, _code: bytes) -> Iterator[Edit]:
    for child in node.children:
        text = (child.text or b"").decode("utf-8", "replace")
        if child.type == "test_operator" or (not child.is_named and text in _TESTS):
            other = _TESTS.get(text)
            if other and not (other in {"<=", ">="} and _in_brackets(node)):
                yield _replaced(child, other.encode(), "comparison", f"{other} comes for")
        elif child.type == "number" or (child.type == "word" and (child.text or b"").isdigit()):
            new = nearby_number(child.text or b"0")
            yield _replaced(child, new, "constant", f"{new.decode()} comes for")


def _in_brackets(node: Node | None) -> bool:
    """Whether it is inside of `[ ]` or `[[ ]]`, which know no `<=`."""
    while node is not None and node.type != "test_command":
        node = node.parent
    return node is not None


def _assignment(node: Node, _code: bytes) -> Iterator[Edit]:
    value = node.child_by_field_name("value")
    text = (value.text or b"") if value is not None else b""
    if value is None or (node.parent is not None and node.parent.type == "command"):
        return  # a variable for one command: LC_ALL=C, IFS=
    if text.isdigit():
        yield _replaced(value, nearby_number(text), "constant", f"{shown(nearby_number(text))} comes for")
    elif _PLAIN.fullmatch(text) and text != b"C":
        place = 1 if text[:1] in b"\"'" else 0
        new = text[:place] + (b"x" if text[place : place + 1] != b"x" else b"y") + text[place + 1 :]
        yield _replaced(value, new, "literal", f"{shown(new)} comes for")


def _for(node: Node, code: bytes) -> Iterator[Edit]:
    items = [child for child in node.named_children if child.type not in {"variable_name", "do_group", "comment"}]
    if not items or node.children[0].type != "for":
        return
    start, end = items[0].start_byte, items[-1].end_byte
    new = b"$(printf '%s\\n' " + code[start:end] + b" | sed '$d')"
    yield Edit(start, end, new, "loop", f"the last item is skipped of `{shown(code[start:end])}`")


def _negated(node: Node, code: bytes) -> Iterator[Edit]:
    inner = node.named_children[0]
    yield _replaced(node, code[inner.start_byte : inner.end_byte], "comparison", "`!` is gone from")


_MAKERS: Final = {
    "pipeline": _pipeline,
    "command": _command,
    "list": _list,
    "file_redirect": _redirect,
    "binary_expression": _operator,
    "unary_expression": _operator,
    "variable_assignment": _assignment,
    "for_statement": _for,
    "negated_command": _negated,
}


def _replaced(node: Node, new: bytes, kind: str, says: str) -> Edit:
    return Edit(node.start_byte, node.end_byte, new, kind, f"{says} `{shown(node.text or b'')}`")


def _first_command(node: Node | None) -> Node | None:
    """The first simple command of a statement, `None` where there is none (a loop, a group)."""
    while node is not None and node.type in {"redirected_statement", "pipeline", "negated_command", "list"}:
        node = node.named_children[0] if node.named_children else None
    return node if node is not None and node.type == "command" else None


def _name(command: Node | None) -> str:
    if command is None:
        return ""
    name = next((child for child in command.children if child.type == "command_name"), None)
    return (name.text or b"").decode("utf-8", "replace") if name is not None and name.text else ""
