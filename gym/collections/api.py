"""REST API for collections of suite revisions, and for queueing the missing runs of a leaderboard."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db import transaction
from django.db.models import Count, QuerySet
from django.http.response import HttpResponseBase
from django.urls import path
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gym.accounts.models import Scope
from gym.accounts.requests import SignedInApiRequest
from gym.api.base import ApiView, FormatFromUrl, ListView, ObjectView, get_or_404, locked, referenced
from gym.api.errors import ApiProblem, FieldError, invalid, problem_for
from gym.api.filters import Filters, WordsFilter
from gym.api.operations import FILE, JSON, operation
from gym.api.records import RecordSerializer
from gym.api.requests import Body, Query
from gym.collections import services, views, zips
from gym.collections.models import Collection
from gym.runs.read.leaderboard.build import leaderboard
from gym.runs.work.services import Queued, queue_missing
from gym.sharing.api import people_api
from lmgym.runs.leaderboard.options import MAX_NAMES, Options
from lmgym.runs.other_programs import Refused
from lmgym.runs.rules import EACH, RULES, rule_of
from suites.models import SuiteRevision
from suites.selectors import known_to

MAX_REVISION = 2**31 - 1
RETRY_SECONDS = 2


@problem_for(Refused)
def _refused(error: Refused) -> ApiProblem:
    """Return a 409: the suite exists, but this format cannot express it."""
    return ApiProblem(409, str(error), "not-expressible")


class CollectionSerializer(serializers.ModelSerializer[Collection]):
    owner = serializers.CharField(source="owner.username")
    n_suites = serializers.IntegerField(help_text="number of suites, including those that you may not see")

    class Meta:
        model = Collection
        fields = [
            "slug", "title", "description", "reference", "owner", "created", "published_at", "sha256",
            "n_suites",
        ]  # fmt: skip
        read_only_fields = fields


class CollectionEntrySerializer(serializers.ModelSerializer[SuiteRevision]):
    suite = serializers.CharField(source="suite.slug")
    title = serializers.CharField(source="suite.title")
    owner = serializers.CharField(source="suite.owner.username")
    revision = serializers.IntegerField(source="number")
    same_name = serializers.SerializerMethodField(
        help_text="other suites listed for you whose files have the same name"
    )

    class Meta:
        model = SuiteRevision
        fields = ["suite", "title", "owner", "revision", "sha256", "same_name"]
        read_only_fields = fields

    def get_same_name(self, revision: SuiteRevision) -> list[str]:
        return [row.suite.slug for row in self.context["same_name"].get(revision.pk, [])]


class CollectionDetailSerializer(CollectionSerializer):
    suites = serializers.SerializerMethodField(help_text="in the order of the collection")
    human_data = serializers.SerializerMethodField(help_text="slugs of human data that you may see")

    class Meta(CollectionSerializer.Meta):
        fields = [*CollectionSerializer.Meta.fields, "suites", "human_data"]
        read_only_fields = fields

    @extend_schema_field(CollectionEntrySerializer(many=True))
    def get_suites(self, collection: Collection) -> Any:
        user = self.context["request"].user
        revisions = services.revisions_of(collection, user)
        context = {"same_name": services.same_name(user, revisions)}
        return CollectionEntrySerializer(revisions, many=True, context=context).data

    def get_human_data(self, collection: Collection) -> list[str]:
        return [data.slug for data in services.human_data_of(collection, self.context["request"].user)]


class CollectionEntryBody(Body):
    suite = serializers.SlugField(max_length=80)
    revision = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_REVISION, help_text="default: the newest frozen revision"
    )


class CollectionCard(Body):
    title = serializers.CharField(max_length=200, required=False)
    description = serializers.CharField(max_length=20_000, allow_blank=True, required=False)
    reference = serializers.CharField(max_length=20_000, allow_blank=True, required=False)
    suites = serializers.ListField(
        child=CollectionEntryBody(),
        max_length=services.MAX_ENTRIES,
        required=False,
        help_text="the complete list; suites missing from it are removed, except those that you may not see",
    )
    human_data = serializers.ListField(
        child=serializers.SlugField(max_length=80),
        max_length=MAX_NAMES,
        required=False,
        help_text="slugs, the complete list, of human data of the collection’s suites; as for suites",
    )


class NewCollection(CollectionCard):
    slug = serializers.SlugField(max_length=80)
    title = serializers.CharField(max_length=200)


class PublishBody(Body):
    make_public = serializers.ListField(
        child=serializers.SlugField(max_length=80),
        max_length=services.MAX_ENTRIES,
        required=False,
        help_text="slugs of suites of the collection to make public as well, if you may edit them",
    )


class MissingBody(Body):
    collection = serializers.SlugField(
        max_length=80, required=False, help_text="only suites of this collection"
    )
    suites = serializers.ListField(
        child=serializers.SlugField(max_length=80), max_length=MAX_NAMES, required=False
    )
    models = serializers.ListField(
        child=serializers.SlugField(max_length=80), max_length=MAX_NAMES, required=False
    )


class QueuedSerializer(RecordSerializer):
    runs = serializers.SerializerMethodField(help_text="ids of the queued runs")

    class Meta:
        dataclass = Queued

    def get_runs(self, queued: Queued) -> list[str]:
        return [run.key for run in queued.runs]


class RuleChoice(Query):
    rule = serializers.ChoiceField(list(RULES), default=EACH.key, help_text="scoring rule of the leaderboard")


class CollectionFilter(Filters):
    q = WordsFilter("title", label="Words in the title")
    owner = django_filters.CharFilter(field_name="owner__username", label="User name of the owner")
    state = django_filters.ChoiceFilter(
        choices=[("draft", "draft"), ("published", "published")], method="in_state", label="State"
    )
    sort = django_filters.OrderingFilter(fields=[("title", "title"), ("created", "created")], label="Sort")

    class Meta:
        model = Collection
        fields: list[str] = []

    def in_state(self, rows: QuerySet[Collection], name: str, value: str) -> QuerySet[Collection]:
        return rows.filter(published_at__isnull=value == "draft")


def rows_of(request: Request) -> QuerySet[Collection]:
    return services.visible_collections(request.user).annotate(n_suites=Count("entries"))


class CollectionView(ObjectView[Collection]):
    denied_message = "you may not change this collection, or it is published and cannot be changed"

    def visible_rows(self, address: str) -> QuerySet[Collection]:
        return rows_of(self.request).filter(slug=address)

    def can_change(self, collection: Collection) -> bool:
        return services.can_change(self.request.user, collection)


def revision_of(request: Request, entry: dict[str, Any], where: str) -> SuiteRevision:
    revision = services.frozen_revision(request.user, entry["suite"], entry.get("revision"))
    if revision is None:
        why = services.explain_missing_revision(request.user, entry["suite"], entry.get("revision"))
        raise invalid(FieldError(where, why))
    return revision


def unique_revisions(request: Request, entries: list[dict[str, Any]]) -> list[SuiteRevision]:
    """Look up the revisions, in order and without duplicates. Raises a 400 that names every missing one."""
    revisions: dict[int, SuiteRevision] = {}
    field_errors: list[FieldError] = []
    for place, entry in enumerate(entries):
        try:
            revision = revision_of(request, entry, f"$.suites[{place}]")
        except ApiProblem as problem:
            field_errors += problem.field_errors
        else:
            revisions.setdefault(revision.pk, revision)
    if field_errors:
        raise invalid(*field_errors)
    return list(revisions.values())


def set_human_data(request: SignedInApiRequest, collection: Collection, slugs: list[str]) -> None:
    """Replace the collection's human data. Raises a 400 that names what is no human data of its suites."""
    rows = services.addable_data(collection, request.user).filter(slug__in=slugs).distinct()
    known = {data.slug: data for data in rows}
    if missing := [
        FieldError(f"$.human_data[{place}]", f"The collection’s suites have no human data “{slug}”.")
        for place, slug in enumerate(slugs)
        if slug not in known
    ]:
        raise invalid(*missing)
    services.set_human_data(collection, list(known.values()), actor=request.user)


