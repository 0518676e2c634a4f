"""The wheel of this checkout, and a clean environment that it is installed in."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def build(folder: Path) -> Path:
    """Build the wheel into `folder`."""
    _run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT))
    (wheel,) = folder.glob("killtest-*.whl")
    return wheel


def environment(folder: Path, wheel: Path, *more: str) -> Path:
    """The bin folder of a virtual environment with the wheel and `more`, dependencies as in the lock file."""
    # Without hashes, which constraints can't have for a wheel that was built a moment ago.
    lock = (ROOT / "requirements" / "dev.lock").read_text("utf-8")
    constraints = folder.with_name(f"{folder.name}-constraints.txt")
    constraints.write_text("\n".join(re.findall(r"^[a-z0-9._-]+==[^ \\;]+", lock, re.MULTILINE)))
    _run(sys.executable, "-m", "venv", "--without-pip", str(folder))
    words = ["-qq", "--disable-pip-version-check", "--python", str(folder / "bin" / "python"), "install"]
    words += ["--only-binary", ":all:", "-c", str(constraints), str(wheel), *more]
    _run(sys.executable, "-m", "pip", *words)
    return folder / "bin"


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
