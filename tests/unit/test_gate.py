"""The gate's judgement and what it writes, from lines alone."""

import json
from pathlib import Path
from typing import Any

import pytest
from killtest.errors import UsageError
from killtest.gate import baseline, breach, budget
from killtest.gate.annotations import annotations
from killtest.gate.benchmark import benchmark_json
from killtest.gate.budget import Budget, Budgets, Struck
from killtest.gate.default_campaign import campaign_text, default_campaign
from killtest.gate.job_summary import markdown
from killtest.gate.judgement import Judgement, judge, overall
from killtest.gate.junit import junit_xml
from killtest.plan.manifest import StoreNeeds, Subject
from ledger_lines import control, failed, fault, trial, unknown
from lxml import etree

SCHEMA = Path(__file__).resolve().parents[1] / "data" / "junit.xsd"
SOUND = control() | {"traffic": trial()["traffic"] | {"requests": 525, "repeated": 0}}
NOT_REACHED = {"faults": [fault("not_reached", None)]}


def whats(lines: list[dict[str, Any]], **changes: Any) -> list[tuple[str, str]]:
    return [(one.outcome, one.what) for one in judged(lines, **changes).breaches]


def judged(lines: list[dict[str, Any]], **changes: Any) -> Judgement:
    return judge("c", lines, Budgets(Budget(**changes)))


def test_sound_campaign_passes_and_says_the_rule_of_three() -> None:
    found = judged([SOUND, *(trial(number=n) for n in range(1, 31))])
    assert (found.outcome, found.breaches) == ("PASS", [])
    assert overall(found) == ("PASS  c  0 breaches; 30 kills struck; 0 bad of 30 trials: a rate below 10 % (3/n, 95 %)")


@pytest.mark.parametrize(
    "what",
    ["lost", "missed", "duplicated", "corrupted", "stale", "unexpected", "vanished", "orphans", "zombies", "ports"],
)
def test_each_count_has_a_budget_over_all_trials(what: str) -> None:
    if what in ("orphans", "zombies", "ports"):
        bad = [trial(number=n, outcome="FAIL", processes={"orphans": 0, "zombies": 0} | {what: 1}) for n in (1, 2)]
    else:
        data = {what: {"count": 1, "keys": {"SKU-1": "x"}}}
        bad = [trial(number=n, outcome="FAIL", data=data) for n in (1, 2)]
    assert whats(bad) == [("FAIL", what)]
    assert whats(bad, **{what: 1}) == [("FAIL", what)]
    assert whats(bad, **{what: 2}) == []


def test_effects_and_endings_have_a_budget() -> None:
    line = trial(
        outcome="FAIL",
        effects={"webhooks": {"twice": {"count": 2}, "deduplicated": 7}, "files": {"wrong": {"count": 1}}},
    )
    assert whats([line]) == [("FAIL", "effects")]
    assert whats([line], effects=3) == []
    assert whats([trial(outcome="FAIL", ending="hung")]) == [("FAIL", "unfinished")]


def test_fail_that_no_budget_speaks_of_is_a_breach() -> None:
    assert whats([trial(outcome="FAIL")]) == [("FAIL", "verdict")]


def test_requests_are_at_most_minimum_and_kills_struck_and_k() -> None:
    assert whats([trial(traffic={"requests": 526})]) == []
    assert whats([trial(traffic={"requests": 527})]) == [("FAIL", "requests")]
    assert whats([trial(traffic={"requests": 527})], requests_over=1) == []
    assert whats([trial(traffic={"requests": 9999})], requests_over=None) == []
    # A kill that did not strike pays for nothing.
    lines = [trial(), trial(number=2, traffic={"requests": 526}, **NOT_REACHED)]
    (found,) = judged(lines).breaches
    assert "526 at worst, allowed 525 (minimum) + 0 (kills struck) + 0 (requests_over)" in found.message


def test_worst_trial_gives_evidence_and_command() -> None:
    lines = [failed(number=1), failed(number=2, data={"duplicated": {"count": 300, "keys": {"SKU-7": 2}}})]
    (found,) = judged(lines, requests_over=None).breaches
    assert found.trials == ("naive--start-KILL-2", "naive--start-KILL-1")
    assert breach.words(found, "results/c") == (
        "FAIL  naive  duplicated: 400 in 2 of 2 trials, allowed 0 (SKU-7, …); in naive--start-KILL-2 and 1 more; "
        'evidence: results/c/trials/naive--start-KILL-2/; reproduce: killtest run naive --fault "after:0.5 KILL"'
    )


