"""What the site does wrong for longer than a moment: planned with the site, struck once a request has met it."""

from collections.abc import Mapping
from typing import Any

from killtest.conduct import strike_record
from killtest.conduct.history import History
from killtest.conduct.life import Life
from killtest.conduct.site import Site
from killtest.judge.evidence import FaultRecord
from killtest.plan.fault import Fault


class Standing:
    """The misbehaviours of a trial that have begun; the site says of each when the first request met it."""

    def __init__(self, site: Site, history: History) -> None:
        """None has begun."""
        self._site = site
        self._history = history
        self._lives: dict[int, Life] = {}
        self._waiting: list[tuple[Fault, int]] = []
        self._paths: set[str] = set()

    def know(self, lives: Mapping[int, Life]) -> None:
        """These incarnations may meet what has begun; looked at again when they do."""
        self._lives |= {life.number: life for life in lives.values()}

    def begin(self, fault: Fault, place: int, incarnation: int | None = None) -> None:
        """The site goes wrong like that from now on; `place` is that of its record."""
        misdeed = fault.misdeed
        assert misdeed is not None
        self._site.misbehave(misdeed)
        self._paths.add(misdeed.path)
        self._waiting.append((fault, place))
        when = {} if incarnation is None else {"incarnation": incarnation}
        self._history.note("misbehaves", planned=fault.text, misbehaviour=misdeed.text, **when)

    def meet(self, event: dict[str, Any], records: list[FaultRecord]) -> None:
        """The first request has met what the event names: the record of it in `records` says so."""
        name, t_s = event["name"], event["t_s"]
        facts = {"incarnation": event["incarnation"], "path": event["path"], "misbehaviour": name}
        self._history.note("misbehaved", t_s, **facts)
        met = [one for one in self._waiting if one[0].misdeed is not None and one[0].misdeed.text == name]
        self._waiting = [one for one in self._waiting if one not in met]
        for _, place in met:
            life = self._lives.get(event["incarnation"])
            records[place] = strike_record.met(records[place], event, life, (event["path"],))

    def end(self) -> None:
        """The trial proper is over: the site behaves again, for starts that nothing disturbs."""
        for path in self._paths:
            self._site.behave(path)
        self._paths.clear()
