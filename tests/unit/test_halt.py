"""Halt: what began under it is ended, nothing begins afterwards; and the bar bears several trials at once."""

import io
import signal
import threading

import pytest
from killtest.campaigns.progress import Bar, Pace
from killtest.halt import Halt, Halted
from killtest.plan.campaign import Planned
from killtest.plan.manifest import StoreNeeds, Subject
from killtest.plan.schedule import Schedule
from ledger_lines import trial
from rich.console import Console
from rich.progress import Progress, TextColumn


def test_call_ends_what_is_inside_and_nothing_that_has_left() -> None:
    halt, ended = Halt(), []
    with halt.ends(lambda: ended.append("left")):
        pass
    with halt.ends(lambda: ended.append("inside")):
        halt.check()
        halt.call()
    assert ended == ["inside"]


def test_nothing_begins_after_the_call() -> None:
    halt = Halt()
    halt.call()
    with pytest.raises(Halted):
        halt.check()
    with pytest.raises(Halted), halt.ends(lambda: None):
        pytest.fail("it began")


def test_ctrl_c_while_threads_are_started_leaves_none_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    halt, start, started = Halt(), threading.Thread.start, []

    def interrupted(thread: threading.Thread) -> None:
        signal.raise_signal(signal.SIGINT)
        start(thread)
        started.append(thread)

    def work() -> None:
        ended = threading.Event()
        with halt.ends(ended.set):
            ended.wait()
        halt.check()

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt), halt.side_by_side(2, [work, work]):
        pytest.fail("it is heard when the threads are there, and no later")
    assert [thread.is_alive() for thread in started] == [False, False]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_halted_is_not_taken_for_a_failure_of_ours() -> None:
    assert not issubclass(Halted, Exception)


def test_bar_tells_several_trials_apart() -> None:
    now_s = iter([0.0, 1.0, 10.0, 11.0])
    pace, out = Pace(lambda: next(now_s)), io.StringIO()
    progress = Progress(TextColumn("{task.fields[what]}{task.fields[left]}"), console=Console(file=out))
    bar = Bar(progress, pace)
    who = Subject("naive", ("x",), StoreNeeds("jsonl", "o", key="k"))
    one, two = (Planned(who, Schedule(f"start-KILL-{n}")) for n in (1, 2))
    bar.campaign_began([one, two, *(Planned(who, Schedule(f"later-{n}")) for n in (1, 2))], set())
    bar.trial_began(one)
    bar.trial_began(two)
    bar.heard(one.id, {"event": "struck"})
    bar.heard(two.id, {"event": "ended", "rows": 3, "requests": 4})
    (task,) = progress.tasks
    assert task.fields["what"] == "naive--start-KILL-2 and 1 more  incarnation 0 kills 0 rows 3 requests 4"
    bar.trial_ended(trial(number=2))
    bar.heard(one.id, {"event": "struck"})
    assert task.fields["what"] == "naive--start-KILL-1  incarnation 0 kills 2 rows 0 requests 0"
    assert pace.left_s() == pytest.approx(9 * 3 / 2)
    bar.trial_ended(trial(number=1))
    assert task.completed == 2
