"""The seccomp filter that hands chosen system calls of a process tree to a supervisor (seccomp_unotify(2)).

No root and no compiler: a process that gives up gaining privileges may filter its own calls. Linux 5.19 is needed for
WAIT_KILLABLE_RECV, without which a signal handler would restart a call that is being looked at for ever.
"""

import contextlib
import ctypes
import fcntl
import os
import platform
import struct
from typing import NamedTuple

from killtest.trace.calls import by_number

_PR_SET_NO_NEW_PRIVS = 38
_SYS_SECCOMP = {"x86_64": 317, "aarch64": 277}
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_SET_MODE_FILTER, _GET_NOTIF_SIZES = 1, 3
_NEW_LISTENER, _WAIT_KILLABLE_RECV = 1 << 3, 1 << 5
_RET_ALLOW, _RET_USER_NOTIF = 0x7FFF0000, 0x7FC00000
# Offsets into struct seccomp_data.
_NR, _ARCH, _ARGS = 0, 4, 16
# BPF: load a word, jump if equal, jump if any of these bits is set, return.
_LOAD, _JEQ, _JSET, _RETURN = 0x20, 0x15, 0x45, 0x06
_CHANGES = os.O_CREAT | os.O_TRUNC
# Of these calls only those with any of the bits in that argument: opens that create or cut, mappings that are written
# and shared.
_ONLY_WITH = {"open": ((1, _CHANGES),), "openat": ((2, _CHANGES),), "mmap": ((2, 0x2), (3, 0x1))}

_NOTIF = struct.Struct("QIIiIQ6Q")
_RESPONSE = struct.Struct("QqiI")
_IOCTL_RECV, _IOCTL_SEND, _IOCTL_ID_VALID = 0xC0502100, 0xC0182101, 0x40082102
_CONTINUE = 1


class Notification(NamedTuple):
    """A call that waits for our answer: its id, the thread, its number and its arguments."""

    id: int
    tid: int
    number: int
    args: tuple[int, ...]


def _program() -> bytes:
    """Notify for the known calls, of opens only for those that create or cut a file; let everything else pass."""
    machine = platform.machine()
    code = [(_LOAD, 0, 0, _ARCH), (_JEQ, 1, 0, _AUDIT_ARCH[machine]), (_RETURN, 0, 0, _RET_ALLOW), (_LOAD, 0, 0, _NR)]
    for number, call in by_number().items():
        tests = _ONLY_WITH.get(call.name, ())
        code.append((_JEQ, 0, 3 * len(tests) + 1, number))
        for argument, bits in tests:
            code += [(_LOAD, 0, 0, _ARGS + 8 * argument), (_JSET, 1, 0, bits), (_RETURN, 0, 0, _RET_ALLOW)]
        code.append((_RETURN, 0, 0, _RET_USER_NOTIF))
    code.append((_RETURN, 0, 0, _RET_ALLOW))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in code)


def install() -> int:
    """Filter the calls of this process and its children to come; the listener's descriptor. OSError when refused."""
    libc = ctypes.CDLL(None, use_errno=True)
    program = _program()
    instructions = ctypes.create_string_buffer(program)
    head = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(instructions))
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_NO_NEW_PRIVS)")
    flags = _NEW_LISTENER | _WAIT_KILLABLE_RECV
    listener = libc.syscall(_SYS_SECCOMP[platform.machine()], _SET_MODE_FILTER, flags, head)
    if listener < 0:
        raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())}")
    return int(listener)


def receive(listener: int) -> Notification | None:
    """The next call that waits, or None when it was withdrawn (its thread was killed). OSError when nobody is left."""
    buffer = bytearray(_NOTIF.size)
    try:
        fcntl.ioctl(listener, _IOCTL_RECV, buffer)
    except FileNotFoundError:
        return None
    number, tid, _, nr, _, _, *args = _NOTIF.unpack(buffer)
    return Notification(number, tid, nr, tuple(args))


def let_go(listener: int, notification: Notification) -> None:
    """Have the call executed as it is."""
    _answer(listener, _RESPONSE.pack(notification.id, 0, 0, _CONTINUE))


def answer(listener: int, notification: Notification, error: int) -> None:
    """Have the call not executed: it returns -1 with that errno, 0 where there is none."""
    _answer(listener, _RESPONSE.pack(notification.id, 0, -error, 0))


def _answer(listener: int, response: bytes) -> None:
    with contextlib.suppress(FileNotFoundError):  # killed meanwhile
        fcntl.ioctl(listener, _IOCTL_SEND, bytearray(response))


def refusal() -> str:
    """Why this machine does not let us; empty when it does. Tried in a child, for a filter stays for ever."""
    if platform.machine() not in _SYS_SECCOMP:
        return f"no table of calls for {platform.machine()}"
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            install()
            os._exit(0)
        except OSError as error:
            # Without a filter yet, so that this write is nobody's business.
            os.write(writer, str(error).encode())
        finally:
            os._exit(1)
    os.close(writer)
    said = os.read(reader, 1000).decode()
    os.close(reader)
    _, status = os.waitpid(pid, 0)
    return "" if status == 0 else said or f"ended with {status}"