def test_unknown_has_a_budget_and_fail_comes_first() -> None:
    assert judged([trial(), unknown(number=2)]).outcome == "UNKNOWN"
    assert judged([trial(), unknown(number=2)], unknown=1).outcome == "PASS"
    mixed = judged([unknown(), failed(number=2)], requests_over=None)
    assert mixed.outcome == "FAIL"
    assert [one.outcome for one in mixed.breaches] == ["FAIL", "UNKNOWN"]


def test_gate_in_which_no_kill_struck_is_unknown() -> None:
    quiet = trial(traffic={"requests": 525}, **NOT_REACHED)
    assert whats([quiet]) == [("UNKNOWN", "no kill struck")]
    assert whats([SOUND]) == [("UNKNOWN", "no kill struck")]
    assert whats([]) == [("UNKNOWN", "no kill struck")]


def test_least_number_of_kills_per_danger_window() -> None:
    early = trial(faults=[fault("before_first_request", "start-up")])
    (found,) = judged([early]).breaches
    assert (found.outcome, found.message) == ("UNKNOWN", "too few kills struck: 0 in window danger, wanted 1")
    assert whats([early], struck=Struck(start_up=1, danger=0)) == []
    assert whats([trial()], struck=Struck(idle=1)) == [("UNKNOWN", "struck")]
    for window in ("waiting", "between", "commit"):
        hit = trial(faults=[fault(window=window)])
        assert whats([hit], struck=Struck(danger=1)) == []
        assert whats([hit], struck=Struck(danger=2)) == [("UNKNOWN", "struck")]
        assert whats([hit], struck=Struck(**{window: 1})) == []
        assert whats([trial(faults=[fault(window="idle")])], struck=Struck(danger=0, **{window: 1})) != []


def test_known_bad_example_gates_on_surprise_in_either_direction() -> None:
    assert whats([failed(expect="FAIL"), trial(number=2, expect="FAIL")]) == []
    (surprise,) = judged([trial(expect="FAIL")]).breaches
    assert (surprise.outcome, surprise.what) == ("FAIL", "surprise")
    assert whats([failed(expect="PASS")], requests_over=None) == [("FAIL", "duplicated")]
    assert "naive (expect FAIL) fails in 1 of 1 trials" in overall(judged([failed(expect="FAIL")]))


def test_subject_that_fails_without_faults_is_one_breach_even_if_it_is_to_fail() -> None:
    bad = SOUND | {"outcome": "FAIL", "cause": "control"}
    for expect in ("PASS", "FAIL"):
        lines = [bad | {"expect": expect}, failed(expect=expect, cause="control")]
        assert whats(lines) == [("FAIL", "control")]


def test_planned_trials_that_have_not_run_make_it_unknown() -> None:
    found = judge("c", [trial()], Budgets(), missing=["held-2 (1×)"])
    assert (found.outcome, found.breaches[0].what) == ("UNKNOWN", "not run")


def test_budget_of_a_subject_lies_over_the_default(tmp_path: Path) -> None:
    path = tmp_path / "budget.toml"
    path.write_text(
        "[default]\nlost = 1\nrequests_over = false\nstruck = { idle = 2 }\n"
        '[subjects.naive]\nduplicated = 5\nstruck = { start-up = 3 }\n[subjects."naive:v"]\nlost = 7\n'
    )
    found = budget.load(path)
    assert found.of("other") == Budget(lost=1, requests_over=None, struck=Struck(idle=2))
    assert found.of("naive:w") == Budget(
        lost=1, duplicated=5, requests_over=None, struck=Struck(start_up=3, danger=1, idle=2)
    )
    assert found.of("naive:v").lost == 7


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[default]\nlots = 1\n", r"b\.toml: default: .*lots"),
        ("[subjects.x]\nlost = -1\n", r"b\.toml: subjects\.x: .*lost"),
        ("lost = 1\n", r"b\.toml: .*lost"),
        ("[default]\nlost = false\n", r"b\.toml: default: .*lost"),
    ],
)
def test_budget_that_cannot_be_read_is_refused(text: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "b.toml").write_text(text)
    with pytest.raises(UsageError, match=complaint):
        budget.load(tmp_path / "b.toml")


