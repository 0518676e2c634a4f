"""Pickles are read without being run, whatever they hold; plain values come out as they went in."""

import collections
import datetime
import pickle
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from killtest.jobdir import pickle_reader
from killtest.jobdir.pickle_operations import OPERATIONS
from killtest.jobdir.plain_value import Inert, Members, Opaque, Undecodable, summary
from plain_values import VALUES


@given(VALUES, st.sampled_from([3, 4, 5]))
def test_plain_values_come_out_as_they_went_in(value: Any, protocol: int) -> None:
    data = pickle.dumps(value, protocol)
    assert pickle_reader.read(b"xx" + data + b"yy", 2) == (value, 2 + len(data))


@pytest.mark.parametrize("protocol", range(6))
def test_every_protocol(protocol: int) -> None:
    value = {
        "n": [1, -1, 300, -70000, 1 << 200, True, False, None, 1.5],
        "t": ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)),
    }
    value["shared"] = [value["n"], value["n"], "é", "x" * 300]
    read, _ = pickle_reader.read(pickle.dumps(value, protocol))
    assert read == value


def test_sets_become_their_members() -> None:
    read, _ = pickle_reader.read(pickle.dumps([{1, 2}, frozenset([3])], 4))
    assert read == [[1, 2], [3]]
    assert [type(one) for one in read] == [Members, Members]  # type: ignore[attr-defined]


def test_a_key_that_is_nested_is_not_hashed() -> None:
    read, _ = pickle_reader.read(pickle.dumps({(1, 2): 3}, 4))
    assert isinstance(read, dict)
    ((key, value),) = read.items()
    assert isinstance(key, Opaque)
    assert (key.value, value) == ((1, 2), 3)


@pytest.mark.parametrize("protocol", range(6))
def test_objects_are_told_by_their_name_and_containers_by_their_length(protocol: int) -> None:
    counted = collections.defaultdict(set, {1: {2}, 3: set()})
    state = {
        "ordered": collections.OrderedDict(a=1),
        "counted": counted,
        "counter": collections.Counter("abc"),
        "queue": collections.deque([1, 2]),
        "when": datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
        "class": dict,
    }
    read, _ = pickle_reader.read(pickle.dumps(state, protocol))
    assert isinstance(read, dict)
    told = {name: summary(value) for name, value in read.items()}
    assert told["class"] in ("builtins.dict", "__builtin__.dict")
    assert (told["ordered"], told["counted"], told["counter"], told["queue"]) == (1, 2, 3, 2)
    assert told["when"] == "datetime.datetime"


class Ran(Exception):
    """Raised by what a pickle must not make run."""


class Trap:
    """Runs when it is unpickled."""

    def __reduce__(self) -> Any:
        return spring, ("x",)


def spring(*_: object) -> None:
    raise Ran


HERE = __name__.encode()
HOSTILE = {
    "reduce": pickle.dumps(Trap(), 4),
    "global and reduce": b"c" + HERE + b"\nspring\n(S'x'\ntR.",
    "inst": b"(S'x'\ni" + HERE + b"\nspring\n.",
    "obj": b"(c" + HERE + b"\nspring\nS'x'\no.",
    "newobj": b"c" + HERE + b"\nRan\n)\x81.",
    "newobj_ex": b"c" + HERE + b"\nRan\n)}\x92.",
    "build": b"c" + HERE + b"\nTrap\n)R}S'x'\nS'y'\nsb.",
    "system": b"cos\nsystem\n(S'touch ran'\ntR.",
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_nothing_is_run(data: bytes, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    read, end = pickle_reader.read(data)
    assert isinstance(read, Inert)
    assert end == len(data)
    assert list(tmp_path.iterdir()) == []


def test_the_trap_would_spring() -> None:
    with pytest.raises(Ran):
        pickle.loads(HOSTILE["reduce"])


REFUSED = {
    "nothing": b"",
    "no stop": b"\x80\x04N",
    "no value": b"\x80\x04.",
    "unknown operation": b"\xff.",
    "protocol": b"\x80\x06N.",
    "frame": b"\x80\x04\x95" + struct.pack("<Q", 99) + b"N.",
    "a memo never made": b"h\x07.",
    "called without a name": b"K\x01)R.",
    "a state for a list": b"]}b.",
    "items into a tuple": b")K\x01a.",
    "members into a list": b"](K\x01\x90.",
    "items appended to a set": b"\x8fK\x01a.",
    "items set in a list": b"]K\x01K\x02s.",
    "a key without a value": b"}(K\x01u.",
    "a list as a key": b"}]K\x01s.",
    "no mark": b"K\x01t.",
    "a tuple of too few": b"K\x01\x86.",
    "a persistent id": b"Px\n.",
    "an extension": b"\x82\x01.",
    "a buffer": b"\x97.",
    "a name of numbers": b"K\x01K\x02\x93.",
    "a number of a negative length": b"\x8b\xff\xff\xff\xff.",
    "a number too long to read": b"L" + b"9" * 5000 + b"L\n.",
    "no number": b"Ix\n.",
    "text that is none": b"\x8c\x01\xff.",
    "an object of nothing": b"(o.",
}


@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED)
def test_what_is_refused(data: bytes) -> None:
    with pytest.raises(Undecodable):
        pickle_reader.read(data)


BOMBS = {
    "a memo's number": b"N" + b"r\xff\xff\xff\xff" + b".",
    "a claimed length": b"\x8e" + struct.pack("<Q", 1 << 62) + b"x.",
    "nested lists": b"]" * 200_000 + b"a" * 199_999 + b".",
    "nested tuples": b"N" + b"\x85" * 1_000_000 + b".",
    "nested calls": b"cx\ny\n" * 100_000 + b")" + b"\x81" * 100_000 + b".",
    "a hash that never ends": b"}" + b")" + b"2\x86" * 100 + b"K\x01s.",
    "a list in itself": b"]\x942a.",
}


@pytest.mark.parametrize("data", BOMBS.values(), ids=BOMBS)
def test_bombs(data: bytes) -> None:
    """They end at once, in a few times their own length of memory: the timeout of the suite is the measure."""
    try:
        value, _ = pickle_reader.read(data)
    except Undecodable:
        return
    summary(value)


RECORD = pickle.dumps({"url": "http://a.test/", "meta": {"depth": 1, "tags": ["a", ("b", 2)]}, "n": 1 << 70}, 4)


@given(st.binary() | st.lists(st.sampled_from(sorted({*RECORD, *OPERATIONS})), max_size=60).map(bytes))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for start in (b"", b"\x80\x04"):
        try:
            value, end = pickle_reader.read(start + data)
        except Undecodable:
            continue
        assert 0 < end <= len(start + data)
        summary(value)


@settings(max_examples=300)
@given(
    st.lists(st.tuples(st.integers(0, len(RECORD) - 1), st.integers(0, 255)), max_size=4), st.integers(0, len(RECORD))
)
def test_a_damaged_record_is_read_or_refused(changes: list[tuple[int, int]], size: int) -> None:
    data = bytearray(RECORD)
    for place, value in changes:
        data[place] = value
    for one in (bytes(data), bytes(data[:size])):
        try:
            pickle_reader.read(one)
        except Undecodable:
            continue
