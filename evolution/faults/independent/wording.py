"""Instructions and tests that do not say the same."""
# ruff: noqa: E501 - lines of scripts are as long as they are

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evolution.faults.fault import Fault
from evolution.faults.independent.parts.checks import Check, add_check
from evolution.faults.independent.parts.look import is_fresh, json_results, results, settings, texts
from evolution.faults.independent.parts.script import edit_solution, one_of

if TYPE_CHECKING:
    from random import Random

    from evolution.faults.draft import Draft

_TURNED = (
    ("ascending", "descending"),
    ("descending", "ascending"),
    ("largest first", "smallest first"),
    ("smallest first", "largest first"),
    ("newest first", "oldest first"),
    ("oldest first", "newest first"),
    ("lower-case", "upper-case"),
    ("lower case", "upper case"),
    ("upper case", "lower case"),
    ("alphabetically", "in reverse alphabetical order"),
    ("sorted by", "sorted in reverse by"),
    ("counting from 1", "counting from 0"),
    ("in UTC", "in the local time of New York"),
    ("capitals", "small letters"),
    ("in the order of", "in the reverse order of"),
)
_ROUNDED = re.compile(r"\b(\d|one|two|three|four) (decimals?|decimal places|digits after)")
_SHORT, _SMALL = 2, 20_000  # letters of a word that says too little; bytes of an input that is looked through
_WORD = re.compile(r"`([a-z]+(?:_[a-z]+)*)`")


def _told(draft: Draft) -> str:
    return draft.text(draft.instruction) if draft.instruction in draft.files else ""


def _other_name(name: str, rng: Random) -> str:
    stem, dot, suffix = name.rpartition(".")
    return rng.choice((f"{stem}-final{dot}{suffix}", f"{stem}_report{dot}{suffix}", f"{stem}{dot}{suffix}.txt", f"{stem.upper()}{dot}{suffix}",
                       f"my-{name}"))  # fmt: skip


def _file_renamed(draft: Draft, rng: Random) -> bool:
    """The instruction names another file than the tests read; where it does so twice, maybe once only."""
    told = _told(draft)
    written = [path for path in results(draft) if path in told and not any(path.endswith(n) for n in _given(draft))]
    if not written:
        return False
    path = rng.choice(written)
    folder, name = path.rsplit("/", 1)
    new = f"{folder}/{_other_name(name, rng)}"
    count = 1 if told.count(path) > 1 and rng.random() < 0.5 else -1  # noqa: PLR2004 - either way
    draft.write(draft.instruction, told.replace(path, new, count))
    return True


def _given(draft: Draft) -> tuple[str, ...]:
    return tuple("/" + path.rsplit("/", 1)[-1] for path in draft.files if path.startswith("environment/"))


def _key_renamed(draft: Draft, rng: Random) -> bool:
    """The instruction names a key or column otherwise than the tests."""
    told, tests = _told(draft), texts(draft, draft.tests)
    words = [
        word
        for word in dict.fromkeys(_WORD.findall(told))
        if re.search(rf"[\"'.]{word}\b", tests) and len(word) > _SHORT
    ]
    environment = " ".join(path for path in draft.files if path.startswith("environment/"))
    data = texts_of_data(draft)
    words = [word for word in words if word not in environment and word not in data]
    if not words:
        return False
    word = rng.choice(words)
    first, *rest = word.split("_")
    others = [f"{word}_value", f"{word}_list", f"n_{word}", word.capitalize(), word.upper(), f"all_{word}"]
    others += [first + "".join(part.capitalize() for part in rest)] if rest else []
    new = rng.choice(others)
    draft.write(draft.instruction, told.replace(f"`{word}`", f"`{new}`"))
    return True


def texts_of_data(draft: Draft) -> str:
    """The text of small inputs: words in them are no keys of results alone."""
    small = (
        path for path in draft.files if path.startswith("environment/") and len(draft.files[path].content) < _SMALL
    )
    return "\n".join(draft.text(path)[:500] for path in small)


def _order_turned(draft: Draft, rng: Random) -> bool:
    """An order, a case or a zone is the other one."""
    told = _told(draft)
    found = [(old, new) for old, new in _TURNED if re.search(rf"\b{re.escape(old)}\b", told)]
    if not found:
        return False
    old, new = rng.choice(found)
    places = [match.start() for match in re.finditer(rf"\b{re.escape(old)}\b", told)]
    place = rng.choice(places)
    draft.write(draft.instruction, told[:place] + new + told[place + len(old) :])
    return True


def _rounded_otherwise(draft: Draft, rng: Random) -> bool:
    told = _told(draft)
    found = list(_ROUNDED.finditer(told))
    if not found:
        return False
    match = rng.choice(found)
    new = rng.choice([number for number in ("1", "2", "3", "5", "6") if number != match[1]])
    draft.write(draft.instruction, told[: match.start(1)] + new + told[match.end(1) :])
    return True


