"""The same crawl without `durable.py` and without JOBDIR: every start crawls it all again, from Scrapy's HTTP cache.

    scrapy runspider cached.py -a site_url=SITE_URL        (writes crawl.db and .scrapy/httpcache)
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
