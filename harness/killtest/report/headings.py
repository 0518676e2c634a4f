"""The words of the tables in each language. Both languages have the same keys and the same {places}.

PASS, FAIL and UNKNOWN, and the values of the ledger (`finished`, `crash_loop`, …), are the same everywhere:
they are what the files hold and what people search for.
"""

from __future__ import annotations

from collections.abc import Mapping

from killtest.errors import UsageError

Words = Mapping[str, str]

ENGLISH: dict[str, str] = {
    # columns of the article's table
    "trial": "trial",
    "naive_rows": "naive: rows",
    "naive_requests": "naive: requests",
    "idempotent_rows": "idempotent: rows",
    "idempotent_requests": "idempotent: requests",
    "published_naive_rows": "published naive: rows",
    "published_naive_requests": "published naive: requests",
    "published_idempotent_rows": "published idempotent: rows",
    "published_idempotent_requests": "published idempotent: requests",
    "naive_rows_ratio": "naive: rows / products",
    "naive_requests_ratio": "naive: requests / minimum",
    "idempotent_rows_ratio": "idempotent: rows / products",
    "idempotent_requests_ratio": "idempotent: requests / minimum",
    "naive_kills": "naive: kills struck",
    "idempotent_kills": "idempotent: kills struck",
    "naive_rows_by_killed": "naive: rows committed by killed incarnations",
    "naive_wall_s": "naive: wall time (s)",
    "idempotent_wall_s": "idempotent: wall time (s)",
    # columns of the others
    "subject": "subject",
    "group": "schedules",
    "schedule": "schedule",
    "n": "n",
    "missing_trials": "missing",
    "pass": "PASS",
    "fail": "FAIL",
    "unknown": "UNKNOWN",
    "fail_rate": "FAIL rate [95 %]",
    "control_cause": "FAIL by its control",
    "ending": "ending",
    "endings": "not finished",
    "lost": "lost",
    "missed": "missed",
    "duplicated": "duplicated",
    "false_done": "false_done (trials)",
    "other_findings": "other findings",
    "rows": "rows",
    "products": "products",
    "requests": "requests",
    "minimum": "minimum",
    "other_requests": "other requests",
    "rows_per_product": "rows per product",
    "over_minimum": "requests over the minimum",
    "repeated": "repeated",
    "overlap": "overlap",
    "late": "late",
    "wall_s": "wall time (s)",
    "mtbf_s": "mean between kills (s)",
    "judged": "counted",
    "finished": "finished",
    "untouched": "before the first kill",
    "finished_right": "finished and right",
    "never_rate": "never finished [95 %]",
    "kills_planned": "kills planned",
    "kills_struck": "struck",
    "kills_after_first": "after the first request",
    "kills_in_flight": "with a request in flight",
    "kills_not_reached": "not reached",
    "kills_escalated": "escalated",
    "other_faults": "other faults struck",
    "window_start_up": "start-up",
    "window_danger": "in a danger window",
    "window_waiting": "waiting",
    "window_between": "between answer and commit",
    "window_commit": "inside a commit",
    "window_idle": "idle",
    "window_unknown": "window unknown",
    "outcome": "outcome",
    "not_idempotent": "not_idempotent",
    # cells
    "missing": "missing",
    "not_published": "not published",
    "no_data": "no data",
    "none_judged": "none judged",
    "unreadable": "unreadable",
    "not_tried": "not tried",
    "none": "none",
    "none_finished": "none finished",
    "yes": "yes",
    "no": "no",
    "range": "ours, min–max",
    "published_range": "published, min–max",
    "no_trials": "no trials finished yet",
    # titles
    "title_article": "Article table ({group})",
    "title_article_ratios": "Article table, against the ideal ({group})",
    "title_verdicts": "Verdicts",
    "title_findings": "Findings",
    "title_costs": "Costs",
    "title_kills": "Kills",
    "title_mtbf": "Completion by mean time between kills",
    "title_coverage": "Kill coverage: where the kills struck",
    "title_controls": "Controls: the same subjects without faults",
    # captions
    "caption_article": (
        "Rows stored and page requests made per trial, n = {naive_n} (naive) and {idempotent_n} ("
        "idempotent); both subjects get the same kill schedule. Published: {title}, {published_products} "
        "products, ideal {published_minimum} requests, {published_kills} kills at random moments 0.2 to "
        "1 s after the start."
    ),
    "caption_article_ratios": (
        "Rows divided by products and requests divided by the minimum of the site served; 1 is ideal. "
        "Kills struck of kills planned; rows in the store before the last incarnation began; wall time "
        "in seconds. n = {naive_n} (naive) and {idempotent_n} (idempotent); ranges, no intervals. "
        "Published: {title}."
    ),
    "caption_verdicts": (
        "Trials, n = {n} in all. FAIL rate among judged trials (PASS and FAIL) with Wilson's 95 % "
        "interval; for 0 of n the 95 % upper limit 3/n. missing: schedules that another subject has "
        "finished and this one has not. UNKNOWN (killtest failed, or no planned fault struck) counts neither way."
    ),
    "caption_findings": (
        "Keys over all judged trials, in brackets the trials concerned of those judged; n = {n} judged "
        "in all. No intervals: these are counts."
    ),
    "caption_costs": (
        "Per judged trial: median [min–max], one number where all are equal; n = {n} judged in all. The "
        "range is shown instead of an interval because n is small. Trials that did not finish are "
        "included."
    ),
    "caption_mtbf": (
        "Kills drawn from an exponential distribution with that mean, one after another until the trial ends; n = {n} "
        "counted, those that finished before the first kill among them. Never finished: still at it, or dying by "
        "itself, when the trial's time was up, with Wilson's 95 % interval (0 of n: below 3/n). Wall time of those "
        "that finished: median [min–max]."
    ),
    "caption_kills": (
        "Numbers of kills over all trials, UNKNOWN ones included; n = {n} trials. A kill was escalated "
        "when a polite signal had to be followed by SIGKILL."
    ),
    "caption_coverage": (
        "Kills that struck, and how many of them in each window (percent of those struck). In danger: waiting "
        "has a request open at the site, between answer and commit has an answer whose row is not stored, inside "
        "a commit the store is in the middle of a write. Idle is none of these, start-up is before the first "
        "request. n = {n} trials."
    ),
    "caption_controls": (
        "One line per control; n = {n}. Requests are page requests, the minimum is what a perfect crawl "
        "needs, wall time in seconds. not_idempotent: did another start after the end change rows or "
        "effects?"
    ),
    # the summary
    "summary_title": "Campaign {campaign}",
    "summary_finished": "Trials finished: {finished} of {planned}. Controls: {controls}.",
    "summary_incomplete": "**Incomplete**: {left} planned trials have not finished.",
    "summary_unplanned": "not stated",
    "summary_coverage": "Kill coverage: {sentence}",
    "summary_coverage_sentence": (
        "{danger} of {struck} kills hit a danger window: {waiting} waiting, {between} between answer and commit, "
        "{commit} inside a commit; {idle} idle, {start_up} during start-up, {window_unknown} unknown."
    ),
    "lapse": "lease of {url} lapsed after {after_s:.1f} s: taken over by {second} from {first}, {state}",
    "lapse_who": "connection {connection} of incarnation {incarnation}",
    "lapse_open": "which was still at it",
    "lapse_gone": "which had gone without an answer",
    "lapse_answered": "which had been answered",
    "lapse_fault": "; struck meanwhile: {fault}",
    "lapse_more": "and {count} more",
    "summary_lapsed": "Pages in two hands ({count}; the first of each trial):",
    "summary_command": "Regenerate this page, the tables and the figures:",
    "summary_modelled": "What was modelled",
    "summary_figures": "Figures",
    "summary_files": "Every trial: [summary.csv](summary.csv). Every table: [tables/](tables).",
    "summary_no_timeline": "No timeline for {subject}: no trial has kept its evidence.",
    "summary_timeline": "Timeline of {trial}",
    "summary_article_figure": "Rows and requests per trial ({group})",
    "summary_laboratory_figure": "Missing against repeated, per signal and variant",
    "summary_comparison_figure": "Rows and requests per trial, all subjects",
}

