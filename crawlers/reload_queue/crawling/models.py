"""What a crawl leaves behind."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Record(models.Model):
    """A product as one job saw it. `revision` is the REVISION of the spider that parsed the page."""

    job = models.CharField(max_length=100)
    sku = models.CharField(max_length=200)
    title = models.TextField()
    price = models.CharField(max_length=40)
    currency = models.CharField(max_length=10)
    availability = models.CharField(max_length=100)
    url = models.TextField()
    revision = models.IntegerField()

    class Meta:
        """Storing a product twice in a job changes its row instead of adding one."""

        db_table = "record"
        constraints: ClassVar = [models.UniqueConstraint(fields=["job", "sku"], name="one_row_per_job_and_sku")]

    def __str__(self) -> str:
        return f"{self.sku} of {self.job}"
