"""The judgement: lines × budget → breaches and outcome. Pure. FAIL > UNKNOWN > PASS."""

from collections.abc import Sequence

import msgspec

from killtest.gate.baseline import Comparison
from killtest.gate.breach import Breach, Line, of_trials
from killtest.gate.budget import Budget, Budgets
from killtest.gate.tally import SUMMED, Tally, amount, requests_over, tallies
from killtest.judge.verdict import Outcome, worst
from killtest.report.statistics import rule_of_three, wilson_interval


class Judgement(msgspec.Struct, frozen=True):
    """The gate's answer; `comparisons` are those with a baseline, `notes` what a reader should know besides."""

    campaign: str
    outcome: Outcome
    breaches: list[Breach]
    tallies: list[Tally]
    comparisons: list[Comparison] = []
    notes: list[str] = []


def judge(
    campaign: str,
    lines: Sequence[Line],
    budgets: Budgets,
    missing: Sequence[str] = (),
    comparisons: Sequence[Comparison] = (),
) -> Judgement:
    """Judge a campaign; `missing` are the trials that were planned and have not run."""
    told = tallies(lines)
    breaches = [breach for tally in told for breach in subject_breaches(tally, budgets.of(tally.subject))]
    breaches += [_worse(one) for one in comparisons if one.is_worse and _is_gated(one, told)]
    if missing:
        shown = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
        message = f"{len(missing)} planned trials have not run: {shown}"
        breaches.append(Breach("UNKNOWN", campaign, "not run", message))
    if not told:
        breaches.append(Breach("UNKNOWN", campaign, "no kill struck", "there is no finished trial"))
    breaches.sort(key=lambda breach: breach.outcome != "FAIL")
    outcome = worst([*(breach.outcome for breach in breaches), "PASS"])
    return Judgement(campaign, outcome, breaches, told, list(comparisons))


def subject_breaches(tally: Tally, budget: Budget) -> list[Breach]:
    """All breaches of one subject."""
    breaches = _control(tally)
    if not breaches:
        breaches = _surprise(tally) if tally.expect == "FAIL" else [*_sums(tally, budget), *_requests(tally, budget)]
    return [*breaches, *_unknown(tally, budget), *_coverage(tally, budget)]


def _control(tally: Tally) -> list[Breach]:
    """A subject that fails without any fault: its own breach, and the kills don't get the blame for the rest."""
    failed = [line for line in tally.controls if line["outcome"] == "FAIL"]
    if not failed:
        return []
    message = f"{len(failed)} of {len(tally.controls)} controls fail, without any fault: no kill is to blame"
    return [of_trials("FAIL", "control", message, tally.subject, failed)]


def _surprise(tally: Tally) -> list[Breach]:
    """A known bad example that no longer fails: mended (then its manifest should say so), or no longer caught."""
    judged = [line for line in tally.trials if line["outcome"] != "UNKNOWN"]
    if tally.failed or not judged:
        return []
    message = f'all {len(judged)} judged trials pass, its manifest says expect = "FAIL"'
    return [Breach("FAIL", tally.subject, "surprise", message, reproduce=judged[0].get("reproduce"))]


def _sums(tally: Tally, budget: Budget) -> list[Breach]:
    breaches = []
    for what in SUMMED:
        total, allowed = tally.total(what), getattr(budget, what)
        if total > allowed:
            guilty = sorted(tally.trials, key=lambda line: -amount(line, what))
            guilty = [line for line in guilty if amount(line, what)]
            message = f"{total} in {len(guilty)} of {len(tally.trials)} trials, allowed {allowed}{_keys(guilty, what)}"
            breaches.append(of_trials("FAIL", what, message, tally.subject, guilty))
    # A verdict that no budget speaks of must not pass for want of a word.
    wordless = [line for line in tally.failed if not any(amount(line, what) for what in SUMMED)]
    if wordless:
        message = f"{len(wordless)} of {len(tally.trials)} trials FAIL by their verdict"
        breaches.append(of_trials("FAIL", "verdict", message, tally.subject, wordless))
    return breaches


