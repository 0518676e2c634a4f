"""How fast the judge is, and how much memory it takes: a trial of a million products with a row and a request for each.

The evidence is written in the formats of a trial's folder; reading and judging it runs in a child process of its
own, whose peak is the one the kernel kept (VmHWM). A share of the rows, the products they belong to spread evenly,
is damaged in ways that the verdict must show: a judge that looks at nothing is fast. Fails above 20 s or 500 MB.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import msgspec

BOUND_S = 20.0
BOUND_MB = 500.0
# One product in so many is damaged in each of the ways of DAMAGES.
EVERY = 1000
DAMAGES = ("lost", "duplicated", "corrupted", "stale", "unexpected")


def main() -> int:
    """Write the evidence, judge it in a child process, print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--products", type=int, default=1_000_000)
    parser.add_argument("--shuffle", action="store_true", help="Store the rows in a random order.")
    parser.add_argument("--judge", type=Path, help="Judge that folder in this process: what the child is started with.")
    options = parser.parse_args()
    if options.judge is not None:
        print(json.dumps(judged(options.judge)))
        return 0
    with tempfile.TemporaryDirectory(prefix="killtest-bench-") as folder:
        write(Path(folder), options.products, options.shuffle)
        words = [sys.executable, __file__, "--judge", folder]
        told = json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)
    return report(told, options.products)


def report(told: dict[str, Any], products: int) -> int:
    """Print the figures; 1 when a bound is broken or the verdict is not the one that was built in."""
    seconds, rows, peak_mb = told["seconds"], told["rows"], told["peak_kb"] / 1024
    speed = f"{rows / seconds:,.0f} rows/s, {told['cpu_s']:.1f} s of CPU"
    print(f"judged {rows:,} rows of {products:,} products in {seconds:.1f} s: {speed}")
    print(f"peak memory {peak_mb:.0f} MB, of which {told['start_kb'] / 1024:.0f} MB before the evidence was read")
    wanted = dict.fromkeys(DAMAGES, products // EVERY)
    is_slow = seconds > BOUND_S or peak_mb > BOUND_MB
    print(f"bounds {BOUND_S:.0f} s and {BOUND_MB:.0f} MB: {'broken' if is_slow else 'held'}")
    if told["found"] != wanted:
        print(f"the verdict is wrong: {told['found']}, wanted {wanted}")
    return int(is_slow or told["found"] != wanted)


def judged(folder: Path) -> dict[str, Any]:
    """What judging that folder found, took and needed."""
    from killtest.judge import evidence, verdict

    start_kb, began_s, cpu_s = peak_kb(), perf_counter(), process_time()
    answer = verdict.judge(evidence.read(folder, is_control=False, planned_faults=0))
    seconds, cpu_s = perf_counter() - began_s, process_time() - cpu_s
    assert answer.data is not None
    found = {name: len(getattr(answer.data, name)) for name in DAMAGES}
    times = {"seconds": seconds, "cpu_s": cpu_s}
    return times | {"rows": answer.data.rows, "peak_kb": peak_kb(), "start_kb": start_kb, "found": found}


def peak_kb() -> int:
    """The most memory that this process has had so far."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def write(folder: Path, products: int, is_shuffled: bool) -> None:
    """The evidence of a crawl that finished."""
    one = {"number": 0, "started_s": 0.0, "ended_s": 9.0, "exit": 0, "ended_by": "itself"}
    course = {"ending": "finished", "incarnations": [one], "faults": [], "snapshots": []}
    (folder / "course.json").write_bytes(msgspec.json.encode(course))
    numbers = list(range(1, products + 1))
    with (folder / "truth.json").open("wb") as file:
        file.writelines(_truth(numbers))
    _write_lines(folder / "site.jsonl", _requests(numbers))
    if is_shuffled:
        random.Random(1).shuffle(numbers)
    _write_lines(folder / "snapshot.jsonl", _rows(numbers))


def _write_lines(path: Path, objects: Iterator[dict[str, Any]]) -> None:
    encode = msgspec.json.encode
    with path.open("wb") as file:
        file.writelines(encode(one) + b"\n" for one in objects)


def fields(number: int, version: int = 0) -> dict[str, str]:
    """The six fields of a product as the shop shows them."""
    return {
        "sku": f"SKU-{number:07}",
        "title": f"Große crème brûlée dish {number}, edition {version + 1}",
        "price": f"{number % 1000}.{version}5",
        "currency": ("EUR", "USD")[version],
        "availability": ("in stock", "sold out")[version],
        "image": f"/image/{number}",
    }


def _truth(numbers: list[int]) -> Iterator[bytes]:
    """The document piece by piece, byte for byte as a trial writes it."""
    encode = msgspec.json.encode
    yield b'{"minimum":%d,"rows":[' % len(numbers)
    for number in numbers:
        versions = range(2 if _damage(number) == "stale" else 1)
        shown = [fields(number, version) | {"image_sha256": f"{number:064x}"} for version in versions]
        product = {"key": f"SKU-{number:07}", "pages": [f"/product/{number}"], "versions": shown}
        yield (b"," if number > 1 else b"") + encode(product)
    yield b"]}\n"


def _requests(numbers: list[int]) -> Iterator[dict[str, Any]]:
    for number in numbers:
        moment_s = 1000 + number / 1000
        line = {
            "seq": number,
            "incarnation": 0,
            "conn": 1,
            "peer": 40001,
            "method": "GET",
            "path": f"/product/{number}",
        }
        line |= {"kind": "page", "n": number, "key": f"SKU-{number:07}", "version": int(_damage(number) == "stale")}
        line |= {"status": 200, "bytes": 812, "arrived_s": moment_s, "held_s": None, "sent_s": moment_s + 0.0004}
        yield line | {"ended_s": moment_s + 0.0004, "outcome": "sent", "late": False}


def _rows(numbers: list[int]) -> Iterator[dict[str, Any]]:
    yield {"incarnation": 0, "rows": [], "damage": [], "exists": True, "error": None, "is_mistake": False}
    for place, number in enumerate(numbers, 1):
        row = {"in": 0, "key": f"SKU-{number:07}", "values": fields(number), "place": f"row {place}"}
        match _damage(number):
            case "lost":
                continue
            case "corrupted":
                yield row | {"values": fields(number) | {"price": "0.01"}}
                continue
            case "duplicated":
                yield row
            case "unexpected":
                yield row | {"key": f"NO-{number}"}
        yield row


def _damage(number: int) -> str | None:
    """The damage of that product's row, if any."""
    place = number % EVERY
    return DAMAGES[place] if place < len(DAMAGES) else None


if __name__ == "__main__":
    sys.exit(main())
