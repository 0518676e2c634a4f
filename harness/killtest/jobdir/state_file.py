"""spider.state: the dict `spider.state`, pickled when the spider is closed, over the old one."""

from killtest.jobdir import pickle_reader
from killtest.jobdir.plain_value import Opaque, Summary, Undecodable, printable, summary

NAME = "spider.state"
State = dict[str, Summary]


def read(data: bytes) -> State | None:
    """Each name with its value, or the length of a container; None when `pickle.load` can't read it either."""
    try:
        value, _ = pickle_reader.read(data)
    except Undecodable:
        return None
    if not isinstance(value, dict):
        return {"": summary(value)}
    return {_name(key): summary(one) for key, one in value.items()}


def _name(key: object) -> str:
    return printable(key if isinstance(key, str) else str(summary(key.value if isinstance(key, Opaque) else key)))
