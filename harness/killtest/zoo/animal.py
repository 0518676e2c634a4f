"""An animal of the zoo: a folder with a crawler that has one planted bug, its sound twin, and what each must give."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from killtest import toml_file
from killtest.errors import UsageError
from killtest.plan import manifest, subject
from killtest.plan.fault_text import parse
from killtest.plan.manifest import Subject
from killtest.zoo.expectation import Expectation

EXPECTED = "expected.toml"
# The variant that holds the twin, in every manifest of the zoo.
TWIN = "sound"
Text = Annotated[str, Meta(min_length=1)]


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file expected.toml: public reports of this kind of bug, the schedule, and both verdicts.

    `reason` is there when the expectation was changed after a run disagreed with it, and says why.
    """

    reports: Annotated[tuple[Text, ...], Meta(min_length=1)]
    faults: tuple[Text, ...]
    bug: Expectation
    sound: Expectation
    reason: str = ""


class Animal(msgspec.Struct, frozen=True):
    """A folder of the zoo; `word` is what the command line calls its subject."""

    folder: Path
    word: str
    bug: Subject
    sound: Subject
    expected: Expected

    @property
    def kind(self) -> str:
        """The name of its folder and of its subject."""
        return self.folder.name


def zoo_folder() -> Path:
    """The zoo that comes with killtest."""
    return subject.data_folder("crawlers") / "zoo"


def names() -> list[str]:
    """The kinds that come with killtest."""
    return sorted(path.parent.name for path in zoo_folder().glob(f"*/{EXPECTED}"))


def find_all(words: Sequence[str]) -> list[Animal]:
    """The animals that the words name, all without any word; UsageError for one that is none or is there twice."""
    found = [find(word) for word in words or names()]
    kinds = [one.kind for one in found]
    for kind in kinds:
        if kinds.count(kind) > 1:
            raise UsageError(f"two animals are called {kind!r}; visit them one after another")
    return found


def find(word: str) -> Animal:
    """The animal of that kind, or in the folder of that path."""
    kind = word.removeprefix("zoo/")
    if kind in names():
        return load(zoo_folder() / kind, f"zoo/{kind}")
    if (Path(word) / EXPECTED).is_file():
        return load(Path(word).resolve(), word)
    raise UsageError(f"no animal {word!r}; there are: {', '.join(names())}, or give the path of a folder like theirs")


def load(folder: Path, word: str) -> Animal:
    """The animal in the folder; UsageError names the file and what is wrong in it."""
    path = folder / EXPECTED
    expected = toml_file.convert(toml_file.load(path), Expected, str(path))
    bug, sound = (manifest.load(folder / subject.MANIFEST, variant) for variant in (None, TWIN))
    for who, said in ((bug, expected.bug), (sound, expected.sound)):
        if who.name != folder.name:
            raise UsageError(f"{folder / subject.MANIFEST}: name = {who.name!r} in the folder {folder.name}")
        if who.expect != said.outcome:
            raise UsageError(f"{path}: {said.outcome}, but the manifest expects {who.expect} of {who.variant or 'bug'}")
        statuses = said.statuses if said.statuses is not None else expected.faults
        if len(statuses) != len(expected.faults):
            raise UsageError(f"{path}: {len(statuses)} statuses for {len(expected.faults)} faults")
    bug, sound = (msgspec.structs.replace(who, source=word) for who in (bug, sound))
    return Animal(folder, word, bug, sound, expected)


def check_runnable(animal: Animal) -> None:
    """UsageError when its programs can't be executed, or this killtest does not know one of its faults."""
    for who in (animal.bug, animal.sound):
        subject.check_runnable(who)
    for text in animal.expected.faults:
        parse(text)
