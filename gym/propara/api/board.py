"""Leaderboards and published results in the REST API."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from gym.accounts.requests import SignedInApiRequest
from gym.api.base import ApiView, ListView, ObjectView, renderers
from gym.api.formats import CSV, NDJSON, CsvRenderer, FormatQuery, NdjsonRenderer, Table, is_table
from gym.api.operations import TEXT, operation
from gym.api.permissions import TokenScope
from gym.api.requests import Body
from gym.propara import permissions, selectors, services
from gym.propara.api.sets import SetView, version_of
from gym.propara.board import ORDERS, BoardRow, leaderboard
from gym.propara.models import PublishedResult


class ProParaBoardRowSerializer(serializers.Serializer[Any]):
    """A row of a leaderboard."""

    kind = serializers.ChoiceField(
        ["submission", "baseline", "published"],
        help_text="submission: scored here; baseline: NONE everywhere, scored here; published: from a paper",
    )
    rank = serializers.IntegerField(
        allow_null=True, help_text="by official F1 to three decimals, among submissions with a score"
    )
    system = serializers.CharField()
    submission = serializers.CharField(
        source="submission.key", allow_null=True, default=None, help_text="its id"
    )
    owner = serializers.CharField(source="submission.owner.username", allow_null=True, default=None)
    precision = serializers.FloatField(source="reference.precision", allow_null=True, default=None)
    recall = serializers.FloatField(source="reference.recall", allow_null=True, default=None)
    f1 = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(
        allow_null=True, help_text="lower limit of the 95% interval of F1, by bootstrap over processes"
    )
    high = serializers.FloatField(allow_null=True, help_text="upper limit of that interval")
    questions = serializers.DictField(
        source="reference.questions", allow_null=True, default=None, help_text="question: its scores"
    )
    corrected_f1 = serializers.SerializerMethodField(help_text="another metric: compare it only with itself")
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
        help_text="prefix - for descending order; a question sorts by its F1",
    )


class Leaderboard(ListView):
    renderer_classes = renderers(CsvRenderer, NdjsonRenderer)

    @operation(
        "Read a leaderboard",
        query=ProParaBoardQuery,
        answers=ProParaBoardRowSerializer,
        many=True,
        media={CSV: TEXT, NDJSON: TEXT},
    )
    def get(self, request: Request, slug: str, number: int) -> Response:
        """Submissions to a version with their ranks, the all-NONE baseline and published results."""
        version = version_of(request, slug, number)
        shown = selectors.listed_submissions(request.user).filter(version=version).defer(*selectors.HEAVY)
        rows = leaderboard(version, shown, self.query["sort"])
        if is_table(request):
            return Response(Table(*board_table(rows)))
        return self.page(rows)


def board_table(rows: list[BoardRow]) -> tuple[list[str], list[list[Any]]]:
    """Return header and rows of the CSV file: the fields of a row in JSON, without its questions."""
    names = [name for name, _ in ProParaBoardRowSerializer().fields.items() if name != "questions"]
    shown = (ProParaBoardRowSerializer(row).data for row in rows)
    return names, [[row[name] for name in names] for row in shown]


class PublishedResultSerializer(serializers.ModelSerializer[PublishedResult]):
    link = serializers.CharField(help_text="to the paper, or empty")

    class Meta:
        model = PublishedResult
        fields = ["id", "system", "precision", "recall", "f1", "citation", "link", "created"]
        read_only_fields = fields


class PublishedAbout(Body):
    system = serializers.CharField(max_length=200, required=False)
    precision = serializers.FloatField(required=False, allow_null=True, min_value=0, max_value=1)
    recall = serializers.FloatField(required=False, allow_null=True, min_value=0, max_value=1)
    f1 = serializers.FloatField(required=False, min_value=0, max_value=1)
    citation = serializers.CharField(
        max_length=500, required=False, help_text="the paper and the table that has these numbers"
    )
    link = serializers.URLField(max_length=200, required=False, allow_blank=True)


class NewPublished(PublishedAbout):
    system = serializers.CharField(max_length=200)
    f1 = serializers.FloatField(min_value=0, max_value=1)
    citation = serializers.CharField(max_length=500)


class PublishedList(SetView, ListView):
    @operation("List published results", answers=PublishedResultSerializer, many=True)
    def get(self, request: Request, slug: str, number: int) -> Response:
        """Results of papers, as entered by people who can edit the set; the best F1 first."""
        return self.page(version_of(request, slug, number).published.all())

    @operation("Add a published result", takes=NewPublished, answers=PublishedResultSerializer, status=201)
    def post(self, request: SignedInApiRequest, slug: str, number: int) -> Response:
        """With its citation; numbers are 0 to 1. Requires the right to edit the reference answers."""
        self.changeable()
        version = version_of(request, slug, number)
        made = services.add_published(version, actor=request.user, **self.body())
        return self.answer(made, "api-propara-published-result", slug, number, made.pk)


class PublishedDetail(ObjectView[PublishedResult]):
    lookup_field = "pk"

    def rows_at(self, address: Any) -> QuerySet[PublishedResult]:
        versions = selectors.versions_for(self.request.user)
        version = versions.filter(answer_set__slug=self.kwargs["slug"], number=self.kwargs["number"]).values(
            "pk"
        )
        rows = PublishedResult.objects.filter(version__in=version, pk=address)
        return rows.select_related("version__answer_set__owner")

    def may_change(self, row: PublishedResult) -> bool:
        return permissions.can_edit(self.request.user, row.version.answer_set)

    @operation("Read a published result", answers=PublishedResultSerializer)
    def get(self, request: Request, slug: str, number: int, pk: int) -> Response:
        """Its numbers and their source."""
        return self.read()

    @operation("Change a published result", takes=PublishedAbout, answers=PublishedResultSerializer)
    def patch(self, request: Request, slug: str, number: int, pk: int) -> Response:
        """System, numbers, citation, link."""
        return self.change(services.edit_published)

    @operation("Delete a published result", status=204)
    def delete(self, request: Request, slug: str, number: int, pk: int) -> Response:
        """Remove it from the leaderboard."""
        return self.remove(services.delete_published)


class PublishedKnown(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation(
        "Add known published results",
        answers={"type": "object", "properties": {"added": {"type": "integer"}}},
    )
    def post(self, request: SignedInApiRequest, slug: str, number: int) -> Response:
        """Add published results on the official test split; 400 for a version of a different size."""
        version = version_of(request, slug, number)
        return Response({"added": services.add_known_published(version, actor=request.user)})
