"""A spider under `durable.py` that does what the pages tell it, for tests/process/test_scrapy_durable.py.

<i>x</i>   an item, appended to items.txt; its pipeline raises at "bad" and drops "dropped"
<a href>   a request; class: again (dont_filter), copy (the response's meta), lambda (can't be pickled),
           mirror (an errback that asks for /mirror instead)
<b>        the callback raises behind all this
"""

import scrapy
from durable import DurablePages, DurableScheduler
from scrapy.exceptions import DropItem


class LinesPipeline:
    def process_item(self, item):
        if item["text"] == "bad":
            raise OSError("the store is full")
        if item["text"] == "dropped":
            raise DropItem("not wanted")
        with open("items.txt", "a") as out:
            out.write(item["text"] + "\n")
        return item


class WaywardSpider(scrapy.Spider):
    name = "wayward"
    allowed_domains = ["127.0.0.1"]  # noqa: RUF012 - Scrapy declares it so
    custom_settings = {  # noqa: RUF012
        "SCHEDULER": DurableScheduler,
        "SPIDER_MIDDLEWARES": {DurablePages: 1},
        "JOBDIR": "job",
        "ITEM_PIPELINES": {LinesPipeline: 1},
        "RETRY_TIMES": 2,
        "TELNETCONSOLE_ENABLED": False,
    }

    def __init__(self, site_url):
        super().__init__()
        self.start_urls = [f"{site_url}/start"]

    def parse(self, response):
        for text in response.css("i::text").getall():
            yield {"text": text}
        for link in response.css("a"):
            how = link.attrib.get("class", "").split()
            yield response.follow(
                link,
                (lambda response: None) if "lambda" in how else self.parse,
                dont_filter="again" in how,
                meta=response.meta if "copy" in how else None,
                errback=self.mirrored if "mirror" in how else None,
            )
        if response.css("b"):
            raise ValueError("boom")

    def mirrored(self, failure):
        yield {"text": "failed"}
        yield failure.request.replace(url=failure.request.url + "/mirror")
