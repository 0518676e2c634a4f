"""The article's figures, the relation behind each, and how to read ours from the ledger.

The article: JOBDIR:暂停和恢复时磁盘上存了什么 (bigywater.tech, Scrapy · 38). Its set-up: macOS 27 arm64, Python
3.14.8, Scrapy 2.19.0, Twisted 26.4.0; 40 pages of 0.1 s linked from one, concurrency 2, FIFO queues in memory and
on disk, the signal 1.5 s after the start. It says itself that page counts vary by a few from run to run, so what is
compared is the relation between figures; bytes of records depend on the length of the URLs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from killtest.laboratory.facts import Facts

TITLE = "JOBDIR:暂停和恢复时磁盘上存了什么"
LINKED = 40
FINGERPRINT_BYTES = 22

Said = tuple[str, str]
"""A text in English and in Chinese."""


@dataclass(frozen=True)
class Figure:
    """One published figure: what it is, as printed, how ours is read, and the relation that must hold for ours."""

    name: Said
    published: str
    ours: Callable[[Facts], object]
    relation: Said
    holds: Callable[[Facts], bool]


@dataclass(frozen=True)
class Experiment:
    """Figures that come from one trial of ours: of `variant` under `schedule`, and by the clock under `timer`."""

    name: Said
    variant: str
    schedule: str
    timer: str | None
    figures: tuple[Figure, ...]


_ON_DISK = (
    Figure(
        ("pages downloaded in run 1", "第一次运行下载的页数"),
        "18",
        lambda t: t.pages(0),
        ("each one that was dequeued, but for the start page", "等于出队数减去起始页"),
        lambda t: t.pages(0) == t.stat(0, "scheduler/dequeued") - 1,
    ),
    Figure(
        ("scheduler/enqueued", "scheduler/enqueued"),
        "41",
        lambda t: t.stat(0, "scheduler/enqueued"),
        ("40 links and the start page", "40 个链接加起始页"),
        lambda t: t.stat(0, "scheduler/enqueued") == LINKED + 1,
    ),
    Figure(
        ("scheduler/dequeued", "scheduler/dequeued"),
        "19",
        lambda t: t.stat(0, "scheduler/dequeued"),
        ("pages downloaded + 1", "下载页数 + 1"),
        lambda t: t.stat(0, "scheduler/dequeued") == t.pages(0) + 1,
    ),
    Figure(
        ("finish_reason", "finish_reason"),
        "shutdown",
        lambda t: t.stat(0, "finish_reason"),
        ("shutdown", "shutdown"),
        lambda t: t.stat(0, "finish_reason") == "shutdown",
    ),
    Figure(
        ("requests.seen, bytes", "requests.seen 字节数"),
        "902",
        lambda t: t.bytes_of(0, "requests.seen"),
        ("902 = 41 × 22: every request enqueued, 22 bytes each", "902 = 41 × 22:每个入队请求 22 字节"),
        lambda t: (
            t.bytes_of(0, "requests.seen") == FINGERPRINT_BYTES * t.stat(0, "scheduler/enqueued")
            and t.fingerprints(0) == t.stat(0, "scheduler/enqueued")
        ),
    ),
    Figure(
        ("q00000, bytes", "q00000 字节数"),
        "10,510",
        lambda t: t.bytes_of(0, "/0/q00000"),
        ("all 40 records, those that were popped included", "全部 40 条记录,包括已出队的"),
        lambda t: t.queue(0)["records"] == LINKED,
    ),
    Figure(
        ("info.json, bytes", "info.json 字节数"),
        "73",
        lambda t: t.bytes_of(0, "/0/info.json"),
        ("says 40 − pages downloaded are left, and so do the records", "剩余 = 40 − 已下载,与记录数一致"),
        lambda t: t.queue(0)["believed"] == t.queue(0)["pending"] == LINKED - t.pages(0),
    ),
    Figure(
        ("active.json, bytes", "active.json 字节数"),
        "18",
        lambda t: t.bytes_of(0, "active.json"),
        ("one slot with priority 0", "一个 slot,优先级 0"),
        lambda t: list(t.jobdir(0)["index"].values()) == [[0]],
    ),
    Figure(
        ("spider.state, bytes", "spider.state 字节数"),
        "135",
        lambda t: t.bytes_of(0, "spider.state"),
        ("a count and a list of the pages downloaded", "已下载页面的计数与列表"),
        lambda t: t.state(0, "count") == t.state(0, "urls") == t.pages(0),
    ),
)

_RESUMED = (
    Figure(
        ("pages in run 2", "第二次运行的页数"),
        "22",
        lambda t: t.pages(1),
        ("40 − pages in run 1", "40 − 第一次的页数"),
        lambda t: t.pages(1) == LINKED - t.pages(0),
    ),
    Figure(
        ("start page sent in run 2", "第二次运行中起始页的请求数"),
        "0",
        lambda t: t.start_pages(1),
        ("0: its own start() goes through the filter", "0:自定义 start() 经过去重"),
        lambda t: t.start_pages(1) == 0,
    ),
    Figure(
        ("dupefilter/filtered", "dupefilter/filtered"),
        "1",
        lambda t: t.stat(1, "dupefilter/filtered"),
        ("1: the start page", "1:起始页"),
        lambda t: t.stat(1, "dupefilter/filtered") == 1,
    ),
    Figure(
        ("scheduler/dequeued", "scheduler/dequeued"),
        "22",
        lambda t: t.stat(1, "scheduler/dequeued"),
        ("pages in run 2", "等于第二次的页数"),
        lambda t: t.stat(1, "scheduler/dequeued") == t.pages(1),
    ),
    Figure(
        ("overlap of the two runs, of 40 pages", "两次运行的重叠(共 40 页)"),
        "0",
        lambda t: t.overlap,
        ("0, and every page was stored", "0,且没有缺页"),
        lambda t: t.overlap == 0 and t.missing == 0 and t.pages(0) + t.pages(1) == LINKED,
    ),
    Figure(
        ("active.json after run 2, bytes", "第二次运行后 active.json 字节数"),
        "2",
        lambda t: t.bytes_of(1, "active.json"),
        ("an empty object", "空对象"),
        lambda t: t.jobdir(1)["index"] == {},
    ),
    Figure(
        ("requests.seen after run 2, bytes", "第二次运行后 requests.seen 字节数"),
        "902",
        lambda t: t.bytes_of(1, "requests.seen"),
        ("as after run 1", "与第一次运行后相同"),
        lambda t: t.bytes_of(1, "requests.seen") == t.bytes_of(0, "requests.seen"),
    ),
    Figure(
        ("spider.state after run 2, bytes", "第二次运行后 spider.state 字节数"),
        "267",
        lambda t: t.bytes_of(1, "spider.state"),
        ("has grown with its list", "随列表增长"),
        lambda t: t.bytes_of(1, "spider.state") > t.bytes_of(0, "spider.state"),
    ),
    Figure(
        ("self.state: count and URLs", "self.state:计数与 URL 数"),
        "40",
        lambda t: t.state(1, "count"),
        ("18 + 22 = 40: the runs add up", "18 + 22 = 40:两次相加"),
        lambda t: t.state(1, "count") == t.state(1, "urls") == t.pages(0) + t.pages(1) == LINKED,
    ),
)

_THIRD = (
    Figure(
        ("requests in run 3", "第三次运行的请求数"),
        "0",
        lambda t: t.requests(t.again),
        ("0, one filtered, finished", "0,过滤 1 个,finished"),
        lambda t: (
            t.requests(t.again) == 0
            and t.stat(t.again, "dupefilter/filtered") == 1
            and t.stat(t.again, "finish_reason") == "finished"
        ),
    ),
)

_FOURTH = (
    Figure(
        ("requests with default start_urls", "默认 start_urls 的请求数"),
        "1",
        lambda t: t.requests(t.again),
        ("the start page alone", "只有起始页"),
        lambda t: t.requests(t.again) == t.start_pages(t.again) == 1,
    ),
    Figure(
        ("dupefilter/filtered", "dupefilter/filtered"),
        "40",
        lambda t: t.stat(t.again, "dupefilter/filtered"),
        ("all links", "全部链接"),
        lambda t: t.stat(t.again, "dupefilter/filtered") == LINKED,
    ),
)

_KILLED = (
    Figure(
        ("requests.seen, bytes", "requests.seen 字节数"),
        "0",
        lambda t: t.bytes_of(0, "requests.seen"),
        ("0: still in the buffer of the process", "0:仍在进程缓冲区里"),
        lambda t: t.bytes_of(0, "requests.seen") == 0,
    ),
    Figure(
        ("q00000, bytes", "q00000 字节数"),
        "10,510",
        lambda t: t.bytes_of(0, "/0/q00000"),
        ("all 40 records are on disk", "40 条记录都在磁盘上"),
        lambda t: t.queue(0)["records"] == LINKED,
    ),
    Figure(
        ("pages before", "被杀前的页数"),
        "22",
        lambda t: t.pages(0),
        ("fewer than 40", "少于 40"),
        lambda t: 0 < t.pages(0) < LINKED,
    ),
    Figure(
        ("pages after", "之后的页数"),
        "40",
        lambda t: t.pages(1),
        ("40: all anew", "40:全部重来"),
        lambda t: t.pages(1) == LINKED,
    ),
    Figure(
        ("overlap", "重叠"),
        "22",
        lambda t: t.overlap - min(t.start_pages(0), t.start_pages(1)),
        ("pages before", "等于被杀前的页数"),
        lambda t: t.overlap - min(t.start_pages(0), t.start_pages(1)) == t.pages(0),
    ),
    Figure(
        ("missing", "缺失"),
        "0",
        lambda t: t.missing,
        ("0: repeated, not lost", "0:重复但不丢失"),
        lambda t: t.missing == 0,
    ),
    Figure(
        ("scheduler/dequeued in run 2", "第二次运行的 scheduler/dequeued"),
        "41",
        lambda t: t.stat(1, "scheduler/dequeued"),
        ("40 + the start page", "40 + 起始页"),
        lambda t: t.stat(1, "scheduler/dequeued") == LINKED + 1,
    ),
)

_LOCKED = (
    Figure(
        ("scheduler/unserializable", "scheduler/unserializable"),
        "40",
        lambda t: t.stat(0, "scheduler/unserializable"),
        ("all links", "全部链接"),
        lambda t: t.stat(0, "scheduler/unserializable") == LINKED,
    ),
    Figure(
        ("scheduler/enqueued/memory", "scheduler/enqueued/memory"),
        "40",
        lambda t: t.stat(0, "scheduler/enqueued/memory"),
        ("those that can't be pickled", "无法序列化的那些"),
        lambda t: t.stat(0, "scheduler/enqueued/memory") == t.stat(0, "scheduler/unserializable"),
    ),
    Figure(
        ("scheduler/enqueued/disk", "scheduler/enqueued/disk"),
        "1",
        lambda t: t.stat(0, "scheduler/enqueued/disk"),
        ("the start page", "起始页"),
        lambda t: t.stat(0, "scheduler/enqueued/disk") == 1,
    ),
    Figure(
        ("pages in run 1", "第一次运行的页数"),
        "16",
        lambda t: t.pages(0),
        ("fewer than 40", "少于 40"),
        lambda t: 0 < t.pages(0) < LINKED,
    ),
    Figure(
        ("pages in run 2", "第二次运行的页数"),
        "0",
        lambda t: t.pages(1),
        ("none: the queue was in memory", "没有:队列在内存里"),
        lambda t: t.pages(1) == 0,
    ),
    Figure(
        ("lost for good", "永久丢失"),
        "24",
        lambda t: t.missing,
        ("40 − pages in run 1", "40 − 第一次的页数"),
        lambda t: t.missing == LINKED - t.pages(0),
    ),
)

EXPERIMENTS = (
    Experiment(
        ("one Ctrl-C: the JOBDIR", "一次 Ctrl-C:JOBDIR 的内容"), "article", "article-INT", "article-INT-timer", _ON_DISK
    ),
    Experiment(("resume", "恢复"), "article", "article-INT", "article-INT-timer", _RESUMED),
    Experiment(
        ("run 3, own start()", "第三次运行,自定义 start()"), "article", "article-INT", "article-INT-timer", _THIRD
    ),
    Experiment(
        ("the same, default start_urls", "同上,默认 start_urls"), "article_start_urls", "article-INT", None, _FOURTH
    ),
    Experiment(("kill -9", "kill -9"), "article", "article-KILL", "article-KILL-timer", _KILLED),
    Experiment(("a lock in meta", "meta 中有锁"), "article_lock", "article-lock", "article-lock-timer", _LOCKED),
)
