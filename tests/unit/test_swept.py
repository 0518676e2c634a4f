"""A sweep in figures and words."""

from typing import Any

from killtest.plan.campaign import Spec
from killtest.plan.each_request import rules_for
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
