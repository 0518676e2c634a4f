"""Tell one state of a subject's program from another: half a campaign must not be finished with another program."""

import hashlib
from pathlib import Path

import msgspec

from killtest.plan.manifest import Subject


def fingerprint(who: Subject) -> str:
    """A digest of the manifest and of the program's files."""
    digest = hashlib.sha256(msgspec.json.encode(who))
    for path in _files(who):
        digest.update(f"\n{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _files(who: Subject) -> list[Path]:
    """The program, as far as it can be told: the files beside the manifest, or those that the command names."""
    folder = Path(who.folder)
    if who.source is not None:
        return sorted(path for path in folder.iterdir() if _is_file(path))
    named = [folder / word for word in who.command if _is_file(folder / word)]
    # What it may import lies beside it, under names that end alike.
    beside = {path for one in named if one.suffix for path in one.parent.glob(f"*{one.suffix}") if _is_file(path)}
    return sorted({*named, *beside})


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a whole program as a word: too long for a name
        return False
