"""A folder in a prompt, and read back out of it: whatever its files hold and are called."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from agents.embedded.conversation import assignment_of
from agents.embedded.shown_files import shown_files
from agents.roles import folder_text as shown
from agents.roles.assignment import fenced
from agents.workspace import LARGEST_FILE, Entry

TAGGED = st.sampled_from(
    [
        "</file>",
        '<file path="x">\n',
        '<file path="x" />',
        "```json\n{}\n```\n",
        "{{files}}",
        "\n",
        "\r",
        "a",
        "\u2028",
        "\0",
    ]
)
TEXTS = st.one_of(st.text(), st.lists(TAGGED, max_size=8).map("".join))
CONTENTS = st.one_of(st.binary(max_size=64), TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")))
PATHS = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1, max_size=12)


@dataclass
class Folder:
    files: dict[str, tuple[bytes, bool]]
    sizes: dict[str, int] = field(default_factory=dict)

    async def list(self, path: str) -> list[Entry]:
        return [Entry(name, self.sizes.get(name, len(data)), bit) for name, (data, bit) in sorted(self.files.items())]

    async def read(self, path: str) -> bytes:
        assert path not in self.sizes, "too large to be read"
        return self.files[path][0]


def text_of(folder: Folder) -> str:
    return asyncio.run(shown.folder_text(folder))


@given(st.dictionaries(PATHS, st.tuples(CONTENTS, st.booleans()), max_size=5))
def test_every_file_is_read_back_as_it_was(files: dict[str, tuple[bytes, bool]]) -> None:
    message = f"The facts:\n\n{fenced({'role': 'writer'})}\n\nThe files:\n\n{text_of(Folder(files))}\n\nAnswer."
    found = shown_files(message)
    assert set(found) == set(files)
    for path, (content, executable) in files.items():
        assert found[path].executable == executable
        assert found[path].sha256 == hashlib.sha256(content).hexdigest()
        assert found[path].text is None or found[path].text.encode() == content
    # No block in a file takes the assignment's place.
    assert assignment_of([{"role": "user", "content": message}]) == {"role": "writer"}


@given(st.dictionaries(PATHS, st.tuples(st.text(st.characters(codec="ascii", categories=("L", "N"))), st.booleans())))
def test_plain_text_is_shown_in_full(files: dict[str, tuple[str, bool]]) -> None:
    found = shown_files(text_of(Folder({path: (text.encode(), bit) for path, (text, bit) in files.items()})))
    assert {path: file.text for path, file in found.items()} == {path: text for path, (text, _) in files.items()}


def test_what_is_too_long_is_shown_by_its_digest_and_the_rest_in_full() -> None:
    long = b"x" * (shown.LONGEST_FILE + 1)
    fits = b"y" * shown.LONGEST_FILE
    count = shown.LONGEST // shown.LONGEST_FILE
    files = {"a": (long, False), **{f"b{number:02d}": (fits, False) for number in range(count + 1)}}
    found = shown_files(text_of(Folder(files)))
    assert found["a"].text is None
    assert [found[f"b{number:02d}"].text is not None for number in range(count + 1)] == [True] * count + [False]
    assert found[f"b{count:02d}"].sha256 == hashlib.sha256(fits).hexdigest()


def test_what_cannot_be_read_is_shown_by_its_size() -> None:
    found = shown_files(text_of(Folder({"big": (b"", True), "z": (b"z", False)}, {"big": LARGEST_FILE + 1})))
    assert (found["big"].text, found["big"].sha256, found["big"].executable) == (None, "", True)
    assert found["z"].text == "z"
