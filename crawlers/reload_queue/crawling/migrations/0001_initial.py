"""The table of records."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """One row per job and product."""

    initial = True

    dependencies: ClassVar = []

    operations: ClassVar = [
        migrations.CreateModel(
            name="Record",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("job", models.CharField(max_length=100)),
                ("sku", models.CharField(max_length=200)),
                ("title", models.TextField()),
                ("price", models.CharField(max_length=40)),
                ("currency", models.CharField(max_length=10)),
                ("availability", models.CharField(max_length=100)),
                ("url", models.TextField()),
                ("revision", models.IntegerField()),
            ],
            options={
                "db_table": "record",
                "constraints": [models.UniqueConstraint(fields=("job", "sku"), name="one_row_per_job_and_sku")],
            },
        ),
    ]
