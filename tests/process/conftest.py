"""What the process tests share: with and without namespaces, and sleepers that can be told apart."""

import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from killtest.process import isolation


@pytest.fixture(params=["namespaces", "none"])
def isolated(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Run the test in namespaces and without; a machine without them runs the second alone, and says so."""
    isolation.prefix.cache_clear()
    if request.param == "none":
        monkeypatch.setenv("KILLTEST_ISOLATION", "none")
    elif not isolation.prefix():
        pytest.skip("this machine allows no namespaces (unshare failed)")
    yield str(request.param)
    isolation.prefix.cache_clear()


@pytest.fixture
def span(tmp_path: Path) -> str:
    """A number of seconds to sleep that no other test sleeps, so that its sleepers can be told apart."""
    return str(600 + zlib.crc32(str(tmp_path).encode()) / 1e10)
