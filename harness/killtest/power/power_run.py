"""Explore what power cuts do to a subject: record, derive by each model, recover, judge (docs/power.md)."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from killtest.campaigns.campaign_folder import CampaignFolder
from killtest.explore import disk, explore_run, recording, recovery
from killtest.explore.explore_run import Order, Teller
from killtest.explore.logical import Reader
from killtest.halt import Halt
from killtest.plan.campaign import site_of
from killtest.power import power_point, power_verdict
from killtest.power.power_model import KILL, MODELS
from killtest.power.power_proof import Proof, Trials, prove
from killtest.power.power_verdict import AfterExit, Cut, Tally
from killtest.trace import step as steps


class PowerExploration(msgspec.Struct, frozen=True):
    """Every state judged, the figures of each model, what lies there behind exit 0, and what a real disk showed.

    With doubts about the recording there is nothing but those. `minimum` page requests are enough for a crawl.
    """

    cuts: Sequence[Cut] = ()
    tallies: Sequence[Tally] = ()
    exits: Sequence[AfterExit] = ()
    states: int = 0
    groups: int = 0
    minimum: int = 0
    doubts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: dict[str, float] = {}
    proof: Proof | None = None

    @property
    def outcome(self) -> str:
        """FAIL when a state of a model fails, or lies there broken behind exit 0; UNKNOWN without states."""
        if not self.cuts:
            return "UNKNOWN"
        fails = any(cut.judged.outcome == "FAIL" and cut.model != KILL for cut in self.cuts)
        really = self.proof is not None and any(one.outcome == "FAIL" for one in self.proof.cuts)
        return "FAIL" if fails or really or not all(one.is_sound for one in self.exits) else "PASS"


def run(order: Order, folder: CampaignFolder, teller: Teller, proof: int | None = None) -> PowerExploration:
    """Explore, in the new folder; what is found is also on disk there. A sample of `proof` points is tried for real."""
    explore_run.check_explorable(order.subject)
    site = site_of(order.subject.site, order.site, order.subject.name)
    seconds: dict[str, float] = {}
    began_s = time.monotonic()
    with teller.stage("recording one undisturbed crawl", 1):
        taken = recording.record(order.subject, site, folder.path / "record", Halt())
    control = explore_run.control_of(order.subject, taken, order.site)
    seconds["record"], began_s = time.monotonic() - began_s, time.monotonic()
    if taken.doubts:
        return _written(PowerExploration(doubts=taken.doubts, seconds=seconds), folder.path)
    group = disk.digest if order.raw else Reader(folder.path / "scratch").digest
    all_steps = steps.read_all(folder.path / "record" / "steps-0.jsonl")
    found, trees = power_point.points(all_steps, taken.requests, group, taken.begin)
    seconds["derive"], began_s = time.monotonic() - began_s, time.monotonic()
    benches = explore_run.benches_of(order, site, folder.path, taken)
    with teller.stage("starting the crawler on every state", len(trees)) as done:
        recoveries = recovery.recover_all(trees, benches, done)
    cuts = power_verdict.judge_cuts(found, recoveries, taken, control)
    seconds["recover"], began_s = time.monotonic() - began_s, time.monotonic()
    proven = None
    if proof:
        proven = prove(Trials(order, site, folder.path, taken, control), proof, teller)
        seconds["real disk"] = time.monotonic() - began_s
    result = PowerExploration(
        cuts=cuts,
        tallies=power_verdict.tallies(cuts, taken.truth.minimum),
        exits=power_verdict.after_exit(cuts, recoveries, taken),
        states=len({one.point.state for one in found}),
        groups=len(trees),
        minimum=taken.truth.minimum,
        notes=explore_run.notes_of(order),
        seconds=seconds,
        proof=proven,
    )
    return _written(result, folder.path)


def _written(result: PowerExploration, folder: Path) -> PowerExploration:
    """With its points as points_power.jsonl, and the rest as explored.json."""
    rows = ({"model": cut.model, "detail": cut.detail} | explore_run.row(cut.judged) for cut in result.cuts)
    (folder / "points_power.jsonl").write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    (folder / "explored.json").write_bytes(msgspec.json.format(msgspec.json.encode(summary(result)), indent=1) + b"\n")
    return result


def summary(result: PowerExploration) -> dict[str, Any]:
    """The exploration in figures."""
    return {
        "schema": 1,
        "kind": "power",
        "label": "model states, not observed ones",
        "outcome": result.outcome,
        "points": len(result.cuts),
        "states": result.states,
        "groups": result.groups,
        "minimum": result.minimum,
        "rules": MODELS,
        "models": [msgspec.to_builtins(one) for one in result.tallies],
        "after_exit": [_exit_row(one) for one in result.exits],
        "proof": msgspec.to_builtins(result.proof),
        "doubts": result.doubts,
        "notes": result.notes,
        "seconds": {name: round(value, 2) for name, value in result.seconds.items()},
    }


def _exit_row(one: AfterExit) -> dict[str, Any]:
    return {
        "model": one.model,
        "detail": one.detail,
        "outcome": "PASS" if one.is_sound else "FAIL",
        "rows": one.rows,
        "products": one.products,
        "findings": one.findings,
        "outcome_after_one_more_start": one.again.outcome,
        "ending_after_one_more_start": one.again.ending,
        "findings_after_one_more_start": one.again.findings,
        "requests_of_one_more_start": one.requests,
    }
