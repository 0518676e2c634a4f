"""What exploring adds to a gate: a true kill at the first step of every group of crash points that fail as derived."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from killtest.campaigns.campaign_folder import CampaignFolder, write_whole
from killtest.errors import UsageError
from killtest.explore import explore_run
from killtest.explore.exploration import groups
from killtest.explore.explore_run import Order, Teller
from killtest.plan.each_request import SMALL
from killtest.plan.fingerprint import fingerprint
from killtest.plan.manifest import Subject
from killtest.plan.schedule import Rule
from killtest.trace import seccomp

_PLACE, _RESULT = "explored", "gate.json"


class Explored(msgspec.Struct, frozen=True):
    """What was found, in words, and the steps to try by true kills: the number of each, and its trigger."""

    note: str
    steps: tuple[tuple[int, str], ...] = ()
    subject: str = ""

    def rules(self) -> tuple[Rule, ...]:
        """A schedule of one kill for each of them."""
        return tuple(Rule(group=f"step-{k}", faults=(f"{trigger} KILL",)) for k, trigger in self.steps)


def explored(
    who: Subject, changes: Mapping[str, Any], gate: CampaignFolder, argv: list[str], jobs: int, teller: Teller
) -> Explored:
    """Explore the subject in a folder below the gate's; what an earlier start of the same program found is kept."""
    place = gate.path / _PLACE
    known = _known(place, who)
    if known is not None:
        return known
    shutil.rmtree(place, ignore_errors=True)
    folder = CampaignFolder(place)
    try:
        found = _explore(Order(who, SMALL | dict(changes), argv, jobs, confirm=0, is_derived_only=True), folder, teller)
    finally:
        folder.close()
    found = msgspec.structs.replace(found, subject=fingerprint(who))
    write_whole(place / _RESULT, msgspec.json.encode(found) + b"\n")
    return found


def explored_note(gate: Path) -> str | None:
    """What exploring found in this gate; None when it was not done."""
    try:
        return msgspec.json.decode((gate / _PLACE / _RESULT).read_bytes(), type=Explored).note
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def _known(place: Path, who: Subject) -> Explored | None:
    try:
        known = msgspec.json.decode((place / _RESULT).read_bytes(), type=Explored)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    return known if known.subject == fingerprint(who) else None


def _explore(order: Order, folder: CampaignFolder, teller: Teller) -> Explored:
    refusal = seccomp.refusal()
    if refusal:
        return Explored(f"durable steps were not visited: no seccomp user notification here ({refusal})")
    try:
        result = explore_run.run(order, folder, teller)
    except UsageError as error:
        return Explored(f"durable steps were not visited: {error}")
    if result.doubts:
        return Explored(f"durable steps were not visited, the recording is not trusted: {result.doubts[0]}")
    firsts = [members[0].point for *_, members in groups(result.judged)]
    steps = tuple((point.k, point.trigger) for point in firsts if point.trigger is not None)
    failing = sum(one.outcome == "FAIL" for one in result.judged)
    tried = f"; {len(steps)} of them are tried by true kills" if failing else ""
    return Explored(
        f"explored {len(result.judged)} crash points between durable steps, {result.states} distinct states: "
        f"{failing} fail{tried}",
        steps,
    )
