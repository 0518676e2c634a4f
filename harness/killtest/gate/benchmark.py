"""benchmark.json: figures over time, in the form `customSmallerIsBetter` of benchmark actions."""

from statistics import median

import msgspec

from killtest.gate.judgement import Judgement
from killtest.gate.tally import Tally, amount, requests_over

_COUNTS = ("lost", "missed", "duplicated", "corrupted")


def benchmark_json(judgement: Judgement) -> bytes:
    """A list of `{"name", "unit", "value"}`, smaller being better; a figure that nobody measured is left out."""
    entries = [entry for tally in judgement.tallies for entry in _entries(tally)]
    return msgspec.json.format(msgspec.json.encode(entries), indent=1) + b"\n"


def _entries(tally: Tally) -> list[dict[str, str | float]]:
    judged = [line for line in tally.trials if line["outcome"] != "UNKNOWN"]
    figures: list[tuple[str, str, float]] = [(what, "keys", tally.total(what)) for what in _COUNTS]
    figures.append(("FAIL", "trials", len(tally.failed)))
    figures.append(("UNKNOWN", "trials", len(tally.trials) - len(judged)))
    over = [excess for line in judged if (excess := requests_over(line)) is not None]
    if over:
        figures.append(("requests beyond minimum and kills, most", "requests", max(over)))
        figures.append(
            ("repeated requests, mean", "requests", sum(amount(x, "repeated") for x in judged) / len(judged))
        )
    seconds = [line["time"]["wall_s"] for line in judged if line["time"]]
    if seconds:
        figures.append(("wall time, median", "s", round(median(seconds), 3)))
    return [{"name": f"{tally.subject}: {name}", "unit": unit, "value": value} for name, unit, value in figures]
