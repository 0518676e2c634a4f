"""Processes are signalled by pid and start time, so that a pid that was reused is never hit."""

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from killtest.process import process_tree as tree
from killtest.process.process_tree import Identity


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()


def test_process_that_took_over_a_pid_is_never_signalled(sleeper: subprocess.Popen[bytes]) -> None:
    today = tree.identify(sleeper.pid)
    assert today is not None
    before = Identity(today.pid, today.started - 1)
    assert not tree.send(before, signal.SIGKILL)
    assert tree.is_dead(before)
    assert tree.wait_dead([before], deadline_s=0) == []
    assert sleeper.poll() is None


def test_the_process_itself_is(sleeper: subprocess.Popen[bytes]) -> None:
    today = tree.identify(sleeper.pid)
    assert today is not None
    assert tree.send(today, signal.SIGKILL)
    assert tree.wait_dead([today], deadline_s=10) == []
    assert tree.is_dead(today)
