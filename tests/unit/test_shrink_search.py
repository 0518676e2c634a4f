"""The search behind `killtest shrink`, against simulated runs: no processes."""

import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from killtest.plan.fault_text import parse
from killtest.shrink.budget import NOISY, ONCE, Budget, Rule
from killtest.shrink.hit import Hit
from killtest.shrink.search import Faults, Seen, Shrunk, shrink
from killtest.shrink.simpler import simpler

PATHS = ("/list/0", "/product/1", "/product/2", "/product/3", "/list/1", "/product/4")
WAITING, ANSWERED, START_UP = Hit(PATHS, open=6), Hit(PATHS), Hit()


def faults_of(*texts: str) -> Faults:
    return tuple(parse(text) for text in texts)


class World:
    """Runs schedules: `fails` says which give the findings; every fault hits `hit` where it is not told otherwise."""

    def __init__(self, fails: Callable[[list[str]], bool], hit: Hit | None = WAITING) -> None:
        self.fails = fails
        self.hit = hit
        self.tried: list[list[str]] = []

    def __call__(self, faults: Faults) -> Seen:
        self.tried.append([fault.text for fault in faults])
        return Seen(self.fails(self.tried[-1]), tuple(self.hit for _ in faults))


def shrunk(
    world: World, *texts: str, hits: tuple[Hit | None, ...] = (), runs: int = 500, rule: Rule | None = None
) -> Shrunk:
    begun = hits or (world.hit,) * len(texts)
    return shrink(faults_of(*texts), begun, world, Budget(runs, 1e9, lambda: 0.0), rule)


def left(found: Shrunk) -> list[str]:
    assert found.faults is not None
    return [fault.text for fault in found.faults]


def test_ten_timed_kills_come_down_to_the_one_that_matters() -> None:
    texts = [f"after:0.0{n} KILL" for n in range(1, 10)]
    texts.insert(4, "first+0.3 KILL")
    hits = tuple(START_UP if text.startswith("after") else WAITING for text in texts)
    world = World(lambda tried: "request:6 KILL" in tried or tried[-1:] == ["request:/product/4 KILL"])
    found = shrunk(world, *texts, hits=hits)
    assert left(found) == ["request:/product/4 KILL"]
    assert found.is_complete
    assert found.rule == ONCE
    assert world.tried[0] == ["request:6 KILL"], "what struck before the first request is left out at once"


def test_a_start_up_kill_that_matters_stays_on_its_timer() -> None:
    world = World(lambda tried: "after:0.01 KILL" in tried, hit=START_UP)
    found = shrunk(world, "after:0.01 KILL", "request:6 KILL", hits=(START_UP, WAITING))
    assert left(found) == ["after:0.01 KILL"]
    assert found.rule == NOISY


def test_start_up_kills_are_tried_beside_requests_before_all_the_timers() -> None:
    world = World(lambda tried: "after:0.01 KILL" in tried)
    shrunk(world, "after:0.01 KILL", "first+0.5 KILL", hits=(START_UP, WAITING))
    assert world.tried[:3] == [["request:6 KILL"], ["response:6 KILL"], ["after:0.01 KILL", "request:6 KILL"]]


def test_a_timer_between_two_requests_becomes_the_response_before_or_the_request_behind() -> None:
    for fact in ("response:6 KILL", "request:7 KILL"):
        world = World(lambda tried, fact=fact: tried == [fact], ANSWERED)
        assert left(shrunk(world, "after:0.5 KILL")) == [fact]


def test_a_timer_is_tried_at_its_request_again_once_others_are_gone() -> None:
    """Two timers that only together can't be moved: the one that matters is moved when it is alone."""
    world = World(lambda tried: tried in (["after:0.5 KILL", "after:0.6 KILL"], ["after:0.6 KILL"], ["request:6 KILL"]))
    assert left(shrunk(world, "after:0.5 KILL", "after:0.6 KILL")) == ["request:6 KILL"]


def test_a_timer_is_kept_when_no_request_does_as_well() -> None:
    world = World(lambda tried: tried == ["first+0.25 KILL"])
    assert left(shrunk(world, "first+0.25 KILL")) == ["first+0.25 KILL"]
    assert ["request:6 KILL"] in world.tried
    assert ["response:6 KILL"] in world.tried
    assert world.tried.count(["request:6 KILL"]) == 1, "a schedule is not tried twice"


def test_what_was_not_reached_is_left_out() -> None:
    world = World(lambda tried: "request:3 KILL" in tried)
    assert left(shrunk(world, "request:3 KILL", "request:99 KILL", hits=(WAITING, None))) == ["request:3 KILL"]
    assert world.tried[0] == ["request:3 KILL"]


def test_clock_and_oom_become_simpler() -> None:
    forms = [one.text for one in simpler(parse("request:5 bump:/product/6, clock:+60, oom"))]
    assert forms == [
        "request:5 clock:+60, oom",
        "request:5 bump:/product/6, oom",
        "request:5 bump:/product/6, clock:+60, KILL",
    ]
    assert [one.text for one in simpler(parse("request:5 clock:+60"))] == []


