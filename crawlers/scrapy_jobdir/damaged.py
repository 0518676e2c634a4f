"""Damages a file of a stopped JOBDIR as a lost, cut or overwritten file would be, then starts Scrapy on it.

    python damaged.py lost|cut|garbage PATTERN SITE_URL ARGUMENTS…

PATTERN names the file below the working directory (`job/requests.seen`, `job/requests.queue/*/0`). `cut` keeps
its first half; `garbage` keeps its length and puts 0xFF into every byte. What was done is written to stderr. The
arguments are those of `scrapy runspider spider.py` that come behind the usual ones.
"""

import os
import sys
from pathlib import Path

SPIDER = str(Path(__file__).with_name("spider.py"))


def damage(how: str, path: Path) -> str:
    """Damage the file at `path` and say what was done."""
    size = path.stat().st_size
    if how == "lost":
        path.unlink()
        return f"{path}: removed ({size} bytes)"
    path.write_bytes(path.read_bytes()[: size // 2] if how == "cut" else b"\xff" * size)
    return f"{path}: {how} ({size} bytes, now {path.stat().st_size})"


def main(how: str, pattern: str, site_url: str, *arguments: str) -> None:
    """Damage what the pattern names, and become Scrapy."""
    if how not in ("lost", "cut", "garbage"):
        sys.exit(f"damaged.py: {how!r} is none of lost, cut, garbage")
    paths = sorted(Path().glob(pattern))
    if not paths:
        sys.exit(f"damaged.py: no file {pattern!r} in {Path.cwd()}: nothing to damage")
    for path in paths:
        sys.stderr.write(damage(how, path) + "\n")
    words = ["-m", "scrapy", "runspider", SPIDER, "-a", f"site_url={site_url}", "-s", "JOBDIR=job", *arguments]
    os.execv(sys.executable, [sys.executable, *words])


if __name__ == "__main__":
    main(*sys.argv[1:])
