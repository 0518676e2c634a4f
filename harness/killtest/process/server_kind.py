"""Which module knows a service: what it is found by, started with, and asked whether it is ready."""

from pathlib import Path
from typing import Protocol

from killtest.process import postgres_server, server_program
from killtest.process.server_start import ServerProgram, ServerStart


class ServerKind(Protocol):
    """What a module for a kind of server offers."""

    PORT: int

    def find(self) -> ServerProgram | None:
        """The server of this machine; None without one."""

    def require(self, wanted_by: str) -> ServerProgram:
        """The server for the subject of that name; UsageError when there is none."""

    def prepare(self, settings: dict[str, str], folder: Path, wanted_by: str) -> ServerStart:
        """Lay down in `folder` what it starts from; how to start it."""

    def url(self, port: int) -> str:
        """What the subject is told."""

    def refusal(self, port: int) -> str | None:
        """None once it can be used; why it never will, and "" while it may come to that."""

    def clear(self, folder: Path) -> None:
        """Remove what a server that was killed has left on the machine outside its folder."""


def kind_of(service: str) -> ServerKind:
    """The module for the service of that name, which the manifest's check has let through."""
    match service:
        case "postgres":
            return postgres_server
        case _:
            return server_program
