"""Edits of a subject's code, text in and text out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from killtest.reload.edit import edited, revision_of

CODE = b"import os\nREVISION = 9  # of the parser\nOTHER_REVISION = 4\n"


def test_change_counts_the_revision_up_and_nothing_else() -> None:
    assert edited("change", CODE) == b"import os\nREVISION = 10  # of the parser\nOTHER_REVISION = 4\n"
    assert edited("change", b"x = 1\n") == b"x = 1\n"
    assert edited("change", b"\xef\xbb\xbfREVISION = 1\r\n") == b"\xef\xbb\xbfREVISION = 2\r\n"


@pytest.mark.parametrize(
    ("text", "revision"),
    [
        (CODE, 9),
        (b"REVISION = 1\r\nREVISION = 12\r\n", 12),
        (b"\xef\xbb\xbfREVISION = 4\r\n", 4),
        (b"    REVISION = 3\n", None),
        (b"REVISION = one\n", None),
        (b"", None),
    ],
)
def test_revision_is_read_from_a_line_of_its_own(text: bytes, revision: int | None) -> None:
    assert revision_of(text) == revision


def test_whitespace_adds_one_blank_line_at_the_end() -> None:
    assert edited("whitespace", b"x = 1\n") == b"x = 1\n\n"
    assert edited("whitespace", b"x = 1") == b"x = 1\n\n"


def test_touch_changes_no_text() -> None:
    assert edited("touch", CODE) == CODE


def test_broken_code_is_neither_python_nor_javascript_and_says_who_broke_it() -> None:
    broken = edited("broken", CODE)
    assert broken == CODE + b")killtest broke this line\n"
    with pytest.raises(SyntaxError):
        compile(broken, "spider.py", "exec")


@given(st.binary().filter(lambda text: b"killtest" not in text))
def test_mended_code_is_what_it_was_to_the_byte(text: bytes) -> None:
    assert edited("mended", edited("broken", text)) == text


def test_mending_finds_the_line_although_more_was_written_behind_it() -> None:
    assert edited("mended", edited("broken", CODE) + b"more = 1\n") == CODE + b"more = 1\n"
