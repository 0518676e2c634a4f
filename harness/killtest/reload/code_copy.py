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
    """What an edit did: the files, below the copy; the revision in them now; the second it was done.

    Where they say different ones there is no revision: which of them a row is of can't be told.
    """

    files: tuple[str, ...]
    revision: int | None
    t_s: float


def matching(folder: Path, patterns: Sequence[str]) -> list[Path]:
    """The files below `folder` that the patterns name, each once, in order; none that a copy of it would not have."""
    home = folder.resolve()
    # By where links lead: a file that has two names is edited once.
    found = {Path(os.path.realpath(path)) for pattern in patterns for path in home.glob(pattern)}
    return sorted(path for path in found if path.is_file() and path.is_relative_to(home) and _is_copied(path, home))


def make(source: Path, copy: Path) -> None:
    """Copy the code, without what is no part of it: caches, hidden folders, results, and the copy itself."""
    home = source.resolve()

    def left_out(at: str, names: list[str]) -> list[str]:
        found = [Path(at) / name for name in names]
        return [one.name for one in found if one == copy.resolve() or _is_no_code(one, home) or _is_special(one)]

    shutil.copytree(home, copy, ignore=left_out, symlinks=True)
    _mend_links(home, copy.resolve())


def _mend_links(home: Path, copy: Path) -> None:
    """Links to what was copied lead into the copy, all others to where they led: what stood beside is not there."""
    for link in [path for path in copy.rglob("*") if path.is_symlink()]:
        target = Path(os.path.realpath(home / link.relative_to(copy)))
        copied = copy / target.relative_to(home) if target.is_relative_to(home) else target
        wanted = copied if copied.exists() else target
        if os.path.realpath(link) != str(wanted):
            link.unlink()
            link.symlink_to(wanted)


def apply(kind: str, folder: Path, patterns: Sequence[str]) -> Edited:
    """Make the edit `kind` in every file of the copy that is meant.

    HarnessFailure when one can't be written, or none is left.
    """
    paths = matching(folder, patterns)
    if not paths and kind != "mended":
        raise HarnessFailure(
            f"reload:{kind}: the subject has removed all reload files from the trial's copy of the code"
        )
    try:
        for path in paths:
            if kind == "touch":
                os.utime(path)
            else:
                _replace(path, edit.edited(kind, path.read_bytes()))
        revisions = {edit.revision_of(path.read_bytes()) for path in paths} - {None}
    except OSError as error:
        raise HarnessFailure(f"reload:{kind} of the trial's copy of the code failed: {error}") from None
    done_s = time.monotonic()
    names = tuple(str(path.relative_to(folder.resolve())) for path in paths)
    return Edited(names, revisions.pop() if len(revisions) == 1 else None, done_s)


def _replace(path: Path, text: bytes) -> None:
    """Write beside it and rename, as editors and rsync do: whoever reads it finds the old text or the new one.

    The name is hidden and ends in ~, which watchers of code pass over.
    """
    beside = path.with_name(f".killtest-{path.name}~")
    beside.write_bytes(text)
    shutil.copymode(path, beside)
    beside.replace(path)


def _is_copied(path: Path, home: Path) -> bool:
    return not any(_is_no_code(folder, home) for folder in path.parents if folder != home and home in folder.parents)


def _is_no_code(folder: Path, home: Path) -> bool:
    if not folder.is_dir():
        return False
    is_evidence = all((folder / name).exists() for name in ("schedule.json", "history.jsonl"))
    is_campaign = (folder / "campaign.toml").exists() and (folder / "trials").exists()
    is_known = folder == home / "results" or folder.name == "__pycache__" or folder.name.startswith(".")
    return is_known or is_evidence or is_campaign


def _is_special(path: Path) -> bool:
    """A pipe, a socket or a device: there is nothing to copy."""
    return not path.is_symlink() and not path.is_file() and not path.is_dir()
