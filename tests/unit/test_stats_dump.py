"""What Scrapy's dumped stats are read as."""

from pathlib import Path

import pytest
from killtest.jobdir import stats_dump
from scrapy_log import LOG, STATS


def read(folder: Path, text: str) -> stats_dump.Stats | None:
    (folder / "log").write_text(text, "utf-8")
    return stats_dump.read(folder / "log")


def test_numbers_and_texts_are_taken_and_times_are_not(tmp_path: Path) -> None:
    assert read(tmp_path, LOG) == STATS


def test_the_last_dump_counts(tmp_path: Path) -> None:
    assert read(tmp_path, LOG + LOG.replace("3446", "7")) == STATS | {"downloader/request_bytes": 7}


def test_a_dump_of_one_line(tmp_path: Path) -> None:
    assert read(tmp_path, "x: Dumping Scrapy stats:\n{'log_count/INFO': 4}\n") == {"log_count/INFO": 4}
    assert read(tmp_path, "x: Dumping Scrapy stats:\n{}\n") == {}


@pytest.mark.parametrize("text", ["", "no dump\n{'a': 1}\n", LOG[: LOG.index("'empty'")]])
def test_no_complete_dump_is_none(text: str, tmp_path: Path) -> None:
    assert read(tmp_path, text) is None


def test_no_log_is_none_and_damaged_text_does_no_harm(tmp_path: Path) -> None:
    assert stats_dump.read(tmp_path / "none") is None
    (tmp_path / "log").write_bytes(b"\xff\n" + LOG.encode())
    assert stats_dump.read(tmp_path / "log") == STATS
