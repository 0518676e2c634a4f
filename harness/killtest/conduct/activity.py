"""Whether anything moves: the search for a hang, over all that runs of the subject."""

from dataclasses import dataclass

# Below this share of one CPU a process counts as idle: a true hang used 0.00 CPU s in 5 s, an event
# loop's housekeeping well under 1 %.
_IDLE_CPU_SHARE = 0.02
_LOOKS = 5


@dataclass(slots=True)
class Activity:
    """What was last seen to move; times are CLOCK_MONOTONIC seconds, `idle_s` is how long a hang lasts at least."""

    idle_s: float
    looked_s: float
    active_s: float = 0.0
    cpu_s: float = 0.0
    requests: int = -1

    def __post_init__(self) -> None:
        """What begins is active."""
        self.active_s = self.looked_s

    @property
    def next_look_s(self) -> float:
        """When to look again."""
        return self.looked_s + self.idle_s / _LOOKS

    def look(self, now_s: float, cpu_s: float, requests: int, waits_for_us: bool) -> bool:
        """Take in the CPU seconds and requests up to now; true when nothing has moved for `idle_s`.

        `waits_for_us`: a request is open, which is the site's to answer: a page slower than `idle_s` is no hang.
        """
        self.looked_s = now_s
        # Down as well as up: the CPU seconds of a process that has ended may leave the sum with it.
        is_busy = abs(cpu_s - self.cpu_s) > _IDLE_CPU_SHARE * (now_s - self.active_s)
        if requests != self.requests or waits_for_us or is_busy:
            self.requests, self.cpu_s, self.active_s = requests, cpu_s, now_s
            return False
        return now_s - self.active_s >= self.idle_s
