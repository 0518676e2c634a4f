"""What a serialized value is taken for: plain data, and inert stand-ins for everything that would run code."""

from killtest.errors import KilltestError

# Longer texts of somebody's state or URL are cut where they are shown.
TEXT_SHOWN = 300
_INT64 = 1 << 63

Summary = str | int | float | None


class Undecodable(KilltestError):
    """A serialized value is damaged, or is none; the message says how."""


class Inert:
    """Stands for an object, class or function that a pickle names. Nothing of that name is looked up or called.

    `name` is module and name as the pickle has them, `args` what it would be called with, `items` how many items it
    was given to hold.
    """

    __slots__ = ("args", "items", "name")

    def __init__(self, name: str, args: object = None) -> None:
        """An object called `name`, made with `args`."""
        self.name = name
        self.args = args
        self.items = 0


class Members(list[object]):
    """The members of a set. Nothing is hashed: a nest of tuples may take for ever."""


class Opaque:
    """A key of a dict that is no plain value."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        """A key that equals itself alone."""
        self.value = value


def as_key(value: object) -> object:
    """`value` as the key of a dict, without hashing what is nested; Undecodable when Python would not hash it."""
    if value is None or isinstance(value, (str, bytes, int, float)):
        return value
    if isinstance(value, (list, dict)) and not isinstance(value, Members):
        raise Undecodable(f"a {type(value).__name__} as a key")
    return Opaque(value)


def printable(text: str, most: int = TEXT_SHOWN) -> str:
    """`text` in one line, without what a terminal would act on or JSON can't hold, cut at `most` characters."""
    cut = text if len(text) <= most else text[:most] + "…"
    return cut if cut.isprintable() else "".join(map(_escaped, cut))


def _escaped(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def summary(value: object) -> Summary:
    """A value in a word: a number or text as it is, the length of a container, the name of an object."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return value if -_INT64 <= value < _INT64 else f"a number of {value.bit_length()} bits"
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, (bytes, list, tuple, dict)):
        return len(value)
    return _of_object(value) if isinstance(value, Inert) else type(value).__name__


def _of_object(value: Inert) -> Summary:
    """A container of another class by its length (defaultdict, deque, Counter), anything else by its name."""
    inner = value.args[0] if isinstance(value.args, tuple) and len(value.args) == 1 else None
    if value.items:
        return value.items
    return len(inner) if isinstance(inner, (list, tuple, dict)) else printable(value.name)


def counted(number: int, noun: str) -> str:
    """A number with its noun: 1 record, 2 records."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
