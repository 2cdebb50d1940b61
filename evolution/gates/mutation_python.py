"""Small changes of Python code, found in its syntax tree."""

from __future__ import annotations

import ast
import re
from codecs import BOM_UTF8
from typing import TYPE_CHECKING, Any, Final

from evolution.gates.mutation_edits import MAX_NEW, Edit, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_COMPARISONS: Final[dict[type[ast.cmpop], tuple[bytes, bytes]]] = {
    ast.Lt: (b"<", b"<="),
    ast.LtE: (b"<=", b"<"),
    ast.Gt: (b">", b">="),
    ast.GtE: (b">=", b">"),
    ast.Eq: (b"==", b"!="),
    ast.NotEq: (b"!=", b"=="),
    ast.In: (b"in", b"not in"),
    ast.NotIn: (b"not in", b"in"),
    ast.Is: (b"is", b"is not"),
    ast.IsNot: (b"is not", b"is"),
}
_SETTING_UP: Final = frozenset({"print", "mkdir", "makedirs", "close", "commit", "flush", "exit", "heapify", "chmod"})
_LARGEST: Final = 4096
"""Bits of an integer; what has thousands of digits cannot be written in decimal."""
_MOST_TERMS: Final = 64
_LITERAL: Final = re.compile(rb"""["'](?=[A-Za-z][\w-]*["'])""")
_NO_LITERALS: Final = re.compile(rb"""["'](?:[rwax]b?t?\+?|utf-?8\w*|__main__|ascii|strict|replace)["']""")


def is_python(code: bytes) -> bool:
    """Whether code is Python and does something."""
    tree = _tree(code)
    return tree is not None and any(not isinstance(node, ast.Expr) for node in tree.body)


def python_edits(code: bytes) -> Iterator[Edit]:
    """Every small change of some Python code; whether it parses with one of them `parses_as_python` says.

    There are none where the code itself does not parse.
    """
    if code.startswith(BOM_UTF8):
        yield from (edit.moved(len(BOM_UTF8)) for edit in python_edits(code.removeprefix(BOM_UTF8)))
        return
    tree = _tree(code)
    if tree is not None:
        yield from (edit.inside("python", len(code)) for edit in _Finder(code).edits(tree))


def parses_as_python(code: bytes) -> bool:
    """Whether it is Python, in UTF-8."""
    return _tree(code) is not None


