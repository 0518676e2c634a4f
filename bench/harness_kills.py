"""kill -9 the harness at random moments of a campaign, each time followed by the same command.

After every kill: lines already in the ledger are byte-identical, and once the command has run to its end each
trial is there once, and no process, port or folder that it made is left. Bounded by --kills and --seconds.
"""

import argparse
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import monotonic

import msgspec
import psutil
from killtest.campaigns.ledger import read

CAMPAIGN = """
name = "victim"
subjects = ["naive", "idempotent:short_lease", "append_jsonl"]
seed = "{seed}"
keep = "failed"
[site]
products = 12
list_pages = 2
[[schedules]]
group = "request-KILL"
trials = 2
kills = 2
between = [1, 6]
"""
TRIALS = 3 * (2 + 2)


def main() -> int:
    """Kill and go on until the number of kills is reached; the exit code counts broken promises."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=1500)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--longest", type=float, default=3.0, help="longest time from a start to its kill, seconds")
    parser.add_argument("--jobs", type=int, default=1, help="trials side by side")
    options = parser.parse_args()
    source, ends_s = random.Random(options.seed), monotonic() + options.seconds
    folder = Path(tempfile.mkdtemp(prefix="harness-kills-"))
    kills = campaigns = 0
    try:
        while kills < options.kills and monotonic() < ends_s:
            campaigns += 1
            kills += one_campaign(folder / str(campaigns), source, options, kills)
    finally:
        shutil.rmtree(folder)
    print(f"{kills} kills of the harness in {campaigns} campaigns of {TRIALS} trials: every promise held")
    return 0 if kills >= options.kills else 1


def one_campaign(folder: Path, source: random.Random, options: argparse.Namespace, kills_before: int) -> int:
    """Run one campaign with kills until it is complete, or undisturbed once there were enough; how many there were."""
    folder.mkdir()
    (folder / "victim.toml").write_text(CAMPAIGN.format(seed=folder.name))
    before = leftovers()
    ledger = folder / "results" / "victim" / "trials.jsonl"
    kills, written = 0, b""
    while start(folder, options.jobs, _life_s(source, options, kills_before + kills)) == -signal.SIGKILL:
        kills += 1
        now = ledger.read_bytes() if ledger.exists() else b""
        whole = now[: now.rfind(b"\n") + 1]
        assert whole.startswith(written), f"kill {kills}: lines already written have changed"
        written = whole
    check_end(ledger, written, before)
    return kills


def _life_s(source: random.Random, options: argparse.Namespace, kills: int) -> float | None:
    return source.uniform(0.05, options.longest) if kills < options.kills else None


def start(folder: Path, jobs: int, lives_s: float | None) -> int:
    """Start the command, kill it -9 after `lives_s` (None: never); its exit code (0: it came to its end first)."""
    words = [sys.executable, "-m", "killtest", "bench", "victim.toml", "--jobs", str(jobs)]
    with open(folder / "output", "ab") as output:
        harness = subprocess.Popen(words, cwd=folder, stdout=output, stderr=output)
        try:
            harness.wait(lives_s)
        except subprocess.TimeoutExpired:
            harness.kill()
        code = harness.wait()
    assert code in (0, -signal.SIGKILL), f"the command ended with {code}:\n{(folder / 'output').read_text()}"
    return code


def check_end(ledger: Path, written: bytes, before: set[str]) -> None:
    """Each trial once, the old lines as they were, and nothing left."""
    assert ledger.read_bytes().startswith(written), "the last start changed lines already written"
    counts = Counter(line["id"] for line in read(ledger))
    assert len(counts) == TRIALS, f"{len(counts)} of {TRIALS} trials: {sorted(counts)}"
    assert set(counts.values()) == {1}, f"trials that are there twice: {[i for i, n in counts.items() if n > 1]}"
    outcomes = {line["outcome"] for line in read(ledger)}
    assert "UNKNOWN" not in outcomes, msgspec.json.encode([x for x in read(ledger) if x["outcome"] == "UNKNOWN"])
    kept = {line["id"] for line in read(ledger) if line["evidence"]}
    there = {path.name for path in (ledger.parent / "trials").glob("*")}
    assert there == kept, f"evidence folders {there ^ kept} don't match the ledger"
    wait_until_gone(before)


def leftovers() -> set[str]:
    """What a killed harness could leave: processes of ours, listening ports, temporary folders."""
    found = {f"folder {path}" for path in Path("/tmp").glob("killtest-*")}
    for process in psutil.process_iter(["pid", "cmdline"]):
        words = " ".join(process.info["cmdline"] or [])
        if process.info["pid"] != os.getpid() and any(word in words for word in ("killtest", "crawl.py", "unshare")):
            found.add(f"process {process.info['pid']} {words}")
    for connection in psutil.net_connections("tcp"):
        if connection.status == psutil.CONN_LISTEN and connection.family == socket.AF_INET:
            found.add(f"port {connection.laddr.port}")
    return found


def wait_until_gone(before: set[str]) -> None:
    """The wardens of killed harnesses get ten seconds to end what is below them."""
    ends_s = monotonic() + 10
    while (left := leftovers() - before) and monotonic() < ends_s:
        pass
    assert not left, f"left behind: {left}"


if __name__ == "__main__":
    sys.exit(main())
