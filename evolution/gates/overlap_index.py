"""An index of the word 13-grams of held-out texts: built once, then asked from a memory-mapped file.

Words are what is left of a text in NFKC and lower case when all but letters, digits and the marks that follow them
(Unicode's category M: vowel signs, accents that no letter has in it) is a gap between words.
A gram is 13 words in a row, one beginning at each word. The index keeps a sorted array of 64-bit hashes of grams and,
beside each, where it comes from; a hit is compared with the words themselves, so that two grams of one hash are told
apart. A folder that holds an index:

* `grams.npy` sorted hashes (uint64), `places.npy` for each the number of its text and of its first word (uint32 pairs);
* `texts.bin` all texts as words with a space between, `texts.npy` where each begins (uint64), `names.txt` their names.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import tempfile
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from evolution.gates.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

GRAM: Final = 13
"""Words of a gram (AutoEnvScaling, admission)."""
FORMAT: Final = "grams-2"
_FILES: Final = ("grams.npy", "places.npy", "texts.npy", "texts.bin", "names.txt")
_WORD: Final = re.compile(r"[^\W_]+")
_MULTIPLIER: Final = 0x9E3779B97F4A7C15
_BATCH: Final = 4096


@dataclass(frozen=True, slots=True)
class Hit:
    """A gram that a text shares with a held-out one.

    Attributes:
        words: The words.
        name: The held-out text's name.
        at: The gram's first word in the text that was asked about, from 0.
    """

    words: str
    name: str
    at: int


def words_of(text: str) -> list[str]:
    """The words of a text, normalised."""
    pattern = _WORD if text.isascii() else _word_with_marks()
    return pattern.findall(unicodedata.normalize("NFKC", text).lower())


@lru_cache(maxsize=1)
def _word_with_marks() -> re.Pattern[str]:
    """Matches a word that may have marks in it; a mark that follows no letter begins none."""
    marks = [code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)).startswith("M")]
    begins = [code for code in marks if not unicodedata.category(chr(code - 1)).startswith("M")]
    ends = [code for code in marks if not unicodedata.category(chr(code + 1)).startswith("M")]
    ranges = "".join(f"\\U{begin:08x}-\\U{end:08x}" for begin, end in zip(begins, ends, strict=True))
    return re.compile(rf"[^\W_]+(?:[{ranges}]+[^\W_]*)*")


class OverlapIndex:
    """An index that lies in a folder.

    Args:
        folder: Where.

    Raises:
        GateError: There is none, or it is damaged.
    """

    def __init__(self, folder: Path) -> None:
        try:
            if (folder / "format").read_text() != FORMAT:
                raise GateError(f"{folder}: an overlap index of another format; remove it, and it is built again")
            self._grams = np.load(folder / "grams.npy", mmap_mode="r")
            self._places = np.load(folder / "places.npy", mmap_mode="r")
            self._starts = np.load(folder / "texts.npy", mmap_mode="r")
            self._names = (folder / "names.txt").read_text(encoding="utf-8").split("\n")
            self._texts = folder / "texts.bin"
            self._size = self._texts.stat().st_size
        except (OSError, ValueError, EOFError) as error:
            raise GateError(f"{folder}: no overlap index that can be read: {error}") from error

    @property
    def grams(self) -> int:
        """How many grams it holds."""
        return len(self._grams)

    @property
    def texts(self) -> int:
        """How many texts it was built from."""
        return len(self._starts) - 1

    @classmethod
    def build(cls, texts: Iterable[tuple[str, str]], folder: Path) -> Self:
        """Builds an index; the folder appears whole or not at all.

        Args:
            texts: Names and texts; those of fewer than `GRAM` words have no gram.
            folder: Where to; one that is there stays as it is.

        Raises:
            GateError: It cannot be written.
        """
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            aside = Path(tempfile.mkdtemp(prefix=".building-", dir=folder.parent))
            try:
                _write(texts, aside)
                os.replace(aside, folder)  # noqa: PTH105 - as atomic as it says
            except OSError:
                if not (folder / "format").is_file():  # not that another process was faster
                    raise
            finally:
                shutil.rmtree(aside, ignore_errors=True)
        except OSError as error:
            raise GateError(f"{folder}: the overlap index cannot be written: {error}") from error
        return cls(folder)

    def hits(self, text: str) -> Iterator[Hit]:
        """The grams that a text shares with held-out ones, in order; each with the first text that has it."""
        words = words_of(text)
        hashes = _hashes([_number(word) for word in words])
        if not len(hashes) or not len(self._grams):
            return
        first = np.searchsorted(self._grams, hashes, "left")
        inside = first < len(self._grams)
        found = np.zeros(len(hashes), dtype=bool)
        found[inside] = self._grams[first[inside]] == hashes[inside]
        for at in np.flatnonzero(found):
            gram = words[at : at + GRAM]
            name = self._verified(gram, int(first[at]), int(hashes[at]))
            if name is not None:
                yield Hit(" ".join(gram), name, int(at))

    def _verified(self, gram: list[str], row: int, number: int) -> str | None:
        """The text that truly has a gram, among the rows of its hash."""
        while row < len(self._grams) and int(self._grams[row]) == number:
            text, start = (int(value) for value in self._places[row])
            if self._words(text)[start : start + GRAM] == gram:
                return self._names[text]
            row += 1
        return None

    def _words(self, text: int) -> list[str]:
        start, end = int(self._starts[text]), int(self._starts[text + 1])
        with self._texts.open("rb") as stream:
            stream.seek(start)
            return stream.read(end - start).decode().split()


def folder_for(texts: Iterable[tuple[str, str]], parent: Path) -> Path:
    """The folder below `parent` for the index of some texts: its name is a digest of them."""
    digest = hashlib.sha256(FORMAT.encode())
    for name, text in texts:
        digest.update(f"{len(name)} {len(text)} {name}{text}".encode("utf-8", "backslashreplace"))
    return parent / digest.hexdigest()[:24]


def _write(texts: Iterable[tuple[str, str]], folder: Path) -> None:
    names: list[str] = []
    starts = [0]
    grams: list[NDArray[np.uint64]] = []
    places: list[NDArray[np.uint32]] = []
    numbers: dict[str, int] = {}
    with (folder / "texts.bin").open("wb") as stream:
        for name, text in texts:
            words = words_of(text)
            for word in words:
                if word not in numbers:
                    numbers[word] = _number(word)
            hashes = _hashes([numbers[word] for word in words])
            place = np.empty((len(hashes), 2), dtype=np.uint32)
            place[:, 0] = len(names)
            place[:, 1] = np.arange(len(hashes), dtype=np.uint32)
            grams.append(hashes)
            places.append(place)
            starts.append(starts[-1] + stream.write((" ".join(words) + "\n").encode()))
            # A file's name, or an identifier in JSON, may have half a surrogate pair in it.
            names.append(" ".join(name.split()).encode("utf-8", "backslashreplace").decode("utf-8"))
            if len(grams) >= _BATCH:  # fewer, larger arrays
                grams, places = [np.concatenate(grams)], [np.concatenate(places)]
    every = np.concatenate(grams) if grams else np.empty(0, dtype=np.uint64)
    where = np.concatenate(places) if places else np.empty((0, 2), dtype=np.uint32)
    grams.clear()
    places.clear()
    order = np.argsort(every, kind="stable")
    np.save(folder / "grams.npy", every[order])
    np.save(folder / "places.npy", where[order])
    np.save(folder / "texts.npy", np.array(starts, dtype=np.uint64))
    (folder / "names.txt").write_text("\n".join(names), encoding="utf-8")
    (folder / "format").write_text(FORMAT)


@lru_cache(maxsize=1 << 16)
def _number(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest(), "little")


def _hashes(numbers: list[int]) -> NDArray[np.uint64]:
    """One hash for each gram: a polynomial of its words' numbers, modulo 2^64, stirred at the end."""
    if len(numbers) < GRAM:
        return np.empty(0, dtype=np.uint64)
    values = np.array(numbers, dtype=np.uint64)
    count = len(values) - GRAM + 1
    hashes = np.zeros(count, dtype=np.uint64)
    for offset in range(GRAM):
        hashes = hashes * np.uint64(_MULTIPLIER) + values[offset : offset + count]
    hashes ^= hashes >> np.uint64(29)
    hashes *= np.uint64(0xBF58476D1CE4E5B9)
    return hashes ^ (hashes >> np.uint64(32))
