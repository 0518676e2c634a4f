"""How often one copy of the subject ended by itself, and whether it is started again."""

from killtest.conduct.life import Life
from killtest.judge.evidence import Ending


class Tries:
    """The unplanned ends of one copy; `deaths` counts them."""

    def __init__(self, restarts: int) -> None:
        """Answer up to `restarts` of them with another start."""
        self.deaths = 0
        self._restarts = restarts
        self._silent = 0

    def decide(self, life: Life) -> Ending | None:
        """What the end of that incarnation means: None when it is to be started again (unless a fault forbids it)."""
        if life.limit is not None:
            return life.limit
        if life.was_ended_by_fault:
            return None
        if life.exit == 0:
            return "finished"
        if life.is_again:
            return None
        self.deaths += 1
        self._silent = self._silent + 1 if life.first_request_s is None else 0
        if self.deaths <= self._restarts:
            return None
        return "refused_start" if self._silent >= self.deaths else "crash_loop"
