"""Whether a subject can have a fault at all."""

import pytest
from killtest.errors import UsageError
from killtest.explore.explore_run import check_explorable
from killtest.plan.manifest import SiteNeeds, StoreNeeds, Subject
from killtest.plan.suitability import check_faults
from msgspec.structs import replace

ONE = Subject("one", ("true",), StoreNeeds("jsonl", "out.jsonl", key="sku"))
TWO = replace(ONE, name="two", instances=2)


@pytest.mark.parametrize(
    ("who", "faults", "why"),
    [
        (ONE, ("request:1 KILL instance=1",), "one runs as instance 0 alone"),
        (TWO, ("request:1 KILL instance=2",), "two runs as instance 0 to 1"),
        (ONE, ("request:1 KILL restart=never",), "would leave nobody of one"),
        (TWO, ("request:1 KILL restart=never", "request:9 TERM instance=1 restart=never"), "would leave nobody of two"),
        (TWO, ("syscall:fsync#1 KILL",), "the calls of several instances side by side can't be counted"),
        (ONE, ("request:1 reload:touch",), "one declares no reload files"),
        (ONE, ("partial:/image/501@4000 KILL",), "/image/501 is no page of this shop; it has .*/image/1 to /image/500"),
        (ONE, ("request:1 service:valkey:KILL",), "one has no service valkey"),
    ],
)
def test_what_a_subject_cannot_have_is_said_in_a_sentence(who: Subject, faults: tuple[str, ...], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        check_faults(faults, who, SiteNeeds(), "here")


def test_what_a_subject_can_have_passes() -> None:
    check_faults(("request:1 KILL instance=1 restart=never", "request:9 KILL"), TWO, SiteNeeds(), "here")
    check_faults(("syscall:fsync#1 KILL",), ONE, SiteNeeds(), "here")
    check_faults(
        ("partial:/image/500@4000 KILL", "partial:/hook@1 KILL", "status:/hook=503*1"), ONE, SiteNeeds(), "here"
    )


def test_copies_have_no_one_order_of_steps() -> None:
    with pytest.raises(UsageError, match="two runs as 2 copies"):
        check_explorable(TWO)
    check_explorable(ONE)
