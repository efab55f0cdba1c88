"""Games and uploaded logs in the REST API."""

from __future__ import annotations

from typing import Any

import django_filters
from django.core.exceptions import PermissionDenied
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from gym.accounts.models import Scope
from gym.api.base import ApiView, ListView, get_or_404, locked
from gym.api.filters import Filters
from gym.api.operations import operation
from gym.api.requests import Body
from gym.lmchallenge.core import typing_errors
from gym.lmchallenge.core.games import GAME_WORDS, SELECT_FROM, GameOptions
from gym.lmchallenge.models import Game
from gym.lmchallenge.site import permissions, playing, selectors
from gym.lmchallenge.site.api.corpora import FORM, corpus_of
from gym.lmchallenge.site.api.serializers import (
    GameDetailSerializer,
    GameSerializer,
)
from gym.lmchallenge.site.choices import players_for
from gym.lmchallenge.site.game_views import MAX_UPLOAD
from gym.sharing.models import Visibility
from gym.uploads import open_upload

WAIT = {"Retry-After": "5"}
GAMES = sorted(GAME_WORDS.items())


class LmcGameAbout(Body):
    title = serializers.CharField(max_length=200, required=False)
    visibility = serializers.ChoiceField(Visibility.choices, required=False)
    description = serializers.CharField(max_length=20_000, required=False, allow_blank=True)


class NewGame(Body):
    corpus = serializers.SlugField(max_length=80)
    game = serializers.ChoiceField(GAMES)
    player = serializers.CharField(
        max_length=200, help_text='"model:SLUG", "process:NAME" (a program of the settings) or "adaptive"'
    )
    title = serializers.CharField(max_length=200, default="", allow_blank=True)
    visibility = serializers.ChoiceField(Visibility.choices, default=Visibility.PRIVATE)
    train = serializers.BooleanField(default=False)
    targets = serializers.BooleanField(default=True, help_text="words in the log")
    predictions = serializers.BooleanField(default=False, help_text="wp: all predictions in the log")
    readings = serializers.ChoiceField(["reference", "corrected"], default="reference")
    select_from = serializers.IntegerField(default=SELECT_FROM, min_value=1, max_value=100, help_text="tc")
    words = serializers.ListField(
        child=serializers.CharField(max_length=200, trim_whitespace=False),
        default=list,
        max_length=playing.MAX_WORDS,
        help_text="ic: the vocabulary; default: the words of the corpus, most frequent first",
    )
    num_candidates = serializers.IntegerField(
        default=typing_errors.CANDIDATES, min_value=2, max_value=1_000, help_text="ic"
    )
    seed = serializers.IntegerField(
        default=typing_errors.SEED, min_value=1, max_value=2**31 - 1, help_text="ic"
    )
    p_anykey = serializers.FloatField(
        default=typing_errors.P_ANYKEY, min_value=0.0001, max_value=0.9999, help_text="ic"
    )
    error_chars = serializers.CharField(
        default=typing_errors.ERROR_CHARS, max_length=500, trim_whitespace=False, help_text="ic"
    )
    transcript = serializers.BooleanField(
        default=False, help_text="of programs: keep the end of what is said, for transcript.txt"
    )
    player_options = serializers.DictField(
        child=serializers.IntegerField(), default=dict, help_text="by name; see lmc/players/"
    )


class NewLog(LmcGameAbout):
    log = serializers.FileField(help_text="JSON lines of one game, packed with gzip or not")
    corpus = serializers.SlugField(
        max_length=80, required=False, help_text="the text it was played on; compared with the log"
    )


def seen(request: Request, key: str) -> Game:
    return get_or_404(selectors.game_at(request.user, key))


def steered(request: Request, key: str) -> Game:
    game = seen(request, key)
    if not permissions.can_steer(request.user, game):
        raise PermissionDenied("this belongs to somebody else")
    return game


def shown(request: Request, key: str) -> dict[str, Any]:
    return dict(GameDetailSerializer(seen(request, key)).data)


class GameFilter(Filters):
    corpus = django_filters.CharFilter("corpus__slug", label="Corpus")
    game = django_filters.ChoiceFilter(choices=GAMES, label="wp, tc or ic")
    kind = django_filters.ChoiceFilter(choices=Game.Kind.choices, label="Kind of player")
    fingerprint = django_filters.CharFilter("fingerprint", label="Text fingerprint")

    class Meta:
        model = Game
        fields: list[str] = []


