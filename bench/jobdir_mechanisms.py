"""The mechanisms by which a JOBDIR loses requests: each found, shrunk to its shortest schedule, and run once more.

    python bench/jobdir_mechanisms.py [--out FILE] [--seconds S] [NAME …]

For each mechanism of killtest.laboratory.mechanisms: `killtest run` with the schedule it was found with, `killtest
shrink` to the fewest and earliest faults that give the same findings (at most S seconds each; a single fault before
one durable step, which `killtest explore` has named, is as short as can be), and `killtest run` with what is left,
whose line, JOBDIR included, goes into FILE, as does scrapy_durable's under the same schedule on the same shop. Fails
when a mechanism does not come again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
from killtest.laboratory.mechanisms import MECHANISMS, Mechanism
from killtest.plan import subject

SUBJECT = "scrapy_jobdir"
DURABLE = "scrapy_durable:one_request"
_RUNS = 24
_JOBS = 3  # schedules hang on held requests, not on seconds, and a crawl that hangs needs no processor
_ROW = "{:18} {:>5} {:>8}  {:44} {}"


def main() -> int:
    """Every mechanism, or those named; one line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these mechanisms")
    parser.add_argument("--out", type=Path, help="a JSON line for each")
    parser.add_argument("--seconds", type=float, default=150.0, help="no shrinking run starts later (default: 150)")
    options = parser.parse_args()
    unknown = set(options.names) - {mechanism.name for mechanism in MECHANISMS}
    if unknown:
        parser.error(f"no mechanism called {', '.join(sorted(unknown))}")
    chosen = [mechanism for mechanism in MECHANISMS if mechanism.name in (options.names or [mechanism.name])]
    print(_ROW.format("mechanism", "runs", "seconds", "shortest schedule", "what it gives"), flush=True)
    with ThreadPoolExecutor(_JOBS) as pool:
        lines = []
        for line in pool.map(lambda mechanism: measured(mechanism, options.seconds), chosen):
            print(told(line), flush=True)
            lines.append(line)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return int(not all(line["shown"] for line in lines))


def measured(mechanism: Mechanism, seconds: float) -> dict[str, Any]:
    """Run, shrink and run again; the line for the file."""
    site = [word for name, value in mechanism.site.items() for word in ("--site", f"{name}={value}")]
    who = f"{SUBJECT}:{mechanism.variant}"
    with tempfile.TemporaryDirectory(prefix="killtest-bench-") as folder:
        found = run(who, mechanism.faults, site, folder)
        shown = found["outcome"] == "FAIL"
        shrunk = {"faults": list(mechanism.faults), "runs": 0, "seconds": 0.0, "complete": True}
        if shown and not mechanism.is_shortest:
            trial = str(Path(folder) / found["campaign"] / str(found["evidence"]))
            words = ["shrink", trial, "--runs", str(_RUNS), "--seconds", str(seconds)]
            words += ["--same-keys"] if mechanism.same_keys else []
            answer = asked(words, folder, {0, 3})
            shown = answer["faults"] is not None
            shrunk = answer if shown else shrunk
        last = run(who, tuple(shrunk["faults"]), site, folder)
        # The n-th write of one program is not that of another; `killtest explore` visits each of the other's own.
        is_comparable = not mechanism.is_shortest
        durable = run(DURABLE, tuple(shrunk["faults"]), shop_of(who, mechanism), folder) if is_comparable else None
    return {
        "name": mechanism.name,
        "subject": who,
        "found": list(mechanism.faults),
        "faults": shrunk["faults"],
        "runs": shrunk["runs"],
        "seconds": shrunk["seconds"],
        "complete": shrunk["complete"],
        "shown": shown and last["outcome"] == "FAIL",
        "command": f"killtest run {who} " + " ".join([*site, *(f'--fault "{fault}"' for fault in shrunk["faults"])]),
        "line": last,
        "durable": durable,
    }


def shop_of(who: str, mechanism: Mechanism) -> list[str]:
    """The shop of that mechanism, as words for another subject; addresses of its own are the spider's affair."""
    shop = msgspec.to_builtins(subject.find(who).site) | mechanism.site
    return [word for name, value in shop.items() for word in ("--site", f"{name}={value}")]


def told(line: dict[str, Any]) -> str:
    """One row of the table that is printed."""
    data, ending = line["line"]["data"], line["line"]["ending"]
    result = f"{data['lost']['count']} lost, {data['missed']['count']} missed, {ending}"
    unfinished = "" if line["complete"] else " (budget used up)"
    shown = result if line["shown"] else f"NOT SHOWN: {result}"
    durable = f"; {DURABLE}: {line['durable']['outcome']}" if line["durable"] else ""
    faults = "; ".join(line["faults"]) + unfinished
    return _ROW.format(line["name"], line["runs"], line["seconds"], faults, shown + durable)


def run(who: str, faults: tuple[str, ...], site: list[str], folder: str) -> dict[str, Any]:
    """One trial: its line of the ledger."""
    words = ["run", who, "--controls", "0", *site, *(word for fault in faults for word in ("--fault", fault))]
    return asked(words, folder, {0, 1, 3})


def asked(words: list[str], folder: str, codes: set[int]) -> dict[str, Any]:
    """What a command of killtest answers as JSON."""
    command = [sys.executable, "-m", "killtest", *words, "--json", "--results", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in codes:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


if __name__ == "__main__":
    sys.exit(main())
