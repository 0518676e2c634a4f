"""What is stored: one row for each product of a job."""

from django.db import connection, models, transaction


class Record(models.Model):
    """A product as a job saw it; `revision` is the spider's REVISION when it was parsed."""

    job = models.TextField()
    sku = models.TextField()
    title = models.TextField()
    price = models.TextField()
    currency = models.TextField()
    availability = models.TextField()
    url = models.TextField()
    revision = models.IntegerField()

    class Meta:
        """A job has each product once."""

        app_label = "published"
        db_table = "record"
        constraints = (models.UniqueConstraint(fields=("job", "sku"), name="record_job_sku"),)

    def __str__(self) -> str:
        return f"{self.sku} of {self.job}"


def create_table() -> None:
    """Create the table unless it is there."""
    if Record._meta.db_table not in connection.introspection.table_names():
        with connection.schema_editor() as editor:
            editor.create_model(Record)


def store(job: str, rows: list[dict]) -> None:
    """Insert or update a page's rows, in one transaction."""
    with transaction.atomic():
        for row in rows:
            Record.objects.update_or_create(job=job, sku=row["sku"], defaults=row)
