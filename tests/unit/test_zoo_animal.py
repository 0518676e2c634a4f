"""A folder of the zoo is read strictly, and the zoo that comes with killtest is in order."""

import shutil
from pathlib import Path

import pytest
from killtest.errors import UsageError
from killtest.zoo import animal

GOOD = '[bug]\noutcome = "FAIL"\n[sound]\noutcome = "PASS"\n'
HEAD = 'reports = ["https://example.com/1"]\nfaults = ["request:1 KILL"]\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A private copy of an animal."""
    return Path(shutil.copytree(animal.zoo_folder() / "popped-before-fetched", tmp_path / "popped-before-fetched"))


def test_an_animal_is_found_by_its_kind_with_or_without_the_zoo_before_it_and_by_path(folder: Path) -> None:
    for word in ("popped-before-fetched", "zoo/popped-before-fetched"):
        found = animal.find(word)
        assert (found.kind, found.word) == ("popped-before-fetched", "zoo/popped-before-fetched")
    there = animal.find(str(folder))
    assert (there.folder, there.bug.source, there.sound.variant) == (folder, str(folder), "sound")
    assert there.expected.bug.lost == ("SKU-00007",)


def test_a_name_that_is_none_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"no animal 'unicorn'; there are: .*popped-before-fetched"):
        animal.find("unicorn")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (HEAD + GOOD + "wrong = 1\n", "unknown field `wrong`"),
        (HEAD + "reasons = 'x'\n" + GOOD, "unknown field `reasons`"),
        ('faults = ["request:1 KILL"]\n' + GOOD, "missing required field `reports`"),
        ("reports = []\nfaults = []\n" + GOOD, r"length >= 1.*reports"),
        (HEAD + GOOD.replace("PASS", "MAYBE"), r"Invalid enum value 'MAYBE'.*sound\.outcome"),
        (HEAD + GOOD + 'lost = ["SKU-2..SKU-1"]\n', "is no range"),
        (HEAD + GOOD.replace("PASS", "FAIL"), "FAIL, but the manifest expects PASS of sound"),
        (HEAD + GOOD + "statuses = []\n", "0 statuses for 1 faults"),
    ],
)
def test_an_expectation_that_is_none_is_refused(folder: Path, text: str, complaint: str) -> None:
    (folder / animal.EXPECTED).write_text(text)
    with pytest.raises(UsageError, match=complaint):
        animal.load(folder, "it")


def test_a_manifest_of_another_name_is_refused(folder: Path) -> None:
    other = folder.rename(folder.with_name("other"))
    with pytest.raises(UsageError, match="name = 'popped-before-fetched' in the folder other"):
        animal.load(other, "it")


def test_a_schedule_that_can_not_be_read_is_refused_before_anything_runs(folder: Path) -> None:
    (folder / animal.EXPECTED).write_text(HEAD.replace("KILL", "HUG") + GOOD)
    with pytest.raises(UsageError, match="HUG"):
        animal.check_runnable(animal.load(folder, "it"))


def test_all_animals_can_run_and_their_programs_are_tiny() -> None:
    animals = animal.find_all(())
    assert len(animals) >= 20
    for one in animals:
        animal.check_runnable(one)
        for program in one.folder.glob("*.py"):
            assert len(program.read_text("utf-8").splitlines()) <= 60, program
        assert all(url.startswith("https://") for url in one.expected.reports)
