"""Read a pickle without running it.

A pickle is a program for a small stack machine, and `pickle.loads` lets it call anything. This machine knows the same
operations and calls nothing. It needs no more memory than a few times the pickle's length, whatever is in it (Python's
own reader allocates what a length or a memo's number claims), it does not recurse, and it hashes nothing nested.
"""

from killtest.jobdir.pickle_machine import Machine
from killtest.jobdir.pickle_operations import OPERATIONS
from killtest.jobdir.plain_value import Undecodable


def read(data: bytes, at: int = 0) -> tuple[object, int]:
    """The value of the pickle that begins at byte `at`, and the byte behind its end; Undecodable when there is none."""
    machine = Machine(data, at)
    try:
        return machine.run(OPERATIONS), machine.at
    except IndexError:
        raise Undecodable(f"cut short or out of order at byte {machine.at - at}") from None
    except KeyError as error:
        raise Undecodable(f"entry {error} of the memo was never made") from None
    except ValueError as error:
        raise Undecodable(str(error)) from None
