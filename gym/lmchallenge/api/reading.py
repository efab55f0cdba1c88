"""Logs, statistics and comparisons of games."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.core.exceptions import ValidationError
from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gym.api.base import ApiView, FormatFromUrl, get_or_404
from gym.api.errors import FieldError, invalid
from gym.api.operations import FILE, JSON, operation
from gym.api.requests import Query, Several
from gym.jobs.api import results_unavailable
from gym.lmchallenge import counting, downloads, reading, selectors
from gym.lmchallenge.api.games import GameView
from gym.lmchallenge.models import Game
from lmgym.lmchallenge.errors import LogError, OptionError
from lmgym.lmchallenge.logs.measures import metrics_of
from lmgym.lmchallenge.play.games import MOST_SELECTION_COST
from lmgym.lmchallenge.tokens import FILTERS
from lmgym.text.columns import record

OBJECT = {"type": "object"}
MOST_LINES = 1_000
SAVINGS = ("selection_cost", "auto_space", "literal")


class LmcFilter(Query):
    filter = serializers.ChoiceField(
        list(FILTERS),
        default="alphaemoji",
        help_text="tokens to count; all if the log has no words",
    )


class LmcPart(LmcFilter):
    partition = serializers.ChoiceField(["all", "user", "line"], default="all")
    first = serializers.IntegerField(
        default=1, min_value=1, max_value=2**31 - 1, help_text="number of the first line, for partition=line"
    )
    last = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=2**31 - 1,
        help_text="number of the last line, for partition=line; default: as many lines as one request returns",
    )


class LmcSavings(LmcPart):
    selection_cost = serializers.FloatField(
        required=False,
        min_value=0,
        max_value=MOST_SELECTION_COST,
        help_text="tc: keystrokes to accept a prediction",
    )
    auto_space = serializers.BooleanField(
        required=False, help_text="tc: spaces after accepted predictions are free"
    )
    literal = serializers.BooleanField(
        required=False, help_text="tc: each run of typed characters costs one more selection"
    )


class LmcSought(LmcFilter):
    order = serializers.ChoiceField(
        list(reading.ORDERS), default="log", help_text="order of the log, or highest loss first"
    )
    outcome = serializers.CharField(
        required=False,
        max_length=20,
        help_text="lines with a token of this outcome; errors: with any error",
    )
    word = serializers.CharField(
        required=False,
        max_length=reading.MOST_WORD,
        help_text="lines with this token (any case), with that outcome if `outcome` is set; tc, ce: with this text",
    )
    user = serializers.CharField(
        required=False,
        max_length=reading.MOST_WORD,
        help_text="lines of this user; null: lines without a user",
    )


class LmcGames(Several, LmcFilter):
    metric = serializers.CharField(
        required=False,
        max_length=30,
        help_text="default: the game's main metric; see `metrics` of the response",
    )
    cluster = serializers.ChoiceField(list(counting.CLUSTERS), default="auto")


def counted(request: Request, key: str) -> Game:
    """Return the game. Raises 404 if the user may not see it, 409 if its statistics have not been computed yet."""
    game = get_or_404(selectors.game_at(request.user, key))
    if not game.is_counted:
        raise results_unavailable(f"The game “{game.title}” ({game.key})", game.job)
    return game


def search_of(game: Game, keep: str, query: Mapping[str, Any]) -> reading.TextSearch:
    """Parse the text search in a query. Raises an ApiProblem that names the parameter."""
    with query_errors():
        return reading.parse_search(game, keep, query)


@contextmanager
def query_errors() -> Iterator[None]:
    """Convert the service's field errors to errors about query parameters."""
    try:
        yield
    except ValidationError as error:
        raise invalid(
            *(FieldError(f"?{name}", text) for name, texts in error.message_dict.items() for text in texts)
        ) from None


