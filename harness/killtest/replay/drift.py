"""Whether the subject went another way than then: its requests before the first strike, and where faults struck."""

from collections.abc import Sequence

from killtest.judge.evidence import Evidence, FaultRecord


def drift(then: Evidence, now: Evidence) -> list[str]:
    """In words, what was otherwise before the first fault struck, and which fault struck elsewhere; both may be."""
    told = (_requests(_paths(then), _paths(now)), _places(then.course.faults, now.course.faults))
    return [text for text in told if text is not None]


def _paths(evidence: Evidence) -> list[str]:
    """The pages requested up to the first strike, in order of arrival; all of them when nothing struck."""
    struck = [fault.t_s for fault in evidence.course.faults if fault.t_s is not None]
    ends_s = min(struck, default=float("inf"))
    return [one.path for one in evidence.requests if one.kind == "page" and one.arrived_s <= ends_s]


def _requests(then: Sequence[str], now: Sequence[str]) -> str | None:
    if then == now:
        return None
    before = "before the first fault"
    if sorted(then) == sorted(now):
        return f"the subject made the same requests {before} in another order"
    for number, pair in enumerate(zip(then, now, strict=False), 1):
        if pair[0] != pair[1]:
            return f"the subject made other requests {before}: the {_nth(number)} was for {pair[0]}, now for {pair[1]}"
    return f"the subject made {len(then)} page requests {before} then, and {len(now)} now"


def _nth(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _places(then: Sequence[FaultRecord], now: Sequence[FaultRecord]) -> str | None:
    for number, (old, new) in enumerate(zip(then, now, strict=False), 1):
        which = "the fault" if len(then) == 1 else f"the {_nth(number)} fault"
        if (old.t_s is None) != (new.t_s is None):
            return f"{which} {'struck' if old.t_s is not None else 'did not strike'} then, and now it did the opposite"
        if old.incarnation != new.incarnation:
            return f"{which} struck incarnation {old.incarnation} then, and {new.incarnation} now"
        if sorted(old.in_flight) != sorted(new.in_flight):
            return f"{which} struck at another page (in flight then: {_open(old)}, now: {_open(new)})"
    return None


def _open(fault: FaultRecord) -> str:
    return ", ".join(sorted(fault.in_flight)) or "none"
