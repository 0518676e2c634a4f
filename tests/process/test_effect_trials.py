"""What `idempotent` does beyond its rows, judged: killed in the middle, and with a shop that misbehaves."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import trials
from killtest.judge.verdict import Verdict
from killtest.plan import manifest

FOLDER = Path(__file__).parents[2] / "crawlers" / "idempotent"
MINIMUM = 8  # of the shop that these trials have


def judged(tmp_path: Path, variant: str, *faults: str, folder: Path = FOLDER) -> Verdict:
    who = manifest.load(folder / "subject.toml", variant)
    evidence, verdict = trials.run(who, *faults, tmp_path=tmp_path)
    assert [fault.status for fault in evidence.course.faults] == ["struck"] * len(faults)
    return verdict


@pytest.mark.parametrize(
    ("variant", "fault"),
    [
        ("images", "request:/image/3 KILL"),
        ("images", "partial:/image/3@4000 KILL"),
        ("images", "response:/image/3 KILL"),
        ("images", "truncate:/image/3=4000*2"),
        ("images", "reset:/image/3=100*2"),
        ("webhooks", "request:/hook#3 KILL"),
        ("webhooks", "response:/hook#3 KILL"),
        ("webhooks", "status:/hook=503*2"),
        ("webhooks", "reset:/hook=start*2"),
        ("counters", "response:/product/3 KILL"),
        ("captures", "response:/product/3 KILL"),
    ],
)
def test_an_effect_that_is_disturbed_comes_out_right(variant: str, fault: str, tmp_path: Path) -> None:
    verdict = judged(tmp_path, variant, fault)
    assert (verdict.outcome, verdict.effects.findings) == ("PASS", {})
    assert MINIMUM <= verdict.traffic.requests <= MINIMUM + 1


def test_a_message_that_was_delivered_as_its_sender_died_is_a_cost(tmp_path: Path) -> None:
    assert judged(tmp_path, "webhooks", "request:/hook#3 KILL").effects.costs == {"webhooks": {"deduplicated": 1}}


def test_a_page_whose_fetcher_died_behind_the_capture_is_there_twice_at_most(tmp_path: Path) -> None:
    verdict = judged(tmp_path, "captures", "response:/product/3 KILL", "response:/product/5 KILL")
    assert verdict.outcome == "PASS"
    assert 0 <= verdict.effects.costs["captures"]["extra"] <= 2


def test_all_effects_survive_a_kill_in_each_of_them(tmp_path: Path) -> None:
    faults = ("request:/hook#2 KILL", "partial:/image/2@4000 KILL", "request:/image/4 KILL", "response:/hook KILL")
    verdict = judged(tmp_path, "effects", *faults)
    assert (verdict.outcome, verdict.effects.findings) == ("PASS", {})
    assert verdict.traffic.requests == MINIMUM


def test_a_picture_and_a_product_that_change_under_way_are_of_one_version_or_two_that_were_served(
    tmp_path: Path,
) -> None:
    verdict = judged(
        tmp_path, "effects", "request:/image/3 bump:/product/3, KILL", "request:/hook#2 bump:/product/5, KILL"
    )
    assert (verdict.outcome, verdict.effects.findings) == ("PASS", {})


def test_a_key_made_anew_for_each_attempt_is_found_out(tmp_path: Path) -> None:
    """The judge sees what the crawler's key prevents: without this the tests above would prove nothing."""
    folder = shutil.copytree(FOLDER, tmp_path / "mutant")
    path = folder / "outbox.py"
    text = path.read_text("utf-8")
    assert 'key = lease.url.partition("#")[2]' in text
    path.write_text(text.replace('key = lease.url.partition("#")[2]', 'key = f"{lease.url}/{lease.number}"'), "utf-8")
    verdict = judged(tmp_path, "webhooks", "request:/hook#3 KILL", folder=folder)
    assert verdict.outcome == "FAIL"
    assert {name: list(keys) for name, keys in verdict.effects.named.items()} == {"webhooks.twice": ["SKU-00003"]}
