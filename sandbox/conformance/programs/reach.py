"""Tries to reach each HOST,PORT it is given, and says which answered: `reached HOST PORT`, or `resolved NAME`."""

import socket
import sys


def say(*words: str) -> None:
    """Prints a line."""
    sys.stdout.write(" ".join(words) + "\n")


def main() -> None:
    """Prints a line for each that can be reached."""
    for target in sys.argv[1:]:
        host, _, port = target.rpartition(",")
        try:
            if port == "name":
                socket.getaddrinfo(host, 80)
                say("resolved", host)
            elif port == "unix":
                with socket.socket(socket.AF_UNIX) as channel:
                    channel.settimeout(2)
                    channel.connect(host.replace("@", "\0", 1) if host.startswith("@") else host)
                say("reached", host)
            else:
                socket.create_connection((host, int(port)), 2).close()
                say("reached", host, port)
        except OSError:
            continue


if __name__ == "__main__":
    main()