class _Finder:
    """Finds the edits of some code in its tree.

    Args:
        code: The code.
    """

    def __init__(self, code: bytes) -> None:
        self._code = code
        self._starts = [0]
        for line in code.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._makers: Final[dict[type[ast.AST], Callable[[Any], Iterator[Edit]]]] = {
            ast.Compare: self._compare,
            ast.BoolOp: self._bool_op,
            ast.BinOp: self._bin_op,
            ast.UnaryOp: self._unary_op,
            ast.Constant: self._constant,
            ast.If: self._if,
            ast.For: self._for,
            ast.Call: self._call,
            ast.Expr: self._expr,
            ast.AugAssign: self._left_out,
            ast.Continue: self._left_out,
        }

    def edits(self, tree: ast.Module) -> Iterator[Edit]:
        """All of them; without recursion, as a sum of some hundred terms is a tree some hundred levels deep."""
        waiting: list[ast.AST] = [tree]
        while waiting:
            node = waiting.pop()
            # What a piece of an f-string means is not told by its place alone; a text that stands alone is a docstring.
            if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                continue
            waiting.extend(reversed(list(ast.iter_child_nodes(node))))
            if type(node) in self._makers:
                yield from self._makers[type(node)](node)

    def _compare(self, node: ast.Compare) -> Iterator[Edit]:
        before = node.left
        for operator, after in zip(node.ops, node.comparators, strict=True):
            old, new = _COMPARISONS[type(operator)]
            yield from self._between(before, after, old, new, "comparison")
            before = after

    def _bool_op(self, node: ast.BoolOp) -> Iterator[Edit]:
        old, new = (b"and", b"or") if isinstance(node.op, ast.And) else (b"or", b"and")
        yield from self._between(node.values[0], node.values[1], old, new, "connector")

    def _bin_op(self, node: ast.BinOp) -> Iterator[Edit]:
        pair = {ast.Add: (b"+", b"-"), ast.Sub: (b"-", b"+")}.get(type(node.op))
        if pair and not any(_is_text(side) for side in (node.left, node.right)):
            yield from self._between(node.left, node.right, *pair, "arithmetic")

    def _unary_op(self, node: ast.UnaryOp) -> Iterator[Edit]:
        if isinstance(node.op, ast.Not):
            yield from self._add(node, self._text(node.operand), "comparison", "`not` is gone from")

    def _constant(self, node: ast.Constant) -> Iterator[Edit]:
        if isinstance(node.value, int) and not isinstance(node.value, bool):
            if node.value.bit_length() > _LARGEST:
                return
            yield from self._add(
                node, str(node.value + 1).encode(), "constant", f"{node.value} becomes {node.value + 1} in"
            )
        elif isinstance(node.value, str):
            old = self._text(node)
            if _LITERAL.match(old) and not _NO_LITERALS.fullmatch(old):
                new = old[:1] + (b"x" if old[1:2] != b"x" else b"y") + old[2:]
                yield from self._add(node, new, "literal", f"{shown(new)} comes for")

    def _if(self, node: ast.If) -> Iterator[Edit]:
        if not isinstance(node.test, ast.Compare | ast.BoolOp | ast.UnaryOp):
            yield from self._add(
                node.test, b"not (" + self._text(node.test) + b")", "comparison", "the condition is turned round:"
            )

    def _for(self, node: ast.For) -> Iterator[Edit]:
        yield from self._add(
            node.iter, b"list(" + self._text(node.iter) + b")[:-1]", "loop", "the last item is skipped of"
        )

    def _call(self, node: ast.Call) -> Iterator[Edit]:
        name = _called(node)
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        order = keywords.get("reverse")
        if isinstance(order, ast.Constant) and isinstance(order.value, bool):
            yield from self._add(order, str(not order.value).encode(), "order", "the order is turned round by")
        elif name in {"sorted", "sort"} and None not in keywords:
            start, end = self._span(node)
            place = start + len(self._code[start : end - 1].rstrip().rstrip(b","))
            new = (b", " if node.args or node.keywords else b"") + b"reverse=True)"
            yield Edit(place, end, new, "order", f"turned round: `{self._shown(start, end)}`")
        if name in {"min", "max"} and isinstance(node.func, ast.Name):
            other = b"max" if name == "min" else b"min"
            yield from self._add(node.func, other, "comparison", f"{shown(other)} comes for")

    def _expr(self, node: ast.Expr) -> Iterator[Edit]:
        if isinstance(node.value, ast.Call) and _called(node.value) not in _SETTING_UP:
            yield from self._add(node, b"pass", "drop", "left out:")

    def _left_out(self, node: ast.stmt) -> Iterator[Edit]:
        yield from self._add(node, b"pass", "drop", "left out:")

    def _add(self, node: ast.expr | ast.stmt, new: bytes, kind: str, says: str) -> Iterator[Edit]:
        start, end = self._span(node)
        yield Edit(start, end, new, kind, f"{says} `{self._shown(start, end)}`")

    def _between(self, before: ast.expr, after: ast.expr, old: bytes, new: bytes, kind: str) -> Iterator[Edit]:
        """Replaces an operator between two expressions, where it stands between them once."""
        start, end = self._span(before)[1], self._span(after)[0]
        gap = self._code[start:end]
        if gap.count(old) != 1:
            return
        place = start + gap.index(old)
        whole = self._shown(self._span(before)[0], self._span(after)[1])
        says = f"`{shown(old)}` becomes `{shown(new)}` in `{whole}`"
        yield Edit(place, place + len(old), new, kind, says)

    def _shown(self, start: int, end: int) -> str:
        """Code for a person; no more of it is copied than is looked at."""
        return shown(self._code[start : min(end, start + MAX_NEW + 1)])

    def _text(self, node: ast.expr) -> bytes:
        start, end = self._span(node)
        return self._code[start:end]

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Offsets of a node; the tree counts lines from 1 and columns in UTF-8 bytes."""
        last = node.end_lineno or node.lineno
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[last - 1] + (node.end_col_offset or 0)


def _called(node: ast.Call) -> str:
    function = node.func
    return (
        function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    )


def _is_text(node: ast.expr) -> bool:
    """Whether a text or a list is among the terms of a sum, as far as its last `_MOST_TERMS` tell."""
    waiting = [node]
    for _ in range(_MOST_TERMS):
        if not waiting:
            break
        term = waiting.pop()
        if isinstance(term, ast.BinOp):
            waiting += [term.left, term.right]
        elif isinstance(term, ast.JoinedStr | ast.List | ast.ListComp | ast.Tuple) or (
            isinstance(term, ast.Constant) and isinstance(term.value, str)
        ):
            return True
    return False


def _tree(code: bytes) -> ast.Module | None:
    try:
        # As text: with a coding line of its own the tree's lines and columns would be of other bytes.
        return ast.parse(code.decode())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
