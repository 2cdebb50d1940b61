from __future__ import annotations

import gzip
import io
import tarfile
import zipfile

from hypothesis import given
from hypothesis import strategies as st

from agents.embedded.library.packing import Member, gzipped, tarred, zipped


@given(st.one_of(st.binary(max_size=3000), st.text("ab \n", max_size=3000).map(str.encode)))
def test_what_is_packed_comes_out_again(data: bytes) -> None:
    assert gzip.decompress(gzipped(data)) == data


@given(st.binary(min_size=1, max_size=40), st.integers(min_value=100, max_value=1500))
def test_repetition_far_back_and_longer_than_a_match_is_found(piece: bytes, times: int) -> None:
    data = piece * times
    packed = gzipped(data)
    assert gzip.decompress(packed) == data
    assert len(packed) < len(data) // 3 + 120


def test_gzip_bytes_are_fixed() -> None:
    """No zlib, no clock: were these bytes to change, so would every task of every seed."""
    assert gzipped(b"abcabcabc").hex() == "1f8b08000000000000ff4b4c4a86200018482d4609000000"


def test_archives_hold_their_members() -> None:
    members = [Member("a/one.txt", b"1\n", 1_700_000_000, "anna"), Member("two", b"", 5)]
    with tarfile.open(fileobj=io.BytesIO(tarred(members))) as archive:
        assert [(m.name, m.mtime, m.uname) for m in archive] == [
            ("a/one.txt", 1_700_000_000, "anna"),
            ("two", 5, "root"),
        ]
        assert archive.extractfile("a/one.txt").read() == b"1\n"
    with zipfile.ZipFile(io.BytesIO(zipped(members))) as archive:
        assert archive.namelist() == ["a/one.txt", "two"]
        assert archive.read("a/one.txt") == b"1\n"
    assert tarred(members) == tarred(members)
    assert zipped(members) == zipped(members)
