"""killtest: a kill-test harness and chaos benchmark for crawlers."""

__version__ = "0.1.0"
