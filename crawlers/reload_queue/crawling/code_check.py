"""Trying code in a process of its own, before anybody depends on it."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from types import TracebackType
from typing import IO

from crawling import fingerprints

ROOT = Path(__file__).resolve().parents[1]
# What a running instance imports sooner or later, beside the spiders.
MODULES = ("crawling.inner", "crawling.management.commands.crawl", "crawling.worker")
LONGEST_S = 30.0
TETHERED = "tethered"  # end when standard input does
PASSED = "checked to the end"  # code that ends the process on import may do so with 0


def complaint(root: Path = ROOT) -> str:
    """Try the code below `root` as it is on disk now, in a fresh process; what is wrong with it, or nothing.

    A check that is killed is made once more: that says nothing about the code, unless it happens again.
    """
    code, said = _tried(root)
    if code < 0:
        code, said = _tried(root)
    if code == 0 and PASSED in said:
        return ""
    return said[-1] if said and code > 0 else f"checking it ended with {code}"


def _tried(root: Path) -> tuple[int, list[str]]:
    """The exit code of a check, negative for a signal, and what it said."""
    environment = {name: value for name, value in os.environ.items() if name != "RUN_MAIN"}
    # Files, not pipes: a spider may say more than a pipe holds, or start something that never closes it.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with subprocess.Popen(
            [sys.executable, str(root / "manage.py"), "check_code", TETHERED],
            env=environment,
            stdin=subprocess.PIPE,  # never written to: its end tells the process that we are gone
            stdout=out,
            stderr=err,
        ) as process:
            try:
                process.wait(LONGEST_S)
            except subprocess.TimeoutExpired:
                process.kill()
                return 1, [f"importing the spiders takes longer than {LONGEST_S:g} s"]
        return process.returncode, _lines(out) or _lines(err)


def _lines(file: IO[bytes]) -> list[str]:
    file.seek(0)
    return file.read().decode(errors="replace").strip().splitlines()


def check() -> int:
    """The fresh process: compile everything, then import what an instance imports. Returns 0, or ends with 1."""
    if TETHERED in sys.argv:
        threading.Thread(target=_die_with_the_caller, daemon=True).start()
    sys.excepthook = _tell
    for path in fingerprints.sources(ROOT):
        compile(path.read_bytes(), str(path), "exec")
    import django

    django.setup()
    for name in MODULES:
        importlib.import_module(name)
    from crawling import spider_book

    for name in spider_book.names():
        spider_book.load(name)
    sys.stdout.write(f"\n{PASSED}\n")
    return 0


def _die_with_the_caller() -> None:
    os.read(0, 1)
    os._exit(70)


def _tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """One line: file, line, and what is wrong. A SyntaxError is where it says, others where they were raised."""
    places = [
        f"{Path(frame.filename).relative_to(ROOT)} line {frame.lineno}"
        for frame in traceback.extract_tb(trace)
        if Path(frame.filename).is_relative_to(ROOT)
    ]
    place = places[-1] if places else "the code"
    if isinstance(error, SyntaxError) and error.filename:
        path = Path(error.filename)
        place = f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path} line {error.lineno}"
        error = SyntaxError(error.msg)
    text = " ".join(str(error).split())
    sys.stdout.write(f"{place}: {kind.__name__}: {text}\n")
