"""A sweep in figures and words."""

from typing import Any

from killtest.plan.campaign import Spec
from killtest.plan.each_request import rules_for
from killtest.plan.schedule import Rule
from killtest.sweep import swept
from killtest.sweep.swept import Swept
from ledger_lines import control, failed, trial, unknown

LOST = {"lost": {"count": 1, "keys": {"SKU-00001": "held"}}, "duplicated": {"count": 0, "keys": {}}, "false_done": True}


def kill(group: str, number: int, make: Any = trial, **changes: Any) -> dict[str, Any]:
    kind = "request" if group.startswith("held") else "response"
    line: dict[str, Any] = make("mine", number, group, **changes)
    line["schedule"] |= {"faults": [f"{kind}:{number} KILL"]}
    return line | {"reproduce": f"killtest run mine --fault '{kind}:{number} KILL'"}


def sweep(*lines: dict[str, Any], last: int = 12) -> Swept:
    spec = Spec("sweep-mine", ("mine",), rules_for(last, ["KILL"]))
    return swept.summed(spec, [control("mine", 1), control("mine", 2), *lines], last)


def held(passing: range | list[int]) -> list[dict[str, Any]]:
    return [kill("held-KILL", n) for n in passing]


BAD = (5, 6, 7, 12)


def test_intervals_findings_and_the_command_of_the_first() -> None:
    behind = [kill("response-KILL", n) for n in range(1, 13) if n not in BAD]
    # As they come with --jobs: not in order.
    broken = [kill("response-KILL", n, failed, data=LOST) for n in (6, 5, 12, 7)]
    found = sweep(*held(range(1, 13)), *behind, *broken)
    assert found.outcome == "FAIL"
    assert list(swept.words(found, "mine")) == [
        "FAIL  mine  4 of 24 kills fail; one at each of 12 page requests",
        "      held: 12 of 12 pass",
        "      after the response: 8 of 12 pass; fails at 5-7, 12 (1 lost, said it was done)",
        "      1 lost, said it was done: 4 kills, the first at response:5 KILL",
        "      reproduce: killtest run mine --fault 'response:5 KILL'",
    ]


def test_each_distinct_finding_has_a_line_of_its_own() -> None:
    found = sweep(
        kill("held-KILL", 1, failed), kill("held-KILL", 2, failed, data=LOST), kill("held-KILL", 3, failed), last=3
    )
    assert [(one.words, one.numbers) for one in found.findings] == [
        ("100 duplicated", (1, 3)),
        ("1 lost, said it was done", (2,)),
    ]
    assert "fails at 1, 3 (100 duplicated), and at 2 (1 lost, said it was done)" in "\n".join(
        swept.words(found, "mine")
    )


def test_a_kill_that_did_not_strike_is_told_and_makes_no_pass() -> None:
    found = sweep(*held([1]), kill("held-KILL", 2, unknown), last=2)
    assert found.outcome == "UNKNOWN"
    assert "held: 1 of 2 pass; did not strike, or could not be judged, at 2" in "\n".join(swept.words(found, "mine"))


def test_a_subject_that_fails_without_faults_is_not_killed() -> None:
    spec = Spec("sweep-mine", ("mine",))
    broken = failed("mine", 1, "control", control=True, data=LOST)
    found = swept.summed(spec, [broken], 0)
    assert (found.outcome, found.moments) == ("FAIL", ())
    assert "not killed" in next(swept.words(found, "mine"))
    assert swept.as_json(found)["outcome"] == "FAIL"


def test_of_two_kills_at_one_request_the_held_one_is_repeated() -> None:
    found = sweep(kill("response-KILL", 2, failed, data=LOST), kill("held-KILL", 2, failed, data=LOST), last=2)
    assert found.findings[0].first["schedule"]["faults"] == ["request:2 KILL"]


def test_behind_a_first_fault_kills_that_were_not_reached_are_no_pass() -> None:
    def behind(number: int, **changes: Any) -> dict[str, Any]:
        line = kill("held-KILL", number, **changes)
        line["schedule"]["faults"].insert(0, "request:10 INT")
        return line

    missed = [{"status": "struck"}, {"status": "not_reached"}]
    alone = trial("mine", 1, "first")
    rules = (Rule(group="first", faults=("request:10 INT",)), *rules_for(3, ["KILL"], ["request:10 INT"]))
    lines = [alone, behind(1), behind(2, make=failed, data=LOST), behind(3, faults=missed)]
    found = swept.summed(Spec("sweep-mine", ("mine",), rules), [control("mine", 1), *lines], 3)
    assert found.outcome == "FAIL"
    told = "\n".join(swept.words(found, "mine"))
    assert "1 of 3 kills fail; one at each of 3 page requests of the start behind request:10 INT" in told
    assert "did not strike, or could not be judged, at 3" in told
    assert "the first at request:2 KILL" in told
    assert swept.as_json(found)["first"] == "request:10 INT"


def test_a_first_fault_that_fails_alone_is_said() -> None:
    spec = Spec("sweep-mine", ("mine",), (Rule(group="first", faults=("request:10 INT",)),))
    found = swept.summed(spec, [control("mine", 1), failed("mine", 1, "first", data=LOST)], 0)
    assert next(swept.words(found, "mine")) == "FAIL  mine  not killed: it comes to no PASS with request:10 INT alone"
