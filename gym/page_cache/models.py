"""The table that triggers write to when another table changes."""

from __future__ import annotations

from django.db import models


class TableChange(models.Model):
    """A random number for a transaction that changed a table. The version of a table is the sum of its rows.

    Random numbers instead of a counter: a version never returns, even after a transaction is rolled back or a backup is
    restored, and on PostgreSQL transactions that change the same table write different rows, so that none waits for
    another. Rows are written by triggers only (gym.page_cache.triggers)."""

    table = models.CharField(max_length=63)
    writer = models.BigIntegerField(
        help_text="id of the transaction; 0 on SQLite, which has one row per table"
    )
    value = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["table", "writer"], name="table_change_once_per_transaction")
        ]

    def __str__(self) -> str:
        return f"{self.table} changed by {self.writer}"
