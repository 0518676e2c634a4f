"""The command `killtest`."""

import sys


def main() -> None:
    """Run the command line; on Windows say plainly that it can't."""
    if sys.platform == "win32":
        sys.stderr.write("killtest: Windows is not supported (signals and process groups differ); use WSL or Linux\n")
        raise SystemExit(2)
    from killtest.cli.group import run_command_line  # below the check: it needs POSIX modules

    run_command_line()
