"""Whether a subject that stopped behind a failed call named the cause."""

import pytest
from evidence_builder import CLEAN, evidence, incarnation, struck
from killtest.judge.causes import is_named, unexplained
from killtest.judge.course import CallErrors
from killtest.judge.verdict import judge


def errors(said: str, errno: str = "ENOSPC", number: int = 0, names: tuple[str, ...] = ("write",)) -> CallErrors:
    return CallErrors(number, errno, 1, names[0], "crawl.db", said, names)


@pytest.mark.parametrize(
    ("errno", "said"),
    [
        ("ENOSPC", "OSError: [Errno 28] No space left on device: 'out.jsonl'"),
        ("ENOSPC", "Error: ENOSPC: no space left on device, write"),
        ("ENOSPC", "sqlite3.OperationalError: database or disk is full"),
        ("ENOSPC", "the disk full condition"),
        ("ENOSPC", "failed (os error 28)"),
        ("ENOSPC", "write: errno=28"),
        ("ENOSPC", "SQLITE_FULL"),
        ("ENOSPC", "There is not enough space on the disk."),
        ("ENOSPC", "sqlite3.OperationalError: disk I/O error"),
        ("EIO", "OSError: [Errno 5] Input/output error"),
        ("EIO", "Error: EIO: i/o error, fsync"),
        ("EIO", "errno: 5"),
        ("EIO", "(os error 5)"),
        ("EIO", "SQLITE_IOERR_FSYNC"),
    ],
)
def test_what_programs_print_names_the_cause(errno: str, said: str) -> None:
    assert is_named(errors(said, errno))


@pytest.mark.parametrize(
    ("errno", "said"),
    [
        ("ENOSPC", ""),
        ("ENOSPC", "Traceback: cannot rollback - no transaction is active"),
        ("ENOSPC", "exit code 28, errno 280"),
        ("ENOSPC", "unable to open database file"),
        ("EIO", "attempt to write a readonly database"),
        ("EIO", "cannot go on: results/trials/mine--request-25-eio/store/crawl.db: locked"),
        ("ENOSPC", "cannot go on: results/trials/mine--request-25-enospc-1/store/crawl.db: locked"),
        ("EIO", "no space left on device"),
        ("EIO", "errno 55; os error 15; VEIO"),
        ("EIO", "database or disk is full"),
    ],
)
def test_other_words_do_not(errno: str, said: str) -> None:
    assert not is_named(errors(said, errno))


def test_that_a_file_can_not_be_opened_is_all_that_sqlite_says_of_one_it_can_not_create() -> None:
    assert is_named(errors("unable to open database file", names=("fsync", "openat")))


def test_that_a_file_can_only_be_read_is_all_that_sqlite_says_of_one_it_can_not_open_to_write() -> None:
    assert is_named(errors("attempt to write a readonly database (SQLITE_READONLY)", "EIO", names=("openat",)))


@pytest.mark.parametrize(
    ("changes", "is_told"),
    [
        ({"exit": 1}, True),
        ({"exit": -6}, True),
        ({"exit": 0}, False),
        ({"exit": 1, "ended_by": "limit"}, False),
        ({"exit": -9, "ended_by": "fault"}, False),
    ],
)
def test_stop_of_its_own_that_names_nothing_is_a_finding(changes: dict[str, object], is_told: bool) -> None:
    ran = (incarnation(0, **changes), incarnation(1))
    found = evidence([], CLEAN, faults=(struck("request:3 enospc"),), incarnations=ran, errors=(errors("done\nbye"),))
    told = {"incarnation 0": f"exit {changes['exit']} behind ENOSPC at write crawl.db; it said: bye"} if is_told else {}
    assert unexplained(found.course) == told
    answer = judge(found)
    assert answer.data is not None
    assert (answer.data.unexplained, answer.outcome) == (told, "FAIL" if is_told else "PASS")


def test_stop_that_names_the_cause_is_none() -> None:
    ran = (incarnation(0, exit=1), incarnation(1))
    found = evidence([], CLEAN, faults=(struck(),), incarnations=ran, errors=(errors("No space left on device"),))
    assert judge(found).outcome == "PASS"


def test_each_incarnation_is_asked_for_what_it_said_itself() -> None:
    ran = (incarnation(0, exit=1), incarnation(1, exit=74), incarnation(2))
    said = (errors("No space left"), errors("", "EIO", 1))
    found = evidence([], [], CLEAN, incarnations=ran, errors=said)
    assert unexplained(found.course) == {"incarnation 1": "exit 74 behind EIO at write crawl.db; it said: nothing"}


def test_store_that_can_not_be_read_excuses_no_silence() -> None:
    from killtest.store.snapshot import Snapshot

    ran = (incarnation(0, exit=1), incarnation(1))
    broken = Snapshot(1, (), error="malformed")
    found = evidence([], broken, incarnations=ran, errors=(errors("oops"),), ending="unreadable_store")
    answer = judge(found)
    assert answer.data is not None
    assert list(answer.data.unexplained) == ["incarnation 0"]


@pytest.mark.parametrize("code", [-9, 137])
def test_who_is_killed_for_its_memory_can_not_have_said_anything(code: int) -> None:
    ran = (incarnation(0, exit=code), incarnation(1))
    faults = (struck("memory:100M"), struck("request:2 eio*1"))
    killed = evidence([], CLEAN, faults=faults, incarnations=ran, errors=(errors("", "EIO"),))
    assert unexplained(killed.course) == {}
    by_itself = evidence([], CLEAN, faults=faults[1:], incarnations=ran, errors=(errors("", "EIO"),))
    assert list(unexplained(by_itself.course)) == ["incarnation 0"]


@pytest.mark.parametrize("second", ["ENOSPC", "EIO"])
def test_of_two_errors_of_an_incarnation_naming_either_is_enough(second: str) -> None:
    """The first was lived through, and what was said until the second began can't name why it stopped behind that."""
    said = (errors(""), errors("No space left on device\nInput/output error", second))
    ran = (incarnation(0, exit=1), incarnation(1))
    assert unexplained(evidence([], CLEAN, incarnations=ran, errors=said).course) == {}
