"""How a back end is found."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from sandbox.backends import backend_class, load_backend
from sandbox.bubblewrap.backend import BubblewrapBackend
from sandbox.errors import SandboxUnavailableError


@pytest.mark.parametrize("name", ["bubblewrap", "sandbox.bubblewrap.backend:BubblewrapBackend"])
def test_by_name_and_by_reference(name: str) -> None:
    assert backend_class(name) is BubblewrapBackend
    assert isinstance(load_backend(name, base=["*=host"], userns="single"), BubblewrapBackend)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("podman", "known: bubblewrap"),
        ("no.such.module:Class", "cannot be imported"),
        ("sandbox.errors:Nothing", "has no 'Nothing'"),
    ],
)
def test_what_cannot_be_had_is_named(name: str, says: str) -> None:
    with pytest.raises(SandboxUnavailableError, match=says):
        load_backend(name)


@pytest.mark.parametrize("name", ["docker", "e2b", "harbor"])
def test_a_missing_package_is_named_with_its_extra(name: str) -> None:
    program = f"""
import sys
sys.modules[{name!r}] = None  # as if it were not installed
from sandbox.backends import load_backend
from sandbox.errors import SandboxUnavailableError
try:
    load_backend({name!r})
except SandboxUnavailableError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert f"pip install 'envolve[{name}]'" in done.stdout


def test_a_wrong_rule_is_named() -> None:
    with pytest.raises(ValueError, match="--base x: expected IMAGE=DIR"):
        load_backend(base=["x"])


def test_the_doctor_agrees_with_its_exit_status() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sandbox.doctor", "--json"], capture_output=True, text=True, check=False
    )
    report = json.loads(done.stdout)
    assert done.returncode == (0 if report["works"] else 1)
    assert {"machine", "bwrap", "docker"} <= {finding["subject"] for finding in report["findings"]}
    assert report["works"] == all(finding["status"] != "broken" for finding in report["findings"])
