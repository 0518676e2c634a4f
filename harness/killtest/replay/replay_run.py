"""Run a stored schedule n times, as a campaign of its own, and compare each run with what was stored."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from killtest.campaigns import answer, campaign_run, stored_trial
from killtest.campaigns.answer import Answer
from killtest.campaigns.campaign_folder import CampaignFolder
from killtest.campaigns.campaign_run import Watcher
from killtest.campaigns.stored_trial import StoredTrial
from killtest.campaigns.trial_line import Line
from killtest.judge.verdict import Outcome, worst
from killtest.plan import campaign
from killtest.plan.campaign import Spec
from killtest.plan.manifest import Subject
from killtest.plan.schedule import Rule
from killtest.plan.subject import label_of
from killtest.replay.drift import drift

_KEYS_SHOWN = 5


class Order(msgspec.Struct, frozen=True):
    """What to repeat: `stored` is the trial it came from, None for a schedule alone, which is compared with itself."""

    subject: Subject
    faults: tuple[str, ...]
    stored: StoredTrial | None
    site: Mapping[str, Any]
    times: int
    argv: list[str]
    controls: int = 2
    jobs: int = 1


class Replayed(msgspec.Struct, frozen=True):
    """How it came out.

    `then` is the answer that was stored, or for a schedule alone the most frequent one; `same` runs of `answers` gave
    it. `drifts` counts what was otherwise before the faults had struck. `lines` are the trials.
    """

    outcome: Outcome
    then: Answer
    answers: tuple[Answer, ...]
    drifts: tuple[tuple[str, int], ...]
    lines: tuple[Line, ...]

    @property
    def same(self) -> int:
        """How many runs gave the same again."""
        return sum(one.is_like(self.then, same_keys=True) for one in self.answers)

    @property
    def alike(self) -> int:
        """How many runs found the same with other keys."""
        return sum(one.is_like(self.then) for one in self.answers) - self.same


def run(order: Order, folder: CampaignFolder, watcher: Watcher) -> Replayed:
    """Run the campaign in its new folder."""
    who = order.subject
    label = label_of(who)
    spec = Spec(
        name=folder.path.name,
        subjects=(label,),
        schedules=(Rule(group="replay", trials=order.times, faults=order.faults),),
        controls=order.controls,
        again=0,
        keep="always",
        site=dict(order.site),
    )
    folder.settle(campaign.text_of(spec, "What `killtest replay` was asked for."), spec, order.argv)
    lines = campaign_run.run(spec, {label: who}, folder, watcher, order.jobs)
    return _compared(order.stored, lines, folder.path)


def _compared(stored: StoredTrial | None, lines: list[Line], folder: Path) -> Replayed:
    own = tuple(line for line in lines if not line["control"])
    looked = [stored_trial.look(folder, line, lines) for line in own]
    answers = tuple(said for said, _ in looked)
    found: Counter[str] = Counter()
    if stored is not None and stored.evidence is not None:
        found.update(text for _, now in looked if now is not None for text in drift(stored.evidence, now))
    then = stored.answer if stored else max(answers, key=answers.count)
    return Replayed(worst([line["outcome"] for line in own]), then, answers, tuple(found.most_common()), own)


def words(replayed: Replayed, stored: StoredTrial | None) -> Iterator[str]:
    """The answer for people."""
    runs = len(replayed.answers)
    subject = replayed.lines[0]["subject"]
    if stored:
        alike = f" ({replayed.alike} more found the same with other keys)" if replayed.alike else ""
        yield f"{replayed.same} of {runs} reproduced{alike}  {subject}  {stored.schedule.name}"
        yield f"      then: {_said(replayed.then)}"
    else:
        yield f"{replayed.same} of {runs} runs agree  {subject}  (a schedule alone holds no answer to compare with)"
    for said, many in _groups(replayed.answers):
        mark = "the same" if stored and said.is_like(replayed.then, same_keys=True) else _said(said)
        yield f"      now:  {many} × {mark}"
    for text, many in replayed.drifts:
        yield f"      drift in {many} of {runs}: {text}"
    if stored and stored.evidence is None:
        yield "      drift: not known; the evidence of then was not kept"
    yield f"      reproduce: {replayed.lines[0]['reproduce']}"


def _groups(answers: tuple[Answer, ...]) -> list[tuple[Answer, int]]:
    distinct: list[Answer] = []
    for one in answers:
        if one not in distinct:
            distinct.append(one)
    return sorted(((one, answers.count(one)) for one in distinct), key=lambda pair: -pair[1])


def _said(one: Answer) -> str:
    keys = [key for found in one.findings.values() for key in found]
    shown = ", ".join(dict.fromkeys(keys[:_KEYS_SHOWN])) + (", …" if len(keys) > _KEYS_SHOWN else "")
    return f"{one.outcome}, {answer.words([one])}" + (f" ({shown})" if keys else "")


def as_json(replayed: Replayed, stored: StoredTrial | None) -> dict[str, Any]:
    """What --json prints."""
    return {
        "schema": 1,
        "outcome": replayed.outcome,
        "reproduced": replayed.same if stored else None,
        "agree": replayed.same,
        "other_keys": replayed.alike,
        "runs": len(replayed.answers),
        "then": replayed.then if stored else None,
        "now": [{"answer": said, "runs": many} for said, many in _groups(replayed.answers)],
        "drift": [{"what": text, "runs": many} for text, many in replayed.drifts],
        "trials": replayed.lines,
    }
