"""Collections of suite revisions, and running what a leaderboard lacks, in the REST API."""

from __future__ import annotations

from typing import Any

import django_filters
from django.core.exceptions import PermissionDenied
from django.db.models import Count, QuerySet
from django.http import HttpResponse
from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from gym.accounts.models import Scope
from gym.api.base import AddressDecides, ApiView, ListView, etag_of, held, one
from gym.api.errors import Refusal, Trouble, answers, invalid
from gym.api.filters import Filters, WordsFilter
from gym.api.operations import TEXT, operation
from gym.api.requests import Body, Query
from gym.results import collection_views, collections
from gym.results.api import downloads
from gym.results.exports.refusal import Refused
from gym.results.leaderboard import leaderboard
from gym.results.models import Collection
from gym.results.options import MAX_NAMES, Options
from gym.results.rules import EACH, RULES, rule_of
from gym.results.services import queue_missing
from gym.sharing.api import people_api
from suites.models import SuiteRevision

SLUG = {"slug": "long-distance"}
ENTRY = {
    "suite": "agreement_orc",
    "title": "Agreement across relatives",
    "owner": "alice",
    "revision": 2,
    "sha256": "9f86" * 16,
    "same_name": ["agreement_orc-2"],
}
COLLECTION: dict[str, Any] = {
    "slug": "long-distance",
    "title": "Long-distance dependencies",
    "description": "",
    "reference": "",
    "owner": "alice",
    "created": "2026-03-01T09:00:00Z",
    "published_at": None,
    "sha256": "",
    "n_suites": 1,
}
DETAIL = COLLECTION | {"suites": [ENTRY]}
NEW = {"slug": "long-distance", "title": "Long-distance dependencies", "suites": [{"suite": "agreement_orc"}]}
MAX_REVISION = 2**31 - 1


@answers(Refused)
def _refused(error: Refused) -> Refusal:
    """The thing is there, but this format cannot say it."""
    return Refusal(409, str(error), "cannot-be-said")


class CollectionSerializer(serializers.ModelSerializer):
    owner = serializers.CharField(source="owner.username")
    n_suites = serializers.IntegerField(help_text="those that others may not see included")

    class Meta:
        model = Collection
        fields = list(COLLECTION)
        read_only_fields = fields


class CollectionEntrySerializer(serializers.ModelSerializer):
    suite = serializers.CharField(source="suite.slug")
    title = serializers.CharField(source="suite.title")
    owner = serializers.CharField(source="suite.owner.username")
    revision = serializers.IntegerField(source="number")
    same_name = serializers.SerializerMethodField(
        help_text="other suites listed for you, called alike in their files"
    )

    class Meta:
        model = SuiteRevision
        fields = list(ENTRY)
        read_only_fields = fields

    def get_same_name(self, revision: SuiteRevision) -> list[str]:
        return [row.suite.slug for row in self.context["same_name"].get(revision.pk, [])]


class CollectionDetailSerializer(CollectionSerializer):
    suites = CollectionEntrySerializer(many=True, help_text="in the collection's order")

    class Meta(CollectionSerializer.Meta):
        fields = list(DETAIL)
        read_only_fields = fields


class CollectionEntryBody(Body):
    suite = serializers.SlugField(max_length=80)
    revision = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_REVISION, help_text="default: the newest frozen one"
    )


class CollectionCard(Body):
    title = serializers.CharField(max_length=200, required=False)
    description = serializers.CharField(max_length=20_000, allow_blank=True, required=False)
    reference = serializers.CharField(max_length=20_000, allow_blank=True, required=False)
    suites = serializers.ListField(
        child=CollectionEntryBody(),
        max_length=collections.MAX_ENTRIES,
        required=False,
        help_text="the whole list; what it does not name is taken out, but for suites that you may not see now",
    )


class NewCollection(CollectionCard):
    slug = serializers.SlugField(max_length=80)
    title = serializers.CharField(max_length=200)


class MissingBody(Body):
    collection = serializers.SlugField(max_length=80, required=False, help_text="its suites, and no others")
    suites = serializers.ListField(
        child=serializers.SlugField(max_length=80), max_length=MAX_NAMES, required=False
    )
    models = serializers.ListField(
        child=serializers.SlugField(max_length=80), max_length=MAX_NAMES, required=False
    )


class MissingSerializer(serializers.Serializer):
    runs = serializers.ListField(child=serializers.CharField(), help_text="keys of the runs queued now")
    waiting = serializers.IntegerField(help_text="were under way already")
    left = serializers.IntegerField(help_text="ask again when these are done")
    stopped = serializers.CharField(allow_blank=True, help_text="why not all of them could be queued")


