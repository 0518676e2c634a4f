"""How a JOBDIR loses requests: each mechanism with a schedule that shows it, and why, in words.

`bench/jobdir_mechanisms.py` runs and shrinks them; scrapy/scrapy#7978 is Scrapy's open request for crawls that
survive a crash, whose points are named here in its own order.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Said = tuple[str, str]

POINTS: dict[str, Said] = {
    "queues": ("crash-safe scheduler queues", "崩溃安全的调度队列"),
    "filter": ("a crash-safe duplicate filter", "崩溃安全的去重过滤器"),
    "index": ("durable scheduler metadata (active.json)", "持久的调度元数据(active.json)"),
    "requests": ("tracking requests in flight", "跟踪进行中的请求"),
    "items": ("tracking items until their feed has flushed them", "跟踪条目直至 feed 落盘"),
    "none": ("none of them: no crash is needed", "不在其中:无需崩溃"),
}


@dataclass(frozen=True)
class Mechanism:
    """One way to lose requests, or to stop for good.

    `faults` is the schedule with which it was found, which may be longer than it has to be; `goal` the findings and the
    ending that show it; `points` are keys of POINTS.
    """

    name: str
    title: Said
    variant: str
    faults: tuple[str, ...]
    why: Said
    points: tuple[str, ...]
    site: dict[str, str] = field(default_factory=dict)

    @property
    def is_shortest(self) -> bool:
        """Whether there is nothing to shrink: one fault before one durable step, as `killtest explore` names it."""
        return len(self.faults) == 1 and self.faults[0].startswith("syscall:")


_SMALL = {"list_pages": "3", "products": "30"}

MECHANISMS = (
    Mechanism(
        "forgotten-queue",
        ("the fingerprints are on disk, the queue is not listed", "指纹已落盘,队列未登记"),
        "chain",
        ("request:60 KILL", "request:240 KILL"),
        (
            "active.json, the only list of the queues, is written at a clean stop; requests.seen whenever its buffer is"
            " full (186 fingerprints, 4,092 bytes). The next start knows the fingerprints and opens no queue: the links of"
            " the start page are filtered, nothing is pushed, and it ends with exit code 0.",
            "active.json 是队列的唯一登记,只在正常停止时写入;requests.seen 则在缓冲区满时写入(186 个指纹,4,092 字节)。"
            "下次启动认得这些指纹,却不打开任何队列:起始页的链接全被过滤,什么也没入队,以退出码 0 结束。",
        ),
        ("index", "filter"),
    ),
    Mechanism(
        "in-flight",
        ("the request being downloaded is in no file", "正在下载的请求不在任何文件里"),
        "sqlite_one",
        ("request:30 INT", "request:20 KILL", "request:25 KILL"),
        (
            "A request leaves the queue when the downloader takes it; its fingerprint stays, and after a clean stop all"
            " fingerprints are on disk. Killed in the next run, the request in flight is nowhere, and its link is filtered.",
            "下载器取走请求时,请求即离开队列,指纹却留下;正常停止后所有指纹都已落盘。下一次运行被杀时,进行中的请求无处可寻,"
            "而它的链接会被过滤。",
        ),
        ("requests",),
    ),
    Mechanism(
        "stale-count",
        ("a LIFO queue's count is that of the last clean stop: a hang for good", "LIFO 队列的计数停在上次正常停止时:永久挂起"),
        "one_request",
        ("request:12 INT", "request:9 KILL"),
        (
            "The first four bytes of a LIFO queue count its records and are written at a clean stop alone. The next run pops"
            " from the file's end and is killed: the count says more than there is. The run after that pops until it seeks"
            " before the file's start (OSError in the engine's loop) and waits for a queue that never runs empty.",
            "LIFO 队列文件的前四个字节是记录数,只在正常停止时写入。下一次运行从文件末尾弹出后被杀:计数比实际多。"
            "再下一次运行一直弹出,直到定位到文件开头之前(引擎循环中的 OSError),然后永远等待一个不会变空的队列。",
        ),
        ("queues", "requests"),
        _SMALL,
    ),
    Mechanism(
        "header-in-buffer",
        ("a LIFO queue of 0 bytes can't be opened: every push fails", "0 字节的 LIFO 队列无法打开:每次入队都失败"),
        "products_few",
        ("request:3 KILL", "request:5 KILL"),
        (
            "What is pushed to a LIFO queue stays in the process's buffer until it is full or something is popped. A queue of"
            " lower priority that was never read is a file of 0 bytes after the kill. In the next run opening it fails"
            " (struct.error) at every push, after the fingerprint was recorded: logged, and gone.",
            "压入 LIFO 队列的内容留在进程缓冲区里,直到缓冲区满或发生弹出。从未读过的低优先级队列,被杀后是 0 字节的文件。"
            "下一次运行每次入队都因打不开它而失败(struct.error),而指纹此前已经记录:记入日志,请求消失。",
        ),
        ("queues",),
    ),
    Mechanism(
        "emptied-queue",
        ("a queue that was empty for a moment is opened as an empty one", "曾经变空的队列被当作空队列打开"),
        "fifo_one",
        ("request:10 INT", "request:30 KILL"),
        (
            "A queue that runs empty is removed, and made anew at the next push. The new one's info.json is written at a clean"
            " stop alone, while active.json of the last one still lists it: the next start takes its records for read.",
            "队列变空即被删除,下次入队时重建。新队列的 info.json 只在正常停止时写入,而上一次的 active.json 仍登记着它:"
            "下次启动把其中的记录当作已读。",
        ),
        ("queues", "index"),
    ),
    Mechanism(
        "half-pushed",
        ("a FIFO queue without info.json reads its oldest records first", "没有 info.json 的 FIFO 队列先读最旧的记录"),
        "fifo_one",
        ("syscall:write#14 KILL",),
        (
            "Killed while the links of a page are being pushed, a FIFO queue holds some records and no info.json. The next run"
            " appends all links behind them, reads from the oldest, and stops after as many as it has pushed: the last ones"
            " are never read.",
            "在压入一个页面的链接途中被杀,FIFO 队列里有若干记录而没有 info.json。下一次运行把全部链接追加在后,"
            "从最旧的读起,读到自己压入的数目为止:最后几条永远不会被读到。",
        ),
        ("queues",),
        _SMALL,
    ),
    Mechanism(
        "half-removed",
        ("a start queue removed by half: a hang for good", "删到一半的起始队列:永久挂起"),
        "one_request",
        ("syscall:unlink#3 KILL",),
        (
            "An emptied FIFO queue is removed chunk first, info.json last. Killed between, info.json names a position in a chunk"
            " that is gone. The next start pushes its request into a new chunk, reads it from the old position, gets nothing,"
            " and waits for a queue whose length stays 1.",
            "变空的 FIFO 队列先删数据块,最后删 info.json。两者之间被杀,info.json 指向已不存在的数据块中的位置。"
            "下次启动把请求压入新块,却从旧位置读取,什么也读不到,于是永远等待长度为 1 的队列。",
        ),
        ("queues",),
        _SMALL,
    ),
    Mechanism(
        "torn-index",
        ("an empty active.json: no start succeeds any more", "空的 active.json:再也无法启动"),
        "one_request",
        ("syscall:write#6 KILL",),
        (
            "active.json is emptied when it is opened for writing, and written a moment later. Killed between, it is no JSON,"
            " and every start ends with JSONDecodeError before its first request.",
            "active.json 打开写入时即被清空,稍后才写入内容。两者之间被杀,它便不是 JSON,此后每次启动都在第一个请求之前以"
            " JSONDecodeError 结束。",
        ),
        ("index",),
        _SMALL,
    ),
    Mechanism(
        "feed-buffer",
        ("rows in the feed's buffer, their requests done", "行还在 feed 缓冲区里,请求却已完成"),
        "jsonl_one",
        ("request:30 INT", "request:20 KILL"),
        (
            "A feed's file is written when its buffer is full or the crawl ends. The pages of the rows in it have left the"
            " queue, and their fingerprints are on disk since the clean stop: killed, they are neither stored nor asked for again.",
            "feed 文件在缓冲区满或爬取结束时才写入。缓冲区中各行的页面已离开队列,指纹自正常停止起就在磁盘上:"
            "被杀之后既未保存,也不会再请求。",
        ),
        ("items", "requests"),
    ),
    Mechanism(
        "unpicklable",
        ("requests that can't be pickled end with the process", "无法序列化的请求随进程消失"),
        "article_lock",
        ("request:5 INT", "request:17 INT"),
        (
            "A request with a lock in its meta is kept in memory. A clean stop writes its fingerprint and drops it.",
            "meta 中带锁的请求只留在内存里。正常停止会写下它的指纹,然后丢弃它。",
        ),
        ("none",),
    ),
)
