"""Kills at a constant rate: drawn, named, refused."""

import random
from pathlib import Path
from statistics import mean

import msgspec
import pytest
from killtest.errors import UsageError
from killtest.plan import campaign, mean_time
from killtest.plan.kill_rate import moments_s
from killtest.plan.manifest import Limits, StoreNeeds, Subject
from killtest.plan.schedule import Rule, draw

WHO = Subject("mine", ("true",), StoreNeeds("jsonl", "out.jsonl"))


def test_moments_have_that_mean_and_no_memory() -> None:
    drawn = moments_s(0.5, 5000, random.Random(7))
    assert mean(drawn) == pytest.approx(0.5, rel=0.03)
    later = [moment - 0.5 for moment in drawn if moment > 0.5]
    assert mean(later) == pytest.approx(0.5, rel=0.05)  # who has lived for half a second has as long before him as ever


def test_moments_last_until_the_trial_ends_and_no_longer() -> None:
    drawn = moments_s(2, 30, random.Random(1))
    assert sum(drawn) >= 30 > sum(drawn[:-1])
    assert min(moments_s(0.01, 5, random.Random(1))) >= 0.001


def test_a_group_draws_one_kill_for_each_incarnation_from_its_seed() -> None:
    rule = Rule(group="mtbf-0.5", mtbf_s=0.5, within_s=10, trials=2)
    one, two = draw(rule, "1")
    assert one.faults != two.faults
    assert [schedule.faults for schedule in draw(rule, "1")] == [one.faults, two.faults]
    assert all(fault.startswith("after:") and fault.endswith(" KILL") for fault in one.faults)
    assert (one.name, one.group, one.seed) == ("mtbf-0.5-1", "mtbf-0.5", "1/mtbf-0.5/1")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"group": "fast"}, r"mtbf_s: a report knows the mean by the name: group = 'mtbf-0\.5'"),
        ({"faults": ("request:1 KILL",)}, "mtbf_s: draws the faults of a group by itself"),
    ],
)
def test_what_contradicts_a_rate_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Rule(**({"group": "mtbf-0.5", "mtbf_s": 0.5} | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "0.5,,1", "fast", "0", "-1", "nan", "1,1", "inf"])
def test_means_that_are_none_are_named(text: str) -> None:
    with pytest.raises(UsageError, match=r"--mtbf .*: wants mean seconds between kills, each once .*: 0\.5,1,2,5"):
        mean_time.means_of(text)


def test_the_command_line_makes_the_campaign_that_comes_with_it() -> None:
    shipped = campaign.load(campaign.find("mtbf"))
    means_s = mean_time.means_of("0.5,1,2,5")
    assert mean_time.spec_for(means_s, ()) == shipped
    own = mean_time.spec_for((0.25,), ("naive",))
    assert (own.subjects, [rule.group for rule in own.schedules]) == (("naive",), ["mtbf-0.25"])


def test_a_made_campaign_reads_back_the_same(tmp_path: Path) -> None:
    spec = mean_time.spec_for((0.5, 3), ("naive",))
    (tmp_path / "c.toml").write_text(campaign.text_of(msgspec.structs.replace(spec, title=""), "head"))
    assert campaign.load(tmp_path / "c.toml") == msgspec.structs.replace(spec, title="")


def test_total_s_bounds_every_trial_and_kills_must_last_as_long() -> None:
    rule = Rule(group="mtbf-1", mtbf_s=1, within_s=20)
    spec = campaign.Spec("c", ("mine",), (rule,), total_s=15)
    planned = campaign.plan(spec, {"mine": WHO})
    assert {one.subject.limits for one in planned} == {Limits(total_s=15)}
    too_long = msgspec.structs.replace(spec, total_s=None)
    with pytest.raises(UsageError, match=r"c: group mtbf-1: kills are drawn for 20 s, a trial of mine may last 120 s"):
        campaign.plan(too_long, {"mine": WHO})
