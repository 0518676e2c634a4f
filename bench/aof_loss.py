"""What a Valkey or Redis server loses of writes it has answered when the server itself is killed.

A client counts up one key as fast as the server answers; the server gets SIGKILL at a drawn moment and is started
again on the same folder: the last number answered against the number that came back. By appendfsync: always, everysec,
no, and without an append-only file. SIGKILL ends the process, not the machine: what write(2) has taken is kept by the
kernel. A power cut would lose what fdatasync(2) has not taken, up to about a second with everysec; that is not measured
here.
"""

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import msgspec
import redis
from killtest.process import server_program
from tabulate import tabulate

SETTINGS = {
    "always": ("yes", "always"),
    "everysec": ("yes", "everysec"),
    "no": ("yes", "no"),
    "no append-only file": ("no", "no"),
}


def main() -> int:
    """Print a row per setting; 1 when `always` lost a write, which it promises not to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--out", type=Path, help="write the figures there as JSON")
    options = parser.parse_args()
    program = server_program.require("this bench")
    rows, facts = [], {}
    for name, (appendonly, appendfsync) in SETTINGS.items():
        source = random.Random(f"{options.seed}/{name}")
        lost, rates = zip(
            *(one_kill(program.path, appendonly, appendfsync, source.uniform(0.3, 1.5)) for _ in range(options.kills)),
            strict=True,
        )
        struck = sum(one > 0 for one in lost)
        rows.append([name, options.kills, struck, sum(lost), max(lost), round(sorted(rates)[len(rates) // 2])])
        facts[name] = {"kills": options.kills, "lossy": struck, "lost": sum(lost), "most": max(lost)}
        facts[name]["writes_per_s"] = rows[-1][-1]
    head = ("appendfsync", "kills", "kills that lost", "answered writes lost", "most in one kill", "writes/s (median)")
    print(f"{program.kind} {program.version}, {options.kills} SIGKILLs of the server each\n")
    print(tabulate(rows, head, tablefmt="github"))
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_bytes(
            msgspec.json.format(msgspec.json.encode({"server": f"{program.kind} {program.version}", "loss": facts}))
        )
    return int(facts["always"]["lost"] > 0)


def one_kill(program: str, appendonly: str, appendfsync: str, after_s: float) -> tuple[int, float]:
    """Answered writes that are gone after one kill, and how many a second were answered before it."""
    folder = Path(tempfile.mkdtemp(prefix="aof-loss-"))
    try:
        server, client = start(program, folder, appendonly, appendfsync)
        began_s = time.monotonic()
        killer = threading.Timer(after_s, server.send_signal, [signal.SIGKILL])
        killer.start()
        answered = count_up(client)
        rate = answered / (time.monotonic() - began_s)
        killer.join()
        server.wait()
        server, client = start(program, folder, appendonly, appendfsync)
        found = int(client.get("n") or 0)
        server.kill()
        server.wait()
        return max(0, answered - found), rate
    finally:
        shutil.rmtree(folder)


def start(program: str, folder: Path, appendonly: str, appendfsync: str) -> tuple[subprocess.Popen[bytes], redis.Redis]:
    """A server on a socket in the folder, and a client that it has answered."""
    words = ["--appendonly", appendonly, "--appendfsync", appendfsync, "--save", ""]
    place = ["--port", "0", "--unixsocket", str(folder / "s"), "--dir", str(folder)]
    server = subprocess.Popen([program, *place, *words], stdout=subprocess.DEVNULL)
    client = redis.Redis(unix_socket_path=str(folder / "s"))
    until_s = time.monotonic() + 10
    while True:
        try:
            client.ping()
            return server, client
        except redis.RedisError:
            if time.monotonic() > until_s:
                raise


def count_up(client: redis.Redis) -> int:
    """Count until the server is gone; the last number that it answered."""
    answered = 0
    try:
        while True:
            answered = int(client.incr("n"))
    except redis.RedisError:
        return answered


if __name__ == "__main__":
    sys.exit(main())
