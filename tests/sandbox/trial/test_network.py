"""Which network a trial gets: the task's, or less; never more."""

from __future__ import annotations

import pytest

from sandbox.protocol import Capabilities, Network
from sandbox.trial.network import chosen_network

ALL = Capabilities(networks=frozenset({"none", "allowlist", "public", "host"}))
FEW = Capabilities(networks=frozenset({"none", "host"}))
LISTED = 'network_mode = "allowlist"\nallowed_hosts = ["example.org"]\n'


@pytest.mark.parametrize(
    ("environment", "agent", "can", "network", "noted"),
    [
        ("", "", ALL, Network("public"), False),
        ("", "", FEW, Network("none"), True),
        ('network_mode = "no-network"\n', "", FEW, Network("none"), False),
        (LISTED, "", ALL, Network("allowlist", ("example.org",)), False),
        (LISTED, "", FEW, Network("none"), True),
        ("", 'network_mode = "no-network"\n', ALL, Network("none"), True),
        ("", LISTED, ALL, Network("allowlist", ("example.org",)), True),
        ('network_mode = "no-network"\n', 'network_mode = "public"\n', ALL, Network("none"), False),
    ],
)
def test_the_tasks_own_network_or_less(write, hello, environment, agent, can, network, noted) -> None:  # noqa: PLR0917
    task = write({**hello, "task.toml": f"[environment]\n{environment}[agent]\n{agent}"})
    chosen, notes = chosen_network(task, "task", can)
    assert chosen == network
    assert [note.kind for note in notes] == ["network-narrowed"] * noted


def test_another_network_is_taken_as_it_is(write, hello) -> None:
    assert chosen_network(write(hello), "host", FEW) == (Network("host"), ())
    assert chosen_network(write(hello), "public", FEW) == (Network("public"), ())  # the back end refuses it
