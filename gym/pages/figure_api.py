"""The figures of the pages in the REST API."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request

from gym.api.base import AddressDecides, ApiView
from gym.api.operations import BINARY, TEXT, operation
from gym.api.requests import Query
from gym.lib.stats import CORRECTIONS
from gym.lmchallenge.core.tokens import FILTER_WORDS
from gym.pages import figure_views
from gym.runs.core.rules import EACH, RULES
from gym.runs.pages.figures import FORMS

MAX_REVISION = 2**31 - 1


class FigureQuery(Query):
    run = serializers.SlugField(required=False, max_length=24, help_text="of run-regions and run-margins")
    prediction = serializers.IntegerField(
        required=False, min_value=0, max_value=10_000, help_text="of run-margins, from 0"
    )
    items = serializers.ChoiceField(
        ["0", "1", "false", "true"], required=False, help_text="1, of run-regions: a line for each item, too"
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
    source = serializers.ChoiceField(
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
    game = serializers.SlugField(required=False, max_length=80, help_text="of lmc-*")
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
    by = serializers.ChoiceField(
        ["version"], required=False, help_text="of agent-matrix: a column per version"
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
        return figure_views.figure_file(figure_views.KINDS[kind](wanted), form)


urlpatterns = [
    path("figures/<slug:kind>/<slug:form>/", FigureFile.as_view(), name="api-figure"),
]
