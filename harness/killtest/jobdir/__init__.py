"""The room of the JOBDIR: what Scrapy 2.19 left on disk, and what a resume will make of it (docs/inspect.md).

Pure: it reads files and tells. It imports no Scrapy, runs nothing of what it reads, and changes nothing.
"""

from killtest.jobdir.inspection import inspect, is_one
from killtest.jobdir.job_dir import JobDir

__all__ = ["JobDir", "inspect", "is_one"]
