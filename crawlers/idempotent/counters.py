"""How many records there are, in all and by availability: counted when somebody asks, never kept.

A number that is kept beside the rows and moved on with each fetch is wrong from the first page that is fetched twice
on. A view can't be. Where counting takes too long, count in the transaction that ends the crawl, into a table; the
rows stay the only source.
"""

from __future__ import annotations

import sqlite3

SCHEMA = """CREATE VIEW IF NOT EXISTS counters (name, value) AS
    SELECT 'rows', count(*) FROM records
    UNION ALL
    SELECT 'availability=' || json_extract(data, '$.availability'), count(*) FROM records
        WHERE json_extract(data, '$.availability') IS NOT NULL GROUP BY 1"""


def prepare(db: sqlite3.Connection) -> None:
    """Make the view where there is none; the records are there already."""
    db.execute(SCHEMA)
