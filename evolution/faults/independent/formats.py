"""Verifiers that insist on a detail of form which the instruction leaves open."""
# ruff: noqa: E501 - lines of scripts are as long as they are

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evolution.faults.fault import Fault
from evolution.faults.independent.parts.checks import Check, add_check
from evolution.faults.independent.parts.look import has_python, json_results, results, texts
from evolution.faults.independent.parts.script import edit_solution, one_of

if TYPE_CHECKING:
    from random import Random

    from evolution.faults.draft import Draft

_STYLES = (
    # Arguments of json.dumps, and what ends the text.
    ("indent=2, sort_keys=True", "\\n"),
    ("indent=4", ""),
    ("indent=4, sort_keys=True, ensure_ascii=False", "\\n"),
    ('separators=(",", ":")', ""),
    ('separators=(",", ":"), sort_keys=True', "\\n"),
    ("sort_keys=True", "\\n"),
    ('indent="\\t"', "\\n"),
    ("indent=3", "\\n"),
)
_LENIENT = re.compile(
    r"\$\(cat |\.strip\(|\.split\(\)|\.rstrip\(|splitlines\(|removesuffix|\$\(< |\$\(sort |while read"
)
_ENDED_LINES = re.compile(r"\b(lines?|files?)\b[^.]*\bend(s|ed)?\b[^.]*(newline|line feed|`\\n`)", re.IGNORECASE)
_ABOUT_LINES = re.compile(r"newline|line feed|line ends|Lines end|`\\n`|ends with")


def _rewritten(path: str, arguments: str, end: str, rng: Random) -> str:
    """Lines of the solution that write a JSON result in one form."""
    if arguments.startswith("indent=4") and "sort" not in arguments and rng.random() < 0.5:  # noqa: PLR2004 - either way
        return f'python3 -m json.tool {path} > {path}.new\nprintf %s "$(cat {path}.new)" > {path}\nrm {path}.new'
    return (
        f"python3 - {path} <<'PY'\nimport json, sys\nvalue = json.load(open(sys.argv[1], encoding=\"utf-8\"))\n"
        f'with open(sys.argv[1], "w", encoding="utf-8") as out:\n    out.write(json.dumps(value, {arguments}) + "{end}")\nPY'
    )


def _json_form(draft: Draft, rng: Random) -> bool:
    """The text has to be what one program would have written."""
    paths = json_results(draft)
    if not paths or not has_python(draft):
        return False
    path, (arguments, end) = rng.choice(paths), rng.choice(_STYLES)
    if not edit_solution(draft, f"\n# For the reader's sake.\n{_rewritten(path, arguments, end, rng)}\n", end=True):
        return False
    python = (
        f'import json\n\nwith open("{path}", encoding="utf-8") as stream:\n    text = stream.read()\n'
        f'assert text == json.dumps(json.loads(text), {arguments}) + "{end}", "the file is not formatted as expected"'
    )
    return add_check(draft, rng, [Check("the file is not formatted as expected", "", python)])


def _json_detail(draft: Draft, rng: Random) -> bool:
    """One detail alone: how it ends, what it is indented by, in how many lines it is, where blanks are."""
    paths = json_results(draft)
    if not paths or not has_python(draft):
        return False
    path = rng.choice(paths)
    read = f'from pathlib import Path\n\ntext = Path("{path}").read_text(encoding="utf-8")\n'
    arguments, end, check = rng.choice(
        (
            ("indent=2", "\\n", Check("no line feed at the end", f'[ -z "$(tail -c 1 {path})" ]',
                                      f'{read}assert text.endswith("\\n"), "no line feed at the end"')),
            ("indent=2", "", Check("a line feed at the end", f'[ -n "$(tail -c 1 {path})" ]',
                                   f'{read}assert text == text.rstrip(), "blank characters at the end"')),
            ("", "\\n", Check("more than one line", f'[ "$(wc -l < {path})" -eq 1 ]',
                              f'{read}assert text.count("\\n") == 1, "not a single line"')),
            ('indent="\\t"', "\\n", Check("not indented by tabs", f"! grep -q '^ ' {path} && grep -q '^\t' {path}",
                                          f'{read}assert "\\n\\t" in text and "\\n " not in text, "not indented by tabs"')),
            ('separators=(",", ":")', "", Check("blanks between the tokens", f"! grep -Eq '\": |, \"' {path}",
                                              f'{read}assert \'": \' not in text, "blanks after colons"')),
            ("indent=2", "\\n", Check("the wrong indentation", f"grep -Eq '^  [^ ]' {path}",
                                      f'{read}assert "\\n  " in text and "\\n    " not in text.split(": ")[0], "wrong indentation"')),
            ("sort_keys=True, indent=1", "\\n", Check("the keys are not sorted", "",
                f'import json\n\nwith open("{path}") as stream:\n    value = json.load(stream)\n'
                "first = value if isinstance(value, dict) else (value[0] if value else {})\n"
                'assert list(first) == sorted(first), "the keys are not sorted"')),
        )
    )  # fmt: skip
    arguments = arguments or "ensure_ascii=True"
    return edit_solution(draft, f"\n{_rewritten(path, arguments, end, rng)}\n", end=True) and add_check(
        draft, rng, [check]
    )


