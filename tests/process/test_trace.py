"""Durable steps of real processes: seen in order with what they write, in threads, children and other languages."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from killtest.explore import folder
from killtest.explore.disk import boundaries
from killtest.trace import seccomp, step
from killtest.trace.step import Step
from killtest.trace.supervisor import Supervisor

pytestmark = pytest.mark.skipif(bool(seccomp.refusal()), reason="this machine allows no seccomp notification")


def traced(tmp_path: Path, *argv: str) -> tuple[list[Step], int]:
    """The steps of a program in the folder `store`, and its exit code."""
    store = tmp_path / "store"
    store.mkdir(exist_ok=True)
    supervisor = Supervisor(str(store), tmp_path / "steps.jsonl", lambda _: None)
    try:
        process = subprocess.Popen(argv, cwd=store, preexec_fn=supervisor.hand_over)  # noqa: PLW1509
    finally:
        supervisor.started()
    code = process.wait()
    assert supervisor.join(10), "a watched process lives on"
    return step.read(tmp_path / "steps.jsonl"), code


def python(tmp_path: Path, text: str) -> list[Step]:
    taken, code = traced(tmp_path, sys.executable, "-c", text)
    assert code == 0
    return taken


def test_steps_come_in_order_with_what_they_write(tmp_path: Path) -> None:
    taken = python(
        tmp_path,
        "import os\n"
        "f = open('a.txt', 'w'); f.write('hello'); f.flush(); os.fsync(f.fileno()); f.close()\n"
        "os.rename('a.txt', 'b.txt'); open('b.txt', 'ab', buffering=0).write(b' world')\n"
        "os.pwrite(os.open('b.txt', os.O_RDWR), b'J', 0); os.truncate('b.txt', 4); os.mkdir('d'); os.unlink('b.txt')\n",
    )
    told = [(one.call, one.path, one.path2, one.offset, one.data) for one in taken]
    assert told == [
        ("openat", "a.txt", None, None, None),
        ("write", "a.txt", None, 0, b"hello"),
        ("fsync", "a.txt", None, None, None),
        ("rename", "a.txt", "b.txt", None, None),
        ("openat", "b.txt", None, None, None),
        ("write", "b.txt", None, None, b" world"),
        ("pwrite64", "b.txt", None, 0, b"J"),
        ("truncate", "b.txt", None, None, None),
        ("mkdir", "d", None, None, None),
        ("unlink", "b.txt", None, None, None),
    ]
    assert [(one.k, one.n) for one in taken if one.call == "openat"] == [(1, 1), (5, 2)]
    assert [one.size for one in taken if one.call == "truncate"] == [4]


def test_what_is_written_elsewhere_is_nobodys_business(tmp_path: Path) -> None:
    taken = python(tmp_path, "print('x', flush=True); open('../outside', 'w').write('y'); open('in', 'w').close()")
    assert [one.path for one in taken] == ["in"]


def test_sync_of_the_store_folder_is_told_and_no_step(tmp_path: Path) -> None:
    taken = python(
        tmp_path,
        "import os\n"
        "open('a', 'w').close(); here = os.open('.', os.O_RDONLY); os.fsync(here); os.fdatasync(here)\n"
        "os.fsync(os.open('..', os.O_RDONLY)); os.mkdir('d'); os.fsync(os.open('d', os.O_RDONLY))\n",
    )
    assert [(one.k, one.call, one.path) for one in taken] == [(1, "openat", "a"), (2, "mkdir", "d"), (3, "fsync", "d")]
    told = [(one.k, one.n, one.call, one.path) for one in step.read_all(tmp_path / "steps.jsonl")]
    # It stands where it came, and the sync behind it is still the first that counts.
    assert told == [
        (1, 1, "openat", "a"),
        (0, 0, "fsync", ""),
        (0, 0, "fdatasync", ""),
        (2, 1, "mkdir", "d"),
        (3, 1, "fsync", "d"),
    ]


def test_threads_and_children_are_seen(tmp_path: Path) -> None:
    taken = python(
        tmp_path,
        "import os, subprocess, sys, threading\n"
        "def write(name): open(name, 'w').write(name)\n"
        "threads = [threading.Thread(target=write, args=(f't{n}',)) for n in range(4)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "pid = os.fork()\n"
        "if not pid: write('forked'); os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
        "subprocess.run([sys.executable, '-c', \"open('child', 'w').write('x')\"], check=True)\n"
        "subprocess.run('echo shell > shell', shell=True, check=True)\n",
    )
    written = {one.path for one in taken if one.effect == "write"}
    assert written == {"t0", "t1", "t2", "t3", "forked", "child", "shell"}
    assert len({one.tid for one in taken}) >= 4


def test_a_crawler_in_node_is_seen(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node here")
    text = (
        "const fs = require('fs'); fs.writeFileSync('a', 'one'); fs.appendFileSync('a', 'two');"
        "fs.promises.writeFile('b', 'three').then(() => fs.renameSync('b', 'c'));"
    )
    taken, code = traced(tmp_path, node, "-e", text)
    assert code == 0
    *_, last = boundaries(taken)
    assert {path: leaf.data for path, leaf in last.items()} == {"a": b"onetwo", "c": b"three"}


def test_signals_do_not_repeat_a_call_that_is_looked_at(tmp_path: Path) -> None:
    taken = python(
        tmp_path,
        "import signal, os\n"
        "signal.signal(signal.SIGALRM, lambda *_: None); signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)\n"
        "f = os.open('a', os.O_WRONLY | os.O_CREAT)\n"
        "for n in range(60): os.write(f, b'x')\n"
        "signal.setitimer(signal.ITIMER_REAL, 0)\n",
    )
    assert sum(one.call == "write" for one in taken) == 60


def test_sqlite_in_both_modes_is_replayed_byte_for_byte(tmp_path: Path) -> None:
    taken = python(
        tmp_path,
        "import sqlite3\n"
        "for mode in ('wal', 'delete', 'truncate', 'persist'):\n"
        "    db = sqlite3.connect(mode + '.db', isolation_level=None); db.execute('pragma journal_mode=' + mode)\n"
        "    db.execute('create table t (a)')\n"
        "    for n in range(20): db.execute('insert into t values (?)', ('x' * n * 50,))\n"
        "    if mode == 'delete': db.execute('delete from t'); db.execute('vacuum')\n",
    )
    *_, last = boundaries(taken)
    real = folder.read(tmp_path / "store")
    assert {path: leaf.digest for path, leaf in last.items() if not path.endswith("-shm")} == {
        path: leaf.digest for path, leaf in real.items() if not path.endswith("-shm")
    }


def test_program_that_can_not_be_executed_leaves_no_supervisor_waiting(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    supervisor = Supervisor(str(tmp_path / "store"), None, lambda _: None)
    try:
        with pytest.raises(FileNotFoundError):
            subprocess.Popen(["/no/such/program"], preexec_fn=supervisor.hand_over)  # noqa: PLW1509
    finally:
        supervisor.started()
    assert supervisor.join(10)


def test_armed_step_is_parked_and_not_taken_when_the_process_is_killed(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    parked: list[Step] = []
    reader, writer = os.pipe()

    def due(one: Step) -> None:
        parked.append(one)
        os.write(writer, b"!")

    supervisor = Supervisor(str(store), None, due)
    supervisor.arm("write", 3)
    text = "import os\nf = os.open('a', os.O_WRONLY | os.O_CREAT)\nfor n in range(9): os.write(f, b'x')"
    process = subprocess.Popen([sys.executable, "-c", text], cwd=store, preexec_fn=supervisor.hand_over)  # noqa: PLW1509
    supervisor.started()
    assert os.read(reader, 1) == b"!"
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    supervisor.release()
    assert supervisor.join(10)
    assert (store / "a").read_bytes() == b"xx"
    assert [(one.call, one.n, one.k) for one in parked] == [("write", 3, 4)]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_supervisor_that_fails_says_that_not_all_was_seen(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()

    def due(_: Step) -> None:
        raise ValueError("ours")

    supervisor = Supervisor(str(tmp_path / "store"), None, due)
    supervisor.arm("write", 1)
    words = [sys.executable, "-c", "open('a', 'w').write('x')"]
    silent = {"stderr": subprocess.DEVNULL, "cwd": tmp_path / "store"}
    process = subprocess.Popen(words, **silent, preexec_fn=supervisor.hand_over)  # noqa: PLW1509
    supervisor.started()
    process.wait()
    assert not supervisor.join(10)
