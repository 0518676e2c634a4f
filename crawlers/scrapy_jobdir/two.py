"""Starts the same command twice at once, as two shells would, and ends with the worse of their exit codes."""

import subprocess
import sys

if __name__ == "__main__":
    both = [subprocess.Popen(sys.argv[1:]) for _ in range(2)]
    sys.exit(max(abs(process.wait()) for process in both))
