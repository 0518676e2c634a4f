"""The published design of a reloadable, distributed crawler, rebuilt as it is described, with what it leaves open.

python crawl.py setup
python crawl.py submit http://127.0.0.1:8000/list/0 --count 4
python crawl.py crawl --workers 12 --instance n1 --until-done
python crawl.py status --json
"""

import argparse
import json
import os
import sys
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")
django.setup()

import node  # noqa: E402
import tasks  # noqa: E402
from record import create_table  # noqa: E402

SPIDERS = sorted(path.stem for path in Path(__file__).with_name("spiders").glob("[a-z]*.py"))


def main() -> int:
    """Do what the command line says; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("setup", help="create the table of records")
    submit = commands.add_parser("submit", help="queue new jobs, print their ids")
    submit.add_argument("url")
    submit.add_argument("--spider", choices=SPIDERS, default="shop")
    submit.add_argument("--count", type=int, default=1)
    crawl = commands.add_parser("crawl", help="run a node")
    crawl.add_argument("--workers", type=int, default=4)
    crawl.add_argument("--instance", default="n1", help="the node's name")
    crawl.add_argument("--pool", action="store_true", help="workers of a multiprocessing.Pool, not a process per task")
    crawl.add_argument("--until-done", action="store_true", help="end when no job has anything left")
    status = commands.add_parser("status", help="show jobs and tasks in hand")
    status.add_argument("--json", action="store_true")
    return act(parser.parse_args())


def act(options: argparse.Namespace) -> int:
    """Run one command."""
    if options.command == "setup":
        create_table()
    elif options.command == "crawl":
        node.run(options.instance, options.workers, SPIDERS, options.pool, options.until_done)
    elif options.command == "submit":
        db = tasks.connect()
        say("\n".join(tasks.submit(db, options.spider, options.url) for _ in range(options.count)))
    else:
        show(options.json)
    return 0


def show(as_json: bool) -> None:
    """Print the jobs' counters, and how many tasks are queued and in hand."""
    db = tasks.connect()
    found = {"jobs": tasks.jobs(db), "in_hand": tasks.in_hand(db), "queued": db.llen(tasks.TASKS)}
    if as_json:
        say(json.dumps(found))
        return
    for job in found["jobs"]:
        say("{id}: NR {remaining} = NA {added} - NF {finished} - NE {failed}".format_map(job))
    say(f"{found['queued']} tasks queued, {len(found['in_hand'])} in hand")


def say(text: str) -> None:
    """Print to standard output."""
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
