"""The outer main: starts the inner main, and starts it again after a change or a death. Standard library only.

Its own code is the one part that a reload leaves as it is; restart the instance to change that.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType

from crawling import code_check, crawl_options, fingerprints, handover
from crawling.event_log import speaker

ROOT = Path(__file__).resolve().parents[1]
DONE, RELOAD, MISUSED, CRASHED = 0, 3, 2, 1  # exit codes of the inner main
STOPS = (signal.SIGTERM, signal.SIGINT)
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0
SETTLED_S = 10.0  # an inner main that ran for so long starts the pauses anew
LOOK_S = 0.05
SAME_S = 0.1  # who signals a process and then its whole group, as timeout(1) does, means it once


def supervise(arguments: Sequence[str]) -> int:
    """Run an instance to its end; returns the exit code: 0 when all is done, 130 or 143 when a signal ended it."""
    return Outer(arguments, crawl_options.parse(arguments[2:])).run()


class Outer:
    """One instance's supervisor."""

    def __init__(self, arguments: Sequence[str], options: crawl_options.CrawlOptions) -> None:
        self.arguments, self.options = arguments, options
        self.say = speaker(f"{options.instance}/outer")
        self.owner = uuid.uuid4().hex
        self.generation = self.reloads = 0
        self.stopped_by = 0
        self._stopped_s = 0.0
        self.pause_s = FIRST_PAUSE_S
        self._inner: subprocess.Popen[bytes] | None = None
        self._lifeline = -1

    def run(self) -> int:
        """Start inner mains until there is no reason for another."""
        for signum in STOPS:
            signal.signal(signum, self._signalled)
        code = self._generations()
        for signum in STOPS:  # the code is decided; nobody is left to be stopped
            signal.signal(signum, signal.SIG_IGN)
        return code

    def _generations(self) -> int:
        while True:
            started_s = time.monotonic()
            code = self._one_generation()
            if self.stopped_by:
                return 128 + self.stopped_by
            if code == RELOAD:
                self.reloads += 1
                continue
            if code in (DONE, MISUSED):
                return code
            if not self._after_a_death(code, time.monotonic() - started_s):
                return 128 + self.stopped_by if self.stopped_by else CRASHED

    def _one_generation(self) -> int:
        """Run one inner main to its end; its exit code, negative for a signal."""
        self.generation += 1
        # Before the inner main imports anything: whatever changes from here on will differ from this.
        prints = fingerprints.take(ROOT)
        told = handover.Handover(self.owner, self.generation, self.reloads, prints)
        reading, writing = os.pipe()
        environment = {**os.environ, "RUN_MAIN": "true", handover.LIFELINE: str(reading)}
        self._inner = subprocess.Popen([sys.executable, *self.arguments], env=environment, pass_fds=(reading,))
        os.close(reading)
        with suppress(BrokenPipeError):  # it died already
            os.write(writing, told.line())
        self._lifeline = writing
        if self.stopped_by:
            self._pass_on()
        code = self._inner.wait()
        self._lifeline = -1
        os.close(writing)
        return code

    def _after_a_death(self, code: int, lived_s: float) -> bool:
        """Whether to start another: after a pause, or once the code that it died of is mended."""
        if code == CRASHED and not self._mended():
            return False
        if lived_s > SETTLED_S:
            self.pause_s = FIRST_PAUSE_S
        self.say(f"the inner main died ({_death(code)}); starting another in {self.pause_s:g} s")
        alive = not self._stopped_within(self.pause_s)
        self.pause_s = min(2 * self.pause_s, LONGEST_PAUSE_S)
        return alive

    def _mended(self) -> bool:
        """Wait for a mend if the code is broken; False if there is no sense in waiting."""
        while True:
            prints = fingerprints.take(ROOT)
            if not (complaint := code_check.complaint()):
                return True
            if not self.options.reload:
                self.say(f"cannot start: {complaint}")
                return False
            self.say(f"cannot start: {complaint}; waiting until it is mended")
            while fingerprints.take(ROOT) == prints:
                if self._stopped_within(self.options.poll):
                    return False

    def _stopped_within(self, wait_s: float) -> bool:
        until_s = time.monotonic() + wait_s
        while not self.stopped_by and (left_s := until_s - time.monotonic()) > 0:
            time.sleep(min(left_s, LOOK_S))  # a signal does not wake a sleep in Python
        return bool(self.stopped_by)

    def _signalled(self, signum: int, _frame: FrameType | None) -> None:
        """The first signal is an orderly stop, the second one is meant now."""
        now_s = time.monotonic()
        if not self.stopped_by:
            self.stopped_by, self._stopped_s = signum, now_s
            self._pass_on()
        elif now_s - self._stopped_s > SAME_S and self._inner:
            self._inner.kill()  # its workers die with it

    def _pass_on(self) -> None:
        """Tell the inner main by the pipe: from a terminal Ctrl-C reaches both, and would count twice."""
        if self._lifeline >= 0:
            with suppress(OSError):
                os.write(self._lifeline, f"stop {signal.Signals(self.stopped_by).name}\n".encode())


def _death(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"
