"""REST API for human data: list, import, observations, and comparisons of models with people."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import QuerySet
from django.http import Http404
from django.http.response import HttpResponseBase
from django.urls import path
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from gym.accounts.models import Scope
from gym.accounts.requests import SignedInApiRequest
from gym.api.base import ApiView, FormatFromUrl, ListView, ObjectView, get_or_404, referenced
from gym.api.errors import ApiProblem, FieldError, invalid
from gym.api.filters import Filters, NameFilter, WordsFilter
from gym.api.operations import FILE, operation
from gym.api.permissions import TokenScope
from gym.api.requests import Body, Names
from gym.people import permissions, services
from gym.people.comparing import OBSERVATIONS, TABLES
from gym.people.models import HumanData, HumanDataImport, PeopleComparison
from gym.people.pages.model_views import comparison_file
from gym.people.pages.views import file_of
from gym.people.selectors import (
    comparable_runs,
    comparisons_of,
    imports_of,
    keepable,
    listed,
    models_of,
    visible_to,
)
from gym.runs.models import SuiteRun
from gym.sharing.api import people_api
from gym.uploads import read_upload
from suites.models import SuiteRevision
from suites.selectors import revisions_for
from suites.selectors import visible_to as visible_suites

FORM = "multipart/form-data"
NAMED = 30
"""Maximum number of choices named in an error."""
PARQUET = "application/vnd.apache.parquet"


class HumanDataSerializer(serializers.ModelSerializer[HumanData]):
    suite = serializers.CharField(source="revision.suite.slug")
    revision = serializers.IntegerField(source="revision.number")
    owner = serializers.SerializerMethodField(help_text="user name; null for anonymous review")
    author = serializers.SerializerMethodField(help_text="one per line; empty for anonymous review")
    unit = serializers.CharField(help_text="unit of the values: ms, points or share")

    class Meta:
        model = HumanData
        fields = [
            "slug", "title", "suite", "revision", "owner", "visibility", "measure", "kind", "unit", "scale",
            "is_simulated", "n_observations", "n_participants", "n_items", "description", "licence", "author",
            "reference", "created",
        ]  # fmt: skip
        read_only_fields = fields

    def get_owner(self, data: HumanData) -> str | None:
        user = self.context["request"].user
        return data.owner.username if permissions.may_know_owner(user, data) else None

    def get_author(self, data: HumanData) -> str:
        user = self.context["request"].user
        return data.author if permissions.may_know_owner(user, data) else ""


PUBLIC_PROVENANCE = ("reader", "sha256", "left_out")


class HumanDataDetailSerializer(HumanDataSerializer):
    provenance = serializers.SerializerMethodField(
        help_text=f"{', '.join(PUBLIC_PROVENANCE)}; more for those who may edit the data"
    )

    class Meta(HumanDataSerializer.Meta):
        fields = [*HumanDataSerializer.Meta.fields, "exclusions", "result", "provenance"]
        read_only_fields = fields

    def get_provenance(self, data: HumanData) -> dict[str, Any]:
        if permissions.can_edit(self.context["request"].user, data):
            return dict(data.provenance)
        return {name: data.provenance[name] for name in PUBLIC_PROVENANCE if name in data.provenance}


class ImportSerializer(serializers.ModelSerializer[HumanDataImport]):
    id = serializers.CharField(source="key")
    state = serializers.SerializerMethodField(
        help_text="queued, running, done, asks (questions are open) or failed"
    )
    human_data = serializers.SerializerMethodField(help_text="slug of the data set, once it is done")
    asks = serializers.SerializerMethodField(help_text="names of questions that must be answered first")
    questions = serializers.SerializerMethodField(help_text="all questions about the file")
    problems = serializers.SerializerMethodField(help_text="why nothing was imported")
    error = serializers.SerializerMethodField(help_text="why the job failed; empty if it did not")

    class Meta:
        model = HumanDataImport
        fields = ["id", "filename", "state", "human_data", "asks", "questions", "problems", "error"]
        read_only_fields = fields

    def get_state(self, row: HumanDataImport) -> str:
        if row.made_id is not None:
            return "done"
        if row.job is not None and row.job.state != "done":
            return str(row.job.state)
        return "asks" if row.reading.get("asks") else "failed"

    def get_human_data(self, row: HumanDataImport) -> str | None:
        return row.made.slug if row.made else None

    def get_asks(self, row: HumanDataImport) -> list[str]:
        return list(row.reading.get("asks", ()))

    def get_questions(self, row: HumanDataImport) -> list[dict[str, Any]]:
        return list(row.reading.get("questions", ()))

    def get_problems(self, row: HumanDataImport) -> list[dict[str, Any]]:
        return list(row.reading.get("problems", ()))

    def get_error(self, row: HumanDataImport) -> str:
        return row.job.error if row.job is not None else ""


class PeopleComparisonSerializer(serializers.ModelSerializer[PeopleComparison]):
    id = serializers.CharField(source="key")
    human_data = serializers.CharField(source="human_data.slug")
    state = serializers.CharField()
    models = serializers.SerializerMethodField(help_text="slugs of the models")
    error = serializers.SerializerMethodField(help_text="why the job failed; empty if it did not")

    class Meta:
        model = PeopleComparison
        fields = [
            "id",
            "human_data",
            "state",
            "models",
            "options",
            "exclusions",
            "result",
            "error",
            "created",
        ]
        read_only_fields = fields

    def get_models(self, comparison: PeopleComparison) -> list[str]:
        return [run.model.slug for run in comparison.runs.all()]

    def get_error(self, comparison: PeopleComparison) -> str:
        return comparison.job.error if comparison.job is not None else ""


class ImportBody(Body):
    """A file with human data for a frozen revision."""

    file = serializers.FileField()
    suite = serializers.SlugField(max_length=80)
    revision = serializers.IntegerField(
        required=False, min_value=1, max_value=2**31 - 1, help_text="default: the newest frozen revision"
    )
    title = serializers.CharField(
        max_length=200, required=False, help_text="name of the data set; default: that of the file"
    )
    answers = Names(
        required=False,
        help_text="answers to questions about the file, by name: answers.columns.B=participant",
    )


class ComparisonBody(Body):
    models = serializers.ListField(
        child=serializers.SlugField(max_length=80),
        max_length=services.MAX_MODELS,
        help_text="slugs of models that have run on the revision",
    )
    spill_over = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=2,
        help_text="number of previous words or regions whose surprisal is a predictor; default: 1",
    )
    slopes = serializers.BooleanField(
        required=False, help_text="random slopes of surprisal by participant and item; default: false"
    )
    regions = serializers.ListField(
        child=serializers.IntegerField(min_value=1),
        required=False,
        max_length=500,
        help_text="numbers of the regions whose observations are fitted; default: all",
    )


class HumanDataFilter(Filters):
    q = WordsFilter("title", "slug", "description", label="Search")
    suite = NameFilter("revision__suite__slug", visible_suites, label="Slug of the suite")
    sort = django_filters.OrderingFilter(fields=[("title", "title"), ("created", "created")], label="Sort")

    class Meta:
        model = HumanData
        fields: list[str] = []


class HumanDataView(ObjectView[HumanData]):
    def visible_rows(self, address: str) -> QuerySet[HumanData]:
        return visible_to(self.request.user).filter(slug=address)


class KeptDataView(ObjectView[HumanData]):
    """Base class of views that reach their user's own data even if the suite was hidden from them."""

    def visible_rows(self, address: str) -> QuerySet[HumanData]:
        return keepable(self.request.user).filter(slug=address)

    def detail_rows(self, address: str) -> QuerySet[HumanData]:
        return visible_to(self.request.user).filter(slug=address)


