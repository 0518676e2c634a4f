"""NR out of a server's own file: every step is looked at, and nothing between the commands of one step."""

from pathlib import Path

import pytest
from append_only_file import Remaining, remaining


def written(*commands: str) -> bytes:
    """The commands as a server appends them."""
    text = b""
    for words in map(str.split, commands):
        text += b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word.encode()) for word in words)
    return text


def nr_in(folder: Path, *files: bytes) -> dict[str, tuple[int, int, int]]:
    """Now, lowest, and how often it came to 0, of each job."""
    (folder / "appendonlydir").mkdir()
    for number, text in enumerate(files, 1):
        (folder / "appendonlydir" / f"appendonly.aof.{number}.incr.aof").write_bytes(text)
    return {key: (job.now, job.lowest, job.ends) for key, job in remaining(folder).items()}


def test_a_job_that_is_counted_right_comes_to_nothing_once(tmp_path: Path) -> None:
    step = ("MULTI", "HINCRBY job finished 1", "HINCRBY job added 2", "EXEC")
    text = written("SELECT 0", "HSET job added 1 finished 0 failed 0 url x", *step, "HINCRBY job failed 1")
    assert nr_in(tmp_path, text, written("HINCRBY job finished 1")) == {"job": (0, 0, 1)}


def test_without_the_bracket_of_a_step_it_would_have_been_done_too_early(tmp_path: Path) -> None:
    text = written("HSET job NA 1 NF 0 NE 0", "HINCRBY job NF 1", "HINCRBY job NA 1", "HINCRBY job NF 1")
    assert nr_in(tmp_path, text) == {"job": (0, 0, 2)}


def test_a_task_that_is_counted_twice_shows_as_less_than_nothing(tmp_path: Path) -> None:
    text = written("HSET job NA 2 NF 0 NE 0", *["HINCRBY job NF 1"] * 3, "HINCRBY job NA 1", "HSET other NA 5")
    assert nr_in(tmp_path, text) == {"job": (0, -1, 1), "other": (5, 0, 0)}


@pytest.mark.parametrize("kept", range(1, len(written("HINCRBY job NF 1"))))
def test_a_command_that_a_kill_cut_short_did_not_happen(tmp_path: Path, kept: int) -> None:
    whole = written("HSET job NA 2 NF 1 NE 0")
    assert nr_in(tmp_path, b"#TS:1\r\n" + whole + written("HINCRBY job NF 1")[:kept]) == {"job": (1, 0, 0)}


def test_a_server_without_the_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no append-only file"):
        remaining(tmp_path)


def test_nothing_has_happened_yet() -> None:
    assert (Remaining().now, Remaining().lowest, Remaining().ends) == (0, 0, 0)