def test_triggers_and_actions_become_simpler() -> None:
    world = World(lambda tried: len(tried) == 1, hit=None)
    assert left(shrunk(world, "2/request:40 bump:/product/6, TERM+KILL@2 scope=tree", hits=(WAITING,))) == [
        "request:1 TERM"
    ]


def test_numbers_stop_where_the_findings_do() -> None:
    def from_five(tried: list[str]) -> bool:
        return tried[0].startswith("request:") and parse(tried[0]).trigger.n >= 5

    assert left(shrunk(World(from_five, hit=None), "request:40 KILL", hits=(WAITING,))) == ["request:5 KILL"]


@pytest.mark.parametrize(("number", "wanted"), [(525, 188), (188, 188), (3, 3), (2, 2), (1, 1), (400, 1), (400, 2)])
def test_the_earliest_request_is_found_by_bisection(number: int, wanted: int) -> None:
    world = World(lambda tried: wanted <= parse(tried[0]).trigger.n, hit=None)
    assert left(shrunk(world, f"request:{number} KILL", hits=(WAITING,))) == [f"request:{wanted} KILL"]
    assert len(world.tried) <= 14


def test_a_page_is_named_with_its_count_and_only_if_that_does_as_well() -> None:
    twice = Hit((*PATHS, "/product/3"), open=7)
    assert left(
        shrunk(World(lambda tried: tried[0] in ("request:7 INT", "request:/product/3#2 INT"), twice), "request:7 INT")
    ) == ["request:/product/3#2 INT"]
    assert left(shrunk(World(lambda tried: tried[0] == "request:7 INT", twice), "request:7 INT")) == ["request:7 INT"]


def test_findings_that_do_not_come_again_shrink_to_nothing() -> None:
    world = World(lambda tried: False)
    found = shrunk(world, "after:0.5 KILL", "request:3 KILL")
    assert (found.faults, found.is_complete) == (None, True)


def test_noisy_schedules_need_two_of_three_runs() -> None:
    answers = iter([True, False, True])
    world = World(lambda tried: next(answers, False), hit=START_UP)
    found = shrunk(world, "after:0.5 KILL")
    assert (left(found), found.rule, len(world.tried)) == (["after:0.5 KILL"], NOISY, 3)
    answers = iter([True, False, False])
    assert shrunk(World(lambda tried: next(answers, False), hit=START_UP), "after:0.5 KILL").faults is None


def test_no_run_is_made_that_can_not_turn_the_vote() -> None:
    world = World(lambda tried: False, hit=START_UP)
    shrunk(world, "after:0.5 KILL", rule=Rule(3, 4))
    assert len(world.tried) == 2


def test_the_rule_can_be_given_for_facts_too() -> None:
    world = World(lambda tried: True, hit=None)
    found = shrunk(world, "request:1 KILL", hits=(WAITING,), rule=Rule(3, 3))
    assert (found.rule, len(world.tried)) == (Rule(3, 3), 3)


def test_seconds_end_the_search_as_runs_do() -> None:
    ticks = iter(range(100))
    world = World(lambda tried: parse(tried[0]).trigger.n >= 20, hit=None)
    found = shrink(faults_of("request:40 KILL"), (WAITING,), world, Budget(100, 3, lambda: float(next(ticks))))
    assert (left(found), found.is_complete, len(world.tried)) == (["request:40 KILL"], False, 2)


def chance(salt: int) -> Callable[[list[str]], bool]:
    """A third of all schedules fails, more of one is not worse: the least kind world there is."""
    return lambda tried: zlib.crc32(f"{salt} {tried}".encode()) % 3 == 0


TEXTS = st.lists(
    st.builds(
        "{}:{} {}".format, st.sampled_from(["request", "response"]), st.integers(1, 9), st.sampled_from(["KILL", "INT"])
    ),
    min_size=1,
    max_size=8,
)


@given(TEXTS, st.integers(0, 999), st.integers(1, 300))
def test_the_result_fails_is_1_minimal_when_complete_and_never_costs_more_than_the_budget(
    texts: list[str], salt: int, runs: int
) -> None:
    begun = [fault.text for fault in faults_of(*texts)]
    fails = chance(salt)
    world = World(lambda tried: tried == begun or fails(tried), hit=None)
    found = shrunk(world, *texts, hits=(START_UP,) * len(texts), runs=runs)
    assert len(world.tried) <= runs
    assert len({tuple(tried) for tried in world.tried}) == len(world.tried)
    result = left(found)
    assert world.fails(result)
    if found.is_complete:
        rests = [result[:i] + result[i + 1 :] for i in range(len(result))]
        assert not any(world.fails(rest) for rest in rests if rest)


def test_the_hits_of_the_best_schedule_name_its_pages() -> None:
    """Without the kill before it, the same number is another page: the name comes from the run that was last."""

    class Shifting(World):
        def __call__(self, faults: Faults) -> Seen:
            seen = super().__call__(faults)
            paths = ("/list/0", "/product/9") if len(faults) == 1 else PATHS
            return Seen(seen.same, tuple(Hit(paths, open=2) for _ in faults))

    world = Shifting(lambda tried: tried[-1] in ("request:2 KILL", "request:/product/9 KILL"))
    assert left(shrunk(world, "request:6 INT", "request:2 KILL")) == ["request:/product/9 KILL"]
