"""Read plain marshalled data. `marshal.loads` may crash the interpreter on damaged input; this refuses instead.

The format, of versions 2 to 4 (Scrapy writes 4): CPython's Python/marshal.c. Code objects are no plain data: refused.
"""

import struct
from collections.abc import Callable

from killtest.jobdir.plain_value import Members, Undecodable, as_key

_REF = 0x80
# A request's meta is a few levels deep; marshal itself gives up at 2000.
_DEEPEST = 100
_DIGIT_BITS = 15
_END = object()
_SINGLES: dict[int, object] = {
    ord("N"): None,
    ord("T"): True,
    ord("F"): False,
    ord("."): ...,
    ord("S"): "StopIteration",
}


def read(data: bytes, at: int = 0) -> tuple[object, int]:
    """The value that begins at byte `at`, and the byte behind its end; Undecodable when there is none."""
    reader = Reader(data, at)
    try:
        value = reader.value(0)
    except IndexError:
        raise Undecodable(f"cut short or out of order at byte {reader.at - at}") from None
    except ValueError as error:
        raise Undecodable(str(error)) from None
    if value is _END:
        raise Undecodable("no value")
    return value, reader.at


class Reader:
    """In the middle of marshalled data; `refs` are the values that later ones may refer to."""

    def __init__(self, data: bytes, at: int) -> None:
        """Begin at byte `at`."""
        self.data = data
        self.at = at
        self.refs: list[object] = []

    def value(self, depth: int) -> object:
        """The next value."""
        if depth > _DEEPEST:
            raise Undecodable(f"nested deeper than {_DEEPEST}")
        code = self.data[self.at]
        self.at += 1
        kind = code & ~_REF
        if kind in _SINGLES:
            return _SINGLES[kind]
        if kind == ord("0"):
            return _END
        if kind == ord("r"):
            return self.refs[self.size()]
        # Its place is taken before what is in it takes theirs.
        place = len(self.refs)
        if code & _REF:
            self.refs.append(None)
        made = self._made(kind, depth)
        if code & _REF:
            self.refs[place] = made
        return made

    def _made(self, kind: int, depth: int) -> object:
        read_one = _SIMPLE.get(kind)
        if read_one is not None:
            return read_one(self)
        if kind == ord("{"):
            return self._dict(depth)
        if kind not in _MANY:
            raise Undecodable(f"no plain value of type {bytes([kind])!r}")
        count = self.take(1)[0] if kind == ord(")") else self.size()
        # Each takes a byte at least: a count that is too high ends with the data.
        return _MANY[kind]([self._item(depth) for _ in range(count)])

    def _item(self, depth: int) -> object:
        item = self.value(depth + 1)
        if item is _END:
            raise Undecodable("an end inside a container")
        return item

    def _dict(self, depth: int) -> dict[object, object]:
        made: dict[object, object] = {}
        while (key := self.value(depth + 1)) is not _END:
            made[as_key(key)] = self._item(depth)
        return made

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        piece = self.data[self.at : self.at + count]
        if count < 0 or len(piece) < count:
            raise IndexError
        self.at += count
        return piece

    def size(self) -> int:
        """The next number of four bytes, as a length or a place."""
        number = int.from_bytes(self.take(4), "little", signed=True)
        if number < 0:
            raise Undecodable("a negative length")
        return number

    def long(self) -> int:
        """A number of digits of 15 bits, whose count bears the sign."""
        count = int.from_bytes(self.take(4), "little", signed=True)
        digits = struct.unpack(f"<{abs(count)}H", self.take(2 * abs(count)))
        if any(digit >> _DIGIT_BITS for digit in digits):
            raise Undecodable("a number with a digit of 16 bits")
        bits = "".join(f"{digit:0{_DIGIT_BITS}b}" for digit in reversed(digits))
        return (int(bits, 2) if bits else 0) * (-1 if count < 0 else 1)


def _text(encoding: str, width: int) -> Callable[[Reader], object]:
    def read_text(r: Reader) -> object:
        count = r.size() if width == 4 else r.take(1)[0]
        return str(r.take(count), encoding, "surrogatepass" if encoding == "utf-8" else "strict")

    return read_text


def _float(r: Reader) -> object:
    return struct.unpack("<d", r.take(8))[0]


def _float_text(r: Reader) -> object:
    return float(r.take(r.take(1)[0]))


_SIMPLE: dict[int, Callable[[Reader], object]] = {
    ord("i"): lambda r: int.from_bytes(r.take(4), "little", signed=True),
    ord("I"): lambda r: int.from_bytes(r.take(8), "little", signed=True),
    ord("l"): Reader.long,
    ord("g"): _float,
    ord("f"): _float_text,
    ord("y"): lambda r: complex(*struct.unpack("<2d", r.take(16))),
    ord("s"): lambda r: r.take(r.size()),
    ord("t"): _text("utf-8", 4),
    ord("u"): _text("utf-8", 4),
    ord("a"): _text("ascii", 4),
    ord("A"): _text("ascii", 4),
    ord("z"): _text("ascii", 1),
    ord("Z"): _text("ascii", 1),
}
_MANY: dict[int, Callable[[list[object]], object]] = {
    ord("("): tuple,
    ord(")"): tuple,
    ord("["): list,
    ord("<"): Members,
    ord(">"): Members,
}