class GameLog(GameView):
    content_negotiation_class = FormatFromUrl

    @operation(
        "Download a log",
        query=LmcSought,
        media={
            "application/x-ndjson": FILE,
            "application/gzip": FILE,
            "text/csv": FILE,
            "text/html": FILE,
            JSON: {"type": "object"},
        },
    )
    def get(self, request: Request, key: str, form: str) -> Any:
        """Download the log, its statistics or its text. `form` is targets.log (with words), lengths.log (without
        words), predictions.log (with words and predictions; in version 5 the only one, as stored), each also with .gz;
        statistics.json, statistics.csv or users.csv (tokens of `filter`); transcript.txt; text.html, the coloured text:
        all of it, or at most 2,000 rows that match `outcome`, `word` or `user`, by `order`."""
        game = self.get_object()
        if game.version == 5 and form.partition(".")[0] in downloads.ONLY_OF_4:
            raise LogError(downloads.ONE_FORM, "Download predictions.log.")
        search = search_of(game, counting.keep_of(self.query["filter"], game), self.query)
        response = downloads.response_of(game, form, self.query["filter"], search)
        if response is None and not game.is_counted and form in downloads.DERIVED:
            raise results_unavailable("This game", game.job)
        if response is None:
            raise Http404
        return response


class Statistics(ApiView):
    @operation("Read statistics", query=LmcSavings, response=OBJECT)
    def get(self, request: Request, key: str) -> Response:
        """Return the metrics of the reference implementation, under the names it uses; for the whole log also
        `more`: bits per character, keystrokes saved, learning curve and cross-validated mixture, each with n
        and interval, and the counts of ranks (`ranks`). By line (in version 5 by message, numbered from 1):
        at most 1,000 lines per request. `selection_cost`, `auto_space` and `literal` recompute the keystrokes
        saved."""
        game = counted(request, key)
        keep, partition = counting.keep_of(self.query["filter"], game), self.query["partition"]
        statistics = counting.statistics_of(game, keep)
        result: dict[str, Any] = {"id": game.key, "game": game.game, "filter": keep, "partition": partition}
        if partition == "line":
            first = self.query["first"]
            lines = counting.parts_of(game)
            last = min(self.query.get("last", first + MOST_LINES - 1), first + MOST_LINES - 1, lines)
            if first > last:
                raise invalid(FieldError("?first", f"The last line of the log is {lines:,}."))
            return Response({**result, "parts": counting.by_line(game, keep, first, last)})
        parts = statistics[partition]
        if isinstance(parts, str):
            raise invalid(FieldError("?partition", parts))
        if partition == "user":
            parts = [{**part, "user": json.loads(part["user"])} for part in parts]
        result |= {"parts": parts, "notices": statistics["notices"]}
        if partition == "all":
            result |= {"mix": statistics.get("mix"), "more": statistics["more"]}
            options = {name: self.query[name] for name in SAVINGS if name in self.query}
            if options and game.game == "tc":
                result["more"] = {
                    **statistics["more"],
                    "keystroke_savings": counting.savings(game, keep, **options),
                }
        return Response(result)


class Compare(ApiView):
    @operation("Compare games", query=LmcGames, response=OBJECT)
    def get(self, request: Request) -> Response:
        """Compare each `second` with `first` (second minus first): interval and p by resampling users or lines,
        `p_corrected` for all comparisons of the response, and `p_mcnemar` on tokens that only one game got right.
        `note` names limits, such as tokens that only one log scores. 400 if the texts differ."""
        keys = list(dict.fromkeys([self.query["first"], *self.query["second"]]))
        games = [counted(request, key) for key in keys[: counting.MOST_COMPARED + 1]]
        try:
            rows = counting.compare_games(
                games, self.query["filter"], self.query["cluster"], self.query.get("metric", "")
            )
        except OptionError as error:
            raise invalid(FieldError("?metric", error.message, error.hint)) from None
        return Response(
            {
                "first": games[0].key,
                "metric": rows[0].comparison.measure,
                "metrics": metrics_of([game.game for game in games]),
                "lower_is_better": rows[0].comparison.lower_is_better,
                "filter": counting.keep_of(self.query["filter"], *games),
                "texts_compared": "words" if all(game.has_targets for game in games) else "lengths",
                "text_fingerprint": games[0].fingerprint,
                "comparisons": [{"id": row.game.key, **record(row.comparison)} for row in rows],
            }
        )
