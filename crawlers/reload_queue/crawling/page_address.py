"""Which URLs can be tasks."""

from __future__ import annotations

from urllib.parse import urlsplit


def is_page(url: str) -> bool:
    """Whether a URL can be fetched: http or https, a host, and no blank (a task's name is parted by one).

    Half a character, which JSON can hold, is in no URL. Raises TypeError for what is no text.
    """
    if any(char.isspace() for char in url):
        return False
    try:
        url.encode()
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # such as a port that is no number
        return False
