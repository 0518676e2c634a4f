"""Failing calls, limits of memory and moved clocks in a simulated trial; which calls they are; points of explore."""

from pathlib import Path

import pytest
from evidence_builder import request
from killtest.call_errors import error_point
from killtest.conduct.history import read
from killtest.plan.hardship import fails
from killtest.process import memory_cgroup
from killtest.trace.failing import Failing
from killtest.trace.step import Step
from simulation import Script, World
from test_conductor import conduct


def test_calls_fail_from_a_request_on_and_the_subjects_death_is_its_own(tmp_path: Path) -> None:
    world = World([Script(code=1, said="no space left"), Script()])
    course = conduct(world, "request:5 enospc*2", tmp_path=tmp_path)
    assert world.calls[0] == "fail enospc 2"
    assert [(one.exit, one.ended_by) for one in course.incarnations] == [(1, "itself"), (0, "itself")]
    assert course.self_deaths == 1
    (fault,) = course.faults
    assert (fault.planned, fault.status, fault.incarnation) == ("request:5 enospc*2", "struck", 0)
    (errors,) = course.errors
    assert (errors.incarnation, errors.errno, errors.calls, errors.call) == (0, "ENOSPC", 4, "write")
    assert (errors.said, errors.names) == ("no space left\n", ("write", "fsync"))
    told = [entry for entry in read(tmp_path / "history.jsonl") if entry["event"] == "calls_failed"]
    assert [(entry["incarnation"], entry["calls"]) for entry in told] == [(0, 4)]


def test_next_fault_is_armed_in_the_same_incarnation(tmp_path: Path) -> None:
    course = conduct(World([Script(pages=20)]), "request:5 eio", "request:9 KILL", tmp_path=tmp_path)
    assert [one.status for one in course.faults] == ["struck", "struck"]
    assert [one.incarnation for one in course.faults] == [0, 0]
    assert [one.ended_by for one in course.incarnations] == ["fault", "itself"]


def test_second_error_of_an_incarnation_is_counted_apart(tmp_path: Path) -> None:
    course = conduct(World([Script(pages=20)]), "request:5 eio*1", "request:9 enospc", tmp_path=tmp_path)
    assert [(one.errno, one.incarnation) for one in course.errors] == [("EIO", 0), ("ENOSPC", 0)]


def test_limit_of_memory_holds_from_the_start_where_it_has_no_trigger(tmp_path: Path) -> None:
    world = World([Script()])
    course = conduct(world, "memory:64M", tmp_path=tmp_path)
    assert world.calls[0] == f"limit {64 << 20}"
    assert [one.status for one in course.faults] == ["not_reached"]  # nobody was killed for it


def test_clock_is_moved_and_ends_nobody(tmp_path: Path) -> None:
    world = World([Script(pages=20)])
    course = conduct(world, "request:5 clock:-3600", "request:9 clock:+1.5, KILL", tmp_path=tmp_path)
    assert [call for call in world.calls if call.startswith("clock")] == ["clock -3600", "clock +1.5"]
    assert [one.ended_by for one in course.incarnations] == ["fault", "itself"]
    assert [one.incarnation for one in course.faults] == [0, 0]


@pytest.mark.parametrize(
    ("kind", "call", "expected"),
    [
        ("enospc", "pwrite64", True),
        ("enospc", "openat", True),
        ("enospc", "mkdir", True),
        ("enospc", "rename", True),
        ("enospc", "fsync", True),
        ("enospc", "fallocate", True),
        ("enospc", "unlink", False),
        ("enospc", "rmdir", False),
        ("eio", "unlink", True),
        ("eio", "ftruncate", True),
        ("eio", "mmap", False),
        ("eio", "bind", False),
    ],
)
def test_only_calls_fail_that_can(kind: str, call: str, expected: bool) -> None:
    assert fails(kind, call) is expected


def step(effect: str, path: str = "a", k: int = 1, **facts: object) -> Step:
    call = {"create": "openat", "truncate": "ftruncate", "sync": "fsync"}.get(effect, effect)
    return Step(k, k, float(k), 1, call, effect, path, **facts)  # type: ignore[arg-type]


def test_opening_and_cutting_a_file_that_is_there_wants_no_space(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    failing = Failing("enospc", None)
    told = [
        failing.error_of(one, str(tmp_path))
        for one in (
            step("create"),
            step("create", "new"),
            step("truncate", size=4),
            step("truncate", size=9),
            step("unlink"),
        )
    ]
    assert told == [0, 28, 0, 28, 0]
    assert (failing.calls, failing.names) == (2, ["openat", "ftruncate"])
    assert [Failing("eio", None).error_of(one, str(tmp_path)) for one in (step("create"), step("unlink"))] == [5, 5]


def test_so_many_calls_fail_and_no_more(tmp_path: Path) -> None:
    failing = Failing("eio", 2)
    assert [failing.error_of(step("write"), str(tmp_path)) for _ in range(4)] == [5, 5, 0, 0]
    assert failing.calls == 2


def test_error_points_are_the_steps_that_can_fail_each_four_times() -> None:
    steps = [
        step("create", k=1, flags=0o101),
        step("write", k=2, offset=0, data=b"x"),
        step("create", k=3, flags=0o101),
        step("unlink", k=4),
    ]
    found = error_point.points(steps, [request(2, "/product/7", arrived_s=1.5)], {})
    assert [one.fault for one in found[:4]] == [
        "syscall:openat#1 enospc*1",
        "syscall:openat#1 enospc",
        "syscall:openat#1 eio*1",
        "syscall:openat#1 eio",
    ]
    assert [one.step.k for one in found] == [1] * 4 + [2] * 4 + [3] * 2 + [4] * 2
    assert [one.what for one in found[::4]] == [
        "openat a, start-up",
        "write a, after /product/N",
        "openat a, after /product/N",
    ]


def test_of_a_kind_the_first_the_middle_and_the_last_are_chosen() -> None:
    steps = [step("write", k=k, offset=0, data=b"x") for k in range(1, 12)]
    found = error_point.points(steps, [], {})
    assert len(found) == 44
    once = [one.step.k for one in error_point.chosen(found) if one.row == ("EIO", "once")]
    assert once == [1, 6, 11]
    assert len(error_point.chosen(found)) == 12


def test_cgroup_of_a_harness_that_lives_is_not_taken_for_left_behind() -> None:
    import os

    own = memory_cgroup.name_of(os.getpid(), "x")
    assert not memory_cgroup._is_left_behind(own)
    words = own.split("-")
    assert memory_cgroup._is_left_behind("-".join([*words[:3], "1", "x"]))  # the pid is another's now
    assert not memory_cgroup._is_left_behind("-".join([words[0], "7", *words[2:3], "1", "x"]))  # of another namespace
    assert not memory_cgroup._is_left_behind("killtest-mine")