class RuleChoice(Query):
    rule = serializers.ChoiceField(list(RULES), default=EACH.key, help_text="scoring rule of the leaderboard")


class CollectionFilter(Filters):
    q = WordsFilter("title", label="Words of the title")
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
    return collections.visible_collections(request.user).annotate(n_suites=Count("entries"))


def collection_of(request: Request, slug: str) -> Collection:
    return one(rows_of(request), slug=slug)


def changeable(request: Request, slug: str) -> Collection:
    collection = collection_of(request, slug)
    if not collections.can_change(request.user, collection):
        raise PermissionDenied("a published collection stays as it is; others are their owner's")
    return collection


def shown(request: Request, slug: str) -> dict[str, Any]:
    collection = collection_of(request, slug)
    revisions = collections.revisions_of(collection, request.user)
    data: dict[str, Any] = dict(CollectionSerializer(collection).data)
    context = {"same_name": collections.same_name(request.user, revisions)}
    return data | {"suites": CollectionEntrySerializer(revisions, many=True, context=context).data}


def found(request: Request, entry: dict[str, Any], where: str) -> SuiteRevision:
    revision = collections.frozen_revision(request.user, entry["suite"], entry.get("revision"))
    if revision is None:
        why = collections.why_not_found(request.user, entry["suite"], entry.get("revision"))
        raise invalid(Trouble(where, why))
    return revision


def all_found(request: Request, entries: list[dict[str, Any]]) -> list[SuiteRevision]:
    """In their order, each once; every one that is not there is named."""
    revisions: dict[int, SuiteRevision] = {}
    troubles: list[Trouble] = []
    for place, entry in enumerate(entries):
        try:
            revision = found(request, entry, f"$.suites[{place}]")
        except Refusal as refusal:
            troubles += refusal.troubles
        else:
            revisions.setdefault(revision.pk, revision)
    if troubles:
        raise invalid(*troubles)
    return list(revisions.values())


class CollectionList(ListView):
    filterset_class = CollectionFilter

    @operation("List collections", answers=CollectionSerializer, many=True, example=COLLECTION)
    def get(self, request: Request) -> Response:
        """Published ones, and your own."""
        return self.page(rows_of(request).order_by("title"), CollectionSerializer)

    @operation(
        "Make a collection",
        takes=NewCollection,
        sends=NEW,
        answers=CollectionDetailSerializer,
        status=201,
        example=DETAIL,
    )
    def post(self, request: Request) -> Response:
        """Yours alone until it is published; its suites are frozen revisions that you may see."""
        given = self.given()
        made = collections.make_collection(
            actor=request.user,
            slug=given["slug"],
            title=given["title"],
            description=given.get("description", ""),
            reference=given.get("reference", ""),
            revisions=all_found(request, given.get("suites", [])),
        )
        place = reverse("api-collection", args=[made.slug], request=request)
        return Response(shown(request, made.slug), status=201, headers={"Location": place})