class CollectionList(CollectionView, ListView):
    filterset_class = CollectionFilter

    @operation("List collections", response=CollectionSerializer, many=True)
    def get(self, request: Request) -> Response:
        """List published collections, and unpublished ones that you own or that are shared with you; all for staff."""
        return self.page(rows_of(request).order_by("title"))

    @operation("Create a collection", body=NewCollection, response=CollectionDetailSerializer, status=201)
    def post(self, request: SignedInApiRequest) -> Response:
        """Create a collection, visible only to its owner, collaborators and staff until it is published. Its suites are
        frozen revisions that you may see."""
        body = self.body()
        revisions = unique_revisions(request, body.get("suites", []))
        with transaction.atomic():
            made = services.create_collection(
                actor=request.user,
                slug=body["slug"],
                title=body["title"],
                description=body.get("description", ""),
                reference=body.get("reference", ""),
                revisions=revisions,
            )
            if "human_data" in body:
                set_human_data(request, made, body["human_data"])
        return self.refreshed(made, "api-collection")


class CollectionDetail(CollectionView):
    @operation("Read a collection", response=CollectionDetailSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Return the collection with the suites in it that you may see. For its leaderboard, use
        `leaderboard/?collection=`."""
        return self.read()

    @operation("Change a collection", body=CollectionCard, response=CollectionDetailSerializer)
    def patch(self, request: SignedInApiRequest, slug: str) -> Response:
        """Change only the fields that are sent. A published collection cannot be changed."""
        collection = self.get_for_change()
        body = self.body()
        revisions = unique_revisions(request, body["suites"]) if "suites" in body else None
        with locked(collection):
            card = {
                name: body.get(name, getattr(collection, name))
                for name in ("title", "description", "reference")
            }
            services.change_collection(collection, actor=request.user, revisions=revisions, **card)
            if "human_data" in body:
                set_human_data(request, collection, body["human_data"])
        return self.refreshed(collection)

    @operation("Delete a collection", status=204)
    def delete(self, request: Request, slug: str) -> Response:
        """Delete the collection; its suites are kept. A published collection cannot be deleted."""
        return self.remove(services.delete_collection)


class CollectionEntries(CollectionView):
    @operation(
        "Add a revision to a collection",
        body=CollectionEntryBody,
        response=CollectionDetailSerializer,
        status=201,
    )
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Append a revision. A revision that is already in the collection keeps its position."""
        collection = self.get_for_change()
        revision = revision_of(request, self.body(), "$.suite")
        services.add_revision(collection, revision, actor=request.user)
        return self.refreshed(collection, "api-collection")


class CollectionEntry(CollectionView):
    @operation("Remove a revision from a collection", status=204)
    def delete(self, request: SignedInApiRequest, slug: str, suite: str, number: int) -> Response:
        """Remove the revision; the suite is kept."""
        collection = self.get_for_change()
        revisions = SuiteRevision.objects.filter(collection_entries__collection=collection)
        revision = get_or_404(revisions, suite__slug=suite, number=number)
        services.remove_revision(collection, revision, actor=request.user)
        return Response(status=204)


class CollectionPublish(CollectionView):
    @operation("Publish a collection", body=PublishBody, response=CollectionDetailSerializer)
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Make the collection public and immutable. All its suites must be public, or be named in `make_public`."""
        collection = self.get_for_change()
        make_public = self._suites(collection, self.body().get("make_public", []))
        services.publish_collection(collection, actor=request.user, make_public=make_public)
        return self.refreshed(collection)

    def _suites(self, collection: Collection, slugs: list[str]) -> set[int]:
        """Return the primary keys of these suites of the collection. Raises a 400 that names the others."""
        rows = known_to(self.request.user).filter(revisions__collection_entries__collection=collection)
        keys = dict(rows.filter(slug__in=slugs).values_list("slug", "pk"))
        missing = [
            FieldError(f"$.make_public[{place}]", f"This collection has no suite “{slug}”.")
            for place, slug in enumerate(slugs)
            if slug not in keys
        ]
        if missing:
            raise invalid(*missing)
        return set(keys.values())


class CollectionFile(CollectionView):
    content_negotiation_class = FormatFromUrl

    @operation(
        "Export a collection",
        query=RuleChoice,
        media={
            "text/csv": FILE,
            "text/markdown": FILE,
            "application/x-tex": FILE,
            "application/x-bibtex": FILE,
            "application/zip": FILE,
            JSON: {"type": "object"},
        },
        also=[202, 413, 422],
    )
    def get(self, request: Request, slug: str, form: str) -> HttpResponseBase:
        """Download the collection. `form` is zip (suites, results and leaderboards), bib, or the leaderboard as csv,
        long.csv, md, tex or json. A job creates the zip: 202 with `Retry-After`, `state`, `done` and `total` (runs)
        until it is ready, 422 if it failed, 413 for too many rows. The file is kept for at most a week, and created
        again when results change."""
        collection = self.get_object()
        if form == "zip":
            return self.zip_or_wait(collection)
        options = Options(rule=rule_of(self.query["rule"]))
        return views.file_of(request, collection, form, options)

    def zip_or_wait(self, collection: Collection) -> HttpResponseBase:
        request: Any = self.request
        zip_ = zips.request_zip(collection, views.address_of(request, collection), actor=request.user)
        if zip_.is_done:
            return views.zip_response(zip_)
        job = zip_.job
        if job is None or not job.is_active:
            raise ApiProblem(422, job.error if job and job.error else "The job was cancelled.", "failed")
        progress = {"state": job.state, "done": job.done, "total": job.total, "unit": job.unit}
        headers = {"Location": request.build_absolute_uri(), "Retry-After": str(RETRY_SECONDS)}
        return Response(progress, status=202, headers=headers)


class RunMissing(ApiView):
    token_scope = Scope.RUN

    @operation(
        "Queue the missing runs of a leaderboard", body=MissingBody, response=QueuedSerializer, status=201
    )
    def post(self, request: SignedInApiRequest) -> Response:
        """Queue a run for each model and revision without a result or an unfinished run, at most 100 runs at
        a time. The revisions are those of a collection, or the newest frozen revisions of suites."""
        body = self.body()
        options = Options(
            suites=tuple(dict.fromkeys(body.get("suites", ()))),
            models=tuple(dict.fromkeys(body.get("models", ()))),
        )
        revisions, name = None, ""
        if "collection" in body:
            collection = referenced(rows_of(request), "collection", slug=body["collection"])
            revisions, name = services.revisions_of(collection, request.user), collection.slug
        board = leaderboard(request.user, options, revisions, name)
        if board.unknown:
            raise invalid(
                *(
                    FieldError(
                        "$.models" if name in options.models else "$.suites",
                        f"There is no “{name}” in this leaderboard.",
                    )
                    for name in board.unknown
                )
            )
        return self.respond(queue_missing(board, actor=request.user), "api-runs")


_ONE = "collections/<slug:slug>/"
urlpatterns = [
    path("collections/", CollectionList.as_view(), name="api-collections"),
    path(_ONE, CollectionDetail.as_view(), name="api-collection"),
    *people_api("api-collection", services.visible_collections, _ONE),
    path(f"{_ONE}publish/", CollectionPublish.as_view(), name="api-collection-publish"),
    path(f"{_ONE}suites/", CollectionEntries.as_view(), name="api-collection-suites"),
    path(f"{_ONE}suites/<slug:suite>/<int:number>/", CollectionEntry.as_view(), name="api-collection-suite"),
    path(f"{_ONE}files/<str:form>/", CollectionFile.as_view(), name="api-collection-file"),
    path("leaderboard/run-missing/", RunMissing.as_view(), name="api-run-missing"),
]
