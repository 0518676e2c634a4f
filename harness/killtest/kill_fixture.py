"""What the pytest fixture `killtest` does when a test calls it, and the verdict that it returns (docs/pytest.md)."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from killtest import toml_file
from killtest.campaigns import single_run
from killtest.campaigns.single_run import Order, rule_of, schedule_of
from killtest.campaigns.story import Story, headline, verdict_lines
from killtest.campaigns.trial_line import Line
from killtest.errors import UsageError
from killtest.plan import subject
from killtest.plan.manifest import Limits, Subject
from killtest.plan.schedule import Rule

# Small, so that a test takes seconds: 33 page requests.
SITE = {"products": 30, "list_pages": 3}


@dataclass(frozen=True, repr=False)
class KillVerdict:
    """The verdict on one crawler under one schedule.

    `line` is the trial's line in the ledger (docs/trial-line.md), `folder` the campaign's folder, `seed` what
    the kills were drawn from, None for faults that the test wrote itself.
    """

    line: Line
    folder: Path
    seed: str | None

    @property
    def passed(self) -> bool:
        """True for PASS alone: UNKNOWN, our own failure, is no pass."""
        return self.outcome == "PASS"

    @property
    def outcome(self) -> str:
        """PASS, FAIL or UNKNOWN."""
        return str(self.line["outcome"])

    @property
    def cause(self) -> str | None:
        """Whom it is about: `faults`, `control` (it fails without any fault) or `harness`; None for PASS."""
        cause: str | None = self.line["cause"]
        return cause

    @property
    def data(self) -> dict[str, Any] | None:
        """Rows and findings, as in the ledger; None when killtest itself failed."""
        data: dict[str, Any] | None = self.line["data"]
        return data

    @property
    def traffic(self) -> dict[str, Any] | None:
        """What the crawl cost in requests, as in the ledger; None when killtest itself failed."""
        traffic: dict[str, Any] | None = self.line["traffic"]
        return traffic

    @property
    def faults(self) -> list[dict[str, Any]]:
        """What became of each planned fault, as in the ledger."""
        return list(self.line["faults"])

    @property
    def schedule(self) -> tuple[str, ...]:
        """The planned faults as text; `faults=` takes them."""
        return tuple(self.line["schedule"]["faults"])

    @property
    def reproduce(self) -> str:
        """The shell command that runs the trial again."""
        return str(self.line["reproduce"])

    @property
    def evidence(self) -> Path:
        """The folder with the trial's history, request log, snapshots and store."""
        return self.folder / str(self.line["evidence"])

    def explain(self) -> str:
        """The verdict with proof, evidence, reproduce command, seed and schedule, over several lines."""
        told = verdict_lines(self.line, self.folder)
        if self.outcome == "UNKNOWN":
            told.append("      UNKNOWN is no pass: nothing was found out about the crawler")
        seed = "none, the test wrote the faults itself" if self.seed is None else f"seed={self.seed!r}"
        told.append(f"      seed:      {seed}")
        told.append(f"      schedule:  faults={list(self.schedule)!r}")
        return "\n".join(told)

    def __repr__(self) -> str:
        return f"<killtest {headline(self.line)}>"


@dataclass(frozen=True)
class KillFixture:
    """The fixture's value: call it with a crawler.

    `test` names the test and is the default seed; relative words of a command are files of the first of
    `folders` that holds them; `tell` is given the explanation of each verdict for the test's report.
    """

    test: str
    results: Path
    folders: tuple[Path, ...]
    tell: Callable[[str], object]

    def __call__(  # noqa: PLR0913  # one keyword for each thing that a test can say
        self,
        command: str | Sequence[str],
        *,
        store: str | None = None,
        query: str | None = None,
        key: str | None = None,
        kills: int | None = None,
        faults: Sequence[str] = (),
        signals: Sequence[str] = ("KILL",),
        seed: str | int | None = None,
        site: Mapping[str, Any] | None = None,
        limits: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> KillVerdict:
        """Run the controls, then the crawler under its schedule, and judge what it stored.

        `command` is a list of words, with `store` and `query` (sqlite) or `key` (jsonl, csv, json), or the name or
        path of a subject. Either `kills`, so many held requests drawn among those that the control made, or `faults`.
        UsageError says what can't be run.
        """
        __tracebackhide__ = True
        try:
            own_seed = self.test if seed is None else str(seed)
            order = Order(
                subject=_changed(self._subject(command, store, key, query), limits or {}, env or {}),
                rule=_rule(kills, tuple(faults), tuple(signals)),
                argv=list(sys.argv),
                heading=f"What the test {self.test!r} asked for.",
                site=SITE | dict(site or {}),
                seed=own_seed,
                has_manifest=bool(limits or env),
            )
            line, folder = single_run.run(order, self.results, Story())
        except UsageError as error:
            raise UsageError(str(error)) from None  # the reader of a test wants the call, not our frames
        verdict = KillVerdict(line, folder, None if faults else own_seed)
        self.tell(verdict.explain())
        return verdict

    def _subject(self, command: str | Sequence[str], store: str | None, key: str | None, query: str | None) -> Subject:
        if not isinstance(command, str):
            if store is None:
                raise UsageError("killtest([…]) wants store=: where the crawler puts its rows, such as sqlite:crawl.db")
            words = [self._absolute(str(word)) for word in command]
            return subject.from_command(words, store, key, query)
        if store or key or query:
            raise UsageError(
                "store, key and query go with a command in a list; a subject has a manifest that says them"
            )
        name = command.partition(":")[0]
        near = next((folder for folder in self.folders if (folder / name).exists()), Path())
        found = subject.find(command, near)
        is_shipped = Path(found.folder) == subject.data_folder("crawlers") / name
        return found if is_shipped else msgspec.structs.replace(found, source=str((near / name).resolve()))

    def _absolute(self, word: str) -> str:
        """The word, or the absolute path of the file that it names: the reproduce command works in any folder."""
        ways = (subject.command_line([word], str(folder), {"python": "{python}"})[0] for folder in self.folders)
        return next((way for way in ways if way != word), word)


def _rule(kills: int | None, faults: tuple[str, ...], signals: tuple[str, ...]) -> Rule | None:
    if (kills is None) == (not faults):
        raise UsageError(
            "give either kills=, how many (0: the controls alone), or faults=, a list as in docs/faults.md"
        )
    if faults:
        return rule_of(schedule_of(faults))
    if kills == 0:
        return None
    table = {"group": "kills", "kills": kills, "signals": signals}
    return toml_file.convert(table, Rule, "killtest(kills=…)")


def _changed(who: Subject, limits: Mapping[str, Any], env: Mapping[str, str]) -> Subject:
    wanted = toml_file.convert(msgspec.to_builtins(who.limits) | dict(limits), Limits, "killtest(limits=…)")
    added = toml_file.convert(dict(env), dict[str, str], "killtest(env=…)")
    return msgspec.structs.replace(who, limits=wanted, env=who.env | added)
