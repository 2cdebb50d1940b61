"""Which respects of an output's form an instruction leaves open; where in doubt, none.

Only sentences that could be meant for the output count: those that name it, its kind, or results at large. A sentence
about CSV alone fixes nothing for JSON.
"""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache
from typing import Final, Literal

from evolution.gates.scripts import MAX_LINE

Respect = Literal["json-whitespace", "json-key-order", "json-escapes", "number-format", "final-newline", "letter-case"]

_SENTENCE = re.compile(r"(?<=[.!?;:])\s+(?=[A-Z`*(\[]|\d+\.)|\n\s*\n|\n(?=\s*(?:[-*+]|\d+\.)\s)")
# Fixes everything: the bytes themselves are what is wanted.
_BYTES: Final = re.compile(
    r"\bbytes?[- ](?:for|by|identical|exact|wise)|\bbyte-|\bverbatim\b|\bidentical(?:ly)? to\b|\bcanonical|"
    r"\bexactly (?:as|like|this|the (?:following|output|format|form|text|contents?))\b|"
    r"\b(?:as|like) (?:`?jq\b|`?json\.dumps?|shown)|"
    r"\bjson\.dumps?\b|\bjq\b|\bcharacter for character\b|\bfollowing (?:exact )?(?:format|contents?)\b",
    re.IGNORECASE,
)
# A checksum of the output itself.
_DIGEST: Final = re.compile(
    r"\b(?:sha-?\d+|md5|checksum|digest|hash|fingerprint)\b[^.]{0,60}\b(?:of|over)\b[^.]{0,30}"
    r"\b(?:this|that|the|its|each|every) "
    r"(?:file|output|result|report|json)|\bsigned\b|\bsignature\b",
    re.IGNORECASE,
)
_FIXES: Final[dict[Respect, re.Pattern[str]]] = {
    "json-whitespace": re.compile(
        r"\bindent|\bcompact|\bminif|\bpretty|\bwhitespace|\b(?:one|single|same|own) line\b|"
        r"\bline each\b|\bper line\b|\beach line\b(?!['’]s)|"
        r"\bspaces?\b|\bblanks?\b|\bseparator|\bformatt(?:ed|ing)\b|"
        r"\bnew ?lines?\b|\bline (?:breaks?|feeds?)\b|\blayout\b",
        re.IGNORECASE,
    ),
    "json-key-order": re.compile(
        r"\bsort(?:ed|ing|s)?\b|\border(?:ed|ing)?\b|\b(?:alphabetical|ascending|descending|sequence)|\b(?:first|last|then)\b|"
        r"\bsort_keys\b",
        re.IGNORECASE,
    ),
    "json-escapes": re.compile(r"\bescap|\bascii\b|\bunescaped\b|\\u|\bunicode\b|\bensure_ascii\b", re.IGNORECASE),
    "number-format": re.compile(
        r"\bfloat|\bdecimal|\bdigits?\b|\bround|\bplaces?\b|\bprecision|\bfraction|\binteger|\bnumeric|\bformat|\d\.\d|\.0\b|\btype\b",
        re.IGNORECASE,
    ),
    "final-newline": re.compile(
        r"\bnew ?lines?\b|\bline (?:breaks?|feeds?|ends?|endings?)\b|\\n|\blines?\b|"
        r"\btrailing\b|\bend of (?:the )?file\b|\becho\b|"
        r"\bprintf\b|\bLF\b",
        re.IGNORECASE,
    ),
    "letter-case": re.compile(
        r"\b(?:lower|upper|capital|case)|\b\w+sums?\b|\bas .{0,20} writes\b|\b[0-9a-f]{16,}\b", re.IGNORECASE
    ),
}
_FREE: Final[dict[Respect, re.Pattern[str]]] = {
    "json-key-order": re.compile(
        r"\b(?:order|sequence) of (?:the |its |their |all )?(?:keys|fields|members|entries|names)\b[^.;,]{0,200}"
        r"\b(?:does not|doesn't|do not|is not|free|irrelevant|any)\b|"
        r"\bkeys?\b[^.;,]{0,200}\bin any order\b|\bkey order\b[^.;,]{0,200}\b(?:not|free|any)\b",
        re.IGNORECASE,
    ),
    "json-whitespace": re.compile(
        r"\b(?:whitespace|indentation|formatting|layout)\b[^.;,]{0,200}"
        r"\b(?:does not|doesn't|do not|is free|irrelevant|any)\b",
        re.IGNORECASE,
    ),
}
_PATH = re.compile(r"(?<![\w./~$}:-])/[\w.@+<>*-]+(?:/[\w.@+<>*-]+)+")
_MODEL = re.compile(r"\b(?:like|same|format|layout|form|style|example|template|sample)\b", re.IGNORECASE)
"""Where another file is what the output is to look like, it speaks of the output, too."""
_OF_A_VALUE = re.compile(
    r"\b(?:sha-?\d+|md5|checksum|digest|hash)\b[^.]{0,60}\bof (?:a|the) (?:text|string|value|figure|sum|number|"
    r"characters?|link|entry|name|list|first|last)\b|\bwrite down\b[^.]{0,200}\btake its (?:sha|md5|hash|checksum)",
    re.IGNORECASE,
)
"""How the checksum of something in a file is made: of the file's own form it says nothing."""
_KEYS = re.compile(
    r"\b(?:keys?|fields?|members?|names?|properties|objects?|maps?|mapping|dictionar\w+|entr(?:y|ies)|attributes?)\b",
    re.IGNORECASE,
)
_JSON = re.compile(r"\bJSON\b|\.jsonl?\b|\.ndjson\b", re.IGNORECASE)
_OTHER_KIND = re.compile(
    r"\bCSV\b|\bTSV\b|\btext (?:results|files?)\b|\bXML\b|\bYAML\b|\.(?:csv|tsv|txt|xml|ya?ml|md|log|ini)\b",
    re.IGNORECASE,
)
_AT_LARGE = re.compile(
    r"\b(?:outputs?|results?|files?|reports?|written|write|everything|answers?)\b|"
    r"\ball lines\b|\b(?:every|each) line\b(?!['’]s)|^\W*lines?\b",
    re.IGNORECASE,
)
_HEX = re.compile(r"\bhex", re.IGNORECASE)


