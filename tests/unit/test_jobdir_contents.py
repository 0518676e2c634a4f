"""The folder that the inspector reads: what may not be read."""

import os
from pathlib import Path

import pytest
from killtest.jobdir import contents


def test_what_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may read everything, so it is `os.access` that says no here."""
    (tmp_path / "requests.queue" / "slot").mkdir(parents=True)
    (tmp_path / "requests.queue" / "dangling").symlink_to("nowhere")
    closed = tmp_path / "requests.queue" / "slot" / "0"
    closed.touch()
    assert contents.denied(tmp_path) is None
    allowed = os.access

    def access(path: Path, mode: int, **how: bool) -> bool:
        return path != closed and allowed(path, mode, **how)

    monkeypatch.setattr(os, "access", access)
    assert contents.denied(tmp_path) == closed
