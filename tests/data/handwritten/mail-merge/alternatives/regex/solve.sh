#!/bin/bash
# Translates the template to a Python function and runs that.
cat > /app/render.py <<'PY'
import json, re, sys
T = open(sys.argv[1], encoding="utf-8", newline="").read()
D = json.load(open(sys.argv[2], encoding="utf-8"))
T = re.sub(r"(?m)^[ \t]*(\{%(?:(?!%\}).)*%\}|\{#(?:(?!#\}).)*#\})[ \t]*(?:\n|\Z)", r"\1", T)
def get(env, path):
    keys = path.split("."); v = D.get(keys[0])
    for e in env:
        if keys[0] in e: v = e[keys[0]]
    for k in keys[1:]:
        try: v = v[int(k)] if isinstance(v, list) else v[k]
        except (KeyError, IndexError, TypeError, ValueError): v = None
    return v
def show(v): return "" if v is None else {True: "true", False: "false"}[v] if type(v) is bool else "%s" % v
def title(v): return re.sub("[^ ]+", lambda m: m[0][0].upper() + m[0][1:].lower(), v)
F = dict(upper=lambda v: v if v is None else v.upper(), lower=lambda v: v if v is None else v.lower(), title=lambda v: v if v is None else title(v),
         count=lambda v: len(v) if v is not None else 0, join=lambda v: ", ".join(v))
F["or-dash"] = lambda v: v if v not in (None, "") else "-"
code, depth, stack = ["def run(env, o):"], 1, []
emit = lambda s: code.append(" " * depth + s)
def fail(): sys.exit("bad template")
emit("pass")
for p in re.split(r"(\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\})", T):
    if p.startswith("{{"):
        path, *fs = [x.strip() for x in p[2:-2].split("|")]
        e = "get(env, %r)" % path
        for f in fs:
            if f not in F: fail()
            e = "F[%r](%s)" % (f, e)
        emit("o(show(%s))" % e)
    elif p.startswith("{%"):
        w = p[2:-2].split()
        if w[:1] == ["if"] and len(w) in (2, 3) and (len(w) == 2 or w[1] == "not"):
            emit("if %s get(env, %r):" % ("not" if len(w) == 3 else "", w[-1])); stack.append("if"); depth += 1; emit("pass")
        elif w[:1] == ["for"] and len(w) == 4 and w[2] == "in":
            n = "s%d" % len(code)
            emit("%s = get(env, %r) or []" % (n, w[3]))
            emit("for i, x in enumerate(%s):" % n); depth += 1
            emit("env.append({%r: x, 'loop': {'index': i + 1, 'first': i == 0, 'last': i + 1 == len(%s)}})" % (w[1], n))
            stack.append(n)
        elif w == ["else"] and stack and stack[-1] != "done":
            k = stack.pop()
            if k != "if": emit("env.pop()")
            depth -= 1
            emit("else:" if k == "if" else "if not %s:" % k); depth += 1; emit("pass"); stack.append("done")
        elif w == ["end"] and stack:
            k = stack.pop()
            if k not in ("if", "done"): emit("env.pop()")
            depth -= 1
        else: fail()
    elif not p.startswith("{#"):
        emit("o(%r)" % p)
if stack: fail()
out, ns = [], dict(get=get, show=show, F=F)
exec("\n".join(code), ns)
ns["run"]([], out.append)
sys.stdout.buffer.write("".join(out).encode())
PY
