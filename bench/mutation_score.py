"""What `make mutation` found: the share of mutants that the tests caught, and a line for each that survived.

A survivor that docs/mutation.md explains (by its file, its line of code and what became of it) is no gap. Fails below
95 % caught, or when a survivor is not explained.
"""

import sqlite3
import sys
from pathlib import Path

BOUND = 0.95
EXPLAINED = Path(__file__).resolve().parents[1] / "docs" / "mutation.md"


def main(session: str) -> int:
    """Print the score and the survivors of a session of cosmic-ray."""
    rows = sqlite3.connect(session).execute(
        "SELECT test_outcome, diff FROM work_results NATURAL JOIN mutation_specs WHERE worker_outcome = 'NORMAL'"
        " ORDER BY module_path, start_pos_row, start_pos_col, operator_name"
    )
    outcomes = [(outcome, change(diff or "")) for outcome, diff in rows]
    survivors = [words for outcome, words in outcomes if outcome == "SURVIVED"]
    explained = EXPLAINED.read_text("utf-8")
    for words in survivors:
        print(f"{'explained' if f'`{words}`' in explained else 'A GAP    '}  {words}")
    caught = len(outcomes) - len(survivors)
    gaps = [words for words in survivors if f"`{words}`" not in explained]
    print(f"{caught} of {len(outcomes)} mutants caught: {100 * caught / len(outcomes):.1f} %, bound {BOUND:.0%}")
    return int(bool(gaps) or caught < BOUND * len(outcomes))


def change(diff: str) -> str:
    """A mutation in one line: the file, the line as it was, and as it became."""
    lines = diff.splitlines()
    before = [line[1:].strip() for line in lines if line.startswith("-") and not line.startswith("---")]
    after = [line[1:].strip() for line in lines if line.startswith("+") and not line.startswith("+++")]
    name = next((line.rpartition("/")[2] for line in lines if line.startswith("+++")), "?")
    return f"{name}: {' '.join(before)} → {' '.join(after)}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
