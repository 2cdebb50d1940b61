"""Small changes of Python code, found in its syntax tree."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from evolution.gates.mutation_edits import Edit, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

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
_LITERAL: Final = re.compile(rb"""["'](?=[A-Za-z][\w-]*["'])""")
_NO_LITERALS: Final = re.compile(rb"""["'](?:[rwax]b?t?\+?|utf-?8\w*|__main__|ascii|strict|replace)["']""")


def is_python(code: bytes) -> bool:
    """Whether code is Python and does something."""
    tree = _tree(code)
    return tree is not None and any(not isinstance(node, ast.Expr) for node in tree.body)


def python_edits(code: bytes) -> Iterator[Edit]:
    """Every small change of some Python code that still parses; none where it does not parse itself."""
    tree = _tree(code)
    if tree is None:
        return
    finder = _Finder(code)
    finder.visit(tree)
    for edit in finder.found:
        if _tree(edit.applied(code)) is not None:
            yield edit


class _Finder(ast.NodeVisitor):
    """Walks a tree and collects edits in `found`."""

    def __init__(self, code: bytes) -> None:
        self._code = code
        self._starts = [0]
        for line in code.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self.found: list[Edit] = []

    def visit_Compare(self, node: ast.Compare) -> None:
        before = node.left
        for operator, after in zip(node.ops, node.comparators, strict=True):
            old, new = _COMPARISONS[type(operator)]
            self._between(before, after, old, new, "comparison")
            before = after
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = (b"and", b"or") if isinstance(node.op, ast.And) else (b"or", b"and")
        self._between(node.values[0], node.values[1], old, new, "connector")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        pair = {ast.Add: (b"+", b"-"), ast.Sub: (b"-", b"+")}.get(type(node.op))
        if pair and not any(_is_text(side) for side in (node.left, node.right)):
            self._between(node.left, node.right, *pair, "arithmetic")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._add(node, self._text(node.operand), "comparison", "`not` is gone from")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, int) and not isinstance(node.value, bool):
            self._add(node, str(node.value + 1).encode(), "constant", f"{node.value} becomes {node.value + 1} in")
        elif isinstance(node.value, str):
            old = self._text(node)
            if _LITERAL.match(old) and not _NO_LITERALS.fullmatch(old):
                new = old[:1] + (b"x" if old[1:2] != b"x" else b"y") + old[2:]
                self._add(node, new, "literal", f"{shown(new)} comes for")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Nothing inside: what a piece of an f-string means is not told by its place alone."""

    def visit_If(self, node: ast.If) -> None:
        if not isinstance(node.test, ast.Compare | ast.BoolOp | ast.UnaryOp):
            self._add(
                node.test, b"not (" + self._text(node.test) + b")", "comparison", "the condition is turned round:"
            )
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        self._add(node.iter, b"list(" + self._text(node.iter) + b")[:-1]", "loop", "the last item is skipped of")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = _called(node)
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        order = keywords.get("reverse")
        if isinstance(order, ast.Constant) and isinstance(order.value, bool):
            self._add(order, str(not order.value).encode(), "order", "the order is turned round by")
        elif name in {"sorted", "sort"} and None not in keywords:
            old = self._text(node)
            comma = b", " if node.args or node.keywords else b""
            self._add(node, old[:-1].rstrip().rstrip(b",") + comma + b"reverse=True)", "order", "turned round:")
        if name in {"min", "max"} and isinstance(node.func, ast.Name):
            other = b"max" if name == "min" else b"min"
            self._add(node.func, other, "comparison", f"{shown(other)} comes for")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return  # a docstring
        if isinstance(node.value, ast.Call) and _called(node.value) not in _SETTING_UP:
            self._add(node, b"pass", "drop", "left out:")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._add(node, b"pass", "drop", "left out:")
        self.generic_visit(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        self._add(node, b"pass", "drop", "left out:")

    def _add(self, node: ast.expr | ast.stmt, new: bytes, kind: str, says: str) -> None:
        start, end = self._span(node)
        self.found.append(Edit(start, end, new, kind, f"{says} `{shown(self._code[start:end])}`"))

    def _between(self, before: ast.expr, after: ast.expr, old: bytes, new: bytes, kind: str) -> None:
        """Replaces an operator between two expressions, where it stands between them once."""
        start, end = self._span(before)[1], self._span(after)[0]
        gap = self._code[start:end]
        if gap.count(old) != 1:
            return
        place = start + gap.index(old)
        whole = shown(self._code[self._span(before)[0] : self._span(after)[1]])
        says = f"`{shown(old)}` becomes `{shown(new)}` in `{whole}`"
        self.found.append(Edit(place, place + len(old), new, kind, says))

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
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or _is_text(node.right)
    return isinstance(node, ast.JoinedStr | ast.List | ast.ListComp | ast.Tuple) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _tree(code: bytes) -> ast.Module | None:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
