"""The private copy of a subject's code: what is in it, and that an edit of it touches no file outside."""

import os
from pathlib import Path

import pytest
from killtest.errors import HarnessFailure
from killtest.reload import code_copy


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    (folder / "spiders").mkdir(parents=True)
    (folder / "spiders" / "shop.py").write_text("REVISION = 1\n")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "rules.py").write_text("REVISION = 1\n")
    return folder


@pytest.mark.parametrize("link", ["{}/shared", "../shared"])
def test_what_lies_behind_a_link_out_of_the_folder_is_found_there_and_never_edited(code: Path, link: str) -> None:
    (code / "rules").symlink_to(link.format(code.parent))
    (code / "one.py").symlink_to(link.format(code.parent) + "/rules.py")
    copy = code.parent / "trial" / "code" / "0"
    code_copy.make(code, copy)
    assert (copy / "rules" / "rules.py").read_text() == (copy / "one.py").read_text() == "REVISION = 1\n"
    done = code_copy.apply("change", copy, ["rules/*.py", "*.py", "spiders/*.py"])
    assert (done.files, done.revision) == (("spiders/shop.py",), 2)
    assert (code.parent / "shared" / "rules.py").read_text() == "REVISION = 1\n"


@pytest.mark.parametrize("link", ["{}/spiders", "spiders", "../code/spiders"])
def test_a_link_within_the_folder_leads_into_the_copy_and_its_file_is_edited_once(code: Path, link: str) -> None:
    (code / "also").symlink_to(link.format(code))
    copy = code.parent / "trial" / "code" / "0"
    code_copy.make(code, copy)
    done = code_copy.apply("change", copy, ["also/*.py", "spiders/*.py"])
    assert (done.files, done.revision) == (("spiders/shop.py",), 2)
    assert (copy / "also" / "shop.py").read_text() == "REVISION = 2\n"
    assert (code / "spiders" / "shop.py").read_text() == "REVISION = 1\n"


def test_pipes_loops_and_links_to_nowhere_stop_no_copy(code: Path) -> None:
    os.mkfifo(code / "pipe")
    (code / "nowhere").symlink_to("gone")
    (code / "loop").symlink_to("loop")
    (code / "me").symlink_to(".")
    code_copy.make(code, code.parent / "copy")
    assert not (code.parent / "copy" / "pipe").exists()
    assert (code.parent / "copy" / "me" / "me" / "spiders" / "shop.py").is_file()


@pytest.mark.parametrize("place", [".conf", "results", "lib/__pycache__"])
def test_a_file_that_is_not_copied_is_no_reload_file(code: Path, place: str) -> None:
    (code / place).mkdir(parents=True)
    (code / place / "shop.py").write_text("REVISION = 1\n")
    assert code_copy.matching(code, ["**/*.py"]) == [code / "spiders" / "shop.py"]


def test_an_edit_of_files_that_the_subject_has_removed_is_no_strike(code: Path) -> None:
    (code / "spiders" / "shop.py").unlink()
    with pytest.raises(HarnessFailure, match="removed all reload files"):
        code_copy.apply("touch", code, ["spiders/*.py"])
    assert code_copy.apply("mended", code, ["spiders/*.py"]).files == ()


def test_files_that_say_different_revisions_are_all_changed_and_no_row_is_of_old_code_for_that(code: Path) -> None:
    (code / "spiders" / "other.py").write_text("REVISION = 7\n")
    done = code_copy.apply("change", code, ["spiders/*.py"])
    assert (done.files, done.revision) == (("spiders/other.py", "spiders/shop.py"), None)
    assert (code / "spiders" / "other.py").read_text() == "REVISION = 8\n"
