"""docs/cli.md, written from the commands' own help: `make docs`. A test compares the two."""

import click

from killtest.cli.group import group

_HEAD = """# The command line

Written by `make docs` from the commands' help; a test compares the two.

Exit codes of run, replay, sweep, explore, gate and judge: 0 PASS, 1 FAIL, 2 usage, 3 UNKNOWN. shrink: 0 with a result,
3 without. bench and report end with 0 once complete.
Ctrl-C ends with 130, SIGTERM with 143; whatever was started has ended by then.
"""


def text() -> str:
    """The whole page."""
    context = click.Context(group, info_name="killtest", terminal_width=100)
    parts = [_HEAD, _section(group, context)]
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context, terminal_width=100)
        parts.append(f"## killtest {name}\n\n{_section(command, inner)}")
    return "\n".join(parts)


def _section(command: click.Command, context: click.Context) -> str:
    return f"```\n{command.get_help(context)}\n```\n"


if __name__ == "__main__":
    click.echo(text(), nl=False)
