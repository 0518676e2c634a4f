"""The folder of one campaign: its specification, its lock, its environment, its ledger (DESIGN section 6)."""

import fcntl
import itertools
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import tomli_w

from killtest import machine, toml_file
from killtest.campaigns.ledger import Ledger
from killtest.errors import UsageError
from killtest.plan.campaign import Spec, schedules_of

SPEC = "campaign.toml"
_DRAWN_HEAD = "\n# Drawn by killtest from the specification above, before the first process started.\n"
# A harness that was killed leaves its warden a moment to end what is below it; the warden keeps the lock.
_LOCK_WAIT_S = 10.0


class CampaignFolder:
    """A campaign's place on disk, held by one harness at a time."""

    def __init__(self, path: Path) -> None:
        """Take the folder, creating it; UsageError while another harness works in it."""
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self.lock = _lock(path)
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror or error}; give another --results") from None
        self.ledger = Ledger(path / "trials.jsonl")

    def settle(self, text: str, spec: Spec, argv: list[str]) -> None:
        """Store the specification, or check that the one stored is the same; UsageError when it is not."""
        stored = self.path / SPEC
        wanted = _with_drawn(text, spec)
        if not stored.exists():
            write_whole(self.path / "environment.json", machine.describe(self.path, argv))
            write_whole(stored, wanted.encode())
        elif stored.read_text("utf-8") != wanted:
            raise UsageError(
                f"{stored} was written from another specification; start anew with --fresh, or give another --results"
            )

    def extend(self, text: str, spec: Spec) -> None:
        """Replace the stored specification by one with schedules drawn from what its controls showed."""
        write_whole(self.path / SPEC, _with_drawn(text, spec).encode())

    def trial(self, trial_id: str) -> Path:
        """The folder of one trial's evidence."""
        return self.path / "trials" / trial_id

    def sweep(self, keep: set[str]) -> None:
        """Remove the folders of trials that were not finished: they are run again from the start."""
        for folder in (self.path / "trials").glob("*/"):
            if folder.name not in keep:
                shutil.rmtree(folder)

    def close(self) -> None:
        """Let another harness have the folder."""
        os.close(self.lock)


def _with_drawn(text: str, spec: Spec) -> str:
    # Also without a schedule the table is there: a campaign of controls alone.
    tables = [{name: value for name, value in msgspec.to_builtins(one).items() if value} for one in schedules_of(spec)]
    return text + _DRAWN_HEAD + (tomli_w.dumps({"drawn": tables}) if tables else "")


def stored_spec(folder: Path) -> Spec:
    """The specification of a campaign that was run, with the schedules as they were drawn."""
    path = folder if folder.is_file() else folder / SPEC
    return toml_file.convert(toml_file.load(path), Spec, str(path))


def move_aside(folder: Path) -> None:
    """Rename the folder of an older run, if there is one, to the first free NAME.old-N; nothing is deleted.

    UsageError while a harness works in it.
    """
    if folder.exists():
        held = _lock(folder)
        numbers = (folder.with_name(f"{folder.name}.old-{number}") for number in itertools.count(1))
        folder.rename(next(path for path in numbers if not path.exists()))
        os.close(held)


def numbered(results: Path, stem: str) -> Path:
    """A new folder STEM-NNN below `results`, numbered behind the last that is there; UsageError when it can't be."""
    taken = [path.name.rpartition("-")[2] for path in results.glob(f"{stem}-[0-9]*")]
    number = 1 + max((int(text) for text in taken if text.isdigit()), default=0)
    try:
        results.mkdir(parents=True, exist_ok=True)
        while True:
            folder = results / f"{stem}-{number:03d}"
            try:
                folder.mkdir()  # claims the number, in case another run looks for one right now
                return folder
            except FileExistsError:
                number += 1
    except OSError as error:
        raise UsageError(f"{results}: {error.strerror or error}; give another folder for results") from None


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that is either the old one or the whole new one, whenever a kill comes."""
    temporary = path.with_name(f".{path.name}.new")
    with temporary.open("wb") as handle:
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())
    temporary.replace(path)


def _lock(path: Path, clock: Callable[[], float] = time.monotonic) -> int:
    handle = os.open(path / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    ends_s = clock() + _LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
        except BlockingIOError:
            if clock() > ends_s:
                os.close(handle)
                raise UsageError(f"{path}: another killtest is working there; wait for it or give --results") from None
            time.sleep(0.05)  # flock offers no wait with a deadline
