"""How the idempotent crawler writes files: names of earlier leases, workers that are late, and the end of captures."""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import requests

FOLDER = Path(__file__).parents[2] / "crawlers" / "idempotent"
NAMES = ("captures", "durable", "frontier", "outbox", "pictures", "records", "shop")


@pytest.fixture(scope="module")
def crawler() -> Iterator[dict[str, ModuleType]]:
    """Modules of the crawler, which import one another by bare names; other crawlers have modules of these names."""
    before = {name: sys.modules.pop(name) for name in NAMES if name in sys.modules}
    sys.path.insert(0, str(FOLDER))
    try:
        yield {name: importlib.import_module(name) for name in NAMES}
    finally:
        sys.path.remove(str(FOLDER))
        for name in NAMES:
            sys.modules.pop(name, None)
        sys.modules.update(before)


class Server:
    """A session whose every answer is the same picture, or an error; `before_answer` is called first."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.before_answer: Any = lambda: None

    def get(self, url: str, timeout: float) -> requests.Response:
        self.before_answer()
        if self.error:
            raise self.error
        answer = requests.Response()
        answer.status_code, answer.url = 200, url
        answer.raw = io.BytesIO(b"BM picture")
        answer.headers["Content-Type"] = "image/bmp; x=y"
        return answer


def lease(crawler: dict[str, ModuleType], number: int) -> Any:
    return crawler["frontier"].Lease(seq=7, url="http://shop/image/7", number=number, attempts=0)


def test_what_dead_holders_of_the_lease_left_is_removed(crawler: dict[str, ModuleType], tmp_path: Path) -> None:
    for name in (".7-1.part", ".7-2.part", ".8-1.part"):
        (tmp_path / name).write_bytes(b"BM")
    crawler["pictures"].Pictures(tmp_path).fetch(Server(), lease(crawler, 3), 0.0)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names[0] == ".8-1.part"
    assert len(names) == 2
    assert (tmp_path / names[1]).read_bytes() == b"BM picture"


def test_a_late_worker_whose_file_was_taken_away_stores_nothing(
    crawler: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next holder of the lease comes between the late one's file and its name."""
    pictures = crawler["pictures"].Pictures(tmp_path)
    real_replace = Path.replace

    def replace(self: Path, target: Path) -> Path:
        monkeypatch.undo()
        pictures.fetch(Server(), lease(crawler, 2), 0.0)
        return real_replace(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(crawler["shop"].PageError, match="another worker has taken it over"):
        pictures.fetch(Server(), lease(crawler, 1), 0.0)
    (left,) = tmp_path.iterdir()
    assert left.read_bytes() == b"BM picture"


def test_content_name_and_folder_are_synced_in_this_order(
    crawler: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any other order loses a file to a power cut whose record says "done"."""
    durable, steps = crawler["durable"], []
    monkeypatch.setattr(durable.os, "fsync", lambda fd: steps.append(Path(f"/proc/self/fd/{fd}").resolve().name))
    real_replace = Path.replace
    monkeypatch.setattr(Path, "replace", lambda self, to: steps.append(f"-> {to.name}") or real_replace(self, to))
    durable.replace(tmp_path / "file", tmp_path / "temporary", b"content")
    assert steps == ["temporary", "-> file", tmp_path.name]


def test_a_picture_that_never_comes_is_an_error_like_any_other(crawler: dict[str, ModuleType], tmp_path: Path) -> None:
    pictures = crawler["pictures"].Pictures(tmp_path)
    with pytest.raises(crawler["shop"].PageError, match="ReadTimeout: silent for 10 s"):
        pictures.fetch(Server(requests.ReadTimeout("silent for 10 s")), lease(crawler, 1), 0.0)
    assert list(tmp_path.iterdir()) == []


def test_a_message_is_known_by_record_version_and_content(crawler: dict[str, ModuleType]) -> None:
    key = crawler["outbox"].message_key
    assert key("a", 1, "x") == key("a", 1, "x")
    assert len({key("a", 1, "x"), key("b", 1, "x"), key("a", 2, "x"), key("a", 1, "y"), key("a1", 1, "x")}) == 5


@pytest.mark.parametrize("size_bytes", [0, 10, 65_535, 65_536, 65_537, 200_000])
def test_the_last_line_is_found_whatever_its_length(
    size_bytes: int, crawler: dict[str, ModuleType], tmp_path: Path
) -> None:
    for first in (b"", b"{}\n"):
        line = b"x" * size_bytes + b"\n"
        path = tmp_path / "file"
        path.write_bytes(first + line)
        with path.open("rb") as file:
            assert crawler["captures"].last_line(file) == (len(first), line)


def test_a_disk_that_fails_is_named_with_its_file(crawler: dict[str, ModuleType], tmp_path: Path) -> None:
    durable = crawler["durable"]
    with pytest.raises(durable.FileError) as caught, durable.naming(tmp_path / "x"):
        raise OSError(28, "No space left on device")
    assert str(caught.value) == f"{tmp_path / 'x'}: No space left on device (ENOSPC)"


def test_a_rename_that_fails_is_named_with_its_file_too(crawler: dict[str, ModuleType], tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(crawler["durable"].FileError, match=r"/file: Is a directory \(EISDIR\)"):
        crawler["durable"].replace(tmp_path / "file", tmp_path / "temporary", b"content")


def test_a_capture_is_durable_when_append_returns(
    crawler: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page's "done" comes after it: a power cut must not keep the one without the other."""
    captures, synced = crawler["captures"].Captures(tmp_path / "captures.jsonl"), []
    real_fsync = os.fsync

    def fsync(fd: int) -> None:
        path = Path(f"/proc/self/fd/{fd}").resolve()
        synced.append((path.name, path.read_bytes() if path.is_file() else b""))
        real_fsync(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    captures.prepare()
    assert synced == [(tmp_path.name, b"")]  # the file's name
    captures.append("http://shop/list/0", "é", 1.5)
    line = '{"url": "http://shop/list/0", "fetched_at": 1.5, "body": "é"}\n'.encode()
    assert synced[1:] == [("captures.jsonl", line)]
