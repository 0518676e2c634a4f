"""The same crawl from Scrapy's HTTP cache, without `durable.py` and JOBDIR: every start crawls all of it again.

    scrapy runspider cached.py -a site_url=SITE_URL        (writes crawl.db and .scrapy/httpcache)

What an earlier start has stored in the cache comes from there, and makes no request.
"""

from __future__ import annotations

from spider import ShopSpider, SqlitePipeline


class CachedShopSpider(ShopSpider):
    """What a start before it has fetched comes from the cache, all other pages from the shop."""

    custom_settings = {  # noqa: RUF012 - Scrapy declares it so
        "HTTPCACHE_ENABLED": True,  # FilesystemCacheStorage, each page in seven files; nothing expires
        "ITEM_PIPELINES": {SqlitePipeline: 300},
        "LOG_LEVEL": "INFO",
        "TELNETCONSOLE_ENABLED": False,  # it would open a port
    }
