"""The HTTP service: the status page for people, and jobs for programs. Errors are one JSON sentence."""

from __future__ import annotations

import functools
import json
import uuid
from collections.abc import Callable
from dataclasses import asdict
from typing import TypeVar

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.management.base import CommandError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse

from crawling import jobs, progress, status_page
from crawling.door import refused
from crawling.queue_session import session
from crawling.task_queue import TaskQueue

Result = TypeVar("Result")
View = Callable[..., HttpResponse]

WAIT_S = 1.0  # for a queue that does not answer: who asks over HTTP would rather know
NEEDED, FIELDS = {"url", "spider"}, {"url", "spider", "id"}
NOTHING_HERE = "there is nothing at {}; there are GET /, GET and POST /jobs, GET /jobs/ID and POST /jobs/ID/retry"


class QueueAway(Exception):
    """The queue did not answer in time; the text says which and what to look at."""


def allow(*methods: str) -> Callable[[View], View]:
    """Refuse other methods, and say that the queue is away if it is."""

    def decorate(view: View) -> View:
        @functools.wraps(view)
        def guarded(request: HttpRequest, **named: str) -> HttpResponse:
            if request.method not in methods:
                response = refused(405, f"{request.method} is not possible here; use {' or '.join(methods)}")
                response["Allow"] = ", ".join(methods)
                return response
            try:
                return view(request, **named)
            except QueueAway as error:
                response = refused(503, str(error))
                response["Retry-After"] = "1"
                return response

        return guarded

    return decorate


@allow("GET", "HEAD")
def home(request: HttpRequest) -> HttpResponse:
    """The status page; without the queue it is a page as well, so that it finds back by itself."""
    try:
        shown, status = status_page.of(_ask(lambda queue: progress.read(queue.client))), 200
    except QueueAway as error:
        shown, status = status_page.without_queue(str(error)), 503
    return render(request, "crawling/status.html", {"page": shown, "nonce": request.nonce}, status=status)  # type: ignore[attr-defined]


@allow("GET", "POST", "HEAD")
def all_jobs(request: HttpRequest) -> HttpResponse:
    """GET: everything, as `manage.py status --json` has it. POST: a new job."""
    if request.method != "POST":
        return JsonResponse(asdict(_ask(lambda queue: progress.read(queue.client))))
    try:
        job = _wanted(request.body)
        job.check()
    except RequestDataTooBig:
        return refused(413, f"a job has at most {settings.DATA_UPLOAD_MAX_MEMORY_SIZE} bytes")
    except jobs.BadJob as error:
        return refused(400, str(error))
    found, new = _ask(lambda queue: jobs.submit(queue, job))
    return JsonResponse({"id": found}, status=201 if new else 200, headers={"Location": reverse("job", args=[found])})


@allow("GET", "HEAD")
def one_job(_request: HttpRequest, job: str) -> HttpResponse:
    """How far a job is."""
    found = _ask(lambda queue: progress.read(queue.client, job)).jobs
    return JsonResponse(asdict(found[0])) if found else refused(404, f"there is no job {job}")


@allow("POST")
def retry(request: HttpRequest, job: str) -> HttpResponse:
    """Queue a job's failed tasks again; a person is sent back to the page."""
    count = _ask(lambda queue: queue.retry(job))
    if count is None:
        return refused(404, f"there is no job {job}")
    if "text/html" in request.headers.get("Accept", ""):
        response: HttpResponse = HttpResponseRedirect(reverse("home"))
        response.status_code = 303  # ask for the page with GET, whatever this was
        return response
    return JsonResponse({"id": job, "queued": count})


def nothing_here(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001 - Django names it
    """For an address that is none."""
    return refused(404, NOTHING_HERE.format(request.path))


def bad_request(_request: HttpRequest, exception: Exception) -> HttpResponse:
    """For what Django refuses before a view sees it."""
    return refused(400, f"the request cannot be read: {type(exception).__name__}")


def failed(_request: HttpRequest) -> HttpResponse:
    """For an error of this program."""
    return refused(500, "the service failed at this request; its standard error says how")


def _ask(attempt: Callable[[TaskQueue], Result]) -> Result:
    """Do something with the queue. Raises QueueAway."""
    with session(settings.REDIS_URL, WAIT_S, lambda _: None) as (queue, ask):
        try:
            return ask(lambda: attempt(queue))
        except CommandError as error:
            raise QueueAway(str(error)) from error


def _wanted(body: bytes) -> jobs.NewJob:
    """The job that a request's body describes, not yet checked. Raises jobs.BadJob."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise jobs.BadJob(f"the body is no JSON ({error})") from error
    if not isinstance(told, dict) or not told.keys() >= NEEDED or not told.keys() <= FIELDS:
        raise jobs.BadJob('a job is a JSON object with "url", "spider" and, if it is to have that, an "id"')
    for name, value in told.items():
        if not isinstance(value, str) or not value or not _is_text(value):
            raise jobs.BadJob(f'"{name}" is no text, or an empty one')
    return jobs.NewJob(told["url"], told["spider"], uuid.uuid4().hex, told.get("id", ""))


def _is_text(value: str) -> bool:
    """False for half a character, which JSON can hold and nothing else can."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