class CollectionDetail(ApiView):
    path_examples = SLUG

    @operation("Read a collection", answers=CollectionDetailSerializer, example=DETAIL)
    def get(self, request: Request, slug: str) -> Response:
        """Its words and those of its suites that you may see. Its leaderboard is `leaderboard/?collection=`."""
        return Response(shown(request, slug))

    @operation(
        "Change a collection",
        takes=CollectionCard,
        sends={"title": "Dependencies", "suites": [{"suite": "agreement_orc", "revision": 2}]},
        answers=CollectionDetailSerializer,
        example=DETAIL,
        also=[412],
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Only the fields sent are changed. Not once it is published."""
        collection = changeable(request, slug)
        given = self.given()
        revisions = all_found(request, given["suites"]) if "suites" in given else None
        with held(request, collection, lambda: shown(request, slug)):
            card = {
                name: given.get(name, getattr(collection, name))
                for name in ("title", "description", "reference")
            }
            collections.change_collection(collection, actor=request.user, revisions=revisions, **card)
            data = shown(request, slug)
        return Response(data, headers={"ETag": etag_of(data)})

    @operation("Delete a collection", status=204)
    def delete(self, request: Request, slug: str) -> Response:
        """Its suites are as they were. Not once it is published."""
        collections.delete_collection(changeable(request, slug), actor=request.user)
        return Response(status=204)


class CollectionEntries(ApiView):
    path_examples = SLUG

    @operation(
        "Add a revision to a collection",
        takes=CollectionEntryBody,
        sends={"suite": "agreement_orc", "revision": 2},
        answers=CollectionDetailSerializer,
        status=201,
        example=DETAIL,
    )
    def post(self, request: Request, slug: str) -> Response:
        """At the end; one that is there already stays where it is."""
        collection = changeable(request, slug)
        revision = found(request, self.given(), "$.suite")
        collections.add_revision(collection, revision, actor=request.user)
        place = reverse("api-collection", args=[slug], request=request)
        return Response(shown(request, slug), status=201, headers={"Location": place})


class CollectionEntry(ApiView):
    path_examples = SLUG | {"suite": "agreement_orc"}

    @operation("Take a revision out of a collection", status=204)
    def delete(self, request: Request, slug: str, suite: str, number: int) -> Response:
        """The suite is as it was."""
        collection = changeable(request, slug)
        revisions = SuiteRevision.objects.filter(collection_entries__collection=collection)
        revision = one(revisions, suite__slug=suite, number=number)
        collections.remove_revision(collection, revision, actor=request.user)
        return Response(status=204)


class CollectionPublish(ApiView):
    path_examples = SLUG

    @operation("Publish a collection", answers=CollectionDetailSerializer, example=DETAIL)
    def post(self, request: Request, slug: str) -> Response:
        """Everybody sees it from now on, and it never changes again; all its suites have to be public."""
        collections.publish_collection(changeable(request, slug), actor=request.user)
        return Response(shown(request, slug))


class CollectionFile(ApiView):
    content_negotiation_class = AddressDecides
    path_examples = SLUG | {"form": "csv"}

    @operation(
        "Export a collection",
        answers={"type": "object", "description": "its leaderboard in JSON"},
        query=RuleChoice,
        example={"rule": "each", "rows": []},
        media={
            "text/csv": (TEXT, "rule,model,SG score\n"),
            "text/markdown": (TEXT, "| model | SG score |\n"),
            "application/x-tex": (TEXT, "\\begin{tabular}{lr}\n"),
            "application/x-bibtex": (TEXT, "@misc{long-distance,\n}\n"),
            "application/zip": (downloads.BINARY, ""),
        },
        also=[413],
    )
    def get(self, request: Request, slug: str, form: str) -> HttpResponse:
        """`form` is zip (suites, results and leaderboards), bib, or its leaderboard as csv, long.csv, md, tex, json.
        413 for a zip of too many rows."""
        collection: Any = collection_of(request, slug)
        options = Options(rule=rule_of(self.query["rule"]))
        response: HttpResponse = collection_views.file_of(request, collection, form, options)  # type: ignore[arg-type]
        return response


class RunMissing(ApiView):
    token_scope = Scope.RUN

    @operation(
        "Run what a leaderboard lacks",
        takes=MissingBody,
        sends={"collection": "long-distance", "models": ["demo-gpt2"]},
        answers=MissingSerializer,
        status=201,
        example={"runs": ["3f2a9c1d5e7b8a604c21"], "waiting": 0, "left": 0, "stopped": ""},
    )
    def post(self, request: Request) -> Response:
        """Models on the newest frozen revisions of suites, or on those of a collection, where there is no result and
        none is under way; at most 100 runs at a time."""
        given = self.given()
        options = Options(
            suites=tuple(dict.fromkeys(given.get("suites", ()))),
            models=tuple(dict.fromkeys(given.get("models", ()))),
        )
        revisions = None
        if "collection" in given:
            revisions = collections.revisions_of(collection_of(request, given["collection"]), request.user)
        board = leaderboard(request.user, options, revisions)
        if board.unknown:
            raise invalid(
                *(
                    Trouble(
                        "$.models" if name in options.models else "$.suites", f"There is no “{name}” here."
                    )
                    for name in board.unknown
                )
            )
        queued = queue_missing(board, actor=request.user)
        data = {name: getattr(queued, name) for name in ("waiting", "left", "stopped")}
        data["runs"] = [run.key for run in queued.runs]
        place = reverse("api-runs", request=request)
        return Response(data, status=201, headers={"Location": place})


_ONE = "collections/<slug:slug>/"
urlpatterns = [
    path("collections/", CollectionList.as_view(), name="api-collections"),
    path(_ONE, CollectionDetail.as_view(), name="api-collection"),
    *people_api(collection_views.ROOM, _ONE, **SLUG),
    path(f"{_ONE}publish/", CollectionPublish.as_view(), name="api-collection-publish"),
    path(f"{_ONE}suites/", CollectionEntries.as_view(), name="api-collection-suites"),
    path(f"{_ONE}suites/<slug:suite>/<int:number>/", CollectionEntry.as_view(), name="api-collection-suite"),
    path(f"{_ONE}files/<str:form>/", CollectionFile.as_view(), name="api-collection-file"),
    path("leaderboard/run-missing/", RunMissing.as_view(), name="api-run-missing"),
]
