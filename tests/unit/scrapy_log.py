"""The end of a log of Scrapy 2.19, and the stats in it that are numbers and texts."""

LOG = """2026-01-01 00:00:00 [scrapy.core.engine] INFO: Closing spider (shutdown)
2026-01-01 00:00:00 [scrapy.statscollectors] INFO: Dumping Scrapy stats:
{'downloader/request_bytes': 3446,
 'elapsed_time_seconds': 0.1897,
 'finish_reason': 'shutdown',
 'finish_time': datetime.datetime(2026, 11, 30, 18, 32, 8, 636556, tzinfo=datetime.timezone.utc),
 'items_per_minute': None,
 'tiny': 1.5e-07,
 "it's/odd": -3,
 'reason': "it's",
 'empty': '',
 'start_time': datetime.datetime(2026, 11, 30, 18, 32, 8, 446799, tzinfo=datetime.timezone.utc)}
2026-01-01 00:00:00 [scrapy.core.engine] INFO: Spider closed (shutdown)
"""
STATS = {
    "downloader/request_bytes": 3446,
    "elapsed_time_seconds": 0.1897,
    "finish_reason": "shutdown",
    "tiny": 1.5e-07,
    "it's/odd": -3,
    "reason": "it's",
    "empty": "",
}
