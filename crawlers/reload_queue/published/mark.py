"""Points of our own that a harness may wait for: announced at the socket KILLTEST_MARK, free when it is not set."""

import os
import socket


def announce(name: str) -> None:
    """Say that this point is reached and wait until the harness lets us go on."""
    path = os.environ.get("KILLTEST_MARK")
    if path:
        with socket.socket(socket.AF_UNIX) as harness:
            harness.connect(path)
            harness.sendall(f"{name}\n".encode())
            harness.recv(1)
