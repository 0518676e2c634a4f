"""The conductor on a simulated stage: no process, no waiting, a clock that jumps."""

from pathlib import Path

import pytest
from killtest.conduct.conductor import Conductor, Starts
from killtest.conduct.history import History, read
from killtest.errors import HarnessFailure
from killtest.judge.evidence import Course
from killtest.plan.fault_text import parse
from killtest.plan.manifest import Limits
from killtest.process.launcher import Order
from killtest.process.socket_owner import Ends
from killtest.store.snapshot import Snapshot
from simulation import Script, World

DEFAULTS = Limits()


def conduct(world: World, *faults: str, tmp_path: Path, limits: Limits = DEFAULTS, again: int = 0) -> Course:
    history = History(tmp_path / "history.jsonl", clock=world.now)
    try:
        course = Conductor([parse(text) for text in faults], limits, world, history, Starts(again=again)).run()
    finally:
        history.close()
    assert not world.frozen, "the site was left frozen"
    return course


def test_without_faults_one_incarnation_runs_to_its_end(tmp_path: Path) -> None:
    course = conduct(World([Script()]), tmp_path=tmp_path)
    assert course.ending == "finished"
    assert [(one.exit, one.ended_by) for one in course.incarnations] == [(0, "itself")]


def test_each_fault_strikes_one_incarnation_and_the_last_runs_undisturbed(tmp_path: Path) -> None:
    world = World([Script(pages=50)])
    course = conduct(world, "request:5 KILL", "request:7 INT", tmp_path=tmp_path)
    assert [one.ended_by for one in course.incarnations] == ["fault", "fault", "itself"]
    assert world.signals == [(0, "KILL", "tree"), (1, "INT", "group")]
    assert [fault.in_flight for fault in course.faults] == [("/product/5",), ("/product/7",)]
    assert [fault.window for fault in course.faults] == ["waiting", "waiting"]


def test_timer_counts_from_the_start_or_from_the_first_request(tmp_path: Path) -> None:
    world = World([Script(pages=100, start_s=0.5)])
    course = conduct(world, "after:0.7 KILL", "first+0.3 KILL", tmp_path=tmp_path)
    assert [round(fault.struck_s or 0, 3) for fault in course.faults] == [0.7, 0.8]
    assert [round(fault.since_first_request_s or 0, 3) for fault in course.faults] == [0.2, 0.3]


def test_kill_before_the_first_request_is_called_that(tmp_path: Path) -> None:
    course = conduct(World([Script(start_s=0.5)]), "after:0.2 KILL", tmp_path=tmp_path)
    assert course.faults[0].status == "before_first_request"
    assert course.faults[0].window == "start-up"


def test_fault_on_a_subject_that_finished_first_is_not_reached(tmp_path: Path) -> None:
    course = conduct(World([Script(pages=3)]), "request:5 KILL", "after:9 KILL", tmp_path=tmp_path)
    assert [fault.status for fault in course.faults] == ["not_reached", "not_reached"]
    assert course.ending == "finished"


def test_exit_code_0_after_a_planned_signal_is_followed_by_the_next_incarnation(tmp_path: Path) -> None:
    world = World([Script(pages=50, polite_code=0), Script(pages=2)])
    course = conduct(world, "request:5 INT", tmp_path=tmp_path)
    assert [(one.exit, one.ended_by) for one in course.incarnations] == [(0, "fault"), (0, "itself")]


def test_polite_signal_without_effect_is_escalated_after_the_grace_time(tmp_path: Path) -> None:
    world = World([Script(pages=5, hangs=True, on_polite=None), Script()])
    course = conduct(world, "request:5 TERM", tmp_path=tmp_path, limits=Limits(grace_s=3))
    assert world.signals == [(0, "TERM", "pid"), (0, "KILL", "tree")]
    assert course.faults[0].status == "escalated"
    assert course.incarnations[0].ended_s - course.incarnations[0].started_s == pytest.approx(3.14, abs=0.02)


