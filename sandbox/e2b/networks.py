"""What a sandbox may reach, in the words of the cloud's API."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from e2b.sandbox.network import ALL_TRAFFIC

from sandbox.errors import UnsupportedTaskError

if TYPE_CHECKING:
    from e2b.sandbox.sandbox_api import SandboxNetworkOpts

    from sandbox.protocol import Network, NetworkMode

MODES: frozenset[NetworkMode] = frozenset({"none", "allowlist", "public"})


class NetworkOptions(TypedDict):
    """Arguments of `AsyncSandbox.create`."""

    allow_internet_access: bool
    network: SandboxNetworkOpts


def network_options(network: Network) -> NetworkOptions:
    """The arguments for a network; nobody outside may reach the sandbox's own ports without its token.

    An allow-list is kept by the service's own egress filter, host names and `*.suffix` patterns as they are: no proxy
    variables are needed.

    Raises:
        UnsupportedTaskError: The network `host`, which a sandbox in the cloud does not have.
    """
    match network.mode:
        case "none":
            return {"allow_internet_access": False, "network": {"allow_public_traffic": False}}
        case "public":
            return {"allow_internet_access": True, "network": {"allow_public_traffic": False}}
        case "allowlist" if network.allowed_hosts:
            egress: SandboxNetworkOpts = {
                "allow_public_traffic": False,
                "allow_out": list(network.allowed_hosts),
                "deny_out": [ALL_TRAFFIC],
            }
            return {"allow_internet_access": True, "network": egress}
        case "allowlist":
            return {"allow_internet_access": False, "network": {"allow_public_traffic": False}}
        case _:
            raise UnsupportedTaskError(
                f"network {network.mode!r}: a sandbox in the cloud cannot share this machine's network; use the "
                "bubblewrap or the docker back end (--sandbox bubblewrap)"
            )
