"""Results of games in the REST API: logs, text, statistics, comparisons."""

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

from gym.api.base import AddressDecides, ApiView, get_or_404
from gym.api.errors import FieldError, invalid
from gym.api.operations import BINARY, TEXT, operation
from gym.api.requests import Pair, Query, Several
from gym.jobs.api import no_results
from gym.lmchallenge import changes, counting, downloads, reading, selectors
from gym.lmchallenge.api.games import GameView
from gym.lmchallenge.models import Game
from lmgym.lmchallenge.errors import LogError, OptionError
from lmgym.lmchallenge.logs import coloured
from lmgym.lmchallenge.logs.measures import metrics_of
from lmgym.lmchallenge.logs.text_index import ERRORS, LOSSES
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
        help_text="tokens that count; all tokens if a log has no words",
    )


class LmcPart(LmcFilter):
    partition = serializers.ChoiceField(["all", "user", "line"], default="all")
    first = serializers.IntegerField(default=1, min_value=1, max_value=2**31 - 1, help_text="line, by line")
    last = serializers.IntegerField(
        required=False, min_value=1, max_value=2**31 - 1, help_text="line, by line"
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
        required=False, help_text="tc: each typed stretch costs one more selection"
    )


class LmcSought(LmcFilter):
    order = serializers.ChoiceField(
        list(reading.ORDERS), default="log", help_text="order of the log, or highest loss first"
    )
    outcome = serializers.CharField(
        required=False,
        max_length=20,
        help_text="lines with a token of this outcome (see `legend`); errors: any error of the game",
    )
    word = serializers.CharField(
        required=False,
        max_length=reading.MOST_WORD,
        help_text="lines with this token, ignoring case, and with the outcome if one is set; for tc and ce lines with "
        "this text",
    )
    user = serializers.CharField(
        required=False,
        max_length=reading.MOST_WORD,
        help_text="lines of this user, as in `user`; null: lines without one",
    )


class LmcText(LmcSought):
    page = serializers.IntegerField(default=1, min_value=1, max_value=2**31 - 1)
    line = serializers.IntegerField(
        required=False, min_value=1, max_value=2**31 - 1, help_text="the page that has this line of the log"
    )


class LmcGames(Several, LmcFilter):
    former = {"games": "first and second (once for each further game)"}
    metric = serializers.CharField(
        required=False,
        max_length=30,
        help_text="default: the game's main metric; see `metrics` of the response",
    )
    cluster = serializers.ChoiceField(list(counting.CLUSTERS), default="auto")


class LmcTwoGames(Pair, LmcFilter):
    page = serializers.IntegerField(default=1, min_value=1, max_value=2**31 - 1)


def counted(request: Request, key: str) -> Game:
    """Return a counted game; 409 until it is."""
    game = get_or_404(selectors.game_at(request.user, key))
    if not game.is_counted:
        raise no_results(f"The game “{game.title}” ({game.key})", game.job)
    return game


def text_query(game: Game, keep: str, query: Mapping[str, Any]) -> reading.Asked:
    """Parse the search of a text in the query. Raises ApiProblem naming the parameter."""
    with query_errors():
        return reading.asked_of(game, keep, query)


@contextmanager
def query_errors() -> Iterator[None]:
    """Turn ValidationErrors about fields into problems of query parameters."""
    try:
        yield
    except ValidationError as error:
        raise invalid(
            *(FieldError(f"?{name}", text) for name, texts in error.message_dict.items() for text in texts)
        ) from None


class GameLog(GameView):
    content_negotiation_class = AddressDecides

    @operation(
        "Download a log",
        query=LmcSought,
        answers={"type": "object", "description": "one line of the log"},
        media={
            "application/x-ndjson": TEXT,
            "application/gzip": BINARY,
            "text/csv": TEXT,
            "text/html": TEXT,
        },
    )
    def get(self, request: Request, key: str, form: str) -> Any:
        """`form` is targets.log (words), lengths.log (without any word of the text), predictions.log (words and
        predictions; the only one for version 5, as uploaded), each also with .gz; statistics.json, statistics.csv or
        users.csv (tokens of `filter`); transcript.txt; or text.html, the coloured text as one file: all of it, or
        with `order`, `outcome`, `word` or `user` at most 2,000 rows of the matches of `text/`.
        """
        game = self.get_object()
        if game.version == 5 and form.partition(".")[0] in downloads.ONLY_OF_4:
            raise LogError(downloads.ONE_FORM, "Ask for predictions.log.")
        sought = text_query(game, counting.keep_of(self.query["filter"], game), self.query)
        response = downloads.response_of(game, form, self.query["filter"], sought)
        if response is None and not game.is_counted and form in downloads.DERIVED:
            raise no_results("This game", game.job)
        if response is None:
            raise Http404
        return response