def compared(before: list[Any], after: list[Any], metric: str, **changes: Any) -> baseline.Comparison:
    found = baseline.compare(after, before, Budgets(Budget(**changes)))
    return next(one for one in found if one.metric == metric)


def test_requests_are_compared_pair_by_pair() -> None:
    before = [trial(number=n, traffic={"requests": 100 * n}) for n in range(1, 9)]
    after = [trial(number=n, traffic={"requests": 110 * n}) for n in range(8, 0, -1)]
    found = compared(before, after, "requests")
    assert found.ratio is not None
    assert (found.ratio.value, found.ratio.low, found.ratio.n) == (pytest.approx(1.1), pytest.approx(1.1), 8)
    assert (found.more, found.fewer, found.p, found.is_worse) == (8, 0, pytest.approx(1 / 256), True)
    assert "median ratio 1.1 [1.1–1.1] of 8 pairs; 8 above and 0 below; sign test, one-sided, p = 0.0039, n = 8" in (
        found.words()
    )
    assert not compared(before, after, "requests", requests_ratio=1.2).is_worse
    assert not compared(before, after, "requests", significance=0.001).is_worse
    assert not compared(after, before, "requests").is_worse


def test_baseline_of_zero_never_divides() -> None:
    before = [trial(number=n, traffic={"repeated": 0}) for n in range(1, 9)]
    after = [trial(number=n, traffic={"repeated": 2}) for n in range(1, 9)]
    found = compared(before, after, "repeated")
    assert found.ratio is None
    assert found.difference is not None
    assert (found.difference.value, found.difference.n, found.is_worse) == (2, 8, True)
    assert "median difference 2 [2–2] of 8 pairs with baseline 0" in found.words()
    same = compared(before, before, "repeated")
    assert (same.is_worse, same.p) == (False, 1.0)


def test_pairs_have_the_same_name_and_the_same_faults() -> None:
    assert baseline.compare([trial()], [trial(number=2)], Budgets()) == []
    assert baseline.compare([trial()], [trial(schedule={"faults": ["request:1 KILL"]})], Budgets()) == []
    assert baseline.compare([trial()], [unknown()], Budgets()) == []
    assert baseline.compare([control()], [control()], Budgets()) == []


def test_seconds_are_reported_and_never_gate_unless_asked_to() -> None:
    time = {"wall_s": 30.0, "first_request_s": [0.2], "last_incarnation_s": 2.5}
    before, after = [trial(number=n) for n in range(1, 9)], [trial(number=n, time=time) for n in range(1, 9)]
    found = compared(before, after, "seconds")
    assert found.ratio is not None
    assert (found.ratio.value > 9, found.is_worse, found.limit) == (True, False, None)
    assert compared(before, after, "seconds", seconds_ratio=2).is_worse


def test_worse_than_the_baseline_is_a_breach_but_not_of_a_known_bad_example() -> None:
    before = [trial(number=n, traffic={"requests": 500}) for n in range(1, 9)]
    for expect, outcome in (("PASS", "FAIL"), ("FAIL", "PASS")):
        after = [failed(number=n, expect=expect) for n in range(1, 9)]
        budgets = Budgets(Budget(duplicated=10_000, requests_over=None, findings_ratio=None))
        found = judge("c", after, budgets, comparisons=baseline.compare(after, before, budgets))
        assert found.outcome == outcome
    (one, two) = judge("c", [trial()], Budgets(), comparisons=baseline.compare(after, before, Budgets())).breaches[:2]
    assert {one.what, two.what} <= {f"{metric} against the baseline" for metric in baseline.COUNTS}


def parsed(judgement: Judgement) -> Any:
    tree = etree.fromstring(junit_xml(judgement, "results/c"))
    etree.XMLSchema(etree.parse(str(SCHEMA))).assertValid(tree)
    return tree


def test_junit_has_a_case_per_subject_and_schedule_with_proof() -> None:
    tree = parsed(judged([SOUND, trial(), failed(number=2), unknown(number=3)], requests_over=None))
    cases = {case.get("name"): case for case in tree.iter("testcase")}
    assert list(cases) == ["control-1", "start-KILL-1", "start-KILL-2", "start-KILL-3"]
    assert [len(case) for case in cases.values()] == [0, 0, 1, 1]
    failure = cases["start-KILL-2"].find("failure")
    assert "evidence: results/c/trials/naive--start-KILL-2/" in failure.text
    assert 'reproduce: killtest run naive --fault "after:0.5 KILL"' in failure.text
    assert cases["start-KILL-3"].find("error") is not None
    assert dict(tree.attrib) == {"name": "killtest gate", "tests": "4", "failures": "1", "errors": "1"}


