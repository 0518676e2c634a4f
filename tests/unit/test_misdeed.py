"""The site's misbehaviour as text, and whether a shop can have it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from killtest.errors import UsageError
from killtest.plan.fault import Fault, Trigger
from killtest.plan.fault_text import parse
from killtest.plan.manifest import SiteNeeds, StoreNeeds, Subject
from killtest.plan.misdeed import Misdeed
from killtest.plan.suitability import check_faults

WHO = Subject("one", ("true",), StoreNeeds("jsonl", "out.jsonl", key="sku"))


@pytest.mark.parametrize(
    "text",
    [
        "latency:/product/6=1.2",
        "latency:/product/6=1.2*1",
        "latency:/product/*=0.1..0.8",
        "status:/product/6=503*2",
        "status:/product/6=429*1 retry_after=1",
        "status:/*=500*3",
        "reset:/product/6=start*1",
        "reset:/product/6=0",
        "truncate:/image/7=4000",
        "slow:/list/0=200",
        "redirect:/product/6=/product/7*1",
        "request:25 status:/product/6=503*2",
        "2/response:/list/0#2 latency:/product/*=1",
        "mark:stored#3 status:/product/6=503 retry_after=0",
    ],
)
def test_text_and_misbehaviour_are_inverse(text: str) -> None:
    assert parse(text).text == text


SECONDS = st.floats(0, 3600)
COUNTS = st.integers(1, 10**9 - 1)
SIZES = st.integers(0, 10**9 - 1)
PATHS = st.from_regex(r"/[a-z0-9/*.?#é%:+@-]{0,20}", fullmatch=True)
TIMES = st.none() | COUNTS
MISDEEDS = (
    st.builds(
        lambda path, times, bounds: Misdeed("latency", path, times, delay_s=(min(bounds), max(bounds))),
        PATHS,
        TIMES,
        st.tuples(SECONDS, SECONDS),
    )
    | st.builds(
        Misdeed,
        st.just("status"),
        PATHS,
        TIMES,
        status=st.integers(400, 599),
        retry_after_s=st.none() | SIZES,
    )
    | st.builds(Misdeed, st.just("reset"), PATHS, TIMES, at_bytes=st.none() | SIZES)
    | st.builds(Misdeed, st.just("truncate"), PATHS, TIMES, at_bytes=SIZES)
    | st.builds(Misdeed, st.just("slow"), PATHS, TIMES, bytes_per_s=COUNTS)
    | st.builds(Misdeed, st.just("redirect"), PATHS, TIMES, to=st.from_regex(r"/[a-z0-9,=/]{0,9}", fullmatch=True))
)
TRIGGERS = st.builds(Trigger, st.just("request"), n=COUNTS) | st.builds(Trigger, st.just("after"), offset_s=SECONDS)


@given(MISDEEDS, TRIGGERS | st.just(Trigger("throughout")), st.none() | COUNTS)
def test_every_misbehaviour_is_read_back_from_its_text(misdeed: Misdeed, trigger: Trigger, pin: int | None) -> None:
    fault = Fault(trigger, (), "tree", None if trigger.kind == "throughout" else pin, misdeed=misdeed)
    assert parse(fault.text) == fault


def test_without_a_trigger_it_holds_throughout() -> None:
    assert parse("slow:/list/0=200").trigger.kind == "throughout"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("status:/product/6", "written as status:/product/6=503*2"),
        ("status:/product/6=200", "written as status:"),
        ("status:/product/6=503*0", "written as status:"),
        ("status:product=503", "written as status:"),
        ("latency:/product/6=slow", "written as latency:"),
        ("latency:/product/6=0.8..0.1", "from the least to the most seconds"),
        ("latency:/product/6=3601", "3600 at the most"),
        ("slow:/product/6=0", "written as slow:"),
        ("truncate:/product/6=start", "written as truncate:"),
        ("redirect:/product/6=elsewhere", "written as redirect:"),
        ("redirect:/product/6=/product/*", "written as redirect:"),
        ("2/status:/product/6=503", "not for one incarnation"),
        ("tarpit:/product/6=1 KILL", "unknown trigger"),
        ("request:5 tarpit:/product/6=1", 'unknown action "tarpit:/product/6=1"; built: KILL'),
        ("request:5 status:/product/6=503, KILL", "it stands alone"),
        ("request:5 status:/product/6=503 KILL", "stands alone"),
        ("request:5 bump:/product/6, status:/product/6=503", "a misbehaviour stands alone"),
        ("slow:/product/6=20 retry_after=1", "a status may say retry_after"),
        ("status:/product/6=503 retry_after=soon", "a status may say retry_after"),
        ("status:/product/6=503 scope=pid", "stands alone"),
        ("status:/product/6=503 retry_after=1 instance=1", '"instance=1"'),
    ],
)
def test_what_is_wrong_is_said(text: str, complaint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert complaint in str(caught.value)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("status:/product/501=503", "/product/501 is no page of this shop; it has /list/0 to /list/24"),
        ("status:/view/1=503", "/view/1 is no page"),
        ("request:5 slow:/shop/*=10", "is no page of this shop"),
        ("redirect:/product/6=/login", "it leads to /login, which is no page"),
    ],
)
def test_what_a_shop_cannot_have_is_said(fault: str, why: str) -> None:
    with pytest.raises(UsageError, match=why.replace("*", ".")):
        check_faults((fault,), WHO, SiteNeeds(), "here")


def test_what_a_shop_can_have_passes() -> None:
    faults = ("status:/robots.txt=503", "slow:/image/500=9", "reset:/list/2*=start*1", "redirect:/=/product/500")
    check_faults(faults, WHO, SiteNeeds(), "here")
    check_faults(("status:/view/1=503",), WHO, SiteNeeds(shape="two_page"), "here")
