"""CSV and NDJSON renderers for tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rest_framework import serializers
from rest_framework.renderers import BaseRenderer

from gym.api.paging import limit_of
from gym.api.requests import Query
from lmgym.text.csv_writer import csv_text

CSV = "text/csv"
NDJSON = "application/x-ndjson"


@dataclass(frozen=True)
class Table:
    """Header and rows of a CSV or NDJSON response."""

    header: Sequence[str]
    rows: Iterable[Sequence[Any]]


class _TableRenderer(BaseRenderer):
    charset = "utf-8"

    def render(self, data: Any, media_type: Any = None, context: Any = None) -> bytes:
        if not isinstance(data, Table):  # an error
            return json.dumps(data).encode()
        return self.text(data).encode("utf-8", "replace")

    def text(self, table: Table) -> str:
        raise NotImplementedError


class CsvRenderer(_TableRenderer):
    """Renderer for CSV (RFC 4180), with formulas escaped as in every table on the site."""

    media_type = CSV
    format = "csv"

    def text(self, table: Table) -> str:
        return csv_text(table.header, table.rows)


class NdjsonRenderer(_TableRenderer):
    """Renderer for NDJSON: one JSON object per line."""

    media_type = NDJSON
    format = "ndjson"

    def text(self, table: Table) -> str:
        return "".join(
            json.dumps(dict(zip(table.header, row, strict=True)), ensure_ascii=False, allow_nan=False) + "\n"
            for row in table.rows
        )


class FormatQuery(Query):
    """Query for an operation that offers CSV and NDJSON as well as JSON."""

    format = serializers.ChoiceField(
        ["json", "csv", "ndjson"],
        required=False,
        help_text="overrides the Accept header; csv and ndjson are not paginated",
    )


def is_table(request: Any) -> bool:
    """Return True if the response is a table (CSV or NDJSON). Tables are not paginated, but an invalid
    ?limit= is still an error."""
    limit_of(request)
    return request.accepted_renderer.format in {"csv", "ndjson"}
