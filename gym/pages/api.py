"""The leaderboard in the REST API, over the listed suites or those of a collection."""

from __future__ import annotations

from typing import Any

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from gym.api.base import renderers
from gym.api.errors import not_there
from gym.api.formats import CsvRenderer, NdjsonRenderer, Table, is_table
from gym.api.operations import operation
from gym.collections.services import revisions_of, visible_collections
from gym.runs.api.comparison_serializers import BoardSerializer
from gym.runs.api.query_parameters import BoardQuery, HeadedList, options_of
from gym.runs.api.results import TABLES
from gym.runs.read.leaderboard.build import leaderboard
from lmgym.runs.leaderboard import export
from lmgym.runs.leaderboard.board import Board

MAX_CELLS = 10_000
"""Maximum number of cells (models × suites) on a page, unless a single model has more."""


class Leaderboard(HeadedList):
    renderer_classes = renderers(CsvRenderer, NdjsonRenderer)

    @operation("Read the leaderboard", response=BoardSerializer, query=BoardQuery, media=TABLES)
    def get(self, request: Request) -> Response:
        """Return the results of models on the newest frozen revisions of the suites listed for you, or on the revisions
        of a `collection`; by default best SG score first. A page has at most 10,000 cells, so it may have fewer models
        than `limit`. CSV and NDJSON are not paginated and have one row per cell."""
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
    path("leaderboard/", Leaderboard.as_view(), name="api-leaderboard"),
]
