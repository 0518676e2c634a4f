"""The command group, and what every command shares: errors in one line, exit codes, Ctrl-C."""

import importlib
import signal
import sys
from types import FrameType
from typing import Any

import click

from killtest import __version__
from killtest.errors import HarnessFailure, UsageError

# Command -> module: each is imported when it is used, so that `killtest --help` stays quick.
_COMMANDS = ("run", "bench", "judge", "report", "site", "list")


class Terminated(BaseException):
    """SIGTERM or SIGHUP came: end as tidily as for Ctrl-C."""

    def __init__(self, number: int) -> None:
        """Remember the signal for the exit code."""
        super().__init__(number)
        self.number = number


class LazyGroup(click.Group):
    """A group whose commands live in modules of the same name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of the documentation."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module and take its `command`."""
        if cmd_name not in _COMMANDS:
            return None
        module: Any = importlib.import_module(f"killtest.cli.{cmd_name}_command")
        command: click.Command = module.command
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="killtest")
def group() -> None:
    """Kill crawlers at chosen moments, and tell what was lost, doubled or fetched again."""


def run_command_line() -> None:
    """Run the command in sys.argv. Exit codes: 0 PASS, 1 FAIL, 2 usage, 3 UNKNOWN, 128 + n for signal n."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _terminate)
    # A shell's `&` leaves SIGINT ignored; ours must still be Python's own.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        sys.exit(group.main(standalone_mode=False))
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except UsageError as error:
        _complain(str(error), 2)
    except HarnessFailure as error:
        _complain(str(error), 3)
    except (KeyboardInterrupt, click.Abort):
        _complain("interrupted; the same command goes on where it was", 130)
    except Terminated as end:
        _complain("terminated; the same command goes on where it was", 128 + end.number)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): nothing more to say, to nobody.
        sys.stderr.close()
        sys.exit(0)


def _terminate(number: int, _: FrameType | None) -> None:
    raise Terminated(number)


def _complain(text: str, code: int) -> None:
    sys.stderr.write(f"killtest: {text}\n")
    sys.exit(code)
