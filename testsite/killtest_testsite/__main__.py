"""The site's command line: `python -m killtest_testsite`."""

from __future__ import annotations

import argparse
import sys

from . import doors
from .layout import NEXT_PLACES, SHAPES, Layout
from .site import Options, Site, allow_many_connections


def main(argv: list[str] | None = None) -> int:
    """Run the site until it is told to end; returns the exit code: 0, or 2 when it could not start."""
    try:
        options = _options(_parser().parse_args(argv))
        allow_many_connections()
        site = Site(options)
    except KeyboardInterrupt:
        return 0
    except ValueError as error:
        return _refuse(str(error))
    except OSError as error:
        return _refuse(f"can't start: {error}; is something else using that port or path?")
    site.run()
    return 0


def _refuse(message: str) -> int:
    sys.stderr.write(f"killtest site: {message}\n")
    return 2


class _Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line, so that the harness can show it as it is."""

    def error(self, message: str) -> None:  # type: ignore[override]
        """Say what is wrong and end with 2."""
        sys.exit(_refuse(f"{message}; try --help"))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="killtest site", description="A shop whose contents are known, to crawl and to test.")
    add = parser.add_argument
    add("--products", type=int, default=500, help="how many products (500)")
    add("--list-pages", type=int, default=25, help="list pages that they are spread over (25)")
    add("--seed", type=int, default=1, help="what the products are made from (1)")
    add("--latency-ms", type=float, default=0, help="wait before each answer, in milliseconds (0)")
    add("--shape", choices=SHAPES, default="pages", help="how the pages are linked (pages)")
    add("--next", choices=NEXT_PLACES, default="last", help="where the link to the next page is (last)")
    add("--host", default="127.0.0.1", help="address to listen at (127.0.0.1)")
    add("--port", type=int, default=0, help="port to listen at (0: any free one)")
    add("--addresses", type=int, default=1, help="listen at 127.0.0.1 to 127.0.0.N, the same port on each (1)")
    add("--control", metavar="PATH", help="UNIX socket for the harness; then the end of stdin ends the site")
    add("--log", metavar="PATH", help="file for the request log (none)")
    add("--hold-s", type=float, default=5, help="longest time requests are held for a fault, in seconds (5)")
    return parser


def _options(given: argparse.Namespace) -> Options:
    if given.latency_ms < 0 or given.hold_s <= 0:
        raise ValueError("--latency-ms must not be negative and --hold-s must be above 0")
    if not 0 <= given.port <= 65535:
        raise ValueError(f"--port {given.port}: ports are 0 (any free one) to 65535")
    doors.check(given.host, given.addresses)
    return Options(
        layout=Layout(given.products, given.list_pages, given.shape, given.next),
        seed=given.seed,
        latency_s=given.latency_ms / 1000,
        host=given.host,
        port=given.port,
        addresses=given.addresses,
        control=given.control,
        log=given.log,
        hold_s=given.hold_s,
    )


if __name__ == "__main__":
    sys.exit(main())