def test_sequence_sends_its_second_signal_after_its_delay(tmp_path: Path) -> None:
    world = World([Script(pages=5, hangs=True, on_polite=None), Script()])
    course = conduct(world, "request:5 TERM+KILL@2", tmp_path=tmp_path)
    assert [signal for _, signal, _ in world.signals] == ["TERM", "KILL"]
    assert course.faults[0].status == "struck"


def test_fault_pinned_to_an_incarnation_waits_for_it(tmp_path: Path) -> None:
    world = World([Script(code=1), Script(code=1), Script()])
    conduct(world, "2/request:5 KILL", tmp_path=tmp_path)
    assert world.signals == [(2, "KILL", "tree")]


def test_fault_pinned_to_a_past_incarnation_is_not_reached(tmp_path: Path) -> None:
    course = conduct(World([Script()]), "request:5 KILL", "0/request:7 KILL", tmp_path=tmp_path)
    assert [fault.status for fault in course.faults] == ["struck", "not_reached"]


def test_own_death_is_restarted_and_the_fault_waits_for_the_next_incarnation(tmp_path: Path) -> None:
    world = World([Script(pages=3, code=1), Script(pages=9)])
    course = conduct(world, "request:5 KILL", tmp_path=tmp_path)
    assert course.self_deaths == 1
    assert world.signals == [(1, "KILL", "tree")]


@pytest.mark.parametrize(("pages", "ending"), [(0, "refused_start"), (3, "crash_loop")])
def test_subject_that_always_dies_is_given_up(pages: int, ending: str, tmp_path: Path) -> None:
    course = conduct(World([Script(pages=pages, code=1)]), tmp_path=tmp_path, limits=Limits(restarts=2))
    assert course.ending == ending
    assert len(course.incarnations) == 3


def test_silence_is_hung_and_endless_requests_are_out_of_time(tmp_path: Path) -> None:
    hung = conduct(World([Script(pages=3, hangs=True)]), tmp_path=tmp_path, limits=Limits(idle_s=5))
    assert hung.ending == "hung"
    busy = World([Script(pages=100_000, every_s=0.01)])
    assert conduct(busy, tmp_path=tmp_path, limits=Limits(total_s=20)).ending == "out_of_time"


def test_waiting_shorter_than_the_idle_limit_is_no_hang(tmp_path: Path) -> None:
    world = World([Script(pages=3, every_s=4.0)])
    assert conduct(world, tmp_path=tmp_path, limits=Limits(idle_s=5)).ending == "finished"


def test_again_starts_follow_a_finished_trial_and_no_other(tmp_path: Path) -> None:
    course = conduct(World([Script()]), tmp_path=tmp_path, again=2)
    assert [one.is_again for one in course.incarnations] == [False, True, True]
    hung = conduct(World([Script(hangs=True)]), tmp_path=tmp_path, again=2)
    assert len(hung.incarnations) == 1


def test_store_that_cannot_be_read_at_the_end_is_an_ending(tmp_path: Path) -> None:
    world = World([Script()], snapshots=lambda number: Snapshot(number, error="not a database"))
    assert conduct(world, tmp_path=tmp_path).ending == "unreadable_store"


def test_orphans_are_counted_when_the_trial_ends(tmp_path: Path) -> None:
    course = conduct(World([Script(orphans=("sleep 600",))]), tmp_path=tmp_path)
    assert [face.command for face in course.orphans] == ["sleep 600"]


def test_site_that_dies_is_our_failure(tmp_path: Path) -> None:
    world = World([Script()])
    world.start = lambda order: world._queue.append((100.0, {"event": "site_exit", "code": 1})) or 100.0  # type: ignore[method-assign, func-returns-value]
    with pytest.raises(HarnessFailure, match="the site ended with 1 in incarnation 0"):
        conduct(world, tmp_path=tmp_path)


