"""What is sealed opens with its key, and with no other."""

import subprocess
import sys
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import agents.embedded.foreign.programs
from agents.embedded.foreign.programs.unseal import combined
from agents.embedded.foreign.sealing import program, sealed

PROGRAM = Path(agents.embedded.foreign.programs.__file__).with_name("unseal.py")


def unseal(path, key):
    command = [sys.executable, "-I", "-S", str(PROGRAM), str(path), key]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_shipped_program_opens_it_in_place_and_keeps_the_run_bit(tmp_path):
    content = bytes(range(256)) * 5
    file = tmp_path / "tool"
    file.write_bytes(sealed(content, "1234", "salt"))
    file.chmod(0o755)
    assert b"tool" not in file.read_bytes()
    wrong = unseal(file, "1235")
    assert wrong.returncode != 0
    assert "wrong key" in wrong.stderr
    assert unseal(file, "1234").returncode == 0
    assert file.read_bytes() == content
    assert file.stat().st_mode & 0o777 == 0o755
    assert "not sealed" in unseal(file, "1234").stderr


@settings(max_examples=25, deadline=None)
@given(st.binary(max_size=200), st.text(min_size=1, max_size=20), st.text("abc", min_size=1))
def test_sealing_and_unsealing_are_one_operation(content, key, salt):
    body = combined(content, key, salt)
    assert combined(body, key, salt) == content
    assert sealed(content, key, salt) == sealed(content, key, salt)


def test_programs_are_read_as_they_are():
    assert program("unseal.py") == PROGRAM.read_bytes()