class GameText(ApiView):
    @operation("Read the text of a game", query=LmcText, answers=OBJECT)
    def get(self, request: Request, key: str) -> Response:
        """Lines (version 5: messages) as pieces with outcomes and predictions. With a search or order also their `loss`
        (`loss_is` is its label) and the number `found`. A page has 25 lines, or 500 tokens of version 5.
        """
        game = counted(request, key)
        keep = counting.keep_of(self.query["filter"], game)
        with query_errors():
            text = reading.read_page(game, text_query(game, keep, self.query))
        return Response(
            {
                "id": game.key,
                "filter": keep,
                "legend": coloured.words_of(game.game),
                "errors": list(ERRORS[game.game]),
                "loss_is": LOSSES[game.game],
                "page": text.number,
                "pages": text.pages,
                "found": text.found,
                "lines": [_line(line, text.losses.get(line.number)) for line in text.lines],
            }
        )


def _line(line: coloured.ColouredLine, loss: float | None) -> dict[str, Any]:
    pieces = [
        {
            "text": one.text,
            "outcome": one.outcome,
            "rank": one.rank,
            "score": one.score,
            "typed": one.typed or None,
            "predictions": one.predictions,
        }
        for one in line.pieces
    ]
    found: dict[str, Any] = {"number": line.number, "user": line.user, "loss": loss, "pieces": pieces}
    return counting.finite(found)  # type: ignore[no-any-return]


class Statistics(ApiView):
    @operation("Read statistics", query=LmcSavings, answers=OBJECT)
    def get(self, request: Request, key: str) -> Response:
        """The reference's metrics under its names. For the whole log also `more`: bits per character, keystroke
        savings, learning curve and cross-validated mixture, each with n and interval, and the number of tokens at
        each rank (`ranks`). By line (version 5: by message, numbered from 1): at most 1,000 lines per request. With
        `selection_cost`, `auto_space` or `literal`, keystroke savings are counted with these.
        """
        game = counted(request, key)
        keep, partition = counting.keep_of(self.query["filter"], game), self.query["partition"]
        found = counting.statistics_of(game, keep)
        answer: dict[str, Any] = {"id": game.key, "game": game.game, "filter": keep, "partition": partition}
        if partition == "line":
            first = self.query["first"]
            lines = counting.parts_of(game)
            last = min(self.query.get("last", first + MOST_LINES - 1), first + MOST_LINES - 1, lines)
            if first > last:
                raise invalid(FieldError("?first", f"The log has {lines:,} lines."))
            return Response({**answer, "parts": counting.by_line(game, keep, first, last)})
        parts = found[partition]
        if isinstance(parts, str):
            raise invalid(FieldError("?partition", parts))
        if partition == "user":
            parts = [{**part, "user": json.loads(part["user"])} for part in parts]
        answer |= {"parts": parts, "notices": found["notices"]}
        if partition == "all":
            answer |= {"mix": found.get("mix"), "more": found["more"]}
            rules = {name: self.query[name] for name in SAVINGS if name in self.query}
            if rules and game.game == "tc":
                answer["more"] = {**found["more"], "keystroke_savings": counting.savings(game, keep, **rules)}
        return Response(answer)


class Compare(ApiView):
    @operation("Compare games", query=LmcGames, answers=OBJECT)
    def get(self, request: Request) -> Response:
        """Each `second` against the first: interval and p by resampling users or lines, `p_corrected` for all
        comparisons of the response, and `p_mcnemar` for the tokens that only one got right. `note` names what limits a
        difference: tokens that only one log scores, different typing errors. 400 when the texts differ."""
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


class CompareText(ApiView):
    @operation("Read what changed in a text", query=LmcTwoGames, answers=OBJECT)
    def get(self, request: Request) -> Response:
        """Lines of the second game (version 5: messages) as pieces with their change from the first: `change` and
        `strong` as in `legend`. A page has 25 lines, or 500 tokens of version 5. 400 when the texts or the games
        differ.
        """
        first, game = counted(request, self.query["first"]), counted(request, self.query["second"])
        keep = counting.keep_of(self.query["filter"], first, game)
        text = changes.read_changes(first, game, keep, self.query["page"])
        legend = [
            {"change": name, "strong": strong, "words": words}
            for name, strong, words in changes.legend_of(game)
        ]
        return Response(
            {
                "first": first.key,
                "second": game.key,
                "filter": keep,
                "legend": legend,
                "page": text.number,
                "pages": text.pages,
                "lines": [
                    {
                        "number": line.number,
                        "user": line.user,
                        "pieces": [
                            {
                                "text": one.text,
                                "change": one.change,
                                "strong": one.is_strong,
                                "words": one.words,
                            }
                            for one in line.pieces
                        ],
                    }
                    for line in text.lines
                ],
            }
        )
