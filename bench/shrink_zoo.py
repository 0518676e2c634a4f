"""`killtest shrink` on schedules of ten timed kills that break subjects of the zoo: from ten to one.

"One of ten": six kills come within 30 ms of a start, when no interpreter has asked for a page yet; one comes in the
middle of a crawl, on a timer; three are due long after the crawl has ended. "All over": ten kills come in the middle of
the crawl, each on a timer of its own. All are drawn by seed. The site takes 20 ms for a page, so that a timer finds the
subject now with a request open, now with none. Where a draw breaks nothing (a sound moment) the next seed is taken.
Fails when fewer than five subjects come from "one of ten" to one kill within 300 s.
"""

import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

SUBJECTS = (
    "popped-before-fetched",
    "claim-never-returned",
    "rows-still-buffered",
    "batch-flushed-at-the-end",
    "cursor-before-rows",
    "seen-saved-queue-not",
    "frontier-committed-first",
)
BOUND_S = 300.0
WANTED = 5
_DRAWS = 8
_ROW = "{:26} {:10} {:>5} {:>8}  {}"


def main() -> int:
    """Both kinds of schedule on each subject."""
    print(_ROW.format("subject", "kills", "runs", "seconds", "minimal schedule"))
    held = [measured(name, "one of ten", one_of_ten) for name in SUBJECTS]
    spread = [measured(name, "all over", all_over) for name in SUBJECTS]
    for kind, one_left in (("one of ten", held), ("all over", spread)):
        print(f"{kind}: {sum(one_left)} of {len(SUBJECTS)} subjects come to one kill within {BOUND_S:g} s")
    return int(sum(held) < WANTED)


def measured(name: str, kind: str, schedule: Callable[[random.Random], list[str]]) -> bool:
    """Shrink one failing trial and print what it took; whether one kill is left."""
    with tempfile.TemporaryDirectory(prefix="killtest-bench-") as folder:
        trial, seed = failing(name, schedule, Path(folder))
        if trial is None:
            print(_ROW.format(name, kind, "-", "-", f"none of {_DRAWS} draws broke it"))
            return False
        told = asked(["shrink", str(trial), "--seconds", str(BOUND_S)], Path(folder), {0, 3})
    faults = told["faults"] or []
    left = "; ".join(faults) or "the findings did not come again"
    unfinished = "" if told["complete"] else " (budget used up)"
    print(_ROW.format(name, kind, told["runs"], told["seconds"], f"{left}{unfinished}  [seed {seed}]"))
    return len(faults) == 1 and told["seconds"] <= BOUND_S


def all_over(source: random.Random) -> list[str]:
    """Ten timed kills behind the first request."""
    return [f"first+{source.uniform(0.02, 0.15):.3f} KILL" for _ in range(10)]


def one_of_ten(source: random.Random) -> list[str]:
    """Ten timed kills: start-up kills around the one in mid-crawl, then three that come too late."""
    early = [f"after:{source.uniform(0.002, 0.03):.3f} KILL" for _ in range(6)]
    early.insert(source.randint(0, 6), f"first+{source.uniform(0.05, 0.4):.3f} KILL")
    return [*early, *(f"after:{source.uniform(20, 25):.3f} KILL" for _ in range(3))]


def failing(name: str, schedule: Callable[[random.Random], list[str]], folder: Path) -> tuple[Path | None, int]:
    """The folder of a trial that failed under the first of a few drawn schedules that breaks the subject."""
    for seed in range(1, _DRAWS + 1):
        faults = [word for fault in schedule(random.Random(seed)) for word in ("--fault", fault)]
        words = ["run", f"zoo/{name}", *faults, "--site", "latency_ms=20", "--controls", "0"]
        told = asked(words, folder, {0, 1, 3})
        if told["outcome"] == "FAIL":
            (place,) = folder.glob(f"results/run-*-{seed:03d}/trials/*")
            return place, seed
    return None, 0


def asked(words: list[str], folder: Path, codes: set[int]) -> dict[str, Any]:
    """What a killtest command prints with --json; it must end with one of `codes`."""
    command = [sys.executable, "-m", "killtest", *words, "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in codes, f"killtest {' '.join(words)} ended with {done.returncode}:\n{done.stderr}"
    told: dict[str, Any] = json.loads(done.stdout)
    return told


if __name__ == "__main__":
    sys.exit(main())