def test_first_request_that_is_heard_of_after_the_exit_still_counts(tmp_path: Path) -> None:
    world = World([Script(pages=1, every_s=0.0, code=1)])
    world.late_site = True
    course = conduct(world, tmp_path=tmp_path, limits=Limits(restarts=0))
    assert course.incarnations[0].first_request_s is not None
    assert course.ending == "crash_loop"


def test_trigger_that_comes_due_after_the_exit_is_let_go(tmp_path: Path) -> None:
    world = World([Script(pages=3, every_s=0.0, code=1), Script(pages=9)])
    world.late_site = True
    course = conduct(world, "request:3 KILL", tmp_path=tmp_path)
    assert world.signals == [(1, "KILL", "tree")]
    assert [fault.status for fault in course.faults] == ["struck"]


def test_trigger_of_an_older_incarnation_strikes_nobody(tmp_path: Path) -> None:
    world = World([Script(pages=3, code=1), Script(pages=9, every_s=1.0)])
    stale = {"event": "due", "n": 5, "path": "/product/5", "open": [], "incarnation": 0}
    # An orphan of incarnation 0 trips the trigger 50 ms after incarnation 1 has begun.
    start = world.start

    def start_with_stale_due(order: Order) -> float:
        if order.incarnation == 1:
            world._queue.append((world.clock_s + 0.05, dict(stale)))
        return start(order)

    world.start = start_with_stale_due  # type: ignore[method-assign]
    course = conduct(world, "request:5 KILL", tmp_path=tmp_path)
    assert world.signals == [(1, "KILL", "tree")]
    assert (course.faults[0].due_s or 0) > 1


def test_site_trigger_is_armed_before_the_subject_starts(tmp_path: Path) -> None:
    world = World([Script(pages=9)])
    armed: list[bool] = []
    start = world.start
    world.start = lambda order: armed.append(world._armed is not None) or start(order)  # type: ignore[method-assign, func-returns-value]
    conduct(world, "request:1 KILL", tmp_path=tmp_path)
    assert armed == [True, False]


def test_ignored_signal_ends_nothing(tmp_path: Path) -> None:
    world = World([Script(pages=9, on_polite=None)])
    world.ignores = True
    course = conduct(world, "request:5 INT", tmp_path=tmp_path)
    assert course.ending == "finished"
    assert [one.ended_by for one in course.incarnations] == ["itself"]


def test_store_is_read_behind_the_fence_and_while_orphans_are_stopped(tmp_path: Path) -> None:
    world = World([Script(orphans=("sleep 600",))])
    conduct(world, tmp_path=tmp_path)
    assert world.calls[:5] == ["fence", "census", "hold_still", "snapshot", "go_on"]


def test_page_that_the_site_owes_is_no_hang_of_the_subject(tmp_path: Path) -> None:
    world = World([Script(pages=3, hangs=True)], slow_page=True)
    assert conduct(world, tmp_path=tmp_path, limits=Limits(idle_s=5, total_s=60)).ending == "out_of_time"


def test_unreadable_store_counts_at_the_end_of_the_trial_not_of_an_again_start(tmp_path: Path) -> None:
    for broken, ending in ((0, "unreadable_store"), (1, "finished")):
        world = World([Script()], snapshots=lambda n, at=broken: Snapshot(n, error="torn" if n == at else None))
        assert conduct(world, tmp_path=tmp_path, again=1).ending == ending


def test_history_tells_due_struck_and_what_was_in_flight(tmp_path: Path) -> None:
    conduct(World([Script(pages=9)]), "request:5 KILL", tmp_path=tmp_path)
    entries = {entry["event"]: entry for entry in read(tmp_path / "history.jsonl")}
    assert entries["due"]["path"] == "/product/5"
    assert entries["struck"]["in_flight"] == ["/product/5"]
    assert entries["trial_ended"]["ending"] == "finished"


