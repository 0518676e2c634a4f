"""One shop crawled for several jobs, on real processes: what one of them lacks is found in that one."""

from pathlib import Path

import msgspec
from killtest.plan.manifest import StoreNeeds, Subject
from msgspec.structs import replace
from subjects import SMALL, program
from trials import run

# Crawls the shop once for each job; `SKIP` is a job and a page whose row it forgets.
JOBS = """
import json, os, re, urllib.request
site = os.environ["KILLTEST_SITE_URL"]
def get(path):
    with urllib.request.urlopen(site + path) as answer:
        return answer.read().decode()
def done():
    try:
        return {(one["job"], one["sku"]) for one in map(json.loads, open("out.jsonl"))}
    except FileNotFoundError:
        return set()
for job in NAMES:
    for page in range(2):
        get(f"/list/{page}")
    for number in range(1, 7):
        sku = re.search(r'class="sku">([^<]+)<', get(f"/product/{number}"))[1]
        if (job, number) not in SKIP and (job, sku) not in done():
            with open("out.jsonl", "a") as out:
                out.write(json.dumps({"sku": sku, "job": job}) + "\\n")
"""


def jobs(folder: Path, names: str = '("one", "two")', skip: str = "[]") -> Subject:
    who = program(folder, JOBS.replace("NAMES", names).replace("SKIP", skip))
    return replace(who, store=StoreNeeds("jsonl", "out.jsonl", key="sku", group="job", groups=2))


def test_complete_jobs_pass_and_truth_holds_each_product_for_each(tmp_path: Path) -> None:
    _, verdict = run(jobs(tmp_path), tmp_path=tmp_path, control=True, again=1)
    assert (verdict.outcome, verdict.not_idempotent) == ("PASS", False)
    assert verdict.traffic is not None
    assert (verdict.traffic.minimum, verdict.traffic.requests, verdict.traffic.repeated) == (16, 16, 0)
    told = msgspec.json.decode((tmp_path / "trial" / "truth.json").read_bytes())
    assert (told["groups"], len(told["rows"])) == (2, 2 * SMALL.products)


def test_a_kill_between_two_jobs_costs_the_requests_beyond_one_for_each(tmp_path: Path) -> None:
    evidence, verdict = run(jobs(tmp_path), "request:/product/1#2 KILL", tmp_path=tmp_path)
    assert verdict.outcome == "PASS"
    assert verdict.traffic is not None
    # It starts anew: what the first job had asked for is asked for again.
    assert verdict.traffic.repeated == verdict.traffic.requests - verdict.traffic.minimum > 0
    assert evidence.course.faults[0].status == "struck"


def test_a_row_that_one_job_lacks_is_lost_in_that_job(tmp_path: Path) -> None:
    _, verdict = run(jobs(tmp_path, skip='[("two", 3)]'), tmp_path=tmp_path)
    assert verdict.outcome == "FAIL"
    assert verdict.data is not None
    assert verdict.data.lost == {"two/SKU-00003": "answered"}


def test_a_job_that_never_came_is_lost_and_one_too_many_is_unexpected(tmp_path: Path) -> None:
    (tmp_path / "few").mkdir()
    (tmp_path / "many").mkdir()
    _, few = run(jobs(tmp_path / "few", '("one",)'), tmp_path=tmp_path / "few")
    _, many = run(jobs(tmp_path / "many", '("one", "two", "zoo")'), tmp_path=tmp_path / "many")
    assert few.data is not None
    assert many.data is not None
    assert set(few.data.lost) == {f"(group 2 of 2)/SKU-{number:05}" for number in range(1, 7)}
    assert set(many.data.unexpected) == {f"zoo/SKU-{number:05}" for number in range(1, 7)}
