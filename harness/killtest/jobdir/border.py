"""jobdir.jsonl of a trial: what its JOBDIR held after each incarnation."""

from pathlib import Path

import msgspec

from killtest.jobdir import compact, inspection, stats_dump
from killtest.jobdir.compact import Compact

NAME = "jobdir.jsonl"


class Border(msgspec.Struct, frozen=True):
    """One line: the JOBDIR as it lay after `incarnation`."""

    incarnation: int
    jobdir: Compact


def note(trial: Path, store: Path, place: str, incarnation: int) -> None:
    """Inspect the JOBDIR at `place` below the trial's store and append a line. Nobody may be writing to it."""
    folder = store / place
    if inspection.is_one(folder):
        found = inspection.inspect(folder, trial)  # what a killed harness leaves there is swept away with the trial
    else:
        found = inspection.nothing(_absent(folder, place))
    stats = stats_dump.read(trial / f"incarnation-{incarnation}.stderr")
    line = msgspec.json.encode(Border(incarnation, compact.of(found, stats)))
    with (trial / NAME).open("ab") as file:
        file.write(line + b"\n")


def _absent(folder: Path, place: str) -> str:
    return f"there is no folder {place}" if not folder.is_dir() else f"nothing of Scrapy's is in the folder {place}"


def read(trial: Path) -> dict[int, Compact]:
    """What was noted of each incarnation; nothing where the subject has no JOBDIR. msgspec.DecodeError if damaged."""
    try:
        lines = (trial / NAME).read_bytes().splitlines()
    except FileNotFoundError:
        return {}
    borders = [msgspec.json.decode(line, type=Border) for line in lines]
    return {border.incarnation: border.jobdir for border in borders}