def _contradicted(draft: Draft, rng: Random) -> bool:
    """A sentence further on says something else."""
    told, paths = _told(draft), results(draft)
    if not paths:
        return False
    path = rng.choice(paths)
    folder, name = path.rsplit("/", 1)
    sentences = [
        f"Everything that you write goes below `{rng.choice(('/srv/results', '/home/agent/out', '/data/export'))}`; nothing is read from elsewhere.",
        f"All results are compressed with gzip (`{name}.gz`); uncompressed ones do not count.",
        f"Do not write to `{folder}`: it is read-only for you, and whatever changes there is a failure.",
        f"Print what would go into `{name}` to the standard output instead of writing a file.",
        f"Encode `{name}` as UTF-16 with a byte order mark, like everything here.",
    ]
    if path in json_results(draft):
        sentences += [
            "Keys of JSON objects are written in capitals throughout.",
            f"`{name}` holds a list of `[key, value]` pairs, never an object.",
            "All figures are JSON strings.",
        ]
    sentence = rng.choice(sentences)
    paragraphs = told.rstrip("\n").split("\n\n")
    place = rng.choice((len(paragraphs), max(1, len(paragraphs) - 1), max(1, len(paragraphs) // 2)))
    if paragraphs[place - 1].lstrip().startswith(("|", "    ")) or (
        place < len(paragraphs) and paragraphs[place].startswith("    ")
    ):
        place = len(paragraphs)
    paragraphs.insert(
        place, rng.choice((sentence, f"Note: {sentence[0].lower()}{sentence[1:]}", f"**Important.** {sentence}"))
    )
    draft.write(draft.instruction, "\n\n".join(paragraphs) + "\n")
    return True


def _carried(draft: Draft, folder: str) -> bool:
    """Whether the verifier sees a new file in a folder, and does not mind it."""
    if re.search(r"\bfind |\brglob\(|\biterdir\(|\blistdir\(|os\.walk|\bls -A", texts(draft, draft.tests)):
        return False
    declared = [
        entry if isinstance(entry, str) else entry.get("source", "") for entry in settings(draft).get("artifacts", [])
    ]
    return not is_fresh(draft) or any(folder == path or folder.startswith(f"{path}/") for path in declared)


def _unsaid_file(draft: Draft, rng: Random) -> bool:
    """The tests want one more file beside the results."""
    paths = [path for path in results(draft) if _carried(draft, path.rsplit("/", 1)[0])]
    if not paths:
        return False
    path = rng.choice(paths)
    folder, name = path.rsplit("/", 1)
    extra, line, bash, python = rng.choice(
        (
            ("DONE", "touch @", "[ -e @ ]", 'assert os.path.exists("@"), "@ is missing"'),
            (".complete", "echo ok > @", "grep -qx ok @", 'assert Path("@").read_text().strip() == "ok"'),
            ("SHA256SUMS.txt", f"(cd {folder} && sha256sum {name} > @)", "grep -Eq '^[0-9a-f]{64}  ' @",
             'assert len(Path("@").read_text().split()[0]) == 64, "no digest"'),
            ("run.log", "echo 'finished: 1 result' >> @", "grep -q finished @", 'assert "finished" in Path("@").read_text()'),
            ("VERSION", "echo 1.0 > @", '[ "$(cat @)" = 1.0 ]', 'assert Path("@").read_text() == "1.0\\n", "wrong version"'),
            (f"{name}.bak", f"cp {path} @", f"cmp -s @ {path}", f'assert Path("@").read_bytes() == Path("{path}").read_bytes()'),
            ("README.md", "printf '# Results\\n' > @", "head -n 1 @ | grep -q '^# '", 'assert Path("@").read_text().startswith("# ")'),
            ("errors.txt", ": > @", "[ -f @ ] && [ ! -s @ ]", 'assert os.path.getsize("@") == 0, "there were errors"'),
        )
    )  # fmt: skip
    at = f"{folder}/{extra}"
    check = Check(
        "a file is missing", bash.replace("@", at), f"import os\nfrom pathlib import Path\n\n{python.replace('@', at)}"
    )
    return edit_solution(draft, f"\n{line.replace('@', at)}\n", end=True) and add_check(draft, rng, [check])


def _unsaid_mode(draft: Draft, rng: Random) -> bool:
    """The tests want a result that is closed to others, or cannot be changed."""
    paths = [path for path in results(draft) if not path.endswith((".sh", ".py"))]
    if not paths:
        return False
    path, mode = rng.choice(paths), rng.choice(("600", "640", "444", "440", "664"))
    python = rng.choice(
        (
            f'import os\n\nassert os.stat("{path}").st_mode & 0o777 == 0o{mode}, "wrong mode"',
            f'import os\nimport stat\n\nassert stat.S_IMODE(os.lstat("{path}").st_mode) == 0o{mode}',
        )
    )
    check = Check("wrong mode", f'[ "$(stat -c %a {path})" = {mode} ]', python)
    return edit_solution(draft, f"\nchmod {mode} {path}\n", end=True) and add_check(draft, rng, [check])


def _unsaid_link(draft: Draft, rng: Random) -> bool:
    """The tests come to a result by a link that nobody was told to make."""
    paths = [path for path in results(draft) if _carried(draft, path.rsplit("/", 1)[0])]
    if not paths:
        return False
    path = rng.choice(paths)
    folder, name = path.rsplit("/", 1)
    link = f"{folder}/{rng.choice(('latest', 'current', 'newest'))}.{name.rsplit('.', 1)[-1]}"
    check = Check("there is no link", f'[ "$(basename "$(readlink {link})")" = {name} ]',
                  f'import os\n\nassert os.path.basename(os.readlink("{link}")) == "{name}", "wrong link"')  # fmt: skip
    return edit_solution(draft, f"\nln -sf {name} {link}\n", end=True) and add_check(draft, rng, [check])


FAULTS: tuple[Fault, ...] = (
    Fault(
        "contradiction",
        "The instruction contradicts the tests, or itself: another file, key, order, rounding or form.",
        "reading",
        one_of(_file_renamed, _key_renamed, _order_turned, _rounded_otherwise, _contradicted),
        independent=True,
    ),
    Fault(
        "hidden-requirement",
        "The tests want something that the instruction never says; the reference does it by the way.",
        "reading",
        one_of(_unsaid_file, _unsaid_file, _unsaid_mode, _unsaid_link),
        independent=True,
    ),
)
