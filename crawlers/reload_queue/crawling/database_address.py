"""From one word to Django's settings of a database."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

# A commit outlives a power cut (FULL), readers never wait for writers (WAL), and a transaction takes the write
# lock when it begins: one that asks later fails when another process has written in between.
SQLITE = {
    "timeout": 30,
    "transaction_mode": "IMMEDIATE",
    "init_command": "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL",
}


def database(address: str) -> dict[str, Any]:
    """Settings of `address`: a path of an SQLite file, or postgresql://USER:PASSWORD@HOST:PORT/NAME.

    As in libpq's URIs, `?host=FOLDER` names the folder of a UNIX socket, and other words are options of the connection.
    Raises ValueError for any other kind of URL.
    """
    scheme, separator, _ = address.partition("://")
    if not separator:
        # Absolute: the working directory is the data's place now, whatever a spider may do to it later.
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(Path(address).absolute()), "OPTIONS": SQLITE}
    if scheme not in ("postgresql", "postgres"):
        raise ValueError(f"RELOAD_QUEUE_DATABASE: {scheme}:// is not known; give a path or postgresql://…")
    parts = urlsplit(address)
    words = dict(parse_qsl(parts.query))
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": words.pop("host", parts.hostname or ""),
        "PORT": words.pop("port", str(parts.port or "")),
        "OPTIONS": words,
    }
