"""What the article's author left open, and more: each question with a sentence, its numbers, and whether it holds.

A sentence was written when it had been measured; its numbers are filled in from the trials at hand, and `holds` asks
them again, so that a sentence which later trials contradict says so itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from killtest.laboratory.facts import Absent, Facts, Ledger
from killtest.laboratory.flush_table import flushes, killed_at
from killtest.laboratory.matrix import outcome_words

Values = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """A question: its `name` in words.toml, where a sentence has places for `values`, and the command that shows it.

    `holds` is None for what was not measured.
    """

    name: str
    values: Callable[[Ledger], Values]
    holds: Callable[[Ledger], bool] | None
    command: str


def _run(variant: str, *faults: str) -> str:
    subject = f"scrapy_jobdir:{variant}" if variant else "scrapy_jobdir"
    return f"killtest run {subject} " + " ".join(f'--fault "{fault}"' for fault in faults)


def _words(ledger: Ledger, schedule: str, **variants: str | None) -> Values:
    return {name: outcome_words(ledger.of(variant, schedule)) for name, variant in variants.items()}


def _missing(ledger: Ledger, schedule: str, *variants: str | None) -> list[int]:
    return [ledger.of(variant, schedule).missing for variant in variants]


def _twice(ledger: Ledger) -> Values:
    trial, lifo = ledger.of("article", "article-INT-INT"), ledger.of("article_lifo", "article-INT-INT")
    shop = ledger.of(None, "shop-INT-INT")
    return {
        "index": "{}" if trial.jobdir(0)["index"] == {} else trial.jobdir(0)["index"],
        "seen": trial.bytes_of(0, "requests.seen"),
        "fifo": outcome_words(trial),
        "lifo": outcome_words(lifo),
        "shop": outcome_words(shop),
    }


def _flushed(ledger: Ledger) -> Values:
    lines = flushes(ledger)
    first = next((Facts(line) for line in lines if Facts(line).fingerprints(0)), None)
    return {
        "links": "–" if first is None else killed_at(first.line) - 1,
        "fingerprints": "–" if first is None else first.fingerprints(0),
        "cut": outcome_words(ledger.of("seen_cut", "damaged")),
        "garbage": outcome_words(ledger.of("seen_garbage", "damaged")),
    }


def _no_kill_cuts(ledger: Ledger) -> bool:
    lines = flushes(ledger)
    whole = all(Facts(line).jobdir(0)["cut_bytes"] == 0 for line in lines)
    return bool(lines) and whole and ledger.of("seen_cut", "damaged").missing == 0


def _hosts(ledger: Ledger) -> Values:
    stopped = ledger.of("hosts", "shop-INT")
    return {
        "slots": len(stopped.jobdir(0)["index"]),
        "queues": sum(not queue["start"] for queue in stopped.jobdir(0)["queues"]),
        "stop": outcome_words(stopped),
        "kill": outcome_words(ledger.of("hosts", "shop-KILL")),
        "both": outcome_words(ledger.of("hosts", "shop-INT-KILL")),
    }


def _durable(ledger: Ledger) -> list[Facts]:
    """All trials of the durable scheduler, whatever its settings; the HTTP cache is another way."""
    lines = [line for line in ledger.lines if line["subject"] == "scrapy_durable" and line["variant"] != "http_cache"]
    if not lines:
        raise Absent("no trial of scrapy_durable")
    return [Facts(line) for line in lines]


def _survived(ledger: Ledger) -> Values:
    trials = _durable(ledger)
    struck = [trial.repeated / max(1, len(trial.line["faults"])) for trial in trials]
    passed = sum(trial.line["outcome"] == "PASS" for trial in trials)
    return {"passed": passed, "n": len(trials), "most": f"{max(struck):.0f}"}


ANSWERS = (
    Answer(
        "twice",
        _twice,
        lambda ledger: (
            ledger.of("article", "article-INT-INT").start_pages(1) == 1
            and ledger.of("article", "article-INT-INT").overlap > 1
        ),
        _run("article", "request:19 INT+INT@0.02"),
    ),
    Answer(
        "sigterm",
        lambda ledger: (
            _words(ledger, "article-TERM", fifo="article", lifo="article_lifo") | _words(ledger, "shop-TERM", shop=None)
        ),
        lambda ledger: (
            _missing(ledger, "article-TERM", "article", "article_lifo") == [0, 0]
            and ledger.of("article", "article-TERM").overlap == 0
        ),
        _run("article", "request:19 TERM"),
    ),
    Answer(
        "slots",
        _hosts,
        lambda ledger: (
            len(ledger.of("hosts", "shop-INT").jobdir(0)["index"]) > 1
            and ledger.of("hosts", "shop-INT").missing == 0
            and ledger.of("hosts", "shop-KILL").missing > 0
        ),
        _run("hosts", "request:100 INT"),
    ),
    Answer(
        "flush",
        _flushed,
        _no_kill_cuts,
        "killtest bench jobdir (flush-1, flush-2, damaged)",
    ),
    Answer(
        "state",
        lambda ledger: _words(ledger, "damaged", lost="state_lost", cut="state_cut", garbage="state_garbage"),
        lambda ledger: (
            _missing(ledger, "damaged", "state_lost") == [0]
            and min(_missing(ledger, "damaged", "state_cut", "state_garbage")) > 0
        ),
        _run("state_cut", "request:30 INT"),
    ),
    Answer(
        "together",
        lambda ledger: (
            _words(ledger, "together", killed="two_processes")
            | {"undisturbed": outcome_words(ledger.control("two_processes"))}
        ),
        lambda ledger: ledger.control("two_processes").line["ending"] != "refused_start",
        "killtest run scrapy_jobdir:two_processes",
    ),
    Answer(
        "windows",
        lambda ledger: {},
        None,
        "–",
    ),
    Answer(
        "queues",
        lambda ledger: _words(ledger, "shop-KILL", lifo=None, fifo="fifo", sl="sqlite_lifo", sf="sqlite_fifo"),
        lambda ledger: min(_missing(ledger, "shop-KILL", None, "fifo", "sqlite_lifo", "sqlite_fifo")) > 0,
        _run("sqlite_fifo", "request:250 KILL"),
    ),
    Answer(
        "resume-and-kill",
        lambda ledger: _words(ledger, "shop-INT-KILL", lifo=None, fifo="fifo", sl="sqlite_lifo", sf="sqlite_fifo"),
        lambda ledger: min(_missing(ledger, "shop-INT-KILL", None, "fifo", "sqlite_lifo", "sqlite_fifo")) > 0,
        _run("", "request:100 INT", "request:50 KILL"),
    ),
    Answer(
        "concurrency",
        lambda ledger: _words(
            ledger, "shop-INT-KILL", one="one_request", two="concurrency_2", eight=None, sixteen="concurrency_16"
        ),
        lambda ledger: (
            min(_missing(ledger, "shop-INT-KILL", "one_request", "concurrency_2", None, "concurrency_16")) > 0
        ),
        _run("concurrency_16", "request:100 INT", "request:50 KILL"),
    ),
    Answer(
        "shapes",
        lambda ledger: _words(ledger, "shop-KILL", last=None, first="next_first", star="star"),
        lambda ledger: min(_missing(ledger, "shop-KILL", None, "next_first", "star")) > 0,
        _run("next_first", "request:250 KILL"),
    ),
    Answer(
        "priorities",
        lambda ledger: {
            "kill": outcome_words(ledger.of("products_last", "shop-KILL")),
            "both": outcome_words(ledger.of("products_last", "shop-INT-KILL")),
        },
        lambda ledger: ledger.of("products_last", "shop-INT-KILL").missing > 0,
        _run("products_few", "request:/list/1 KILL"),
    ),
    Answer(
        "changed",
        lambda ledger: _words(ledger, "changed", changed="renamed_callback"),
        lambda ledger: (
            ledger.of("renamed_callback", "changed").missing > 0
            and ledger.of("renamed_callback", "changed").line["data"]["false_done"]
        ),
        _run("renamed_callback", "request:45 INT"),
    ),
    Answer(
        "feeds",
        lambda ledger: (
            _words(ledger, "shop-INT", jsonl="jsonl_feed", json="json_feed", csv="csv_feed")
            | _words(ledger, "shop-KILL", kl="jsonl_feed", kj="json_feed", kc="csv_feed", pipeline=None)
        ),
        lambda ledger: (
            ledger.of("jsonl_feed", "shop-INT").line["outcome"] == "PASS"
            and ledger.of("json_feed", "shop-INT").line["data"]["corrupted"]["count"] > 0
            and ledger.of("csv_feed", "shop-INT").line["data"]["corrupted"]["count"] > 0
        ),
        _run("json_feed", "request:100 INT"),
    ),
    Answer(
        "cache",
        lambda ledger: {
            "together": outcome_words(ledger.of("http_cache", "shop-KILL")),
            "alone": outcome_words(ledger.of("http_cache", "shop-KILL", "scrapy_durable")),
            "twice": outcome_words(ledger.of("http_cache", "shop-KILL-KILL", "scrapy_durable")),
        },
        lambda ledger: (
            ledger.of("http_cache", "shop-KILL").missing > 0
            and ledger.of("http_cache", "shop-KILL", "scrapy_durable").missing == 0
        ),
        'killtest run scrapy_durable:http_cache --fault "request:250 KILL"',
    ),
    Answer(
        "sitemap",
        lambda ledger: {
            "stop": outcome_words(ledger.of("sitemap", "shop-INT")),
            "kill": outcome_words(ledger.of("sitemap", "shop-KILL")),
            "both": outcome_words(ledger.of("sitemap", "shop-INT-KILL")),
        },
        lambda ledger: ledger.of("sitemap", "shop-INT").missing == 0 and ledger.of("sitemap", "shop-KILL").missing > 0,
        _run("sitemap", "request:250 KILL"),
    ),
    Answer(
        "durable",
        _survived,
        lambda ledger: all(trial.line["outcome"] == "PASS" for trial in _durable(ledger)),
        'killtest run scrapy_durable --fault "request:250 KILL"',
    ),
)
