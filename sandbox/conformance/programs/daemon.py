"""Leaves its parent and its session, ignores every signal it can, and adds a dot to FILE twenty times a second."""

import os
import signal
import sys
import time


def main() -> None:
    """Runs until it is killed."""
    for _ in range(2):
        if os.fork():
            os._exit(0)
        os.setsid()
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            continue
    while True:
        with open(sys.argv[1], "a") as file:  # noqa: PTH123 - small and old
            file.write(".")
        time.sleep(0.05)


if __name__ == "__main__":
    main()
