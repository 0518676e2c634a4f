"""How long a newcomer waits: from `pip install` of the wheel to a first verdict on README's example crawler.

The wheel is built and a virtual environment made before the clock starts. What is timed is pip, which fetches the
dependencies from the registry (without the extra `report`), and README's own `killtest run` of its own mine.py. Fails
when that takes longer than 60 seconds, or when the verdict is not the one that README shows.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from time import monotonic

ROOT = Path(__file__).resolve().parents[1]
BOUND_S = 60.0


def main() -> int:
    """Build, install, run; print the seconds of each."""
    with tempfile.TemporaryDirectory(prefix="killtest-bench-") as name:
        folder = Path(name)
        wheel = built(folder)
        venv.create(folder / "venv", with_pip=True)
        began_s = monotonic()
        pip = [str(folder / "venv/bin/python"), "-m", "pip", "--disable-pip-version-check", "-q", "install"]
        checked([*pip, str(wheel)], folder)
        installed_s = monotonic()
        verdict = first_verdict(folder)
        ended_s = monotonic()
    print(f"pip install {installed_s - began_s:.1f} s, killtest run {ended_s - installed_s:.1f} s: {verdict}")
    total_s = ended_s - began_s
    print(f"first verdict after {total_s:.1f} s; bound {BOUND_S:g} s: {'too slow' if total_s > BOUND_S else 'held'}")
    return int(total_s > BOUND_S)


def built(folder: Path) -> Path:
    """The wheel of this checkout."""
    checked([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)], folder)
    return next(folder.glob("killtest-*.whl"))


def first_verdict(folder: Path) -> str:
    """The headline that README's command prints for README's program; it must stand in README."""
    readme = (ROOT / "README.md").read_text("utf-8")
    program = re.search(r"```python\n(# mine\.py\n.*?)```", readme, re.DOTALL)
    command = re.search(r"```sh\nkilltest (run .*?)\n```", readme)
    assert program is not None, "README shows no mine.py any more"
    assert command is not None, "README shows no command any more"
    (folder / "mine.py").write_text(program[1], "utf-8")
    headline = checked([str(folder / "venv/bin/killtest"), *shlex.split(command[1])], folder, {0, 1}).splitlines()[0]
    assert headline in readme, f"README shows another verdict than: {headline}"
    return headline


def checked(words: list[str], folder: Path, codes: frozenset[int] | set[int] = frozenset({0})) -> str:
    """The output of a command that must end with one of `codes`; it sees no checkout by way of PYTHONPATH."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode in codes, f"{shlex.join(words)} ended with {done.returncode}:\n{done.stderr}"
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
