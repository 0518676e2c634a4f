"""The addresses of the HTTP service."""

from __future__ import annotations

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