def test_pause_ends_nothing_and_the_next_fault_comes_in_the_same_incarnation(tmp_path: Path) -> None:
    world = World([Script(pages=20)])
    course = conduct(world, "request:5 STOP+CONT@2", "request:9 KILL", tmp_path=tmp_path)
    assert world.signals == [(0, "STOP", "tree"), (0, "CONT", "tree"), (0, "KILL", "tree")]
    assert [(one.exit, one.ended_by) for one in course.incarnations] == [(-9, "fault"), (0, "itself")]
    assert [fault.status for fault in course.faults] == ["struck", "struck"]
    assert (course.faults[1].struck_s or 0) - (course.faults[0].struck_s or 0) > 2


def test_subject_that_we_paused_is_resumed_and_not_called_hung(tmp_path: Path) -> None:
    world = World([Script(pages=20)])
    course = conduct(world, "request:5 STOP", tmp_path=tmp_path, limits=Limits(idle_s=3))
    assert course.ending == "finished"
    assert [entry["for_s"] >= 3 for entry in read(tmp_path / "history.jsonl") if entry["event"] == "resumed"] == [True]


def test_pause_longer_than_the_idle_limit_is_kept(tmp_path: Path) -> None:
    world = World([Script(pages=20)])
    conduct(world, "request:5 STOP+CONT@8", tmp_path=tmp_path, limits=Limits(idle_s=3))
    told = read(tmp_path / "history.jsonl")
    stopped, resumed = [entry["t_s"] for entry in told if entry["event"] == "struck"]
    assert resumed - stopped >= 8
    assert not [entry for entry in told if entry["event"] == "resumed"]


def test_cont_that_finds_nobody_paused_is_not_reached_and_the_next_fault_follows(tmp_path: Path) -> None:
    course = conduct(World([Script(pages=20)]), "request:5 CONT", "request:7 KILL", tmp_path=tmp_path)
    assert [fault.status for fault in course.faults] == ["not_reached", "struck"]
    assert len(course.incarnations) == 2


def test_bump_alone_ends_nothing_and_needs_nobody(tmp_path: Path) -> None:
    world = World([Script(pages=20)])
    course = conduct(world, "request:5 bump:/product/5", "request:7 bump:/product/5, KILL", tmp_path=tmp_path)
    assert world.versions == {"/product/5": 2}
    assert world.signals == [(0, "KILL", "tree")]
    assert [fault.status for fault in course.faults] == ["struck", "struck"]
    bumped = [entry for entry in read(tmp_path / "history.jsonl") if entry["event"] == "bumped"]
    assert [(entry["path"], entry["version"]) for entry in bumped] == [("/product/5", 1), ("/product/5", 2)]


def test_mark_strikes_at_its_announcement_with_the_site_frozen(tmp_path: Path) -> None:
    world = World([Script(pages=20)])
    course = conduct(world, "mark:stored#3 KILL", "mark:stored KILL", tmp_path=tmp_path)
    assert [round(fault.struck_s or 0, 3) for fault in course.faults] == [0.125, 0.105]
    assert world.calls.count("release_mark") == 2


def test_mark_that_comes_due_after_the_exit_is_let_go(tmp_path: Path) -> None:
    world = World([Script(pages=3)], late_site=True)
    course = conduct(world, "0/mark:stored#3 KILL", tmp_path=tmp_path)
    assert course.faults[0].status == "not_reached"
    assert "waits at mark" in world.calls


def test_rows_are_looked_at_while_a_request_is_held_until_there_are_enough(tmp_path: Path) -> None:
    world = World([Script(pages=20)])
    course = conduct(world, "rows:6 KILL", tmp_path=tmp_path)
    assert course.faults[0].in_flight == ("/product/6",)
    assert course.faults[0].status == "struck"


def test_more_rows_than_there_will_be_are_not_reached(tmp_path: Path) -> None:
    course = conduct(World([Script(pages=20)]), "rows:60 KILL", tmp_path=tmp_path)
    assert course.faults[0].status == "not_reached"
    assert course.ending == "finished"


