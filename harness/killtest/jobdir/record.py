"""A record of a queue: a request as Scrapy serialized it, by pickle or by marshal."""

from killtest.jobdir import marshal_reader, pickle_reader
from killtest.jobdir.pickle_operations import PROTO
from killtest.jobdir.plain_value import Undecodable


def decode(data: bytes, at: int = 0) -> tuple[object, int]:
    """The value that begins at byte `at` and where it ends; Undecodable when it is damaged.

    Scrapy pickles by protocol 4, which begins with the byte 0x80; marshalled data never do.
    """
    if data[at : at + 1] == bytes([PROTO]):
        return pickle_reader.read(data, at)
    try:
        return marshal_reader.read(data, at)
    except Undecodable as error:
        try:
            return pickle_reader.read(data, at)  # of an older protocol
        except Undecodable:
            raise error from None
