"""What two runs of one schedule must agree in."""

from typing import Any

from evidence_builder import CLEAN, evidence, row
from killtest.campaigns import answer
from killtest.campaigns.answer import Answer
from killtest.judge import verdict
from ledger_lines import failed, trial, unknown


def found(*keys: str, **changes: Any) -> Answer:
    return answer.of_line(failed(data={"duplicated": {"count": len(keys), "keys": dict.fromkeys(keys, 1)}}, **changes))


def test_findings_are_compared_by_name_and_if_wanted_by_key() -> None:
    assert found("a").is_like(found("b", "c"))
    assert not found("a").is_like(found("b"), same_keys=True)
    assert found("b", "a").is_like(found("a", "b"), same_keys=True)


def test_of_keys_that_were_cut_those_that_are_there_and_the_count_must_agree() -> None:
    cut = answer.of_line(failed(data={"duplicated": {"count": 30, "keys": {"a": 1, "b": 1}}}))
    whole = Answer("FAIL", "finished", {"duplicated": ("a", "b", *map(str, range(28)))}, {"duplicated": 30})
    assert cut.is_like(whole, same_keys=True)
    assert whole.is_like(cut, same_keys=True)
    assert not found("a", "b").is_like(whole, same_keys=True)
    other = Answer("FAIL", "finished", {"duplicated": tuple(map(str, range(30)))}, {"duplicated": 30})
    assert not cut.is_like(other, same_keys=True)
    assert answer.words([cut]) == "30 duplicated"


def test_ending_outcome_and_what_is_left_behind_count() -> None:
    assert not found("a").is_like(found("a", ending="hung"))
    assert not found("a").is_like(found("a", processes={"orphans": 1, "zombies": 0}))
    assert not answer.of_line(trial()).is_like(answer.of_line(trial(outcome="UNKNOWN")))
    assert not found("a").is_like(
        answer.of_line(failed(data={"duplicated": {"count": 0, "keys": {}}, "false_done": True}))
    )


def test_a_cost_is_no_finding() -> None:
    assert answer.of_line(trial(data={"set_back": {"count": 1, "keys": {"a": ""}}})).findings == {}


def test_a_trial_that_killtest_failed_has_an_answer_too() -> None:
    assert answer.of_line(unknown()) == Answer("UNKNOWN", None, {}, {})


def test_the_judge_and_the_ledger_say_the_same() -> None:
    seen = evidence([*CLEAN[:3], row(1)])
    said = answer.of_verdict(verdict.judge(seen), seen.course)
    assert said.findings == {"lost": ("SKU-00004", "SKU-00005"), "duplicated": ("SKU-00001",), "false_done": ()}
    assert said.outcome == "FAIL"


def test_words_count_keys_over_several_runs() -> None:
    assert answer.words([found("a"), found("a", "b", "c")]) == "1 to 3 duplicated"
    assert answer.words([found("a", ending="crash_loop", processes={"orphans": 1, "zombies": 0})]) == (
        "1 duplicated, orphans left behind, crash loop"
    )
    assert answer.words([answer.of_line(trial())]) == "nothing wrong"
