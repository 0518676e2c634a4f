"""Faults that are no signal, step by step, on a ground that only writes down what it was asked to do."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from killtest.conduct.acts import Acts
from killtest.conduct.history import History, read
from killtest.conduct.life import Life
from killtest.judge.course import Revision
from killtest.plan.fault_text import parse
from killtest.process.launcher import Strike
from killtest.reload.code_copy import Edited


@dataclass
class Ground:
    """Launcher and code in one; every act takes a second."""

    done: list[str] = field(default_factory=list)
    clock_s: float = 10.0

    @property
    def launcher(self) -> "Ground":
        return self

    def _do(self, what: str) -> float:
        self.done.append(what)
        self.clock_s += 1
        return self.clock_s

    def kill_service(self, name: str) -> Strike:
        return Strike((7,), self._do(f"kill {name}"))

    def start_service(self, name: str) -> Strike:
        return Strike((8,), self._do(f"start {name}"))

    def edit(self, kind: str, instance: int) -> Edited:
        return Edited(("a.py",), 5, self._do(f"{kind} {instance}"))


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    written = History(tmp_path / "history.jsonl")
    yield written
    written.close()


def begun(text: str, history: History) -> tuple[Acts, Ground]:
    ground = Ground()
    acts = Acts(ground, history)  # type: ignore[arg-type]
    acts.begin(parse(text), Life(0, 9.0))
    return acts, ground


@pytest.mark.parametrize(
    ("text", "done", "due_s"),
    [
        ("request:1 service:valkey:KILL", ["kill valkey", "start valkey"], None),
        ("request:1 service:valkey:KILL+START@3", ["kill valkey"], 14.0),
        ("request:1 reload:touch", ["touch 0"], None),
        ("request:1 reload:change instance=1", ["change 1"], None),
        ("request:1 reload:broken", ["broken 0"], 13.0),
        ("request:1 reload:touch+whitespace@0.5", ["touch 0"], 11.5),
    ],
)
def test_first_step_is_taken_at_once_and_the_next_has_its_second(
    text: str, done: list[str], due_s: float | None, history: History
) -> None:
    acts, ground = begun(text, history)
    assert (ground.done, acts.due_s) == (done, due_s)


def test_second_step_belongs_to_whatever_incarnation_runs_then(history: History, tmp_path: Path) -> None:
    acts, ground = begun("request:1 service:valkey:KILL+START@3", history)
    acts.go_on(Life(4, 20.0))
    assert (ground.done, acts.due_s) == (["kill valkey", "start valkey"], None)
    assert [(one["action"], one["incarnation"], one["pid"]) for one in read(tmp_path / "history.jsonl")] == [
        ("KILL", 0, 7),
        ("START", 4, 8),
    ]


def test_what_is_under_way_at_the_end_is_finished_and_only_that(history: History) -> None:
    acts, ground = begun("request:1 reload:broken", history)
    acts.finish(Life(1, 11.0))
    acts.finish(Life(1, 11.0))
    assert ground.done == ["broken 0", "mended 0"]


def test_changes_alone_are_revisions(history: History) -> None:
    acts, _ = begun("request:1 reload:change+touch@1 instance=2", history)
    acts.go_on(Life(0, 9.0))
    assert acts.revisions == [Revision(2, 5, 11.0)]
