"""What the trials of a report did to their subjects, what they did not do, and what killtest can't do at all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from killtest.report.frame import Line
from killtest.report.kill_counts import STRUCK, is_kill

_ENGLISH = {
    "comma": ", ",
    "none": "nothing",
    "modelled": "Struck here: {struck}.",
    "not_modelled": "Not tried here: {absent}.",
    "never_modelled": (
        "No command of killtest models: a kernel that crashes while it writes, a disk that lies about a flush or loses "
        "what it had kept, bits that flip, a network that splits or loses packets, TLS and DNS in trouble, and clocks "
        "that drift apart between machines."
    ),
    "kill": "kills",
    "pause": "pauses",
    "bump": "pages that changed",
    "misbehaviour": "answers that went wrong",
    "partial": "answers struck half-way",
    "service": "kills of a service",
    "reload": "edits of the code",
    "io": "full disks and I/O errors",
    "memory": "memory kills",
    "clock": "moves of the wall clock",
    "other": "other faults",
    "how": "{kind} (`{how}`)",
    "power": "power cuts",
    "steps": "kills between two system calls",
}
_CHINESE = {
    "comma": "、",
    "none": "无",
    "modelled": "本页实际发生的故障：{struck}。",
    "not_modelled": "本页没有试的：{absent}。",
    "never_modelled": (
        "killtest 的任何命令都不模拟：内核在写入时崩溃、磁盘谎报刷盘或丢失已保存的数据、比特翻转、"
        "网络分区或丢包、TLS 与 DNS 故障、多台机器之间的时钟漂移。"
    ),
    "kill": "终止",
    "pause": "暂停",
    "bump": "页面内容变化",
    "misbehaviour": "网站的错误应答",
    "partial": "应答传到一半时的故障",
    "service": "终止服务",
    "reload": "修改代码",
    "io": "磁盘写满与 I/O 错误",
    "memory": "内存不足而被终止",
    "clock": "系统时钟跳变",
    "other": "其他故障",
    "how": "{kind}(`{how}`)",
    "power": "断电",
    "steps": "两次系统调用之间的终止",
}
WORDS = {"en": _ENGLISH, "zh": _CHINESE}
# How to try what a report has left out.
HOW = {
    "kill": "request:25 KILL",
    "pause": "request:25 STOP+CONT@2",
    "bump": "request:25 bump:/product/7",
    "misbehaviour": "status:/product/6=503*2",
    "partial": "partial:/product/7@100 KILL",
    "service": "request:25 service:postgres:KILL",
    "reload": "request:25 reload:change",
    "io": "killtest explore --errors",
    "memory": "request:25 oom",
    "clock": "request:25 clock:+3600, KILL",
    "steps": "killtest explore",
    "power": "killtest explore --power",
}

# A fault counts for the first kind that its text matches; kills are told apart from the rest before that.
KINDS = (
    ("partial", r"^(\d+/)?partial:"),
    ("service", r" service:"),
    ("reload", r" reload:"),
    ("io", r" (enospc|eio)\b"),
    ("memory", r"(^| )(oom\b|memory:)"),
    ("clock", r" clock:"),
    ("kill", None),
    ("misbehaviour", r"(^| )(latency|status|reset|truncate|slow|redirect):/"),
    ("bump", r" bump:/"),
    ("pause", r" (STOP|CONT)\b"),
)


def kind_of(planned: str) -> str:
    """The kind of a fault written as text; `other` for what is none of them."""
    for kind, pattern in KINDS:
        if is_kill(planned) if pattern is None else re.search(pattern, planned):
            return kind
    return "other"


def counts(lines: Iterable[Line]) -> Counter[str]:
    """How many faults of each kind have struck."""
    return Counter(
        kind_of(str(fault.get("planned")))
        for line in lines
        for fault in line.get("faults") or []
        if fault.get("status") in STRUCK
    )


def modelled(lines: Sequence[Line], lang: str) -> list[str]:
    """Three sentences: what struck and how often, what was left out and how to try it, what no command models."""
    text, found = WORDS[lang], counts(lines)
    struck = [f"{text[kind]} {found[kind]:,}" for kind in sorted(found, key=list(text).index)]
    absent = [text["how"].format(kind=text[kind], how=how) for kind, how in HOW.items() if not found[kind]]
    return [
        text["modelled"].format(struck=text["comma"].join(struck) or text["none"]),
        text["not_modelled"].format(absent=text["comma"].join(absent)),
        text["never_modelled"],
    ]
