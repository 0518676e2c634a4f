"""Execute the notebooks and write them back: the same results, the same bytes.

    python bench/notebook_run.py [--check]

With --check nothing is written; it ends with 1 when a text output is not the committed one. Pictures are compared by
being there: their bytes hang on the versions of matplotlib and fonts.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT_S = 120


def notebooks() -> list[Path]:
    """All of them."""
    return sorted((ROOT / "notebooks").glob("*.ipynb"))


def executed(path: Path) -> Any:
    """The notebook with the outputs of a fresh kernel, without what differs from run to run."""
    notebook = nbformat.read(path, as_version=4)
    # The kernel listens on loopback, which it warns of.
    quiet = ["--log-level=40"]
    client = NotebookClient(
        notebook, timeout=TIMEOUT_S, kernel_name="python3", record_timing=False, extra_arguments=quiet
    )
    client.execute(cwd=str(path.parent))
    notebook.metadata = {"language_info": {"name": "python"}}
    for number, cell in enumerate(notebook.cells, 1):
        cell.id, cell.metadata = f"cell-{number}", {}
    return notebook


def texts(notebook: Any) -> Iterator[str]:
    """What its cells have printed, and that there is a picture where there is one."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            yield (
                "a picture"
                if "image/png" in data
                else data.get("text/markdown") or data.get("text/plain") or output.get("text", "")
            )


def main() -> int:
    """Execute all; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; compare")
    is_check = parser.parse_args().check
    drifted = []
    for path in notebooks():
        again = executed(path)
        if list(texts(again)) != list(texts(nbformat.read(path, as_version=4))):
            drifted.append(path.name)
        if not is_check:
            nbformat.write(again, path)
    if is_check and drifted:
        print(f"not what its code gives: {', '.join(drifted)}; run `make notebooks`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