CHINESE: dict[str, str] = {
    "trial": "运行次数",
    "naive_rows": "朴素爬虫:存储行数",
    "naive_requests": "朴素爬虫:请求数",
    "idempotent_rows": "幂等爬虫:存储行数",
    "idempotent_requests": "幂等爬虫:请求数",
    "published_naive_rows": "原文 朴素爬虫:存储行数",
    "published_naive_requests": "原文 朴素爬虫:请求数",
    "published_idempotent_rows": "原文 幂等爬虫:存储行数",
    "published_idempotent_requests": "原文 幂等爬虫:请求数",
    "naive_rows_ratio": "朴素爬虫：行数 / 商品数",
    "naive_requests_ratio": "朴素爬虫：请求数 / 最少请求数",
    "idempotent_rows_ratio": "幂等爬虫：行数 / 商品数",
    "idempotent_requests_ratio": "幂等爬虫：请求数 / 最少请求数",
    "naive_kills": "朴素爬虫：命中的终止次数",
    "idempotent_kills": "幂等爬虫：命中的终止次数",
    "naive_rows_by_killed": "朴素爬虫：被终止进程已提交的行数",
    "naive_wall_s": "朴素爬虫：总耗时（秒）",
    "idempotent_wall_s": "幂等爬虫：总耗时（秒）",
    "subject": "被测爬虫",
    "group": "故障计划组",
    "schedule": "故障计划",
    "n": "n",
    "missing_trials": "缺失",
    "pass": "PASS",
    "fail": "FAIL",
    "unknown": "UNKNOWN",
    "fail_rate": "FAIL 比率 [95 %]",
    "control_cause": "对照即 FAIL",
    "ending": "结局",
    "endings": "未完成",
    "lost": "丢失",
    "missed": "未请求",
    "duplicated": "重复存储",
    "false_done": "自称完成但缺行（试验数）",
    "other_findings": "其他问题",
    "rows": "存储行数",
    "products": "商品数",
    "requests": "请求数",
    "minimum": "最少请求数",
    "other_requests": "其他请求",
    "rows_per_product": "每个商品的行数",
    "over_minimum": "超出最少请求数",
    "repeated": "重复请求",
    "overlap": "跨进程重叠",
    "late": "迟到请求",
    "wall_s": "总耗时（秒）",
    "mtbf_s": "终止的平均间隔（秒）",
    "judged": "计入",
    "finished": "已完成",
    "untouched": "首次终止前完成",
    "finished_right": "完成且数据正确",
    "never_rate": "始终未完成 [95 %]",
    "kills_planned": "计划的终止次数",
    "kills_struck": "命中",
    "kills_after_first": "首个请求之后",
    "kills_in_flight": "有请求在途时",
    "kills_not_reached": "未到达",
    "kills_escalated": "升级为 SIGKILL",
    "other_faults": "其他故障命中",
    "window_start_up": "启动中",
    "window_danger": "危险窗口",
    "window_waiting": "等待响应",
    "window_between": "响应与提交之间",
    "window_commit": "提交之中",
    "window_idle": "空闲",
    "window_unknown": "窗口未知",
    "outcome": "结论",
    "not_idempotent": "再次运行有变化",
    "missing": "缺失",
    "not_published": "原文未给出",
    "no_data": "无数据",
    "none_judged": "无已判定的试验",
    "unreadable": "无法读取",
    "not_tried": "未试",
    "none": "无",
    "none_finished": "均未完成",
    "yes": "是",
    "no": "否",
    "range": "本次，最小–最大",
    "published_range": "原文，最小–最大",
    "no_trials": "尚无已完成的试验",
    "title_article": "原文表格（{group}）",
    "title_article_ratios": "原文表格：与理想值之比（{group}）",
    "title_verdicts": "结论",
    "title_findings": "数据问题",
    "title_costs": "代价",
    "title_kills": "终止",
    "title_mtbf": "终止平均间隔与完成情况",
    "title_coverage": "终止覆盖：命中在哪个窗口",
    "title_controls": "对照：同一爬虫，无故障",
    "caption_article": (
        "每次试验存储的行数与页面请求数，n = {naive_n}（朴素）与 {idempotent_n}（幂等）；两个爬虫使用同一份终止"
        "计划。原文：《{title}》，{published_products} 个商品，理想值 {published_minimum} 次请求，启动后 0.2 "
        "到 1 秒之间随机终止 {published_kills} 次。"
    ),
    "caption_article_ratios": (
        "行数除以商品数，请求数除以该站点的最少请求数；理想值为 1。终止为命中次数 / 计划次数；被终止进程已提"
        "交的行数是最后一个进程启动前库中的行数；耗时单位为秒。n = {naive_n}（朴素）与 {idempotent_n}（幂等）；"
        "给出范围，不给区间。原文：《{title}》。"
    ),
    "caption_verdicts": (
        "试验数，共 n = {n}。FAIL 比率以已判定的试验（PASS 与 FAIL）为分母，附 Wilson 95 % 区间；n 次中 0 次时"
        "给出 95 % 上限 3/n。缺失：其他爬虫已完成而本爬虫尚未完成的计划。UNKNOWN（测试工具自身失败，或没有一个计划的"
        "故障命中）不计入任何一方。"
    ),
    "caption_findings": (
        "所有已判定试验的键数合计，括号内为涉及的试验数 / 已判定的试验数；共 n = {n} 次已判定。这些是计数，不给区间。"
    ),
    "caption_costs": (
        "每次已判定的试验：中位数 [最小–最大]，全部相等时只写一个数；共 n = {n} 次已判定。n 很小，因此给出范"
        "围而非区间。未完成的试验也包括在内。"
    ),
    "caption_mtbf": (
        "终止时刻按该平均值的指数分布抽取，逐次进行直到试验结束；n = {n} 次计入，含首次终止前即完成者。始终未完成：时限"
        "到时仍在抓取，或自身反复崩溃，附 Wilson 95 % 区间（n 次中 0 次：低于 3/n）。总耗时只计完成的试验：中位数 "
        "[最小–最大]。"
    ),
    "caption_kills": "所有试验（含 UNKNOWN）的终止次数；n = {n} 次试验。升级：温和信号之后不得不再发 SIGKILL。",
    "caption_coverage": (
        "命中的终止，以及落在各窗口的次数（占命中的百分比）。危险窗口：等待响应指站点上有未完成的请求，响应与提"
        "交之间指已收到响应而相应的行尚未存储，提交之中指存储正写到一半。空闲指都不是，启动中指首个请求之前。"
        "n = {n} 次试验。"
    ),
    "caption_controls": (
        "每行一次对照；n = {n}。请求数为页面请求，最少请求数是完美抓取所需的请求数，耗时单位为秒。再次运行有"
        "变化：完成后再启动一次，行或副作用是否改变？"
    ),
    "summary_title": "测试批次 {campaign}",
    "summary_finished": "已完成的试验：{finished} / {planned}。对照：{controls}。",
    "summary_incomplete": "**未完成**：还有 {left} 次计划的试验没有完成。",
    "summary_unplanned": "未说明",
    "summary_coverage": "终止覆盖：{sentence}",
    "summary_coverage_sentence": (
        "{struck} 次命中的终止中 {danger} 次落在危险窗口：等待响应 {waiting}，响应与提交之间 {between}，"
        "提交之中 {commit}；空闲 {idle}，启动中 {start_up}，未知 {window_unknown}。"
    ),
    "lapse": "{url} 的租约在 {after_s:.1f} 秒后失效：{second} 从 {first} 接手（{state}）",
    "lapse_who": "第 {incarnation} 次启动的连接 {connection}",
    "lapse_open": "当时仍在抓取",
    "lapse_gone": "未得到响应便已断开",
    "lapse_answered": "已得到响应",
    "lapse_fault": "；其间命中：{fault}",
    "lapse_more": "另有 {count} 次",
    "summary_lapsed": "同一页面先后在两处（{count} 次；每次试验只列最先几次）：",
    "summary_command": "重新生成本页、表格与图：",
    "summary_modelled": "模拟了什么",
    "summary_figures": "图",
    "summary_files": "每次试验：[summary.csv](summary.csv)。全部表格：[tables/](tables)。",
    "summary_no_timeline": "{subject} 没有时间线图：没有试验保留了证据。",
    "summary_timeline": "{trial} 的时间线",
    "summary_article_figure": "每次试验的行数与请求数（{group}）",
    "summary_laboratory_figure": "缺失与重复：按信号与变体",
    "summary_comparison_figure": "每次试验的行数与请求数，全部爬虫",
}

LANGUAGES: dict[str, dict[str, str]] = {"en": ENGLISH, "zh": CHINESE}


def words(lang: str) -> Words:
    """The words of a language, `en` or `zh`; UsageError for any other."""
    if lang not in LANGUAGES:
        raise UsageError(f"--lang {lang}: there are tables in {' and '.join(LANGUAGES)}")
    return LANGUAGES[lang]