def _keys(guilty: list[Line], what: str) -> str:
    found = (guilty[0].get("data") or {}).get(what)
    keys = list(found["keys"])[:3] if found else []
    return f" ({', '.join(keys)}{', …' if found and found['count'] > 3 else ''})" if keys else ""


def _requests(tally: Tally, budget: Budget) -> list[Breach]:
    if budget.requests_over is None:
        return []
    over = [(excess, line) for line in tally.lines if (excess := requests_over(line)) is not None]
    guilty = sorted((pair for pair in over if pair[0] > budget.requests_over), key=lambda pair: -pair[0])
    if not guilty:
        return []
    excess, line = guilty[0]
    traffic = line["traffic"]
    struck = traffic["requests"] - traffic["minimum"] - excess
    message = (
        f"{traffic['requests']} at worst, allowed {traffic['minimum']} (minimum) + {struck} (kills struck)"
        f" + {budget.requests_over} (requests_over); {len(guilty)} of {len(tally.lines)} trials are over"
    )
    return [of_trials("FAIL", "requests", message, tally.subject, [line for _, line in guilty])]


def _unknown(tally: Tally, budget: Budget) -> list[Breach]:
    lines = [line for line in tally.lines if line["outcome"] == "UNKNOWN"]
    if len(lines) <= budget.unknown:
        return []
    message = (
        f"{len(lines)} of {len(tally.lines)} trials, allowed {budget.unknown}; the first: {lines[0].get('problem')}"
    )
    return [of_trials("UNKNOWN", "unknown", message, tally.subject, lines)]


def _coverage(tally: Tally, budget: Budget) -> list[Breach]:
    if tally.struck == 0:
        message = f"none of the kills planned in {len(tally.trials)} trials struck: nothing was tested"
        return [Breach("UNKNOWN", tally.subject, "no kill struck", message)]
    wanted: dict[str, int] = msgspec.to_builtins(budget.struck)
    short = [
        f"{tally.windows[name]} in window {name}, wanted {least}"
        for name, least in wanted.items()
        if tally.windows[name] < least
    ]
    message = f"too few kills struck: {', '.join(short)}"
    return [Breach("UNKNOWN", tally.subject, "struck", message)] if short else []


def _is_gated(one: Comparison, told: Sequence[Tally]) -> bool:
    """A known bad example is compared for the reader and gates on surprise alone."""
    return any(tally.subject == one.subject and tally.expect == "PASS" for tally in told)


def _worse(one: Comparison) -> Breach:
    message = f"worse than the baseline: {one.words()}"
    return Breach("FAIL", one.subject, f"{one.metric} against the baseline", message, tuple(one.worse_trials))


def rate_words(bad: int, n: int) -> str:
    """A rate with its interval: the rule of three for 0 of n, Wilson's interval otherwise."""
    if n == 0:
        return "no trial"
    if bad == 0:
        return f"0 bad of {n} trials: a rate below {100 * rule_of_three(n):.3g} % (3/n, 95 %)"
    interval = wilson_interval(bad, n)
    return f"{bad} bad of {n} trials: {100 * bad / n:.3g} % [{100 * interval.low:.3g} %–{100 * interval.high:.3g} %]"


def overall(judgement: Judgement) -> str:
    """The gate's last line: outcome, n, kills struck, the rate of bad trials, what was expected."""
    wanted = [tally for tally in judgement.tallies if tally.expect == "PASS"]
    known_bad = [tally for tally in judgement.tallies if tally.expect == "FAIL"]
    struck = sum(tally.struck for tally in judgement.tallies)
    count = len(judgement.breaches)
    parts = [f"{count} breach{'' if count == 1 else 'es'}", f"{struck} kills struck"]
    if wanted or not known_bad:
        judged = [line for tally in wanted for line in tally.trials if line["outcome"] != "UNKNOWN"]
        parts.append(rate_words(sum(line["outcome"] == "FAIL" for line in judged), len(judged)))
    parts += [
        f"{tally.subject} (expect FAIL) fails in {len(tally.failed)} of {len(tally.trials)} trials"
        for tally in known_bad
    ]
    return f"{judgement.outcome}  {judgement.campaign}  {'; '.join(parts)}"
