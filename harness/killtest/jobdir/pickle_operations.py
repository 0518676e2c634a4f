"""What each code of a pickle does to the machine: CPython's Lib/pickletools.py, but that nothing is called.

What a pickle names becomes an `Inert`, and so does what it would make or call with it.
"""

import struct

from killtest.jobdir.pickle_machine import Machine, Operation
from killtest.jobdir.plain_value import Inert, Members, Undecodable, as_key

PROTO = 0x80
_HIGHEST_PROTOCOL = 5
_FLOAT = struct.Struct(">d")


def _mark(m: Machine) -> None:
    m.outer.append(m.stack)
    m.stack = []


def _pop(m: Machine) -> None:
    if m.stack:
        m.stack.pop()
    else:
        m.to_mark()


def _proto(m: Machine) -> None:
    version = m.number(1)
    if version > _HIGHEST_PROTOCOL:
        raise Undecodable(f"protocol {version}")


def _frame(m: Machine) -> None:
    if m.number(8) > len(m.data) - m.at:
        raise IndexError


def _int(m: Machine) -> None:
    text = m.line()
    m.push({b"00": False, b"01": True}[text] if text in (b"00", b"01") else int(text))


def _long(m: Machine, width: int) -> None:
    count = m.number(1) if width == 1 else m.signed()
    if count < 0:
        raise Undecodable("a number of a negative length")
    m.push(int.from_bytes(m.take(count), "little", signed=True))


def _bytes(width: int) -> Operation:
    return lambda m: m.push(m.take(m.number(width)))


def _text(width: int) -> Operation:
    return lambda m: m.push(str(m.take(m.number(width)), "utf-8", "surrogatepass"))


def _get(width: int) -> Operation:
    return lambda m: m.push(m.memo[m.number(width)])


def _put(width: int) -> Operation:
    def put(m: Machine) -> None:
        m.memo[m.number(width)] = m.stack[-1]

    return put


def _put_text(m: Machine) -> None:
    m.memo[int(m.line())] = m.stack[-1]


def _memoize(m: Machine) -> None:
    m.memo[len(m.memo)] = m.stack[-1]


def _constant(value: object) -> Operation:
    return lambda m: m.stack.append(value)


def _tuple(count: int) -> Operation:
    def make(m: Machine) -> None:
        if len(m.stack) < count:
            raise IndexError
        m.stack[-count:] = [tuple(m.stack[-count:])]

    return make


def _append(m: Machine) -> None:
    item = m.stack.pop()
    _extend(m.stack[-1], [item])


def _appends(m: Machine) -> None:
    items = m.to_mark()
    _extend(m.stack[-1], items)


def _extend(target: object, items: list[object]) -> None:
    if isinstance(target, Inert):
        target.items += len(items)
    elif isinstance(target, list) and not isinstance(target, Members):
        target.extend(items)
    else:
        raise Undecodable(f"items are appended to a {type(target).__name__}")


def _add_items(m: Machine) -> None:
    items, target = m.to_mark(), m.stack[-1]
    if not isinstance(target, Members):
        raise Undecodable(f"members are added to a {type(target).__name__}")
    target.extend(items)


def _set_item(m: Machine) -> None:
    value, key = m.stack.pop(), m.stack.pop()
    _update(m.stack[-1], [key, value])


def _set_items(m: Machine) -> None:
    items = m.to_mark()
    _update(m.stack[-1], items)


def _update(target: object, items: list[object]) -> None:
    if len(items) % 2:
        raise Undecodable("a key without a value")
    if isinstance(target, Inert):
        target.items += len(items) // 2
    elif isinstance(target, dict):
        target.update((as_key(key), value) for key, value in zip(items[::2], items[1::2], strict=True))
    else:
        raise Undecodable(f"items are set in a {type(target).__name__}")


def _dict(m: Machine) -> None:
    made: dict[object, object] = {}
    _update(made, m.to_mark())
    m.push(made)


def _name(module: object, name: object) -> Inert:
    if not (isinstance(module, str) and isinstance(name, str)):
        raise Undecodable("a name that is no text")
    return Inert(f"{module}.{name}")


def _stack_global(m: Machine) -> None:
    name, module = m.stack.pop(), m.stack.pop()
    m.push(_name(module, name))


def _global(m: Machine) -> None:
    module = m.line().decode()
    m.push(_name(module, m.line().decode()))


