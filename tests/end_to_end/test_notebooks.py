"""The notebooks are what their code gives, on the reference results."""

from pathlib import Path

import nbformat
import notebook_run
import pytest


def test_there_are_three_at_the_most_and_they_read_results_alone() -> None:
    assert 0 < len(notebook_run.notebooks()) <= 3
    for path in notebook_run.notebooks():
        code = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code")
        assert not [word for word in ("subprocess", "os.system", "!killtest", "%") if f"\n{word}" in f"\n{code}"]


@pytest.mark.parametrize("path", notebook_run.notebooks(), ids=lambda path: path.stem)
def test_a_fresh_kernel_gives_what_is_committed(path: Path) -> None:
    committed = nbformat.read(path, as_version=4)
    told = list(notebook_run.texts(committed))
    assert told, f"{path}: not executed"
    assert list(notebook_run.texts(notebook_run.executed(path))) == told, "run `make notebooks`"


def test_a_text_that_was_changed_by_hand_is_noticed() -> None:
    committed = nbformat.read(notebook_run.notebooks()[0], as_version=4)
    told = list(notebook_run.texts(committed))
    next(cell for cell in committed.cells if cell.get("outputs")).outputs[0].data["text/plain"] = "500 trials"
    assert list(notebook_run.texts(committed)) != told