def test_junit_shows_what_concerns_no_single_trial_and_takes_any_text() -> None:
    odd = failed(reproduce="killtest run \x00\x1b <x> & ]]> \ud800", schedule={"name": 'a"<b'})
    tree = parsed(judged([odd | {"expect": "FAIL"}, trial("good", expect="FAIL")]))
    assert [case.get("name") for case in tree.iter("testcase")] == ['a"<b', "start-KILL-1", "budget: surprise"]
    assert "as expected" in tree.find(".//system-out").text
    assert parsed(judged([])).get("errors") == "1"


def test_the_schema_refuses_what_servers_refuse() -> None:
    schema = etree.XMLSchema(etree.parse(str(SCHEMA)))
    assert not schema.validate(etree.fromstring("<testsuites><testsuite name='x'/></testsuites>"))
    assert not schema.validate(etree.fromstring("<testsuites><testcase name='x'/></testsuites>"))


def test_job_summary_has_the_answer_the_proof_and_the_tables() -> None:
    lines = [failed(number=n) for n in (1, 2)]
    compared_with = baseline.compare(lines, [trial()], Budgets())
    page = markdown(judge("c_1", lines, Budgets(), comparisons=compared_with), "results/c_1")
    assert page.startswith("## ❌ killtest gate: FAIL\n\nFAIL c\\_1 2 breaches;")
    assert "  - evidence: `results/c_1/trials/naive--start-KILL-1/`" in page
    assert "| naive | PASS | 2 | 2 | 2 (0/2/0/0/0) | 0 | 0 | 200 | 0 | 100 |" in page
    assert "| naive | requests | median ratio 1.19" in page


def test_benchmark_is_smaller_is_better() -> None:
    entries = json.loads(benchmark_json(judged([trial(), failed(number=2), unknown(number=3)])))
    assert all(set(entry) == {"name", "unit", "value"} for entry in entries)
    assert all(isinstance(entry["value"], int | float) for entry in entries)
    values = {entry["name"]: entry["value"] for entry in entries}
    assert values["naive: duplicated"] == 100
    assert values["naive: requests beyond minimum and kills, most"] == 100
    assert (values["naive: FAIL"], values["naive: UNKNOWN"], values["naive: wall time, median"]) == (1, 1, 3.25)


def test_annotations_escape_what_would_end_or_split_them() -> None:
    line = failed("a:b,c", reproduce="killtest run 100%\r\nx")
    (text,) = annotations(judged([line], requests_over=None), "results/c")
    assert text.startswith("::error title=killtest gate%3A a%3Ab%2Cc%2C duplicated::FAIL  a:b,c  duplicated: 100 in")
    assert text.endswith("reproduce: killtest run 100%25%0D%0Ax")
    assert "\n" not in text


def test_default_campaign_takes_every_request_and_every_response_with_both_signals() -> None:
    who = Subject("mine", ("sh", "x"), StoreNeeds("jsonl", "o", key="k"), folder="/nowhere")
    spec = default_campaign(who, {})
    assert (spec.name, spec.site) == ("gate-mine", {"list_pages": 3, "products": 30})
    assert [(rule.group, rule.between, rule.signals) for rule in spec.schedules] == [
        ("held-KILL", (1, 33), ("KILL",)),
        ("held-INT", (1, 33), ("INT",)),
        ("response-KILL", (1, 33), ("KILL",)),
        ("response-INT", (1, 33), ("INT",)),
    ]
    assert default_campaign(who, {"shape": "two_page", "products": 6}).schedules[0].between == (1, 15)
    assert default_campaign(who, {"shape": "star"}).schedules[0].between == (1, 31)


def test_text_of_the_default_campaign_tells_programs_apart(tmp_path: Path) -> None:
    (tmp_path / "crawl.sh").write_text("one")
    who = Subject("mine", ("sh", "crawl.sh"), StoreNeeds("jsonl", "o", key="k"), folder=str(tmp_path))
    texts = [campaign_text(default_campaign(who, {}), who)]
    (tmp_path / "crawl.sh").write_text("two")
    texts.append(campaign_text(default_campaign(who, {}), who))
    assert texts[0] != texts[1]
    assert texts[0].splitlines()[2:] == texts[1].splitlines()[2:]
