"""What this room says where Harbor is not installed."""

from __future__ import annotations

import subprocess
import sys


def test_without_harbor_the_error_says_what_to_install() -> None:
    code = "import sys; sys.modules['harbor'] = None; import sandbox.harbor; sandbox.harbor.BubblewrapEnvironment"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "needs Harbor: install `harbor` and `envolve` into one environment of Python 3.12" in run.stderr