class GameList(ListView):
    filterset_class = GameFilter
    token_scope = Scope.RUN

    @operation("List games", answers=GameSerializer, many=True)
    def get(self, request: Request) -> Response:
        """The newest first: public ones and your own."""
        rows = selectors.listed_games(request.user).defer("report", "words", "corpus__packed")
        return self.page(rows.order_by("-created", "-pk"), GameSerializer)

    @operation("Start a game", takes=NewGame, answers=GameDetailSerializer, status=202)
    def post(self, request: Request) -> Response:
        """Queued. Read the address in `Location` until `state` is done; lines that were played can be read before."""
        body: dict[str, Any] = self.body()
        corpus = corpus_of(request, body.pop("corpus"))
        words = "".join(f"{word}\n" for word in body.pop("words")).encode()
        names = ("player", "title", "visibility", "player_options", "transcript")
        player, title, visibility, told, transcript = (body.pop(name) for name in names)
        wish = playing.Wish(player, GameOptions(**body), words, title, visibility, told, transcript)
        return queued(request, playing.start_game(corpus, wish, actor=request.user))


class LogList(ApiView):
    parser_classes = [MultiPartParser]

    @operation("Upload a log", takes={FORM: NewLog}, answers=GameDetailSerializer, status=202)
    def post(self, request: Request) -> Response:
        """Of a game that was played elsewhere; it is counted by a job. The first line that cannot be read, or that is
        not of the corpus, is named, and nothing is kept. Of a log without words, lengths are compared."""
        body = self.body()
        upload = body.pop("log")
        slug = body.pop("corpus", None)
        corpus = corpus_of(request, slug) if slug else None
        stream = open_upload(upload, MAX_UPLOAD)
        made = playing.upload_log(stream, actor=request.user, filename=upload.name, corpus=corpus, **body)
        return queued(request, made)


class LmcPlayerSerializer(serializers.Serializer):
    player = serializers.CharField(help_text="as a new game takes it")
    name = serializers.CharField()
    kind = serializers.CharField(help_text="causal, ngram, process or adaptive")
    learns = serializers.BooleanField(help_text="whether it can be played with training")
    options = serializers.DictField(help_text="what it can be told: words, low, high, default by name")


class Players(ListView):
    @operation("List players", answers=LmcPlayerSerializer, many=True)
    def get(self, request: Request) -> Response:
        """Models, model programs and the built-in learner: whoever can play for you."""
        return self.page(players_for(request.user, playing.programs()), LmcPlayerSerializer)


def queued(request: Request, game: Game) -> Response:
    place = reverse("api-lmc-game", args=[game.key], request=request)
    return Response(GameDetailSerializer(game).data, status=202, headers={"Location": place, **WAIT})


class GameDetail(ApiView):
    @operation("Read a game", answers=GameDetailSerializer)
    def get(self, request: Request, key: str) -> Response:
        """Its options, its progress and its main figure."""
        return Response(shown(request, key))

    @operation("Change a game's card", takes=LmcGameAbout, answers=GameDetailSerializer)
    def patch(self, request: Request, key: str) -> Response:
        """Title, visibility, description; never the log."""
        game = steered(request, key)
        body = self.body()
        with locked(game):
            playing.edit_game(game, actor=request.user, **body)
        return Response(shown(request, game.key))

    @operation("Delete a game", status=204)
    def delete(self, request: Request, key: str) -> Response:
        """With its log."""
        playing.delete_game(steered(request, key), actor=request.user)
        return Response(status=204)


class _Act(ApiView):
    token_scope = Scope.RUN

    def act(self, request: Request, key: str, use_case: Any) -> Response:
        use_case(steered(request, key), actor=request.user)
        return Response(shown(request, key))


class Cancel(_Act):
    @operation("Stop a game", answers=GameDetailSerializer, also=[409])
    def post(self, request: Request, key: str) -> Response:
        """Lines that were played are kept."""
        return self.act(request, key, playing.cancel_game)


class Retry(_Act):
    @operation("Go on with a game", answers=GameDetailSerializer, also=[409])
    def post(self, request: Request, key: str) -> Response:
        """Behind the last line that was kept."""
        return self.act(request, key, playing.retry_game)
