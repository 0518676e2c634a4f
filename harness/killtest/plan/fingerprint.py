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
    beside = folder.iterdir() if who.source is not None else (folder / word for word in who.command)
    return sorted({path for path in beside if _is_file(path)})


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a whole program as a word: too long for a name
        return False
