"""Faults as text."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from killtest.errors import UsageError
from killtest.plan.fault import Fault, Step, Trigger
from killtest.plan.fault_text import parse
from killtest.plan.hardship import ERRNOS, Hardship


@pytest.mark.parametrize(
    "text",
    [
        "request:25 KILL",
        "request:/product/7 KILL",
        "request:/product/7#2 INT",
        "response:25 TERM",
        "after:0.734 KILL",
        "after:0 KILL",
        "after:0.00001 KILL",
        "after:1234567.5 KILL",
        "after:12.34567 KILL",
        "after:100000000000000000 KILL",
        "first+0.1 KILL",
        "request:1 TERM+KILL@0.00001",
        "first+0.5 QUIT",
        "2/request:25 KILL",
        "request:1 TERM+KILL@10",
        "request:1 INT+INT@0.2 scope=pid",
        "request:1 KILL scope=group",
        "request:25 KILL scope=owner",
        "mark:committed KILL",
        "mark:committed#3 STOP scope=owner",
        "1/rows:100 KILL",
        "syscall:fdatasync#12 KILL",
        "syscall:step#40 KILL scope=owner",
        "request:3 STOP+CONT@2",
        "response:3 CONT",
        "request:/product/6 bump:/product/6",
        "request:/product/6 bump:/product/6, bump:/view/7, KILL scope=pid",
        "request:25 reload:touch",
        "mark:fetched#3 reload:whitespace instance=1",
        "request:25 bump:/product/6, reload:change",
        "request:25 reload:broken+mended@3",
        "request:25 service:valkey:KILL",
        "request:25 service:valkey:KILL+START@3",
        "request:25 TERM+KILL@10 scope=group instance=1 restart=never",
        "request:25 enospc",
        "2/syscall:pwrite64#12 enospc*1",
        "syscall:step#40 eio*3",
        "memory:256M",
        "request:25 memory:1500K",
        "request:25 memory:1048577",
        "request:25 oom",
        "request:25 oom instance=1",
        "request:25 clock:-3600, KILL",
        "request:25 clock:+0.5",
        "request:25 bump:/product/6, clock:+3600, oom",
        "request:25 clock:+3600, reload:touch",
    ],
)
def test_text_and_fault_are_inverse(text: str) -> None:
    assert parse(text).text == text


TIMES = st.floats(0, 1e17, exclude_max=True) | st.floats(0, 10)
NUMBERS = st.integers(1, 10**18 - 1)
PATHS = st.from_regex(r"/[a-z0-9/.?=é%-]{0,20}", fullmatch=True)
NAMES = st.from_regex(r"[a-z0-9_.:-]{1,9}", fullmatch=True)
TRIGGERS = (
    st.builds(Trigger, st.sampled_from(["after", "first"]), offset_s=TIMES)
    | st.builds(Trigger, st.sampled_from(["request", "response", "rows"]), n=NUMBERS)
    | st.builds(Trigger, st.sampled_from(["request", "response"]), n=NUMBERS, path=PATHS)
    | st.builds(Trigger, st.just("partial"), n=NUMBERS, path=PATHS, at_bytes=st.integers(0, 10**18 - 1))
    | st.builds(Trigger, st.just("mark"), n=NUMBERS, name=NAMES)
    | st.builds(Trigger, st.just("syscall"), n=NUMBERS, name=st.sampled_from(["fdatasync", "step"]))
)
STEPS = st.builds(
    lambda head, rest: (Step(head), *rest),
    st.sampled_from(["INT", "TERM", "HUP", "QUIT", "STOP"]),
    st.lists(st.builds(Step, st.sampled_from(["INT", "TERM", "CONT"]), TIMES), max_size=3),
)
FAULTS = st.builds(
    Fault,
    TRIGGERS,
    STEPS,
    st.sampled_from(["pid", "group", "tree"]),
    st.none() | st.integers(0, 10**18 - 1),
    st.lists(PATHS.filter(lambda path: len(path) > 1), max_size=2).map(tuple),
)


CLOCKS = st.floats(1e-6, 1e9) | st.floats(-1e9, -1e-6) | st.just(0.0)
HARDSHIPS = st.builds(Hardship, st.sampled_from(ERRNOS), st.none() | st.integers(1, 10**9 - 1)) | st.builds(
    Hardship, st.just("memory"), size_bytes=st.integers(1 << 20, 1 << 45)
)
MORE = (
    st.builds(Fault, TRIGGERS, st.just(()), st.just("tree"), hardship=HARDSHIPS)
    | st.builds(Fault, TRIGGERS, STEPS, st.just("group"), clock_s=CLOCKS)
    | st.builds(Fault, TRIGGERS, st.just((Step("KILL"),)), st.just("largest"), clock_s=CLOCKS)
)


@given(MORE)
def test_every_hardship_clock_and_oom_is_read_back_from_its_text(fault: Fault) -> None:
    assert parse(fault.text) == fault


@given(FAULTS)
def test_every_fault_is_read_back_from_its_text(fault: Fault) -> None:
    assert parse(fault.text) == fault


@given(
    st.from_regex(
        r"[0-9]{1,3}/(after:|first\+)[0-9]{1,18}(\.[0-9]{1,30})? TERM\+KILL@[0-9]{1,9}\.[0-9]+", fullmatch=True
    )
)
@example("0/after:0.1000000000000000055511151231257827021181583404541015625 TERM+KILL@007.50")
def test_text_of_what_was_read_is_stable(text: str) -> None:
    fault = parse(text)
    assert parse(fault.text) == fault
    assert parse(fault.text).text == fault.text


@pytest.mark.parametrize(
    "text",
    [
        "２/request:5 KILL",
        "request:５ KILL",
        "request:1٣ KILL",
        "after:٣ KILL",
        "first+1.٣ KILL",
        "request:/a#1٣ KILL",
        "mark:a#1٣ KILL",
        "request:5 TERM+KILL@٣",
        f"request:{'9' * 19} KILL",
        f"request:{'9' * 5000} KILL",
        f"request:/a#{'9' * 5000} KILL",
        f"{'9' * 5000}/request:5 KILL",
        f"after:{'9' * 5000} KILL",
        f"request:5 TERM+KILL@{'9' * 5000}",
    ],
)
def test_number_that_is_none_or_too_long_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse(text)


def test_default_scope_is_what_happens_in_life() -> None:
    assert parse("request:1 KILL").scope == "tree"
    assert parse("request:1 INT").scope == "group"
    assert parse("request:1 TERM").scope == "pid"


def test_sequence_keeps_the_delays() -> None:
    assert parse("request:1 TERM+KILL@10").steps == (Step("TERM"), Step("KILL", 10.0))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("KILL", "wants TRIGGER ACTION"),
        ("request:0 KILL", "unknown trigger"),
        ("requst:5 KILL", 'unknown trigger "requst:5"'),
        ("request:5 KLL", 'unknown action "KLL"'),
        ("request:5 KILL scope=all", '"scope=all" is not understood'),
        ("request:5 TERM+KILL", "wants a delay in seconds"),
        ("request:1 reload:burn", 'unknown action "burn"; built: touch'),
        ("request:1 reload:mended", "mended goes behind broken, each time"),
        ("request:1 reload:mended+broken@1", "mended goes behind broken"),
        ("request:1 reload:broken+broken@1", "mended goes behind broken"),
        ("request:1 reload:broken+touch@1", "mended goes behind broken"),
        ("request:1 reload:touch scope=pid", "it takes no scope"),
        ("request:1 service:valkey:STOP", 'unknown action "STOP"; built: KILL, START'),
        ("request:1 service:valkey:START", "a service takes KILL"),
        ("request:1 service:valkey:KILL scope=pid", "a service has no scope"),
        ("request:1 service:valkey:KILL instance=1", "this is no instance's"),
        ("request:1 CONT instance=1", "this is no instance's"),
        ("request:1 KILL scope=owner instance=1", "the owner is found by its request"),
        ("request:1 KILL instance=one", "wants a number"),
        ("request:1 KILL restart=later", "the only one is restart=never"),
        ("request:1 reload:touch restart=never", "a signal that ends a certain copy"),
        ("request:1 STOP+CONT@2 restart=never", "a signal that ends a certain copy"),
        ("request:1 KILL scope=owner restart=never", "a signal that ends a certain copy"),
        ("request:1 KILL restart=never restart=never", "one restart at the most"),
        ("partial:/image/7 KILL", 'unknown trigger "partial:/image/7"'),
        ("partial:7@4000 KILL", 'unknown trigger "partial:7@4000"'),
        ("syscall:getpid#3 KILL", "getpid is no call that is watched"),
        ("request:5 KILL+TERM@1", "nothing can follow KILL"),
        ("request:5 KILL scope=pid scope=tree", "one scope at the most"),
        ("after:-1 KILL", "unknown trigger"),
        ("first+x KILL", "unknown trigger"),
        ("rows:0 KILL", "unknown trigger"),
        ("mark: KILL", "unknown trigger"),
        ("after:1 KILL scope=owner", "scope=owner is whose request or mark it is"),
        ("rows:5 KILL scope=owner", "scope=owner is whose request or mark it is"),
        ("request:5 CONT scope=pid", "takes no scope"),
        ("request:5 bump:/product/1 scope=pid", "takes no scope"),
        ("request:5 KILL, bump:/product/1", "bumps stand first"),
        ("request:5 bump:product", "unknown action"),
        ("request:5 KILL, TERM", "bumps stand first"),
        ("request:5 bump:/product/6 KILL", "a comma is missing between bump:/product/6 and KILL"),
        ("request:5 bump:/product/6 KILL scope=pid", "a comma is missing between bump:/product/6 and KILL"),
        ("enospc", "wants a trigger"),
        ("eio*1", "wants a trigger"),
        ("request:5 enospc KILL", '"KILL" can\'t stand behind enospc'),
        ("request:5 enospc scope=pid", '"scope=pid" can\'t stand behind enospc'),
        ("request:5 enospc, KILL", "it stands alone, a fault each"),
        ("request:5 bump:/a, enospc", "a misbehaviour stands alone, and a hardship too"),
        ("request:5 enospc*0", "written as enospc, eio, enospc*1 or memory:256M"),
        ("syscall:unlink#2 enospc", "unlink does not fail with ENOSPC"),
        ("syscall:bind#2 eio", "bind does not fail with EIO"),
        ("memory:1K", "at least memory:1M"),
        ("request:5 memory:lots", '"memory:lots" is not understood'),
        ("request:5 clock:3600", "is written clock:+3600 or clock:-3600"),
        ("request:5 clock:+0", "is written clock:+3600 or clock:-3600"),
        ("request:5 clock:+1, clock:+2", "those of several faults add up"),
        ("request:5 KILL, clock:+1", "bumps stand first, and a clock"),
        ("request:5 clock:+1 KILL", "a comma is missing between clock:+1 and KILL"),
        ("request:5 oom scope=pid", "oom finds whom it kills"),
        ("request:5 oom restart=never", "oom finds whom it kills"),
        ("request:5 bump:/a, bump:/b bump:/c", "a comma is missing between bump:/b and bump:/c"),
    ],
)
def test_what_is_wrong_is_said(text: str, complaint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert complaint in str(caught.value)
    assert text in str(caught.value)


def test_what_is_broken_is_mended_two_seconds_later_where_nothing_is_said() -> None:
    assert parse("request:1 reload:broken").text == "request:1 reload:broken+mended@2"


def test_a_service_is_named_and_a_signal_names_none() -> None:
    assert parse("request:1 service:valkey:KILL").service == "valkey"
    assert parse("request:1 reload:touch").service is None
    assert parse("request:1 KILL").service is None
