"""The crawler's commands: `python manage.py help` lists them, README.md says how they fit together."""

from __future__ import annotations

import importlib.machinery
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent


class FreshLoader(importlib.machinery.SourceFileLoader):
    """Compiles this program's own modules at each start and leaves no bytecode behind.

    Python takes a module's old bytecode for current as long as the source has the same size and the same second
    of change: an edit from 0 to 1 right behind a start would be noticed, reloaded, and not run.
    """

    def path_stats(self, path: str) -> dict[str, float]:  # type: ignore[override]
        """The loader reads and writes bytecode only for a source whose times it can learn: here it never can."""
        raise OSError(f"{path} is compiled at each start")


def fresh_finder(path: str) -> importlib.machinery.FileFinder:
    """Find modules below this folder without bytecode; ImportError leaves all others to Python's own finders."""
    here = Path(path)
    if not (here.absolute().is_relative_to(ROOT) or here.resolve().is_relative_to(ROOT)):  # a folder may be a link
        raise ImportError(f"{path} is not part of this program")
    return importlib.machinery.FileFinder(path, (FreshLoader, importlib.machinery.SOURCE_SUFFIXES))


def main(arguments: list[str]) -> int:
    """Run one command; returns the exit code."""
    sys.path_hooks.insert(0, fresh_finder)
    sys.path_importer_cache.clear()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crawling.settings")
    if arguments[1:2] == ["crawl"] and os.environ.get("RUN_MAIN") != "true":
        # The supervisor needs nothing of Django: it is up at once, and outlives whatever an edit does to the rest.
        from crawling.outer import supervise

        return supervise(arguments)
    if arguments[1:2] == ["check_code"]:
        from crawling.code_check import check

        return check()
    from django.core.management import execute_from_command_line
    from django.db import OperationalError

    try:
        execute_from_command_line(arguments)
    except OperationalError as error:
        reason = str(error).strip().splitlines()[0]
        sys.stderr.write(f"the database does not answer ({reason}); RELOAD_QUEUE_DATABASE says which one is asked\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
