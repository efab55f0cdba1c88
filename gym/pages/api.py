"""What pages of several rooms show, in the REST API: who I am, the figures of the pages, the leaderboard."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.urls import path
from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from gym.accounts.models import ApiToken, Scope
from gym.accounts.quotas import Use
from gym.accounts.requests import SignedInApiRequest
from gym.api.base import AddressDecides, ApiView, renderers
from gym.api.formats import CsvRenderer, NdjsonRenderer, Table, is_table
from gym.api.operations import BINARY, TEXT, operation
from gym.api.permissions import TokenScope
from gym.api.requests import Query
from gym.collections.services import revisions_of, visible_collections
from gym.pages import figure_views
from gym.pages.profile import use_of
from gym.runs.api.comparison_serializers import BoardSerializer
from gym.runs.api.query_parameters import BoardQuery, HeadedList, not_there, options_of
from gym.runs.api.results import TABLES
from gym.runs.pages.figures import figure_file
from gym.runs.read.leaderboard.build import leaderboard
from lmgym.charts.figure import FORMS
from lmgym.lmchallenge.tokens import FILTER_WORDS
from lmgym.runs.leaderboard import export
from lmgym.runs.leaderboard.board import Board
from lmgym.runs.rules import EACH, RULES
from lmgym.stats import CORRECTIONS


class AllowanceSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    used = serializers.IntegerField()
    limit = serializers.IntegerField(help_text="0 = none")


class KeptSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField(source="kind.key", help_text="suites, models, agent_runs …")
    number = serializers.IntegerField(source="kept.number")
    max_number = serializers.IntegerField(source="limit.number", help_text="0 = no limit")
    bytes = serializers.SerializerMethodField(help_text="null where they are not counted")
    max_bytes = serializers.IntegerField(source="limit.bytes", help_text="0 = no limit")

    def get_bytes(self, use: Use) -> int | None:
        return use.kept.bytes if use.kind.has_bytes else None


class TokenSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    scopes = serializers.ListField(child=serializers.ChoiceField(Scope.values))
    expires = serializers.DateTimeField(allow_null=True)


class MeSerializer(serializers.Serializer[Any]):
    username = serializers.CharField()
    name = serializers.CharField()
    is_staff = serializers.BooleanField()
    token = TokenSerializer(allow_null=True, help_text="the one this request was sent with")
    allowances = AllowanceSerializer(many=True)
    kept = KeptSerializer(many=True, help_text="what the account keeps, and may keep, of each kind of thing")


class Me(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation("Who am I", answers=MeSerializer)
    def get(self, request: SignedInApiRequest) -> Response:
        """The account, the token of this request, what is used of the allowances, and what it keeps."""
        token = request.auth if isinstance(request.auth, ApiToken) else None
        allowances, kept = use_of(request.user)
        data = {
            "username": request.user.username,
            "name": request.user.author_name,
            "is_staff": request.user.is_staff,
            "token": token,
            "allowances": allowances,
            "kept": kept,
        }
        return self.answer(data)


MAX_REVISION = 2**31 - 1


class FigureQuery(Query):
    run = serializers.SlugField(required=False, max_length=24, help_text="of run-regions and run-margins")
    prediction = serializers.IntegerField(
        required=False, min_value=0, max_value=10_000, help_text="of run-margins, from 0"
    )
    items = serializers.ChoiceField(
        ["0", "1", "false", "true"], required=False, help_text="1, of run-regions: a line for each item, too"
    )
    interval = serializers.ChoiceField(
        ["within"],
        required=False,
        help_text="of run-regions: within-item intervals (Cousineau-Morey) instead of Student's t over items",
    )
    suite = serializers.CharField(
        required=False, max_length=4_000, help_text="of suite-models: one; else several with commas between"
    )
    r = serializers.RegexField(
        r"^[0-9]{1,8}(,[0-9]{1,8})?$",
        required=False,
        help_text="of suite-models: the revision; of compare-items: one or two, with a comma between",
    )
    rule = serializers.ChoiceField(list(RULES), default=EACH.key, help_text="scoring rule")
    of = serializers.SlugField(required=False, max_length=80, help_text="of the figures of one model")
    model = serializers.CharField(
        required=False, max_length=4_000, help_text="models of the leaderboard, with commas between"
    )
    tag = serializers.CharField(required=False, max_length=60, help_text="only suites with this tag")
    q = serializers.CharField(required=False, max_length=200, help_text="only models with these words")
    source = serializers.ChoiceField(  # type: ignore[assignment]  # a declared field
        ["computed", "uploaded"], required=False, help_text="only results of this kind"
    )
    sort = serializers.CharField(
        required=False, max_length=200, help_text="order of the leaderboard's models"
    )
    weights = serializers.CharField(required=False, max_length=4_000, help_text="of suites: a:2,b:0.5")
    common = serializers.ChoiceField(
        ["0", "1"], required=False, help_text="1: only suites that all models have run"
    )
    group = serializers.ChoiceField(["0", "1"], required=False, help_text="1: checkpoints of a model as one")
    collection = serializers.SlugField(
        required=False, max_length=80, help_text="of leaderboard-*: of this collection"
    )
    base = serializers.SlugField(
        required=False, max_length=80, help_text="of compare-*: the model that others are compared with"
    )
    correction = serializers.ChoiceField(
        list(CORRECTIONS), required=False, help_text="of compare-suites: for many comparisons"
    )
    item = serializers.IntegerField(
        required=False, min_value=0, max_value=MAX_REVISION, help_text="of run-item: its number"
    )
    game = serializers.SlugField(
        required=False,
        max_length=80,
        help_text="of lmc-*; repeated for lmc-hits, -ranks, -course and -positions",
    )
    filter = serializers.ChoiceField(
        list(FILTER_WORDS), required=False, help_text="of lmc-*: which words count"
    )
    target = serializers.CharField(
        required=False, max_length=40, help_text="of lmc-search: what is optimised"
    )
    alpha = serializers.CharField(required=False, max_length=60, help_text="of lmc-search: from:to:steps")
    oov_penalty = serializers.CharField(
        required=False, max_length=60, help_text="of lmc-search: from:to:steps"
    )
    set = serializers.SlugField(required=False, max_length=80, help_text="of propara-board: the answer set")
    v = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_REVISION, help_text="of propara-board: its version"
    )
    submission = serializers.SlugField(required=False, max_length=80, help_text="of propara-actions")
    case = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_REVISION, help_text="of agent-trend: the case's id"
    )


class FigureFile(ApiView):
    content_negotiation_class = AddressDecides

    @operation(
        "Draw a figure",
        answers={"type": "object", "description": "its numbers in JSON"},
        query=FigureQuery,
        media={
            "text/csv": TEXT,
            "image/svg+xml": TEXT,
            "image/png": BINARY,
            "application/pdf": BINARY,
        },
    )
    def get(self, request: Request, kind: str, form: str) -> HttpResponse:
        """A chart of the pages as svg, png or pdf, or its numbers as csv or json. `kind` is the one in the address of
        the chart's files on its page: run-regions, leaderboard-heat, compare-suites, lmc-search and so on."""
        if kind not in figure_views.KINDS or form not in FORMS:
            raise Http404
        wanted: Any = request
        return figure_file(figure_views.KINDS[kind](wanted), form)


