"""The pytest plug-in: the fixture `killtest` (docs/pytest.md).

Every test run in an environment with killtest installed imports this module, so it imports pytest alone;
the rest comes with the first test that asks for the fixture.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from killtest.kill_fixture import KillFixture


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--killtest-results`."""
    group = parser.getgroup("killtest", "kill crawlers, and judge what they stored")
    group.addoption(
        "--killtest-results",
        metavar="DIR",
        help="Where the fixture `killtest` keeps its evidence (default: below the test's tmp_path).",
    )


@pytest.fixture
def killtest(request: pytest.FixtureRequest, tmp_path: Path) -> "KillFixture":
    """Call it with a crawler: it kills it at chosen moments and judges what it stored (docs/pytest.md)."""
    from killtest.kill_fixture import KillFixture

    config, node = request.config, request.node
    chosen: str | None = config.getoption("--killtest-results")
    # The parent's id and the name, not node.nodeid: pytest-xdist adds the group to that, and the seed would change.
    test = f"{node.parent.nodeid}::{node.name}"
    return KillFixture(
        test=test,
        results=config.invocation_params.dir / chosen if chosen else tmp_path / "killtest",
        folders=(config.rootpath, Path.cwd()),
        tell=lambda text: node.add_report_section("call", "killtest", text),
    )
