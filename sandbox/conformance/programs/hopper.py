"""Forks and ends, again and again, so that its number is another all the time; adds dots to FILE."""

import os
import sys
import time


def main() -> None:
    """Runs until it is killed."""
    if os.fork():
        os._exit(0)
    os.setsid()
    while True:
        for _ in range(20):
            if os.fork():
                os._exit(0)
            time.sleep(0.001)
        with open(sys.argv[1], "a") as file:  # noqa: PTH123 - small and old
            file.write(".")


if __name__ == "__main__":
    main()
