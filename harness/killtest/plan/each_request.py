"""One fault at every page request of a small shop: what `killtest sweep` runs, and `killtest gate` without more."""

from collections.abc import Sequence

from killtest.plan.schedule import DrawnTrigger, Rule

# Small enough for every request to get its own trial, large enough for the list pages to matter.
SMALL = {"list_pages": 3, "products": 30}
# While the site holds the answer, and once its last byte has been handed over.
MOMENTS: tuple[tuple[str, DrawnTrigger], ...] = (("held", "request"), ("response", "response"))


def rules_for(last: int, signals: Sequence[str], first: Sequence[str] = ()) -> tuple[Rule, ...]:
    """A group for each moment and signal, of one schedule for each request from 1 to `last`.

    The faults `first` end the incarnations before, so that it is those of a resume that are counted.
    """
    return tuple(
        Rule(
            group=f"{group}-{signal}",
            each=True,
            trigger=trigger,
            between=(1, last),
            signals=(signal,),
            faults=tuple(first),
        )
        for group, trigger in MOMENTS
        for signal in signals
    )
