"""Why a trial ended as it did, in words: what a reader looks at first. Pure."""

from collections.abc import Iterable

from killtest.judge.course import Course, Incarnation
from killtest.judge.request_log import Request


def detail_of(course: Course, requests: Iterable[Request]) -> str | None:
    """The page before every crash of a crash loop, the exit codes of a refused start, what a hung subject waits for."""
    match course.ending:
        case "crash_loop":
            return _last_page(self_deaths(course.incarnations), requests)
        case "refused_start":
            codes = dict.fromkeys(one.exit for one in self_deaths(course.incarnations))
            return f"exit code{'s' * (len(codes) > 1)} {', '.join(map(str, codes))} before its first request"
        case "hung":
            return "; ".join(course.hung_on) or None
        case _:
            return None


def self_deaths(incarnations: Iterable[Incarnation]) -> list[Incarnation]:
    """The incarnations that died of themselves."""
    return [one for one in incarnations if one.ended_by == "itself" and one.exit != 0 and not one.is_again]


def _last_page(died: Iterable[Incarnation], requests: Iterable[Request]) -> str | None:
    """The page that each of them requested last; None when it is not the same one, or one of them requested none."""
    last: dict[int, tuple[int, str]] = {}
    for request in requests:
        # What comes late was sent by a process that outlived its incarnation.
        if request.is_page and not request.late:
            this = (request.seq, request.path)
            last[request.incarnation] = max(last.get(request.incarnation, this), this)
    pages = {last[one.number][1] if one.number in last else None for one in died}
    return pages.pop() if len(pages) == 1 else None
