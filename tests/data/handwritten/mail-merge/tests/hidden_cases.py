"""The reward is the share of cases that come out right."""

import json
import os
import subprocess
import tempfile

DATA = {
    "name": "zoë QUIST", "empty": "", "zero": 0, "n": 12, "neg": -3, "yes": True, "no": False, "nil": None, "braces": "{{ name }}",
    "tags": ["red", "green", "blue"], "none": [], "o": {"k": {"deep": ["x", {"y": "found"}]}, "e": {}},
    "rows": [{"id": 1, "tags": ["a"]}, {"id": 2, "tags": []}, {"id": 3}], "loop": "outer",
}
CASES = [  # template, output (None: an error)
    ("plain\ntext", "plain\ntext"),
    ("{{name}}|{{ n }}|{{neg}}|{{ zero }}|{{yes}} {{no}}|{{nil}}{{gone.x}}|\n", "zoë QUIST|12|-3|0|true false||\n"),
    ("{{ o.k.deep.1.y }} {{ tags.0 }} {{ tags.9 }}.{{ name.first }}.", "found red .."),
    ("{{ name | upper }} {{name|lower}} {{ name|title }}", "ZOË QUIST zoë quist Zoë Quist"),
    ("{{ tags | count }} {{ o|count }} {{ name | count }} {{ gone | count }} {{ none|count }}", "3 2 9 0 0"),
    ("{{ tags | join | upper | count }} {{ tags|join|title }} {{ none | join }}.", "16 Red, Green, Blue ."),
    ("{{ nil | or-dash }}{{ empty|or-dash }}{{ gone | upper | or-dash }}{{ n | or-dash }}{{ zero|or-dash }}", "---120"),
    ("{{ braces }} {{braces|upper}}", "{{ name }} {{ NAME }}"),
    ("{% if yes %}a{% end %}{% if no %}b{%else%}c{% end %}{% if not zero %}d{% end %}{% if not n %}e{% else %}f{%end%}", "acdf"),
    ("{% if empty %}1{% end %}{% if none %}2{% end %}{% if o.e %}3{% end %}{% if nil %}4{% end %}{% if neg %}5{% end %}", "5"),
    ("{% for t in tags %}{{ loop.index }}{{ t }}{% if not loop.last %}, {% end %}{% end %}.", "1red, 2green, 3blue."),
    ("{% for t in none %}x{% else %}nothing{% end %} {% for t in gone %}x{% end %}.", "nothing ."),
    ("{% for r in rows %}{{ r.id }}:{% for r in r.tags %}{{ r }}{{ loop.first }}{% else %}-{% end %}{{ loop.index }};{% end %}{{ loop }}",
     "1:atrue1;2:-2;3:-3;outer"),
    ("  {% if yes %}  \nkept\n{% end %}\n\nend\n", "kept\n\nend\n"),
    ("x{# a comment #}y\n  {# alone #}\nz {# last #}\n", "xy\nz \n"),
    (" {% if yes %}{% end %} \n{% if yes %}a\n{% end %}", "  \na\n"),
    ("{% for t in tags %}\n- {{ t }}\n{% end %}\n", "- red\n- green\n- blue\n"),
    ("{% if yes %}\n{% if no %}\na\n{% else %}\nb\n{% end %}\n{% else %}\nc\n{% end %}\n", "b\n"),
    ("a { b } {x} % } # }}", "a { b } {x} % } # }}"),
    ("{{ name | shout }}", None),
    ("{% if no %}{{ name | shout }}{% end %}", None),
    ("{% while yes %}{% end %}", None),
    ("text {% if yes %} more", None),
    ("text {% end %}", None),
    ("{% else %}", None),
    ("{% if yes %}a{% else %}b{% else %}c{% end %}", None),
    ("{% for t in none %}{% if t %}{% end %}", None),
    ("{% if no %}{% bad %}{% end %}", None),
]
right = 0
with tempfile.TemporaryDirectory() as folder:
    template, data = os.path.join(folder, "t"), os.path.join(folder, "d.json")
    with open(data, "w") as stream:
        json.dump(DATA, stream)
    for number, (text, expected) in enumerate(CASES, 1):
        with open(template, "w", encoding="utf-8") as stream:
            stream.write(text)
        try:
            done = subprocess.run(["python3", "/app/render.py", template, data], capture_output=True, timeout=10, cwd="/")
            found = done.returncode, done.stdout
        except subprocess.TimeoutExpired:
            found = None
        good = found == ((1, b"") if expected is None else (0, expected.encode()))
        # Where nothing can be rendered a program that always fails would be right: count errors only beside a right rendering.
        right += good if expected is not None or right else 0
        print("ok" if good else f"WRONG: {text!r}: expected {expected!r}, found {found!r}", number)

os.makedirs("/logs/verifier", exist_ok=True)
with open("/logs/verifier/reward.json", "w") as stream:
    json.dump({"reward": right / len(CASES)}, stream)
