"""The ledger and the campaign's folder: append-only, and safe against a kill in the middle of a line."""

from pathlib import Path

import pytest
from killtest.campaigns import campaign_folder, ledger
from killtest.campaigns.campaign_folder import CampaignFolder, stored_spec, write_whole
from killtest.campaigns.ledger import Ledger
from killtest.errors import UsageError
from killtest.plan.campaign import Spec
from killtest.plan.schedule import Rule

SPEC = Spec(name="c", subjects=("naive",), schedules=(Rule(group="g", trials=2, kills=3),))
TEXT = 'name = "c"\nsubjects = ["naive"]\n[[schedules]]\ngroup = "g"\ntrials = 2\nkills = 3\n'


def line(name: str) -> dict[str, object]:
    return {"schema": 1, "id": name}


def test_appended_lines_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    Ledger(path).append(line("a"))
    Ledger(path).append(line("b"))
    assert Ledger(path).finished() == {"a", "b"}


@pytest.mark.parametrize("cut", range(1, 22))
def test_torn_tail_is_dropped_and_whole_lines_stay_byte_identical(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    book = Ledger(path)
    book.append(line("a"))
    whole = path.read_bytes()
    book.append(line("b"))
    path.write_bytes(path.read_bytes()[:-cut])
    assert Ledger(path).finished() == {"a"}
    assert path.read_bytes() == whole


def test_looking_at_a_ledger_leaves_its_torn_tail(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    path.write_bytes(b'{"schema":1,"id":"a"}\n{"sch')
    assert [one["id"] for one in ledger.read(path)] == ["a"]
    assert path.read_bytes().endswith(b'{"sch')


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b'{"schema":2,"id":"a"}\n', "line 1: schema 2, this killtest reads 1"),
        (b"{}x\n", "line 1: JSON"),
        (b'{"schema":1,"id":"a"}\n[1]\n', "line 2: Expected `object`, got `array`"),
        (b'{"schema":1,"id":"\xff"}\n', "line 1: Invalid UTF-8"),
        (b'{"schema":1}\n', "line 1: the id of a trial is missing"),
    ],
)
def test_strange_ledger_is_refused_with_its_line(data: bytes, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    path.write_bytes(data)
    for look in (Ledger, ledger.read):
        with pytest.raises(UsageError, match=f"{path}, {complaint}"):
            look(path)


def test_missing_ledger_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file or directory; a campaign's folder holds"):
        ledger.read(tmp_path / "trials.jsonl")


def test_specification_is_stored_with_every_schedule_and_read_back(tmp_path: Path) -> None:
    folder = CampaignFolder(tmp_path / "c")
    folder.settle(TEXT, SPEC, ["killtest"])
    folder.close()
    stored = (tmp_path / "c" / "campaign.toml").read_text()
    assert stored.startswith(TEXT)
    spec = stored_spec(tmp_path / "c")
    assert [(one.name, len(one.faults)) for one in spec.drawn] == [("g-1", 3), ("g-2", 3)]


def test_same_specification_goes_on_and_another_is_refused(tmp_path: Path) -> None:
    for _ in range(2):
        folder = CampaignFolder(tmp_path / "c")
        folder.settle(TEXT, SPEC, ["killtest"])
        folder.close()
    folder = CampaignFolder(tmp_path / "c")
    with pytest.raises(UsageError, match="was written from another specification"):
        folder.settle(TEXT + "# changed\n", SPEC, ["killtest"])
    folder.close()


def test_folder_serves_one_harness_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign_folder, "_LOCK_WAIT_S", 0.0)
    first = CampaignFolder(tmp_path / "c")
    with pytest.raises(UsageError, match="another killtest is working there"):
        CampaignFolder(tmp_path / "c")
    first.close()
    CampaignFolder(tmp_path / "c").close()


def test_folders_of_unfinished_trials_are_removed(tmp_path: Path) -> None:
    folder = CampaignFolder(tmp_path / "c")
    for name in ("kept", "half"):
        folder.trial(name).mkdir(parents=True)
    folder.sweep({"kept"})
    folder.close()
    assert [path.name for path in (tmp_path / "c" / "trials").iterdir()] == ["kept"]


def test_whole_file_replaces_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "f"
    write_whole(path, b"old")
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert [one.name for one in tmp_path.iterdir()] == ["f"]


def test_older_run_is_moved_aside_and_never_deleted(tmp_path: Path) -> None:
    for _ in range(2):
        (tmp_path / "c").mkdir()
        campaign_folder.move_aside(tmp_path / "c")
    campaign_folder.move_aside(tmp_path / "c")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.old-1", "c.old-2"]
