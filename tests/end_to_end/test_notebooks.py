"""The notebooks are what their code gives, on the reference results."""

from pathlib import Path

import nbformat
import notebook_run
import pytest


def test_there_are_three_at_the_most_and_they_read_results_alone() -> None:
    assert 0 < len(notebook_run.notebooks()) <= 3
    for path in notebook_run.notebooks():
        code = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code")
        assert not [word for word in ("subprocess", "os.system", "campaign_run") if word in code]
        assert not [line for line in code.splitlines() if line.lstrip().startswith(("!", "%"))]


@pytest.mark.parametrize("path", notebook_run.notebooks(), ids=lambda path: path.stem)
def test_a_fresh_kernel_gives_what_is_committed(path: Path) -> None:
    committed = nbformat.read(path, as_version=4)
    told = list(notebook_run.texts(committed))
    assert told, f"{path}: not executed"
    assert list(notebook_run.texts(notebook_run.executed(path))) == told, "run `make notebooks`"


def test_a_text_that_was_changed_by_hand_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    committed = nbformat.read(notebook_run.notebooks()[0], as_version=4)
    folder = tmp_path / "notebooks"
    folder.mkdir()
    (tmp_path / "results").symlink_to(notebook_run.ROOT / "results")
    next(cell for cell in committed.cells if cell.get("outputs")).outputs[0].data["text/plain"] = "500 trials"
    nbformat.write(committed, folder / "changed.ipynb")
    monkeypatch.setattr(notebook_run, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["notebook_run.py", "--check"])
    assert notebook_run.main() == 1
