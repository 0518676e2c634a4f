"""Django's settings: where the queue and the database are comes from the environment.

`RELOAD_QUEUE_REDIS`: redis://HOST:PORT/NUMBER (default redis://127.0.0.1:6379/0).
`RELOAD_QUEUE_DATABASE`: a path of an SQLite file (default crawl.db in the working directory) or
postgresql://USER:PASSWORD@HOST:PORT/NAME.
"""

from __future__ import annotations

import os

from crawling.database_address import database

REDIS_URL = os.environ.get("RELOAD_QUEUE_REDIS", "redis://127.0.0.1:6379/0")
DATABASES = {"default": database(os.environ.get("RELOAD_QUEUE_DATABASE", "crawl.db"))}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = ["crawling"]
ROOT_URLCONF = "crawling.urls"
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
SECRET_KEY = "signs nothing: there are no sessions, users or forms"
USE_TZ = True