def revision_of(request: Request, body: dict[str, Any]) -> SuiteRevision:
    suite = referenced(visible_suites(request.user), "suite", slug=body["suite"])
    number = body.get("revision")
    if number is None:
        if (newest := suite.latest_frozen) is None:
            raise invalid(
                FieldError("$.suite", "This suite has no frozen revision yet.", "Freeze its draft first.")
            )
        return newest
    return referenced(revisions_for(request.user, suite), "revision", number=number)


class HumanDataList(ListView):
    filterset_class = HumanDataFilter
    parser_classes = [MultiPartParser]

    @operation("List human data", response=HumanDataSerializer, many=True)
    def get(self, request: Request) -> Response:
        """List public data of listed suites, and your own and shared data."""
        return self.page(listed(request.user).order_by("title", "pk"))

    @operation(
        "Import human data", body={FORM: ImportBody}, response=ImportSerializer, status=202, waits=True
    )
    def post(self, request: SignedInApiRequest) -> Response:
        """Import a file with reading times or judgments. If the file has open questions, or cannot be matched to the
        suite, nothing is stored: the 400 names them (`asks`, and `questions` with their choices); send the file again
        with `answers`. Files over 10 MB, or over 0.5 MB if compressed, are read by the job, so that their questions are
        in `asks` of the import."""
        body = self.body()
        revision = revision_of(request, body)
        row = services.upload(
            revision,
            read_upload(body["file"], services.MAX_BYTES),
            body["file"].name,
            actor=request.user,
            title=body.get("title", ""),
            answers=body.get("answers"),
            is_final=True,
        )
        if row.reading.get("problems") or row.reading.get("asks"):
            problem = _unanswered(row)
            services.discard(row, actor=request.user)
            raise problem
        if not row.is_busy:
            services.answer(row, {}, actor=request.user)
        return self.respond(row, "api-human-data-import", row.key)


def _unanswered(row: HumanDataImport) -> ApiProblem:
    """Return a 400 with the problems of a file and its open questions."""
    reading = row.reading
    asked = [one for one in reading["questions"] if one["name"] in reading["asks"]]
    problem = invalid(
        *(FieldError(one["where"], one["message"], one["hint"]) for one in reading["problems"]),
        *(FieldError(f"$.answers.{one['name']}", one["label"], _choices(one)) for one in asked),
        detail="This file cannot be imported without answers." if asked else "",
    )
    problem.more = {
        "asks": reading["asks"],
        "questions": asked,
    }
    return problem


