"""Trying code in a process of its own, before anybody depends on it."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import threading
import traceback
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parents[1]
# What a running instance imports sooner or later, beside the spiders.
MODULES = ("crawling.inner", "crawling.management.commands.crawl", "crawling.worker")
LONGEST_S = 30.0
TETHERED = "tethered"  # end when standard input does


def complaint(root: Path = ROOT) -> str:
    """Try the code below `root` as it is on disk now, in a fresh process; what is wrong with it, or nothing."""
    environment = {name: value for name, value in os.environ.items() if name != "RUN_MAIN"}
    with subprocess.Popen(
        [sys.executable, str(root / "manage.py"), "check_code", TETHERED],
        env=environment,
        stdin=subprocess.PIPE,  # never written to: its end tells the process that we are gone
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as process:
        try:
            # Not communicate(): that closes the input at once.
            process.wait(LONGEST_S)
        except subprocess.TimeoutExpired:
            process.kill()
            return f"importing the spiders takes longer than {LONGEST_S:g} s"
        out, err = process.communicate()
    if process.returncode == 0:
        return ""
    said = out.strip().splitlines() or err.strip().splitlines()
    return said[-1] if said else f"checking it ended with {process.returncode}"


def check() -> int:
    """The fresh process: compile everything, then import what an instance imports. Returns 0, or ends with 1."""
    if TETHERED in sys.argv:
        threading.Thread(target=_die_with_the_caller, daemon=True).start()
    sys.excepthook = _tell
    for path in sorted(path for folder in ("crawling", "spiders") for path in (ROOT / folder).rglob("*.py")):
        compile(path.read_bytes(), str(path), "exec")
    import django

    django.setup()
    for name in MODULES:
        importlib.import_module(name)
    from crawling import spider_book

    for name in spider_book.names():
        spider_book.load(name)
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
