"""Effects on real processes: a tiny crawler that stores pictures, announces, counts and keeps pages, and is killed."""

from pathlib import Path

import pytest
from killtest.judge import evidence, verdict
from killtest.judge.verdict import Verdict
from killtest.plan.effects import CaptureNeeds, CounterNeeds, EffectNeeds, FileNeeds, WebhookNeeds
from msgspec.structs import replace
from subjects import program
from trials import run

NEEDS = EffectNeeds(
    FileNeeds("images/*.bmp", key=r"images/(.+)\.bmp"),
    WebhookNeeds("sku"),
    CounterNeeds("json", "counters.json"),
    CaptureNeeds("jsonl", "captures.jsonl"),
)

# Takes up where its rows end. The picture is written in place, and one that is there is not fetched again.
CRAWL = """
import json, os, re, urllib.request
site = os.environ["KILLTEST_SITE_URL"]
def get(path):
    with urllib.request.urlopen(site + path) as answer:
        return answer.read()
def add(path, record):
    with open(path, "a") as out:
        out.write(json.dumps(record) + "\\n")
def announce(record):
    request = urllib.request.Request(site + "/hook", json.dumps(record).encode(), HEADERS)
    urllib.request.urlopen(request).read()
def picture(sku, number):
    path = f"images/{sku}.bmp"
    if not os.path.exists(path):
        with open(path, "wb", buffering=0) as out, urllib.request.urlopen(f"{site}/image/{number}") as answer:
            while piece := answer.read(500):
                out.write(piece)
os.makedirs("images", exist_ok=True)
done = [json.loads(line)["sku"] for line in open("out.jsonl")] if os.path.exists("out.jsonl") else []
for list_page in ("/list/0", "/list/1"):
    for number in re.findall(r'href="/product/(\\d+)"', get(list_page).decode()):
        sku = f"SKU-{int(number):05}"
        if sku in done:
            continue
        text = get(f"/product/{number}").decode()
        add("captures.jsonl", {"url": f"{site}/product/{number}", "body": text})
        picture(sku, number)
        record = {"sku": sku, "price": re.search(r'class="price">([^<]+)<', text)[1]}
        ORDER
        done.append(sku)
with open("counters.json", "w") as out:
    json.dump({"rows": len(done)}, out)
"""
KEY_FIRST = "announce(record); add('out.jsonl', record)"
ROW_FIRST = "add('out.jsonl', record); announce(record)"


def answer(tmp_path: Path, *faults: str, order: str = KEY_FIRST, headers: str = "{}") -> Verdict:
    """The verdict about the crawler under these faults; judging the kept evidence again gives the same."""
    who = program(tmp_path, CRAWL.replace("ORDER", order).replace("HEADERS", headers))
    _, found = run(replace(who, effects=NEEDS), *faults, tmp_path=tmp_path, control=not faults, again=int(not faults))
    kept = evidence.read(tmp_path / "trial", is_control=not faults, planned_faults=len(faults))
    assert verdict.judge(kept) == found
    return found


def test_a_clean_crawl_has_all_of_it_and_running_it_again_changes_nothing(isolated: str, tmp_path: Path) -> None:
    found = answer(tmp_path)
    assert (found.outcome, found.not_idempotent, found.effects.named) == ("PASS", False, {})
    assert found.effects.costs == {"webhooks": {"deduplicated": 0}, "captures": {"extra": 0}}


def test_a_picture_written_in_place_is_truncated_by_a_kill_inside_its_answer(isolated: str, tmp_path: Path) -> None:
    found = answer(tmp_path, "partial:/image/4@4000 KILL")
    assert (found.outcome, list(found.effects.named)) == ("FAIL", ["files.truncated"])
    ((path, said),) = found.effects.named["files.truncated"].items()
    assert path == "images/SKU-00004.bmp"
    assert said.startswith("the first ")
    assert int(said.split()[2]) <= 4000
    assert found.effects.costs["captures"] == {"extra": 1}, "the page was kept before the kill, and once more"


def test_a_webhook_before_its_row_is_sent_twice(isolated: str, tmp_path: Path) -> None:
    found = answer(tmp_path, "request:/hook#3 KILL")
    assert found.effects.named == {"webhooks.twice": {"SKU-00003": "accepted 2 times"}}


def test_with_an_idempotency_key_the_second_one_is_a_cost(tmp_path: Path) -> None:
    found = answer(tmp_path, "request:/hook#3 KILL", headers="{'Idempotency-Key': record['sku']}")
    assert (found.outcome, found.effects.named) == ("PASS", {})
    assert found.effects.costs["webhooks"] == {"deduplicated": 1}


@pytest.mark.parametrize("fault", ["status:/hook=503*1", "reset:/hook=start*1"])
def test_a_row_before_its_webhook_is_never_announced_when_the_site_refuses(fault: str, tmp_path: Path) -> None:
    found = answer(tmp_path, fault, order=ROW_FIRST)
    # Refused is not delivered; a connection that breaks behind the body is.
    never = {"webhooks.never": {"SKU-00001": "never announced"}} if "status" in fault else {}
    assert found.effects.named == never