def _choices(question: dict[str, Any]) -> str:
    named = [f"{value} ({label})" for value, label in question["choices"].items()]
    return f"Choose {', '.join(named[:NAMED])}{', …' if len(named) > NAMED else '.'}"


class ImportDetail(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation("Read an import of human data", response=ImportSerializer)
    def get(self, request: Request, key: str) -> Response:
        """Return the state of your import. It is kept for a week; the data set is kept."""
        return self.respond(get_or_404(imports_of(request.user), key=key))


class HumanDataDetail(KeptDataView):
    @operation("Read human data", response=HumanDataDetailSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Return a data set: what it is, exclusions, and the suite's predictions evaluated on people."""
        return self.read()

    @operation("Delete human data", status=204)
    def delete(self, request: SignedInApiRequest, slug: str) -> Response:
        """Delete a data set with its comparisons. Only its owner and staff may; the owner also if they may
        no longer see the suite."""
        return self.remove(services.delete)


class Observations(KeptDataView):
    content_negotiation_class = FormatFromUrl

    @operation("Download observations", media={"text/csv": FILE, PARQUET: FILE, "application/x-bibtex": FILE})
    def get(self, request: Request, slug: str, form: str) -> HttpResponseBase:
        """Download the observations. `form` is csv or parquet, or bib for the citation. Participants are numbered at
        random."""
        return file_of(request, self.get_object(), form)


class Comparisons(HumanDataView, ListView):
    token_scope = Scope.RUN

    @operation("List comparisons with people", response=PeopleComparisonSerializer, many=True)
    def get(self, request: Request, slug: str) -> Response:
        """List comparisons of models with a data set, newest first; those with models that you may not see are left
        out."""
        rows = comparisons_of(self.get_object(), request.user).select_related("human_data")
        return self.page(rows.prefetch_related("runs__model").order_by("-created", "-pk"))

    @operation(
        "Compare models with people", body=ComparisonBody, response=PeopleComparisonSerializer, status=202
    )
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Queue mixed models of reading times on surprisal, a ranking of the models, and the sizes of effects."""
        data = self.get_object()
        body = self.body()
        runs = _runs_of(body["models"], comparable_runs(data, request.user))
        options = {name: body[name] for name in ("spill_over", "regions", "slopes") if name in body}
        made = services.start_comparison(data, runs, actor=request.user, **options)
        return self.respond(made, "api-human-data-comparison", data.slug, made.key)


def _runs_of(slugs: list[str], runs: QuerySet[SuiteRun]) -> list[SuiteRun]:
    known = models_of(runs.filter(model__slug__in=slugs))
    if missing := [
        FieldError(f"$.models[{place}]", f"“{slug}” has no surprisals on this revision.", "Run it first.")
        for place, slug in enumerate(slugs)
        if slug not in known
    ]:
        raise invalid(*missing)
    return list(known.values())


class ComparisonView(HumanDataView):
    def comparison(self) -> PeopleComparison:
        data = self.get_object()
        rows = comparisons_of(data, self.request.user).prefetch_related("runs__model")
        found = get_or_404(rows, key=self.kwargs["key"])
        found.human_data = data
        return found


class ComparisonDetail(ComparisonView):
    @operation("Read a comparison with people", response=PeopleComparisonSerializer)
    def get(self, request: Request, slug: str, key: str) -> Response:
        """Return a comparison; `result` has its tables once the state is done (columns: docs/names.md)."""
        return self.respond(self.comparison())


class ComparisonTable(ComparisonView):
    content_negotiation_class = FormatFromUrl

    @operation(
        "Download a table of a comparison",
        media={"text/csv": FILE, PARQUET: FILE},
        also=[413],
        name="human_data_comparisons_table",
    )
    def get(self, request: Request, slug: str, key: str, what: str, form: str) -> HttpResponseBase:
        """Download gains, differences, coefficients, fits, effects, item-effects or cells; or observations, the fitted
        observations with all predictors. `form` is csv or parquet. 413 if observations would have too many rows."""
        if form not in ("csv", "parquet") or what not in (*TABLES, OBSERVATIONS):
            raise Http404
        return comparison_file(self.comparison(), what, form)


_ONE = "human-data/<slug:slug>/"

urlpatterns = [
    path("human-data/", HumanDataList.as_view(), name="api-human-data-list"),
    path("human-data/imports/<slug:key>/", ImportDetail.as_view(), name="api-human-data-import"),
    path(_ONE, HumanDataDetail.as_view(), name="api-human-data"),
    *people_api("api-human-data", visible_to, _ONE),
    path(f"{_ONE}observations/<slug:form>/", Observations.as_view(), name="api-human-data-observations"),
    path(f"{_ONE}comparisons/", Comparisons.as_view(), name="api-human-data-comparisons"),
    path(f"{_ONE}comparisons/<slug:key>/", ComparisonDetail.as_view(), name="api-human-data-comparison"),
    path(
        f"{_ONE}comparisons/<slug:key>/<slug:what>/<slug:form>/",
        ComparisonTable.as_view(),
        name="api-human-data-comparison-table",
    ),
]
