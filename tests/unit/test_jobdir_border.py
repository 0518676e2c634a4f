"""jobdir.jsonl, from the border behind an incarnation to the line of the ledger, and when it is judged again."""

from pathlib import Path
from typing import Any

import jobdir_builder as build
import msgspec
import pytest
from evidence_builder import CLEAN, crawl, evidence, incarnation, struck
from killtest.campaigns import trial_line
from killtest.errors import UsageError
from killtest.jobdir import border
from killtest.judge import verdict
from killtest.judge.evidence import Counts, Evidence, read, write_course
from killtest.plan.campaign import Planned
from killtest.plan.manifest import StoreNeeds, Subject, load
from killtest.plan.schedule import Schedule
from scrapy_log import LOG, STATS


def test_a_border_is_the_compact_object(tmp_path: Path) -> None:
    build.clean(tmp_path / "store" / "job", "fifo")
    (tmp_path / "incarnation-0.stderr").write_text(LOG)
    border.note(tmp_path, tmp_path / "store", "job", 0)
    noted = border.read(tmp_path)
    assert noted == {
        0: {
            "files": {
                "requests.seen": 110,
                "spider.state": noted[0]["files"]["spider.state"],
                f"{build.QUEUE}/info.json": noted[0]["files"][f"{build.QUEUE}/info.json"],
                f"{build.QUEUE}/q00000": noted[0]["files"][f"{build.QUEUE}/q00000"],
                "requests.queue/active.json": 18,
            },
            "fingerprints": 5,
            "cut_bytes": 0,
            "index": {"shop.test": [0]},
            "queues": [
                {
                    "path": build.QUEUE,
                    "kind": "fifo",
                    "slot": "shop.test",
                    "priority": 0,
                    "start": False,
                    "listed": True,
                    "records": 5,
                    "pending": 3,
                    "believed": 3,
                }
            ],
            "state": {"count": 2, "urls": 2},
            "findings": [],
            "resume": {"loads": 3, "forgets": 0, "words": noted[0]["resume"]["words"]},
            "stats": STATS,
        }
    }
    assert noted[0]["resume"]["words"][0] == "a resume loads 3 of 3 queued requests"


def test_what_is_missing_or_damaged_is_said(tmp_path: Path) -> None:
    border.note(tmp_path, tmp_path / "store", "job", 0)
    (tmp_path / "store" / "job").mkdir(parents=True)
    border.note(tmp_path, tmp_path / "store", "job", 1)
    build.write(tmp_path / "store" / "job", {"requests.queue/active.json": b"{"})
    border.note(tmp_path, tmp_path / "store", "job", 2)
    (tmp_path / "store" / "job" / "requests.queue" / "active.json").unlink()
    border.note(tmp_path, tmp_path / "store", "job", 3)
    noted = border.read(tmp_path)
    told = [(one["findings"], one["index"], one["stats"], one["resume"]["loads"]) for one in noted.values()]
    assert told[:2] == [(["no_jobdir"], None, None, 0)] * 2
    assert told[2:] == [(["bad_index"], "unreadable", None, 0), ([], None, None, 0)]
    assert noted[0]["resume"]["words"] == ["there is no folder job: a start begins at the beginning"]
    assert noted[1]["resume"]["words"] == ["nothing of Scrapy's is in the folder job: a start begins at the beginning"]


def test_the_keys_are_always_the_same(tmp_path: Path) -> None:
    border.note(tmp_path, tmp_path, "job", 0)
    build.clean(tmp_path / "job")
    border.note(tmp_path, tmp_path, "job", 1)
    noted = border.read(tmp_path)
    assert list(noted[0]) == list(noted[1])


def told(folder: Path) -> Evidence:
    """Evidence on disk of two incarnations, the second behind a kill."""
    lives = (incarnation(exit=-9, ended_by="fault"), incarnation(1))
    found = evidence(CLEAN[:2], CLEAN, incarnations=lives, faults=(struck(),), requests=crawl())
    write_course(folder, found.course, Counts(len(found.requests), len(found.truth.rows)))
    (folder / "truth.json").write_bytes(msgspec.json.encode(found.truth) + b"\n")
    (folder / "site.jsonl").write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in found.requests))
    return found


def line_of(folder: Path) -> list[Any]:
    """What the ledger tells of the JOBDIR after each incarnation, made of stored evidence."""
    found = read(folder, is_control=False, planned_faults=1)
    planned = Planned(
        Subject("x", ("x",), StoreNeeds("jsonl", "out.jsonl", key="sku")), Schedule("s", ("request:3 KILL",))
    )
    line = trial_line.to_line(planned, "demo", verdict.judge(found), found)
    assert msgspec.json.decode(msgspec.json.encode(line))["incarnations"] == line["incarnations"]
    return [one["jobdir"] for one in line["incarnations"]]


def test_the_ledger_tells_of_each_border_also_when_it_is_made_again(tmp_path: Path) -> None:
    told(tmp_path)
    assert line_of(tmp_path) == [None, None]
    build.clean(tmp_path / "store" / "job")
    border.note(tmp_path, tmp_path / "store", "job", 1)
    noted = border.read(tmp_path)[1]
    assert line_of(tmp_path) == [None, noted]
    assert noted["resume"]["loads"] == 3


@pytest.mark.parametrize("data", [b"{", b"[]\n", b"\xff\n", b'{"incarnation":0}\n'])
def test_damaged_borders_are_damaged_evidence(data: bytes, tmp_path: Path) -> None:
    told(tmp_path)
    (tmp_path / border.NAME).write_bytes(data)
    with pytest.raises(UsageError, match="no complete evidence"):
        read(tmp_path, is_control=False, planned_faults=1)


def manifest(folder: Path, words: str) -> Path:
    text = f'name = "x"\ncommand = ["x"]\n{words}\n[store]\nreader = "jsonl"\npath = "out.jsonl"\nkey = "sku"\n'
    (folder / "subject.toml").write_text(text)
    return folder / "subject.toml"


def test_the_manifest_names_the_folder(tmp_path: Path) -> None:
    assert load(manifest(tmp_path, "")).jobdir is None
    assert load(manifest(tmp_path, 'jobdir = "a/job"')).jobdir == "a/job"


@pytest.mark.parametrize("place", ["/tmp/job", "../job", "a/../../job"])
def test_a_folder_outside_the_store_is_refused(place: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"jobdir '{place}' must lie below the store folder"):
        load(manifest(tmp_path, f'jobdir = "{place}"'))
