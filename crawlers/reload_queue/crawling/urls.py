"""The addresses of the HTTP service."""

from __future__ import annotations

from django.urls import path

from crawling import views

urlpatterns = [
    path("", views.home, name="home"),
    path("jobs", views.all_jobs, name="jobs"),
    path("jobs/<str:job>", views.one_job, name="job"),
    path("jobs/<str:job>/retry", views.retry, name="retry"),
]
handler400 = views.bad_request
handler404 = views.nothing_here
handler500 = views.failed