def _called(what: object, args: object) -> Inert:
    if not isinstance(what, Inert):
        raise Undecodable(f"a {type(what).__name__} is called")
    return Inert(what.name, args)


def _reduce(m: Machine) -> None:
    args, what = m.stack.pop(), m.stack.pop()
    m.push(_called(what, args))


def _new_with_keywords(m: Machine) -> None:
    m.stack.pop()
    _reduce(m)


def _object(m: Machine) -> None:
    what, *args = m.to_mark()
    m.push(_called(what, tuple(args)))


def _instance(m: Machine) -> None:
    _global(m)
    what = m.stack.pop()
    m.push(_called(what, tuple(m.to_mark())))


def _build(m: Machine) -> None:
    m.stack.pop()
    if not isinstance(m.stack[-1], Inert):
        raise Undecodable(f"a state is given to a {type(m.stack[-1]).__name__}")


def _refused(what: str) -> Operation:
    def refuse(_: Machine) -> None:
        raise Undecodable(f"{what}, which can't be known here")

    return refuse


# Quoted text of protocol 0: Scrapy writes protocol 4; its escapes are left as they stand.
def _quoted(m: Machine) -> None:
    m.push(m.line().decode("latin-1").strip("'\""))


OPERATIONS: dict[int, Operation] = {
    ord("("): _mark,
    ord("0"): _pop,
    ord("1"): lambda m: m.to_mark().clear(),
    ord("2"): lambda m: m.push(m.stack[-1]),
    PROTO: _proto,
    0x95: _frame,
    # numbers and constants
    ord("N"): _constant(None),
    0x88: _constant(True),
    0x89: _constant(False),
    ord("I"): _int,
    ord("J"): lambda m: m.push(m.signed()),
    ord("K"): lambda m: m.push(m.number(1)),
    ord("M"): lambda m: m.push(m.number(2)),
    ord("L"): lambda m: m.push(int(m.line().rstrip(b"L"))),
    0x8A: lambda m: _long(m, 1),
    0x8B: lambda m: _long(m, 4),
    ord("F"): lambda m: m.push(float(m.line())),
    ord("G"): lambda m: m.push(_FLOAT.unpack(m.take(8))[0]),
    # text and bytes
    ord("S"): _quoted,
    ord("T"): lambda m: m.push(m.take(max(0, m.signed())).decode("latin-1")),
    ord("U"): lambda m: m.push(m.take(m.number(1)).decode("latin-1")),
    ord("V"): lambda m: m.push(m.line().decode("raw-unicode-escape")),
    ord("X"): _text(4),
    0x8C: _text(1),
    0x8D: _text(8),
    ord("B"): _bytes(4),
    ord("C"): _bytes(1),
    0x8E: _bytes(8),
    0x96: _bytes(8),
    # containers
    ord("]"): lambda m: m.push([]),
    ord("}"): lambda m: m.push({}),
    ord(")"): _constant(()),
    0x8F: lambda m: m.push(Members()),
    ord("l"): lambda m: m.push(m.to_mark()),
    ord("d"): _dict,
    ord("t"): lambda m: m.push(tuple(m.to_mark())),
    0x85: _tuple(1),
    0x86: _tuple(2),
    0x87: _tuple(3),
    0x91: lambda m: m.push(Members(m.to_mark())),
    ord("a"): _append,
    ord("e"): _appends,
    ord("s"): _set_item,
    ord("u"): _set_items,
    0x90: _add_items,
    # the memo
    ord("g"): lambda m: m.push(m.memo[int(m.line())]),
    ord("h"): _get(1),
    ord("j"): _get(4),
    ord("p"): _put_text,
    ord("q"): _put(1),
    ord("r"): _put(4),
    0x94: _memoize,
    # what would run code
    ord("c"): _global,
    0x93: _stack_global,
    ord("R"): _reduce,
    0x81: _reduce,
    0x92: _new_with_keywords,
    ord("o"): _object,
    ord("i"): _instance,
    ord("b"): _build,
    ord("P"): _refused("a persistent id"),
    ord("Q"): _refused("a persistent id"),
    0x82: _refused("an extension code"),
    0x83: _refused("an extension code"),
    0x84: _refused("an extension code"),
    0x97: _refused("a buffer outside"),
    0x98: _refused("a buffer outside"),
}
