"""docs/zoo.md, written from the folders of the zoo: `make docs`. A test compares the two."""

import difflib
from collections.abc import Sequence
from pathlib import Path

import click

from killtest.plan.manifest import Subject
from killtest.report.table import Table, markdown
from killtest.zoo import animal
from killtest.zoo.animal import Animal
from killtest.zoo.difference import expected_words

_HEAD = """# The bug zoo

Written by `make docs` from the folders `crawlers/zoo/*`; a test compares the two.

Small crawlers, each with one planted bug of a kind that somebody has reported in public, and a sound twin of each.
They test killtest itself: it must find every bug, with the verdict below and no other, and nothing in any twin.
Expectations are written before the first run; one that was changed after a run says why, below its programs.

```
killtest zoo --jobs 2             # all of them; ends with 0 when every verdict is as expected, with 1 when one is not
killtest zoo zombie-writer --runs 5
killtest run zoo/zombie-writer --fault "request:/product/7 STOP scope=owner"
```

A folder holds `bug.py`, `sound.py`, `subject.toml` (the twin is its variant `sound`) and `expected.toml`. Of each
program a control is judged first and started once more after its end; then the schedule strikes. Compared, whether
`expected.toml` names them or not, are outcome, cause, ending, every finding about rows and effects with its keys,
orphans, zombies, open ports, deaths of its own, what became of each fault, and the control. Requests and other costs
are compared where they are named.

"""
_HEADINGS = ("kind", "what goes wrong", "public reports", "schedule", "the bug must give", "the twin must give")
_CAPTION = (
    "Verdicts leave out what is as in an undisturbed crawl. *Said it was done*: it ended with 0 with rows missing. The"
    " shop has 20 products on two list pages (22 page requests) where the manifest says nothing else."
)
# What can be read at a glance; a longer difference is better read in the files themselves.
_LINES_SHOWN = 40


def text() -> str:
    """The whole page."""
    animals = animal.find_all(())
    rows = tuple(_row(one) for one in animals)
    table = markdown(Table("zoo", f"{len(animals)} kinds", _CAPTION, _HEADINGS, rows, empty="no animals"))
    return _HEAD + "\n".join([table, *(_section(one) for one in animals)])


def _row(one: Animal) -> tuple[str, ...]:
    said = one.expected
    reports = ", ".join(f"[{_short(url)}]({url})" for url in said.reports)
    schedule = ", then ".join(f"`{fault}`" for fault in said.faults) or "no fault at all"
    verdicts = (expected_words(each, len(said.faults)) for each in (said.bug, said.sound))
    return (f"[{one.kind}](#{one.kind})", one.bug.title, reports, schedule, *verdicts)


def _short(url: str) -> str:
    """owner/repository#number for an address of GitHub's, else the address without its scheme."""
    words = url.removeprefix("https://github.com/").split("/")
    is_thread = len(words) == 4 and words[2] in ("issues", "pull")
    return f"{words[0]}/{words[1]}#{words[3]}" if is_thread else url.partition("://")[2]


def _section(one: Animal) -> str:
    bug, sound = _program(one.bug), _program(one.sound)
    parts = [f"## {one.kind}", f"The bug: {one.bug.title}. The twin: {one.sound.title}.", _programs(one, bug, sound)]
    if one.expected.reason:
        parts.append(f"The expectation was changed: {one.expected.reason}")
    return "\n\n".join(parts) + "\n"


def _program(who: Subject) -> Path:
    """The file that the manifest's command runs."""
    return next(path for word in who.command if (path := (Path(who.folder) / word).resolve()).is_file())


def _programs(one: Animal, bug: Path, sound: Path) -> str:
    home = bug.parent.name
    if bug.parent != one.folder:
        return f"Its programs are those of [{home}](#{home})."
    links = [f"[{path.name}](../crawlers/zoo/{home}/{path.name})" for path in (bug, sound)]
    difference = _difference(bug, sound)
    if len(difference) > _LINES_SHOWN:
        return f"{links[0]} and {links[1]} differ in more than can be shown here."
    return f"From {links[0]} to {links[1]}:\n\n" + "\n".join(["```diff", *difference, "```"])


def _difference(bug: Path, sound: Path) -> Sequence[str]:
    """The unified difference without its head, and without the line that says what the program is."""
    old, new = (path.read_text("utf-8").splitlines() for path in (bug, sound))
    # The module's docstring, one line, says in words what the difference shows.
    return list(difflib.unified_diff([new[0], *old[1:]], new, lineterm="", n=1))[2:]


if __name__ == "__main__":
    click.echo(text(), nl=False)
