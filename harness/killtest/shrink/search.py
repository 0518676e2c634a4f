"""The search for the fewest faults and the simplest triggers: pure, whoever runs a schedule is passed in."""

from collections.abc import Callable

import msgspec

from killtest.plan.fault import Fault
from killtest.shrink.budget import NOISY, ONCE, Budget, Rule, Spent
from killtest.shrink.ddmin import ddmin
from killtest.shrink.hit import Hit, by_path, facts_for
from killtest.shrink.simpler import numbered, simpler

Faults = tuple[Fault, ...]
Hits = tuple[Hit | None, ...]


class Seen(msgspec.Struct, frozen=True):
    """One run of a schedule: whether it gave the findings wanted, and what each fault hit."""

    same: bool
    hits: Hits


class Shrunk(msgspec.Struct, frozen=True):
    """What a search found.

    `faults` is the best schedule that gave the findings, None when none did. `is_complete` is False when the budget
    was used up before nothing simpler was left to try. `rule` is how it was tried.
    """

    faults: Faults | None
    is_complete: bool
    rule: Rule


def shrink(
    faults: Faults, hits: Hits, runner: Callable[[Faults], Seen], budget: Budget, rule: Rule | None = None
) -> Shrunk:
    """Shrink `faults`, which hit `hits`, within the budget; `rule` for every schedule instead of the usual ones."""
    search = _Search(runner, budget, rule)
    is_complete = True
    try:
        search.run(faults, hits)
    except Spent:
        is_complete = False
    return Shrunk(search.best, is_complete, search.rule_for(search.best or faults))


class _Search:
    """`best` is the simplest schedule so far that gave the findings, `hits` what its faults hit."""

    def __init__(self, runner: Callable[[Faults], Seen], budget: Budget, rule: Rule | None) -> None:
        self._runner = runner
        self._budget = budget
        self._rule = rule
        self._tried: dict[Faults, bool] = {}
        self.best: Faults | None = None
        self.hits: Hits = ()

    def rule_for(self, faults: Faults) -> Rule:
        """How often a schedule is run: one with timers more than once."""
        return self._rule or (NOISY if any(fault.trigger.is_timed for fault in faults) else ONCE)

    def run(self, faults: Faults, hits: Hits) -> None:
        """Everything there is to try."""
        if not any(self.holds(one) for one in _beginnings(faults, hits)):
            return
        before = None
        while before != self.best:
            before = self.best
            self._fewest()
            self._timers()
            self._simplest()
        self._paths()

    def holds(self, faults: Faults) -> bool:
        """Whether this schedule gives the findings too; then it is the best from now on."""
        if faults not in self._tried:
            self._tried[faults] = self._try(faults)
        return self._tried[faults]

    def _try(self, faults: Faults) -> bool:
        wanted, most = self.rule_for(faults)
        same = 0
        for done in range(most):
            if same + most - done < wanted:
                return False
            self._budget.take()
            seen = self._runner(faults)
            same += seen.same
            if same == wanted:
                self.best, self.hits = faults, seen.hits
                return True
        return False

    def _fewest(self) -> None:
        ddmin(self._now(), self.holds)

    def _timers(self) -> None:
        """Each timer that is left, at the request it hit."""
        for index in range(len(self._now())):
            # The hits are read anew for each: they are those of the best schedule.
            any(self.holds(self._with(index, fact)) for fact in facts_for(self._now()[index], self._hit(index)))

    def _simplest(self) -> None:
        for index in range(len(self._now())):
            while any(self.holds(self._with(index, one)) for one in simpler(self._now()[index])):
                pass
            self._earliest(index)

    def _earliest(self, index: int) -> None:
        """The smallest number of the trigger: the first two, then by bisection, so that one less does not do.

        A finding is often there at once, or from some number on: when the queue is long enough, the buffer full.
        """
        fault, most = self._now()[index], self._now()[index].trigger.n
        if self._tried.get(self._with(index, numbered(fault, most - 1))) is False:
            return  # found in the round before
        if any(self.holds(self._with(index, numbered(fault, n))) for n in range(1, min(3, most))):
            return
        least = min(2, most - 1)  # does not do
        while most - least > 1:
            middle = (least + most) // 2
            if self.holds(self._with(index, numbered(fault, middle))):
                most = middle
            else:
                least = middle

    def _paths(self) -> None:
        """Pages by their names, which say more than their numbers."""
        for index in range(len(self._now())):
            named = by_path(self._now()[index], self._hit(index))
            if named is not None:
                self.holds(self._with(index, named))

    def _now(self) -> Faults:
        assert self.best is not None
        return self.best

    def _hit(self, index: int) -> Hit | None:
        return self.hits[index] if index < len(self.hits) else None

    def _with(self, index: int, fault: Fault) -> Faults:
        faults = self._now()
        return (*faults[:index], fault, *faults[index + 1 :])


def _beginnings(faults: Faults, hits: Hits) -> list[Faults]:
    """What to begin with: at the requests that were hit, or beside them; with the start-up kills too; as it was.

    Simplest first: a schedule at requests is tried once, one on timers needs several runs.
    """
    reached = [(fault, hit) for fault, hit in zip(faults, hits, strict=True) if hit is not None]
    begun = [list(facts_for(fault, hit)) or [fault] for fault, hit in reached if hit.paths]
    likeliest = tuple(facts[0] for facts in begun)
    neighbours = tuple(facts[-1] for facts in begun)
    with_start_up = tuple(next(facts_for(fault, hit), fault) for fault, hit in reached)
    return [one for one in dict.fromkeys((likeliest, neighbours, with_start_up, faults)) if one]
