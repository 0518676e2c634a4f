"""Kills at random moments, on average so many seconds apart: `killtest bench --mtbf 0.5,1,2,5` (docs/campaigns.md)."""

import msgspec

from killtest.errors import UsageError
from killtest.plan import campaign
from killtest.plan.campaign import Spec
from killtest.plan.kill_rate import group_of

TEMPLATE = "mtbf"
SHORTEST_S = 0.01


def means_of(text: str) -> tuple[float, ...]:
    """The means in `0.5,1,2,5`, in seconds; UsageError for anything else."""
    try:
        means_s = tuple(float(word) for word in text.split(","))
    except ValueError:
        means_s = ()
    if not means_s or any(not SHORTEST_S <= mean_s < 1e5 for mean_s in means_s) or len(set(means_s)) < len(means_s):
        raise UsageError(
            f"--mtbf {text!r}: wants mean seconds between kills, each once and at least {SHORTEST_S}: 0.5,1,2,5"
        )
    return means_s


def spec_for(means_s: tuple[float, ...], subjects: tuple[str, ...]) -> Spec:
    """The campaign `mtbf` that comes with killtest, with other means, and with other subjects if any are given."""
    template = campaign.load(campaign.find(TEMPLATE))
    first = template.schedules[0]
    rules = tuple(msgspec.structs.replace(first, group=group_of(mean_s), mtbf_s=mean_s) for mean_s in means_s)
    return msgspec.structs.replace(template, subjects=subjects or template.subjects, schedules=rules)
