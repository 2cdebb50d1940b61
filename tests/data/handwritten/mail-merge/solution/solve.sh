#!/bin/bash
set -e
cat > /app/render.py <<'PYTHON'
import json
import re
import sys

TAG = re.compile(r"\{\{(.*?)\}\}|\{%(.*?)%\}|\{#.*?#\}")
FILTERS = {
    "upper": lambda v: v and v.upper(),
    "lower": lambda v: v and v.lower(),
    "title": lambda v: v and " ".join(w[:1].upper() + w[1:].lower() for w in v.split(" ")),
    "count": lambda v: 0 if v is None else len(v),
    "join": lambda v: ", ".join(v or []),
    "or-dash": lambda v: "-" if v in (None, "") else v,
}


class Wrong(Exception):
    pass


def tokens(text):
    for line in text.splitlines(keepends=True):
        alone = re.fullmatch(r"[ \t]*(\{%(?:(?!%\}).)*%\}|\{#(?:(?!#\}).)*#\})[ \t]*\n?", line)
        if alone:
            line = alone[1]
        at = 0
        for m in TAG.finditer(line):
            if m.start() > at:
                yield "text", line[at : m.start()]
            if m[1] is not None:
                yield "value", m[1]
            elif m[2] is not None:
                yield "tag", m[2].split()
            at = m.end()
        if at < len(line):
            yield "text", line[at:]


def parse(stream, inside):
    nodes, other, target = [], [], None
    target = nodes
    seen_else = False
    for kind, what in stream:
        if kind == "text":
            target.append(("text", what))
        elif kind == "value":
            path, *filters = (part.strip() for part in what.split("|"))
            if any(name not in FILTERS for name in filters):
                raise Wrong(what)
            target.append(("value", path, filters))
        elif what == ["end"] and inside:
            return nodes, other
        elif what == ["else"] and inside and not seen_else:
            seen_else, target = True, other
        elif what[:1] == ["if"] and (len(what) == 2 or len(what) == 3 and what[1] == "not"):
            target.append(("if", len(what) == 3, what[-1], *parse(stream, True)))
        elif what[:1] == ["for"] and len(what) == 4 and what[2] == "in":
            target.append(("for", what[1], what[3], *parse(stream, True)))
        else:
            raise Wrong(what)
    if inside:
        raise Wrong("no end")
    return nodes, other


def look(path, scopes):
    first, *rest = path.split(".")
    value = next((scope[first] for scope in reversed(scopes) if first in scope), None)
    for name in rest:
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            value = None
    return value


def render(nodes, scopes, out):
    for node in nodes:
        if node[0] == "text":
            out.append(node[1])
        elif node[0] == "value":
            value = look(node[1], scopes)
            for name in node[2]:
                value = FILTERS[name](value)
            out.append("" if value is None else str(value).lower() if isinstance(value, bool) else str(value))
        elif node[0] == "if":
            render(node[3] if bool(look(node[2], scopes)) != node[1] else node[4], scopes, out)
        else:
            items = look(node[2], scopes) or []
            for i, item in enumerate(items):
                loop = {"index": i + 1, "first": i == 0, "last": i == len(items) - 1}
                render(node[3], [*scopes, {node[1]: item, "loop": loop}], out)
            if not items:
                render(node[4], scopes, out)


with open(sys.argv[1], encoding="utf-8", newline="") as f:
    template = f.read()
with open(sys.argv[2], encoding="utf-8") as f:
    data = json.load(f)
try:
    tree, _ = parse(tokens(template), False)
except Wrong as error:
    print(f"error in template: {error}", file=sys.stderr)
    sys.exit(1)
out = []
render(tree, [data], out)
sys.stdout.buffer.write("".join(out).encode())
PYTHON
cd /app
python3 render.py reminder.tpl reminder.json | diff - reminder.out