def is_open(instruction: str, path: str, respect: Respect) -> bool:
    """Whether the instruction says nothing about a respect of an output's form.

    Nothing is open where a sentence of the instruction is longer than `MAX_LINE`: it is not searched.

    Args:
        instruction: All of it.
        path: The output's absolute path.
        respect: What is asked about.
    """
    sentences = _about(instruction, path)
    fixed = _FIXES[respect]
    free = _FREE.get(respect)
    if any(len(sentence) > MAX_LINE for sentence in _sentences(instruction)):
        return False
    if any(_BYTES.search(sentence) or _DIGEST.search(sentence) for sentence in sentences):
        return False
    if free is not None and any(free.search(sentence) for sentence in sentences):
        return True
    if respect == "json-key-order":
        return not any(_orders_keys(sentence) for sentence in sentences)
    if respect == "letter-case":
        said = [sentence for sentence in _sentences(instruction) if _HEX.search(sentence)]
        if not any(_HEX.search(sentence) for sentence in sentences) or any(map(fixed.search, said)):
            return False  # how one digest is written holds for all
    return not any(fixed.search(sentence) for sentence in sentences)


def _orders_keys(sentence: str) -> bool:
    """Whether keys and an order come close to each other."""
    return any(
        _KEYS.search(sentence, max(0, match.start() - 80), min(len(sentence), match.end() + 80))
        for match in _FIXES["json-key-order"].finditer(sentence)
    )


@lru_cache(maxsize=4)  # asked in each respect, and for each output
def _sentences(instruction: str) -> tuple[str, ...]:
    return tuple(part for part in _SENTENCE.split(instruction) if part and part.strip())


@lru_cache(maxsize=4)
def _about(instruction: str, path: str) -> tuple[str, ...]:
    """The sentences that could be meant for an output."""
    name, is_json = posixpath.basename(path), posixpath.splitext(path)[1] in {".json", ".jsonl", ".ndjson"}
    sentences = _sentences(instruction)
    kept = []
    for number, sentence in enumerate(sentences):
        before = sentences[number - 1] if number else ""
        named = name in sentence or (name in before and not (is_json and _OTHER_KIND.search(sentence)))
        if is_json:
            meant = _JSON.search(sentence) or (_AT_LARGE.search(sentence) and not _OTHER_KIND.search(sentence))
        else:  # of files that are not JSON, little is taken for granted
            meant = _OTHER_KIND.search(sentence) or not _JSON.search(sentence)
        if (named or meant) and not _is_of_something_else(sentence, path, name):
            kept.append(sentence)
    return tuple(kept)


def _is_of_something_else(sentence: str, path: str, name: str) -> bool:
    """Whether it names other files and not the output, or says how the checksum of a value is made."""
    if _OF_A_VALUE.search(sentence):
        return True
    named = [match[0] for match in _PATH.finditer(sentence)]
    others = bool(named) and name not in sentence and not any(path.startswith(other) for other in named)
    return others and not _MODEL.search(sentence) and not _DIGEST.search(sentence)
