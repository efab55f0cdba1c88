"""Leaderboards of reference answers."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gym.api.base import ListView, renderers
from gym.api.formats import CSV, NDJSON, CsvRenderer, FormatQuery, NdjsonRenderer, Table, is_table
from gym.api.operations import FILE, operation
from gym.propara import selectors
from gym.propara.api.sets import version_of
from gym.propara.board import ORDERS, BoardRow, leaderboard


class ProParaBoardRowSerializer(serializers.Serializer[Any]):
    """A row of a leaderboard."""

    kind = serializers.ChoiceField(
        ["submission", "baseline", "published"],
        help_text="submission: scored here; baseline: all NONE, scored here; published: scores from a paper",
    )
    rank = serializers.IntegerField(
        allow_null=True, help_text="by official F1 to three decimals, among submissions with a score"
    )
    system = serializers.CharField()
    submission = serializers.CharField(
        source="submission.key", allow_null=True, default=None, help_text="id of the submission"
    )
    owner = serializers.CharField(source="submission.owner.username", allow_null=True, default=None)
    precision = serializers.FloatField(source="reference.precision", allow_null=True, default=None)
    recall = serializers.FloatField(source="reference.recall", allow_null=True, default=None)
    f1 = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(
        allow_null=True, help_text="lower limit of the 95% interval of F1, by bootstrap over processes"
    )
    high = serializers.FloatField(allow_null=True, help_text="upper limit of the 95% interval")
    questions = serializers.DictField(
        source="reference.questions", allow_null=True, default=None, help_text="scores by question"
    )
    corrected_f1 = serializers.SerializerMethodField(
        help_text="F1 of the corrected metric, not comparable with `f1`"
    )
    citation = serializers.CharField(source="published.citation", allow_null=True, default=None)
    link = serializers.CharField(source="published.link", allow_null=True, default=None)
    created = serializers.DateTimeField(allow_null=True)

    def get_corrected_f1(self, row: BoardRow) -> float | None:
        f1: float | None = (row.report.get("corrected") or {}).get("f1")
        return f1


class ProParaBoardQuery(FormatQuery):
    sort = serializers.ChoiceField(
        [sign + name for name in ORDERS for sign in ("-", "")],
        default="-f1",
        help_text="a leading - sorts in descending order; a question sorts by its F1",
    )


class Leaderboard(ListView):
    renderer_classes = renderers(CsvRenderer, NdjsonRenderer)

    @operation(
        "Read a leaderboard",
        query=ProParaBoardQuery,
        response=ProParaBoardRowSerializer,
        many=True,
        media={CSV: FILE, NDJSON: FILE},
    )
    def get(self, request: Request, slug: str, number: int) -> Response:
        """List submissions to a version with ranks, the all-NONE baseline, and published results."""
        version = version_of(request, slug, number)
        submissions = (
            selectors.listed_submissions(request.user).filter(version=version).defer(*selectors.HEAVY)
        )
        rows = leaderboard(version, submissions, self.query["sort"])
        if is_table(request):
            return Response(Table(*board_table(rows)))
        return self.page(rows)


def board_table(rows: list[BoardRow]) -> tuple[list[str], list[list[Any]]]:
    """Return header and rows of the CSV or NDJSON file: the fields of a row in JSON, without its questions."""
    names = [name for name, _ in ProParaBoardRowSerializer().fields.items() if name != "questions"]
    shown = (ProParaBoardRowSerializer(row).data for row in rows)
    return names, [[row[name] for name in names] for row in shown]
