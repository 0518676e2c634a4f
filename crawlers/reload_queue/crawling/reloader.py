"""Django's autoreload, told better when the code has changed, and asked only when the new code can run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from django.utils import autoreload

from crawling import code_check, fingerprints
from crawling.event_log import Say

ROOT = Path(__file__).resolve().parents[1]


class CodeReloader(autoreload.BaseReloader):
    """Compares the code with what it looked like before it was imported.

    Django's own reloader takes a file's time at its first look for the old one, so an earlier edit is lost; and it
    watches what is imported, so what failed to import is not.
    """

    def __init__(self, prints: fingerprints.Prints, poll_s: float, ended: threading.Event, say: Say) -> None:
        super().__init__()
        self.running = fingerprints.digest(prints)
        self.seen, self.poll_s, self.ended, self.say = prints, poll_s, ended, say

    def tick(self) -> Iterator[None]:
        """One look at the code, then a pause; over when the instance has ended."""
        while not self.ended.is_set():
            prints = fingerprints.take(ROOT)
            if paths := fingerprints.changed(self.seen, prints):
                self._consider(paths, prints)
            self.ended.wait(self.poll_s)
            yield

    def _consider(self, paths: list[str], prints: fingerprints.Prints) -> None:
        """Reload, unless the new code is broken: then the old one goes on until the next change."""
        self.say(f"change noticed: {', '.join(paths)}")
        while True:
            same = fingerprints.digest(prints) == self.running
            complaint = "" if same else code_check.complaint()
            again = fingerprints.take(ROOT)
            if not fingerprints.changed(prints, again):
                break
            prints = again  # it changed while it was checked: what was checked is not what would run
        self.seen = prints
        if complaint:
            self.say(f"reload refused: {complaint}")
        else:
            self.notify_file_changed(ROOT / paths[0])


def run(reloader: CodeReloader, work: Callable[[], None], stop: Callable[[], bool]) -> None:
    """Run `work` in Django's main thread under the reloader; returns when it has ended.

    At a change `stop` ends the work in order and says whether that was the reason; then the process ends with 3.
    """

    def on_change(**_: object) -> bool:
        return not stop()  # for Django, True means that the change needs no restart

    autoreload.file_changed.connect(on_change, weak=False)
    autoreload.start_django(reloader, work)
