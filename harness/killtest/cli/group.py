"""The command group, and what every command shares: errors in one line, exit codes, Ctrl-C."""

import importlib
import os
import signal
import sys
import traceback
from types import FrameType
from typing import Any

import click

from killtest import __version__
from killtest.errors import HarnessFailure, UsageError

# Command -> module: each is imported when it is used, so that `killtest --help` stays quick.
_COMMANDS = (
    "init",
    "run",
    "replay",
    "shrink",
    "sweep",
    "explore",
    "bench",
    "gate",
    "judge",
    "inspect",
    "report",
    "site",
    "zoo",
    "list",
    "doctor",
)

_RESUMED = ("sweep", "bench", "gate")


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
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a text stream, always
    sys.stderr.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    signal.signal(signal.SIGTERM, _terminate)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup means it
        signal.signal(signal.SIGHUP, _terminate)
    # A shell's `&` leaves SIGINT ignored; ours must still be Python's own.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(_exit_code())


def _exit_code() -> int:
    try:
        code: int = group.main(standalone_mode=False)
        sys.stdout.flush()
        return code
    except SystemExit:  # click's own answer to EPIPE, with 1
        return 128 + signal.SIGPIPE
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except UsageError as error:
        return _complain(str(error), 2)
    except (KeyboardInterrupt, click.Abort):
        return _complain(f"interrupted{_outlook()}", 130)
    except Terminated as end:
        return _complain(f"terminated{_outlook()}", 128 + end.number)
    except Exception as error:  # the process boundary: 1 would be a verdict
        return _own_failure(error)


def _outlook() -> str:
    """What becomes of what was done so far: every other command starts anew."""
    name = next((word for word in sys.argv[1:] if not word.startswith("-")), None)
    return "; the same command goes on where it was" if name in _RESUMED else ""


def _own_failure(error: Exception) -> int:
    if isinstance(error, BrokenPipeError):
        # The reader of our output has gone (`| head`): end as SIGPIPE would end us, without another word.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    if not isinstance(error, (HarnessFailure, OSError)):
        traceback.print_exc()
        return _complain("that is a bug of killtest, not of the subject; please report it with the lines above", 3)
    return _complain(str(error), 3)


def _terminate(number: int, _: FrameType | None) -> None:
    raise Terminated(number)


def _complain(text: str, code: int) -> int:
    sys.stderr.write(f"killtest: {text}\n")
    return code
