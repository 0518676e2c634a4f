"""The stack machine that a pickle is a program for: its stacks, its memo, and the bytes that are still to come."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from killtest.jobdir.plain_value import Undecodable

_STOP = ord(".")
_UINT = {1: struct.Struct("<B"), 2: struct.Struct("<H"), 4: struct.Struct("<I"), 8: struct.Struct("<Q")}
_INT4 = struct.Struct("<i")


class Machine:
    """The stack machine in the middle of a pickle; `outer` holds the stacks below the open marks."""

    __slots__ = ("at", "data", "memo", "outer", "stack")

    def __init__(self, data: bytes, at: int) -> None:
        """Begin at byte `at`."""
        self.data = data
        self.at = at
        self.stack: list[object] = []
        self.outer: list[list[object]] = []
        self.memo: dict[int, object] = {}

    def run(self, operations: Mapping[int, Operation]) -> object:
        """Go on to STOP with what each code does; what is on top then is the value."""
        data = self.data
        while True:
            code = data[self.at]
            self.at += 1
            if code == _STOP:
                return self.stack.pop()
            operate = operations.get(code)
            if operate is None:
                raise Undecodable(f"no operation {code:#04x}")
            operate(self)

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        piece = self.data[self.at : self.at + count]
        if len(piece) < count:
            raise IndexError
        self.at += count
        return piece

    def number(self, width: int) -> int:
        """The next unsigned number of `width` bytes."""
        (value,) = _UINT[width].unpack(self.take(width))
        return int(value)

    def signed(self) -> int:
        """The next signed number of four bytes."""
        (value,) = _INT4.unpack(self.take(4))
        return int(value)

    def line(self) -> bytes:
        """The bytes up to the next line end, which is passed."""
        end = self.data.index(b"\n", self.at)
        return self.take(end + 1 - self.at)[:-1]

    def push(self, value: object) -> None:
        """Put a value on top."""
        self.stack.append(value)

    def to_mark(self) -> list[object]:
        """Everything above the last mark, which is gone with it."""
        items, self.stack = self.stack, self.outer.pop()
        return items


Operation = Callable[[Machine], None]