def test_owner_is_whose_request_it_is_and_its_death_is_not_the_planned_end_of_the_subject(tmp_path: Path) -> None:
    world = World([Script(pages=20, worker_code=0)])
    course = conduct(world, "request:5 KILL scope=owner", tmp_path=tmp_path)
    assert world.signals == [(0, "KILL", "owner")]
    assert world.ends == [Ends(("127.0.0.1", 4005), ("127.0.0.1", 8000))]
    assert course.ending == "finished"
    assert [(one.exit, one.ended_by) for one in course.incarnations] == [(0, "itself")]


def test_subject_that_ends_with_an_error_because_its_worker_died_is_started_again(tmp_path: Path) -> None:
    world = World([Script(pages=20, worker_code=3), Script(pages=20)])
    course = conduct(world, "request:5 KILL scope=owner", tmp_path=tmp_path)
    assert (course.ending, course.self_deaths) == ("finished", 1)


def test_subject_that_waits_for_its_dead_worker_hangs_and_it_is_said_on_what(tmp_path: Path) -> None:
    world = World([Script(pages=20, hangs=True)])
    course = conduct(world, "request:5 KILL scope=owner", tmp_path=tmp_path, limits=Limits(idle_s=3))
    assert (course.ending, course.hung_on) == ("hung", ("7 subject: waiting for a lock (futex)",))


def test_two_faults_of_one_incarnation_each_get_their_turn_while_others_live(tmp_path: Path) -> None:
    world = World([Script(pages=20)])
    faults = ("request:5 KILL scope=owner", "request:7 STOP scope=owner", "request:9 bump:/product/1")
    course = conduct(world, *faults, tmp_path=tmp_path, limits=Limits(idle_s=2))
    assert [(fault.incarnation, fault.status) for fault in course.faults] == [
        (0, "struck"),
        (0, "struck"),
        (0, "struck"),
    ]


def test_processes_left_behind_are_named_to_the_site_before_the_next_incarnation(tmp_path: Path) -> None:
    world = World([Script(pages=20, orphans=("worker",)), Script(pages=20)])
    conduct(world, "request:5 KILL", tmp_path=tmp_path)
    assert world.elders_named == [0, 1]


def test_again_start_has_a_time_limit_of_its_own(tmp_path: Path) -> None:
    world = World([Script(pages=6, every_s=1.0)])
    course = conduct(world, tmp_path=tmp_path, limits=Limits(total_s=9), again=2)
    assert [one.ended_by for one in course.incarnations] == ["itself"] * 3
    endless = World([Script(pages=6, every_s=1.0), Script(pages=60, every_s=1.0)])
    course = conduct(endless, tmp_path=tmp_path, limits=Limits(total_s=9), again=1)
    assert (course.ending, course.incarnations[1].ended_by) == ("finished", "limit")


def test_what_again_starts_leave_behind_is_not_the_trials(tmp_path: Path) -> None:
    world = World([Script(), Script(orphans=("daemon",))])
    assert conduct(world, tmp_path=tmp_path, again=1).orphans == ()


def test_sequence_that_ends_a_worker_is_followed_by_the_next_fault_in_the_same_incarnation(tmp_path: Path) -> None:
    world = World([Script(pages=40)])
    faults = ("request:5 TERM+KILL@0.1 scope=owner", "request:30 KILL")
    course = conduct(world, *faults, tmp_path=tmp_path)
    assert [(fault.incarnation, fault.status) for fault in course.faults] == [(0, "struck"), (0, "struck")]


def test_the_fault_behind_a_later_step_is_armed_before_anybody_sees_that_step(tmp_path: Path) -> None:
    world = World([Script(pages=50)])
    faults = ("request:2 service:valkey:KILL+START@0.1", "request:20 KILL")
    course = conduct(world, *faults, tmp_path=tmp_path)
    assert [call for call in world.calls if "valkey" in call] == ["kill valkey", "start valkey"]
    assert [fault.status for fault in course.faults] == ["struck", "struck"]
