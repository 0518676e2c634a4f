"""What the status page shows, in the words and amounts that fit on it."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from crawling import progress

MOST_JOBS = 50
MOST_FAILURES = 20
MOST_TASKS = 100
STATES = ("running", "reloading", "lost", "stopped")  # in this order on the page


@dataclass(frozen=True)
class JobShown:
    """A job; the shares of 100 are the widths of the bar's parts."""

    job: progress.Job
    done: bool
    submitted: str
    finished_share: float
    failed_share: float
    failures: list[tuple[str, str]]
    more_failures: int


@dataclass(frozen=True)
class InstanceShown:
    """An instance, and how long ago it was heard of, in words."""

    instance: progress.Instance
    age: str
    in_hand: int


@dataclass(frozen=True)
class StatusPage:
    """The whole page; `trouble` is why there is nothing else on it."""

    trouble: str
    jobs: list[JobShown]
    older_jobs: int
    open_jobs: int
    instances: list[InstanceShown]
    tasks: list[progress.InHand]
    in_hand: int
    queued: int


def without_queue(why: str) -> StatusPage:
    """The page when the queue does not answer."""
    return StatusPage(why, [], 0, 0, [], [], 0, 0)


def of(found: progress.Progress) -> StatusPage:
    """The newest jobs first, those with something to do before all others; the instances that work first."""
    newest = found.jobs[::-1]
    jobs = sorted(newest, key=lambda job: job.remaining == 0)
    instances = sorted(found.instances, key=lambda one: STATES.index(one.state) if one.state in STATES else 0)
    return StatusPage(
        trouble="",
        jobs=[_job(job) for job in jobs[:MOST_JOBS]],
        older_jobs=len(jobs[MOST_JOBS:]),
        open_jobs=sum(job.remaining > 0 for job in jobs),
        instances=[
            InstanceShown(one, age(one.beat_age_s), sum(task.instance == one.name for task in found.in_hand))
            for one in instances
        ],
        tasks=found.in_hand[:MOST_TASKS],
        in_hand=len(found.in_hand),
        queued=found.queued,
    )


def _job(job: progress.Job) -> JobShown:
    failures = list(job.failures.items())
    when = datetime.datetime.fromtimestamp(job.submitted_s, datetime.UTC)
    return JobShown(
        job,
        job.remaining == 0,
        f"{when:%Y-%m-%d %H:%M:%S} UTC",
        100 * job.finished / job.added,
        100 * job.failed / job.added,
        failures[:MOST_FAILURES],
        len(failures[MOST_FAILURES:]),
    )


def age(seconds: float) -> str:
    """`3.2 s`, `4 min`, `5 h`, `6 days`."""
    for limit, divisor, unit in ((60, 1, "s"), (3600, 60, "min"), (86400 * 2, 3600, "h")):
        if seconds < limit:
            return f"{seconds:.1f} s" if unit == "s" else f"{seconds / divisor:.0f} {unit}"
    return f"{seconds / 86400:.0f} days"
