"""The private copy of a subject's code: a trial edits it while the subject runs from it."""

import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from killtest.errors import HarnessFailure
from killtest.reload import edit


class Edited(msgspec.Struct, frozen=True):
    """What an edit did: the files, below the copy; the highest revision in them now; the second it was done."""

    files: tuple[str, ...]
    revision: int | None
    t_s: float


def matching(folder: Path, patterns: Sequence[str]) -> list[Path]:
    """The files below `folder` that the patterns name, each once, in order."""
    return sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})


def make(source: Path, copy: Path) -> None:
    """Copy the code, without what is no part of it: caches, hidden folders, results, and the copy itself."""
    home = source.resolve()

    def left_out(at: str, names: list[str]) -> list[str]:
        folders = [Path(at) / name for name in names if (Path(at) / name).is_dir()]
        return [one.name for one in folders if one in (home / "results", copy.resolve()) or _is_no_code(one)]

    shutil.copytree(home, copy, ignore=left_out, symlinks=True)


def apply(kind: str, folder: Path, patterns: Sequence[str]) -> Edited:
    """Make the edit `kind` in every file of the copy that is meant; HarnessFailure when one can't be written."""
    paths = matching(folder, patterns)
    try:
        for path in paths:
            if kind == "touch":
                os.utime(path)
            else:
                _replace(path, edit.edited(kind, path.read_bytes()))
        revisions = [edit.revision_of(path.read_bytes()) for path in paths]
    except OSError as error:
        raise HarnessFailure(f"reload:{kind} of the trial's copy of the code failed: {error}") from None
    done_s = time.monotonic()
    names = tuple(str(path.relative_to(folder)) for path in paths)
    return Edited(names, max((one for one in revisions if one is not None), default=None), done_s)


def _replace(path: Path, text: bytes) -> None:
    """Write beside it and rename, as editors and rsync do: whoever reads it finds the old text or the new one.

    The name is hidden and ends in ~, which watchers of code pass over.
    """
    beside = path.with_name(f".killtest-{path.name}~")
    beside.write_bytes(text)
    shutil.copymode(path, beside)
    beside.replace(path)


def _is_no_code(folder: Path) -> bool:
    is_evidence = all((folder / name).exists() for name in ("schedule.json", "history.jsonl"))
    is_campaign = (folder / "campaign.toml").exists() and (folder / "trials").exists()
    return folder.name == "__pycache__" or folder.name.startswith(".") or is_evidence or is_campaign
