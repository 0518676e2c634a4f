"""The campaign that a gate runs without more: one kill at every held request and one after every response."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from killtest.plan.campaign import Spec, site_of, text_of
from killtest.plan.manifest import Subject
from killtest.plan.schedule import DrawnTrigger, Rule

# Small enough for every request to get its own trial, large enough for the list pages to matter.
SHOP = {"list_pages": 3, "products": 30}
_MOMENTS: tuple[tuple[str, DrawnTrigger], ...] = (("held", "request"), ("response", "response"))
_SIGNALS = ("KILL", "INT")


def label_of(who: Subject) -> str:
    """The subject's name with its variant, as tables and budgets call it."""
    return f"{who.name}:{who.variant}" if who.variant else who.name


def default_campaign(who: Subject, changes: Mapping[str, Any]) -> Spec:
    """Two kinds of moment × two signals, once for each of the page requests that this shop needs at least.

    `changes` to the shop come on top of its 3 list pages × 10 products.
    """
    site = SHOP | dict(changes)
    minimum = site_of(who.site, site, "--site").minimum
    rules = [
        Rule(group=f"{group}-{signal}", each=True, trigger=trigger, between=(1, minimum), signals=(signal,))
        for group, trigger in _MOMENTS
        for signal in _SIGNALS
    ]
    name = f"gate-{label_of(who).replace(':', '.')}"
    return Spec(name=name, subjects=(label_of(who),), schedules=tuple(rules), site=site, keep="failed")


def campaign_text(spec: Spec, who: Subject) -> str:
    """The campaign file, with a digest of the subject: half a gate must not be finished with another program."""
    return text_of(spec, f"What `killtest gate` runs without more.\nsubject: sha256 {_digest(who)}")


def _digest(who: Subject) -> str:
    digest = hashlib.sha256(msgspec.json.encode(who))
    for path in _files(who):
        digest.update(f"\n{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _files(who: Subject) -> list[Path]:
    """The program, as far as it can be told: the files beside the manifest, or those that the command names."""
    folder = Path(who.folder)
    beside = folder.iterdir() if who.source is not None else (folder / word for word in who.command)
    return sorted({path for path in beside if _is_file(path)})


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a whole program as a word: too long for a name
        return False