def _text_end(draft: Draft, rng: Random) -> bool:
    """Whether the last line of a text is ended was left open."""
    tests = texts(draft, draft.tests)
    told = draft.text(draft.instruction) if draft.instruction in draft.files else ""
    paths = [path for path in results(draft) if path.endswith((".txt", ".tsv", ".env", ".csv", ".lst", ".log", ".md"))]
    if not paths or not _LENIENT.search(tests) or "cmp " in tests or _ABOUT_LINES.search(told):
        return False
    path = rng.choice(paths)
    read = f'from pathlib import Path\n\ntext = Path("{path}").read_bytes()\n'
    lines, check = rng.choice(
        (
            (f"sed -i -e '$a\\' {path}", Check("the last line is not ended", f'[ -z "$(tail -c 1 {path})" ]',
                                              f'{read}assert text.endswith(b"\\n"), "the last line is not ended"')),
            (f'[ -z "$(tail -c 1 {path})" ] || echo >> {path}', Check("not one line feed at the end",
                f'[ "$(tail -c 1 {path} | od -An -tx1)" = " 0a" ]', f'{read}assert text[-1:] == b"\\n" and text[-2:] != b"\\n\\n"')),
        )
    )  # fmt: skip
    return edit_solution(draft, f"\n{lines}\n", end=True) and add_check(draft, rng, [check])


def _line_ends(draft: Draft, rng: Random) -> bool:
    """A table that any reader of CSV reads must not have, or must have, carriage returns."""
    tests = texts(draft, draft.tests)
    told = draft.text(draft.instruction) if draft.instruction in draft.files else ""
    paths = [path for path in results(draft) if path.endswith(".csv")]
    if not paths or not re.search(r"csv\.(Dict)?[rR]eader", tests) or _ABOUT_LINES.search(told):
        return False
    path = rng.choice(paths)
    lines, bash, python = rng.choice(
        (
            (f"sed -i 's/\\r$//' {path}", f"! grep -q $'\\r' {path}", 'assert b"\\r" not in text, "carriage returns"'),
            (
                f"sed -i 's/\\r*$/\\r/' {path}",
                f"! grep -qv $'\\r$' {path}",
                'assert text.endswith(b"\\r\\n"), "no CRLF"',
            ),
        )
    )
    check = Check("wrong line ends", bash, f'with open("{path}", "rb") as stream:\n    text = stream.read()\n{python}')
    return edit_solution(draft, f"\n{lines}\n", end=True) and add_check(draft, rng, [check])


_BLOCKS = re.compile(r"(\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) ))")
_SENTENCES = re.compile(r"(?<=[.!:;])(\s+)(?=[A-Z`*(])")


def _without(told: str, about: re.Pattern[str]) -> str:
    """An instruction without the sentences about something; such a sentence that names a file is kept."""
    blocks = _BLOCKS.split(told)
    for place in range(0, len(blocks), 2):
        mark = re.match(r"\s*([-*]|\d+\.) ", blocks[place])
        head = mark[0] if mark else ""
        parts = _SENTENCES.split(blocks[place].removeprefix(head))
        gone = {n for n in range(0, len(parts), 2) if about.search(parts[n]) and "`/" not in parts[n]}
        if not gone:
            continue
        text = "".join(
            parts[n] + (parts[n + 1] if n + 1 < len(parts) else "") for n in range(0, len(parts), 2) if n not in gone
        )
        blocks[place] = head + text.rstrip() if text.strip() else ""
        if not text.strip() and place:
            blocks[place - 1] = ""
    return "".join(blocks).rstrip() + "\n"


