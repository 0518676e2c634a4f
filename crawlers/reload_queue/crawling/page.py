"""What a spider is given and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Page:
    """A page that was fetched. `url` is where it was found in the end, `meta` what the spider sent along."""

    url: str
    html: bytes
    meta: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Follow:
    """A page to be fetched as well, unless the job knows its absolute URL already; `meta` comes along with it."""

    url: str
    meta: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """A record by its column names; its key within a job is `sku`. Storing it again changes nothing."""

    sku: str
    title: str
    price: str
    currency: str
    availability: str
    url: str
