"""One trial on real processes."""

from pathlib import Path

from killtest.conduct import trial
from killtest.judge import verdict
from killtest.judge.evidence import Evidence
from killtest.judge.verdict import Verdict
from killtest.plan.campaign import Planned
from killtest.plan.manifest import Subject
from killtest.plan.schedule import Schedule
from subjects import SMALL


def run(who: Subject, *faults: str, tmp_path: Path, again: int = 0, control: bool = False) -> tuple[Evidence, Verdict]:
    planned = Planned(who, Schedule("s", faults), control, again)
    evidence = trial.run(planned, SMALL, tmp_path / "trial")
    return evidence, verdict.judge(evidence)