MAX_CELLS = 10_000
"""Models times suites on one page of the answer, unless one model has more."""


class Leaderboard(HeadedList):
    renderer_classes = renderers(CsvRenderer, NdjsonRenderer)

    @operation("Read the leaderboard", answers=BoardSerializer, query=BoardQuery, media=TABLES)
    def get(self, request: Request) -> Response:
        """Models on the newest frozen revisions of the suites that are listed for you, best SG score first: the page's
        numbers under the page's choices. A page has at most 10,000 cells, so that it may hold fewer models than
        `limit` says; `next` goes on. CSV and NDJSON come whole, with a row for each cell."""
        board = self._board(request)
        if is_table(request):
            return Response(Table(export.LONG_HEADER, export.long_rows(board)))
        most = max(1, MAX_CELLS // max(1, len(board.columns)))
        return self.headed(
            export.head_json(board),
            board.rows,
            lambda page: [export.row_json(board, row) for row in page],
            most,
        )

    def _board(self, request: Request) -> Board:
        options = options_of(self.query)
        revisions: Any = None
        if slug := self.query.get("collection"):
            collection = visible_collections(request.user).filter(slug=slug).first()
            if collection is None:
                raise not_there([("collection", slug)])
            revisions = revisions_of(collection, request.user)
        board = leaderboard(request.user, options, revisions, self.query.get("collection", ""))
        if board.unknown:
            named = dict.fromkeys(options.models, "model")
            named |= dict.fromkeys(options.weights, "weights") | dict.fromkeys(options.suites, "suite")
            raise not_there((named[name], name) for name in board.unknown)
        return board


urlpatterns = [
    path("me/", Me.as_view(), name="api-me"),
    path("figures/<slug:kind>/<slug:form>/", FigureFile.as_view(), name="api-figure"),
    path("leaderboard/", Leaderboard.as_view(), name="api-leaderboard"),
]
