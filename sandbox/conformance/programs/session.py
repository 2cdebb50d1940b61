"""Starts a child in a session of its own that adds dots to FILE, and waits."""

import subprocess
import sys
import time

LOOP = "while :; do echo . >>$0; sleep 0.05; done"


def main() -> None:
    """Runs until it is killed."""
    nowhere = subprocess.DEVNULL
    subprocess.Popen(
        ["bash", "-c", LOOP, sys.argv[1]], start_new_session=True, stdin=nowhere, stdout=nowhere, stderr=nowhere
    )
    time.sleep(300)


if __name__ == "__main__":
    main()