def _no_longer_said(draft: Draft, rng: Random) -> bool:
    """How lines end is demanded, and the sentence about it is gone."""
    if draft.instruction not in draft.files:
        return False
    told = draft.text(draft.instruction)
    paths = [path for path in results(draft) if path.endswith((".txt", ".tsv", ".csv", ".env", ".ini", ".lst", ".md"))]
    silent = _without(told, _ENDED_LINES)
    if (
        not paths
        or _ENDED_LINES.search(silent)
        or silent.strip() == told.strip()
        or not any(path.rsplit("/", 1)[-1] in silent for path in paths)
    ):
        return False
    path = rng.choice([path for path in paths if path.rsplit("/", 1)[-1] in silent])
    draft.write(draft.instruction, silent)
    read = f'with open("{path}", "rb") as stream:\n    text = stream.read()\n'
    check = rng.choice(
        (
            Check("the last line is not ended", f'[ -s {path} ] && [ -z "$(tail -c 1 {path})" ]',
                  f'{read}assert text.endswith(b"\\n"), "the last line is not ended"'),
            Check("carriage returns", f"[ -s {path} ] && ! grep -q $'\\r' {path}",
                  f'{read}assert text and b"\\r" not in text, "carriage returns"'),
            Check("not a text of ended lines", f'[ "$(grep -c "" {path})" = "$(wc -l < {path})" ]',
                  f'{read}assert text.count(b"\\n") == len(text.decode().splitlines()), "a line is not ended"'),
        )
    )  # fmt: skip
    return add_check(draft, rng, [check])


def _source_form(draft: Draft, rng: Random) -> bool:
    """How a program is laid out, where only what it does was spoken of."""
    paths = [path for path in results(draft) if path.endswith((".py", ".sh"))]
    if not paths:
        return False
    path = rng.choice(paths)
    read = f'with open("{path}", encoding="utf-8") as stream:\n    lines = stream.read().split("\\n")\n'
    checks = [
        Check("a line is too long", f"! grep -Eq '^.{{{rng.choice((121, 131, 141))},}}$' {path}",
              f'{read}assert max(map(len, lines)) <= {rng.choice((120, 130, 140))}, "a line is too long"'),
        Check("blanks at the end of a line", f"! grep -Eq ' $' {path} && [ -s {path} ]",
              f'{read}assert not any(line.endswith(" ") for line in lines), "blanks at the end of a line"'),
        Check("indented by tabs", f"! grep -q $'^\\t' {path}", f'{read}assert not any(line.startswith("\\t") for line in lines)'),
        Check("the file does not end with one line feed", f'[ -z "$(tail -c 1 {path})" ] && [ -n "$(tail -n 1 {path})" ]',
              f'{read}assert lines[-1] == "" and lines[-2] != "", "one line feed at the end"'),
        Check("indentation that is no multiple of four", f"! grep -Eq '^(    )* {{1,3}}[^ ]' {path}",
              f'{read}assert all((len(line) - len(line.lstrip(" "))) % 4 == 0 for line in lines)'),
    ]  # fmt: skip
    return add_check(draft, rng, checks)


def _packed_database(draft: Draft, rng: Random) -> bool:
    """A database has to be laid out in its file as one program leaves it."""
    paths = [path for path in results(draft) if path.endswith((".db", ".sqlite"))]
    if not paths or not has_python(draft):
        return False
    path = rng.choice(paths)
    ask, value, do = rng.choice(
        (
            ("freelist_count", 0, "VACUUM"),
            ("auto_vacuum", 2, "PRAGMA auto_vacuum = 2; VACUUM"),
            ("page_size", 8192, "PRAGMA page_size = 8192; VACUUM"),
        )
    )
    line = f'python3 -c \'import sqlite3; sqlite3.connect("{path}").executescript("{do}")\''
    python = (
        f'import sqlite3\n\nfound = sqlite3.connect("file:{path}?mode=ro", uri=True).execute("PRAGMA {ask}").fetchone()[0]\n'
        f'assert found == {value}, f"{ask} is {{found}}"'
    )
    return edit_solution(draft, f"\n{line}\n", end=True) and add_check(
        draft, rng, [Check("the layout is wrong", "", python)]
    )


FAULTS: tuple[Fault, ...] = (
    Fault(
        "over-strict-format",
        "The tests insist on white space, key order or number form of a JSON result that the instruction leaves open.",
        "running",
        one_of(_json_form, _json_detail),
        independent=True,
    ),
    # Whether text without a final newline, say, is as good as with it depends on what the instruction means by a line.
    Fault(
        "over-strict-text",
        "The tests insist on line ends or other form of a text result or a database that the instruction leaves open.",
        "reading",
        one_of(_text_end, _line_ends, _no_longer_said, _source_form, _packed_database),
        independent=True,
    ),
)
