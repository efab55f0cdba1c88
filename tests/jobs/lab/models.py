from django.db import models


class Chunk(models.Model):
    """One result row. Deliberately without a unique constraint, so that duplicate work is visible."""

    job_id = models.UUIDField()
    number = models.IntegerField()
    value = models.BigIntegerField()
    attempt = models.IntegerField()

    class Meta:
        app_label = "lab"


class Receipt(models.Model):
    """Written in finish(): must exist exactly once for a job that is done."""

    job_id = models.UUIDField()
    checksum = models.BigIntegerField()

    class Meta:
        app_label = "lab"
