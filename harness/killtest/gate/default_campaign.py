"""The campaign that a gate runs without more: one kill at every held request and one after every response."""

from collections.abc import Mapping
from typing import Any

from killtest.plan.campaign import Spec, site_of, text_of
from killtest.plan.each_request import SMALL, rules_for
from killtest.plan.fingerprint import fingerprint
from killtest.plan.manifest import Subject
from killtest.plan.schedule import Rule
from killtest.plan.subject import label_of

_SIGNALS = ("KILL", "INT")


def default_campaign(who: Subject, changes: Mapping[str, Any], steps: tuple[Rule, ...] = ()) -> Spec:
    """Two kinds of moment × two signals, once for each of the page requests that this shop needs at least.

    `changes` to the shop come on top of its 3 list pages × 10 products; `steps` are what exploring adds.
    """
    site = SMALL | dict(changes)
    minimum = site_of(who.site, site, "--site").minimum
    rules = (*rules_for(minimum, _SIGNALS), *steps)
    name = f"gate-{label_of(who).replace(':', '.')}"
    return Spec(name=name, subjects=(label_of(who),), schedules=rules, site=site, keep="failed")


def campaign_text(spec: Spec, who: Subject) -> str:
    """The campaign file, with a digest of the subject: half a gate must not be finished with another program."""
    return text_of(spec, f"What `killtest gate` runs without more.\nsubject: sha256 {fingerprint(who)}")
