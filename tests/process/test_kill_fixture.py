"""The value of the pytest fixture: what it makes of its arguments, with real crawlers."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from killtest.campaigns.campaign_folder import stored_spec
from killtest.errors import UsageError
from killtest.kill_fixture import KillFixture, KillVerdict
from subjects import crawler

SITE = {"products": 6, "list_pages": 2}
PAGES = 8
STORE = {"store": "jsonl:out.jsonl", "key": "sku", "site": SITE}
CRAWL = [sys.executable, "crawl.py", "{site_url}"]


class Bench:
    """The fixture as a test in `root` gets it, and what it told the test's report."""

    def __init__(self, root: Path) -> None:
        self.root, self.told = root, list[str]()
        self.fixture = KillFixture(
            "tests/test_x.py::test_y", root / "evidence", (root, root / "elsewhere"), self.told.append
        )

    def __call__(self, command: Any = CRAWL, **wish: Any) -> KillVerdict:
        return self.fixture(command, **(STORE | wish if isinstance(command, list) else wish))

    def repeat(self, verdict: KillVerdict) -> subprocess.CompletedProcess[str]:
        """What the shell makes of the reproduce command."""
        assert verdict.reproduce.startswith("killtest run ")
        line = verdict.reproduce.replace("killtest", f"{sys.executable} -m killtest", 1)
        return subprocess.run(["sh", "-c", line], cwd=self.root, capture_output=True, text=True, check=False)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    crawler(tmp_path)
    return Bench(tmp_path)


def numbers(verdict: KillVerdict) -> list[int]:
    found = [re.fullmatch(r"request:(\d+) TERM", text) for text in verdict.schedule]
    return [int(one[1]) for one in found if one]


def test_kills_are_drawn_from_the_requests_of_the_control_of_seed(bench: Bench) -> None:
    first, same = (bench(kills=12, signals=["TERM"], seed=3) for _ in range(2))
    other = bench(kills=12, signals=["TERM"])
    assert len(numbers(first)) == 12
    assert {1, PAGES} <= set(numbers(first)) | set(numbers(other)) <= set(range(1, PAGES + 1))
    assert first.schedule == same.schedule != other.schedule
    assert (first.seed, other.seed) == ("3", "tests/test_x.py::test_y")
    spec = stored_spec(first.folder)
    assert (spec.seed, spec.schedules[0].between, spec.drawn[0].faults) == ("3", (1, PAGES), first.schedule)


def test_failure_is_explained_and_repeats_from_the_shell(bench: Bench) -> None:
    verdict = bench(faults=["request:4 KILL"])
    assert (verdict.passed, verdict.outcome, verdict.cause) == (False, "FAIL", "faults")
    assert verdict.data is not None
    assert verdict.traffic is not None
    assert verdict.data["duplicated"]["count"] == 2
    assert verdict.traffic["baseline"] == PAGES
    assert [fault["status"] for fault in verdict.faults] == ["struck"]
    assert (verdict.evidence / "history.jsonl").is_file()
    text = verdict.explain()
    assert bench.told == [text]
    for part in (str(verdict.evidence), verdict.reproduce, "seed:      none", "faults=['request:4 KILL']"):
        assert part in text
    again = bench.repeat(verdict)
    assert again.returncode == 1
    assert again.stdout.splitlines()[0] == text.splitlines()[0]


def test_limits_and_env_are_in_the_manifest_that_the_reproduce_command_names(tmp_path: Path) -> None:
    crawler(tmp_path, before='assert os.environ["SHOP"] == "small"')
    bench = Bench(tmp_path)
    verdict = bench(faults=["request:4 KILL"], env={"SHOP": "small"}, limits={"restarts": 0})
    assert verdict.cause == "faults", verdict.explain()
    assert f"{verdict.folder}/subject.toml" in verdict.reproduce
    assert bench.repeat(verdict).stdout.splitlines()[0] == verdict.explain().splitlines()[0]
    without = bench(faults=["request:4 KILL"], limits={"restarts": 0})
    assert (without.cause, without.line["ending"]) == ("control", "refused_start")


def test_nothing_is_drawn_from_a_control_that_asks_for_nothing(tmp_path: Path) -> None:
    crawler(tmp_path, before="sys.exit(1)")
    verdict = Bench(tmp_path)(kills=3, limits={"restarts": 0})
    assert (verdict.outcome, verdict.cause, verdict.schedule) == ("FAIL", "control", ())
    assert "no kill is to blame" in verdict.explain()


