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
TIME_ZONE = "UTC"
USE_TZ = True

# The HTTP service: for this machine, without a login.
DEBUG = False
ROOT_URLCONF = "crawling.urls"
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
MIDDLEWARE = ["django.middleware.security.SecurityMiddleware", "crawling.door.Door"]
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]
DATA_UPLOAD_MAX_MEMORY_SIZE = 65536  # bytes
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    # An error of ours comes with a traceback; that a client was refused is in the server's own line already.
    "filters": {"raised": {"()": "django.utils.log.CallbackFilter", "callback": lambda record: bool(record.exc_info)}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "filters": ["raised"]}},
    "loggers": {"django.request": {"handlers": ["stderr"], "level": "ERROR", "propagate": False}},
}
SECRET_KEY = "signs nothing: there are no sessions and no users"
