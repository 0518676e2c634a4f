"""A heartbeat: leases are renewed while their pages are worked on, by a thread beside the workers of one process.

A lease can so be short, and a slow page is still fetched once. The beat must stop where the work does: it lives in
the worker's own process, so a process that is paused or dead renews nothing; and no lease is renewed for longer than
`longest_s`, so a worker that hangs loses its page as well. What it stores behind that is refused: the lease's number
is no longer the latest (`frontier.py`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType

from frontier import Frontier, Lease

BEATS = 3  # beats in the time of a lease: one may come late, and the lease still holds


class Heartbeat:
    """Beats while it is entered; `keep` says which leases are being worked on, in any thread."""

    def __init__(
        self,
        open_frontier: Callable[[], Frontier],
        lease_s: float,
        longest_s: float,
        failures: tuple[type[Exception], ...],
    ) -> None:
        """`open_frontier` is called once a lease has to be renewed, in the thread that does it.

        `failures` are what the store raises when it is full, locked or gone. A beat that fails is no matter: the
        worker meets the same error when it stores, and says so.
        """
        self._open, self._every_s, self._longest_s, self._failures = open_frontier, lease_s / BEATS, longest_s, failures
        self._began_s: dict[Lease, float] = {}
        self._lock, self._ends = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ends.set()
        self._thread.join(self._every_s)  # no longer: a store that doesn't answer must not hold up the end

    @contextmanager
    def keep(self, lease: Lease) -> Iterator[None]:
        """The lease is renewed from now on, as long as this is entered and for `longest_s` at most."""
        with self._lock:
            self._began_s[lease] = time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                del self._began_s[lease]

    def _beat(self) -> None:
        frontier: Frontier | None = None
        while not self._ends.wait(self._every_s):
            for lease in self._due():
                with suppress(*self._failures):
                    frontier = frontier or self._open()
                    frontier.renew(lease)
        if frontier is not None:
            frontier.db.close()

    def _due(self) -> list[Lease]:
        """The leases that are old enough to be renewed, and not too old: most pages are done before the first beat."""
        now_s = time.monotonic()
        with self._lock:
            ages_s = {lease: now_s - began_s for lease, began_s in self._began_s.items()}
        return [lease for lease, age_s in ages_s.items() if self._every_s <= age_s < self._longest_s]