def test_no_kills_is_the_control_alone(bench: Bench) -> None:
    verdict = bench(kills=0)
    assert verdict.passed
    assert verdict.line["control"]


def test_worst_control_is_the_verdict_where_there_are_controls_alone(tmp_path: Path) -> None:
    flag = f"open({str(tmp_path / 'started')!r}, 'a')"
    first_stores_nothing = f"""
        flag = {flag}
        if not flag.tell():
            flag.write("once")
            open("out.jsonl", "a")
            sys.exit()
    """
    crawler(tmp_path, before=first_stores_nothing)
    verdict = Bench(tmp_path)(kills=0)
    assert (verdict.outcome, verdict.cause) == ("FAIL", "control")


def test_unknown_is_no_pass_and_says_so(bench: Bench) -> None:
    verdict = bench(faults=["request:900 KILL"])
    assert (verdict.passed, verdict.outcome, verdict.cause) == (False, "UNKNOWN", "harness")
    assert "UNKNOWN is no pass" in verdict.explain()
    assert repr(verdict).startswith("<killtest UNKNOWN  crawl")


def test_subject_by_name_gets_the_small_shop(tmp_path: Path) -> None:
    verdict = Bench(tmp_path)("idempotent:short_lease", kills=1, site={"products": 9})
    assert verdict.passed, verdict.explain()
    assert verdict.line["data"]["products"] == 9
    assert verdict.traffic is not None
    assert verdict.traffic["minimum"] == 12
    assert "run idempotent:short_lease --site products=9 --site list_pages=3" in verdict.reproduce


def test_subject_by_path_is_looked_up_in_both_folders(bench: Bench) -> None:
    shop = bench.root / "elsewhere" / "shop"
    shop.mkdir(parents=True)
    (bench.root / "crawl.py").rename(shop / "crawl.py")
    manifest = (
        'name = "shop"\ncommand = ["{python}", "crawl.py"]\n[store]\nreader = "jsonl"\npath = "out.jsonl"\nkey = "sku"'
    )
    (shop / "subject.toml").write_text(manifest)
    verdict = bench("shop", faults=["request:4 KILL"], site=SITE)
    assert verdict.outcome == "FAIL", verdict.explain()
    assert f"killtest run {shop} " in verdict.reproduce


def test_words_name_files_of_the_first_folder_that_holds_them(bench: Bench) -> None:
    (bench.root / "elsewhere").mkdir()
    (bench.root / "elsewhere" / "crawl.py").write_text("")
    (bench.root / "elsewhere" / "other.py").write_text("")
    ways = [bench.fixture._absolute(word) for word in ("crawl.py", "other.py", "third.py", "{python}", sys.executable)]
    root = bench.root
    assert ways == [f"{root}/crawl.py", f"{root}/elsewhere/other.py", "third.py", "{python}", sys.executable]


@pytest.mark.parametrize(
    ("command", "wish", "complaint"),
    [
        (CRAWL, {}, "give either kills="),
        (CRAWL, {"kills": 1, "faults": ["request:1 KILL"]}, "give either kills="),
        (CRAWL, {"kills": -1}, "kills are at least 1"),
        (CRAWL, {"kills": 1, "signals": ["KLL"]}, "KLL"),
        (CRAWL, {"faults": ["request:1 KLL"]}, 'unknown action "KLL"'),
        (CRAWL, {"kills": 1, "store": None}, "wants store="),
        (CRAWL, {"kills": 1, "store": "csv"}, "READER:PATH"),
        (CRAWL, {"kills": 1, "limits": {"idle": 3}}, "killtest(limits=…): Object contains unknown field `idle`"),
        (CRAWL, {"kills": 1, "env": {"N": 3}}, "killtest(env=…)"),
        (CRAWL, {"kills": 1, "site": {"products": 1, "list_pages": 2}}, "list_pages = 2 with products = 1"),
        (["no-such-program"], {"kills": 1}, "can't execute 'no-such-program'"),
        ("naive", {"kills": 1, "key": "sku"}, "go with a command"),
        ("nobody", {"kills": 1}, "unknown subject 'nobody'"),
    ],
)
def test_bad_calls_are_refused_before_anything_runs(
    bench: Bench, command: Any, wish: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(complaint)):
        bench(command, **wish)
    assert not (bench.root / "evidence").exists()
