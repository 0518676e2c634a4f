"""The command line of `manage.py crawl`, for the outer main and for the inner one."""

from __future__ import annotations

import re
import socket
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

HELP = "Run an instance: a main process that looks after worker processes, which crawl what is in the queue."
NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")


@dataclass(frozen=True)
class CrawlOptions:
    """How an instance is run; times are in seconds."""

    workers: int
    reload: bool
    until_done: bool
    instance: str
    lease: float
    grace: float
    poll: float


def add_arguments(parser: ArgumentParser) -> None:
    """Define the options on a parser."""
    parser.add_argument("--workers", type=_count, default=4, metavar="N", help="worker processes (default: 4)")
    parser.add_argument("--reload", action="store_true", help="take up changes of the code while crawling")
    parser.add_argument("--until-done", action="store_true", help="end with 0 once every job is done")
    parser.add_argument(
        "--instance", type=_name, default=socket.gethostname(), help="its name; no two may run under one (the host's)"
    )
    parser.add_argument(
        "--lease", type=_seconds, default=5.0, help="seconds of silence until others take its tasks over (5)"
    )
    parser.add_argument(
        "--grace", type=_seconds, default=1.0, help="seconds that busy workers have to finish their page (1)"
    )
    parser.add_argument("--poll", type=_seconds, default=0.5, help="seconds between looks at the code (0.5)")


def parse(arguments: Sequence[str]) -> CrawlOptions:
    """The options; ends the program with 2 when they make no sense."""
    parser = ArgumentParser(prog="manage.py crawl", description=HELP)
    add_arguments(parser)
    return of(vars(parser.parse_args(arguments, Namespace())))


def of(values: dict[str, Any]) -> CrawlOptions:
    """The options among the values of a parser."""
    return CrawlOptions(**{field.name: values[field.name] for field in fields(CrawlOptions)})


def _count(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 1000:
        raise ArgumentTypeError(f"{text!r} is no number from 1 to 1000")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value <= 86400:
        raise ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return value


def _name(text: str) -> str:
    if not NAME.fullmatch(text):
        raise ArgumentTypeError(f"{text!r} is no name; up to 100 letters, digits, dots, dashes and underscores are")
    return text
