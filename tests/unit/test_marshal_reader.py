"""Marshalled plain data come out as they went in; whatever is damaged is refused."""

import marshal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from killtest.jobdir import marshal_reader
from killtest.jobdir.plain_value import Undecodable, summary
from plain_values import VALUES


@given(VALUES, st.sampled_from([2, 3, 4]))
def test_plain_values_come_out_as_they_went_in(value: Any, version: int) -> None:
    data = marshal.dumps(value, version)
    assert marshal_reader.read(b"xx" + data + b"yy", 2) == (value, 2 + len(data))


def test_kinds_that_json_does_not_know() -> None:
    shared = "x" * 300
    value = [{"é": ..., "s": {1}, "f": frozenset([2])}, shared, shared, 1j, -(1 << 70), "interned", b"b"]
    read, _ = marshal_reader.read(marshal.dumps(value))
    assert read == [{"é": ..., "s": [1], "f": [2]}, shared, shared, 1j, -(1 << 70), "interned", b"b"]


REFUSED = {
    "nothing": b"",
    "code": marshal.dumps((lambda: 0).__code__),
    "unknown type": b"?",
    "an end": b"0",
    "an end inside": b"[\1\0\0\0000",
    "a list cut short": b"[\x05\0\0\0NN",
    "a length that is claimed": b"s\xff\xff\xff\x7fx",
    "a negative length": b"[\xff\xff\xff\xff",
    "a ref to nothing": b"r\x05\0\0\0",
    "a dict without an end": b"{NN",
    "a list as a key": b"{[\0\0\0\0N0",
    "nested too deep": b"[\1\0\0\0" * 200 + b"N",
    "a wide digit": b"l\1\0\0\0\xff\xff",
    "text that is none": b"a\1\0\0\0\xff",
}


@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED)
def test_what_is_refused(data: bytes) -> None:
    with pytest.raises(Undecodable):
        marshal_reader.read(data)


RECORD = marshal.dumps({"url": "http://a.test/", "meta": {"depth": 1, "tags": ["a", ("b", 2)]}, "n": 1 << 70})


@settings(max_examples=300)
@given(
    st.binary(),
    st.lists(st.tuples(st.integers(0, len(RECORD) - 1), st.integers(0, 255)), max_size=4),
    st.integers(0, len(RECORD)),
)
def test_any_bytes_are_read_or_refused(junk: bytes, changes: list[tuple[int, int]], size: int) -> None:
    data = bytearray(RECORD)
    for place, value in changes:
        data[place] = value
    for one in (junk, bytes(data), bytes(data[:size])):
        try:
            value, end = marshal_reader.read(one)
        except Undecodable:
            continue
        assert 0 < end <= len(one)
        summary(value)
