"""Games and uploaded logs in the REST API."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from gym.accounts.models import Scope
from gym.accounts.requests import SignedInApiRequest
from gym.api.base import ApiView, ListView, ObjectView
from gym.api.filters import Filters
from gym.api.operations import operation
from gym.api.requests import Body
from gym.jobs.api import behind_for_request
from gym.lmchallenge import permissions, playing, selectors
from gym.lmchallenge.api.corpora import FORM, corpus_of
from gym.lmchallenge.counting import keep_of
from gym.lmchallenge.game_views import MAX_UPLOAD
from gym.lmchallenge.models import Game
from gym.sharing.models import Visibility
from gym.uploads import open_upload
from lmgym.lmchallenge import typing_errors
from lmgym.lmchallenge.games import GAME_WORDS, SELECT_FROM
from lmgym.lmchallenge.version5 import GAME_WORDS as GAME_WORDS_5

WAIT = 5
PLAYER = '"model:SLUG", "process:NAME" (a program of the settings) or "adaptive"'
ALL_GAMES = sorted((GAME_WORDS | GAME_WORDS_5).items())


class GameSerializer(serializers.ModelSerializer[Game]):
    id = serializers.CharField(source="key")
    corpus = serializers.CharField(source="corpus.slug", allow_null=True, default=None)
    owner = serializers.CharField(source="owner.username", allow_null=True, default=None)
    state = serializers.CharField(help_text="queued, running, done, failed, cancelled or lost")
    player = serializers.CharField(
        source="played_by", help_text="as a new game takes it; empty of an uploaded log"
    )
    options = serializers.DictField()
    progress = serializers.SerializerMethodField(
        help_text="lines played of all, the job's error, and what it waits for (`behind`, empty in lists)"
    )
    version = serializers.IntegerField(help_text="of LM Challenge: 4 (wp, tc, ic) or 5 (wc, we, ce, wr)")
    figure = serializers.SerializerMethodField(
        help_text="hit3, pcpc or accuracy, of tokens with a letter or an emoji (filter alphaemoji) or, where the log "
        "has no words, of all tokens (filter all); of the selected tokens of version 5 hit3 (wc), mean in nats (we, "
        "ce) or accuracy (wr); null before it is counted"
    )

    class Meta:
        model = Game
        fields = [
            "id", "title", "description", "corpus", "owner", "visibility", "game", "version", "kind", "player",
            "options", "filename", "state", "progress", "problem", "lines", "size", "has_targets", "has_predictions",
            "fingerprint", "figure", "created",
        ]  # fmt: skip
        read_only_fields = fields

    def get_progress(self, row: Game) -> dict[str, Any] | None:
        job = row.job
        if job is None:
            return None
        return {
            "done": job.done,
            "total": job.total,
            "error": job.error,
            "behind": behind_for_request(self, job),
        }

    def get_figure(self, row: Game) -> dict[str, Any] | None:
        found = row.headline
        keep = keep_of("alphaemoji", row)
        return {"name": found[0], "value": found[1], "filter": keep} if found else None


NOT_ASKED: dict[str, Any] = {"allow_null": True, "default": None}
"""An option that the game has not: another game, or an uploaded log."""


class GameDetailSerializer(GameSerializer):
    corpus_match = serializers.DictField(
        source="report.corpus_match",
        allow_null=True,
        default=None,
        help_text="of an uploaded log that is filed under a corpus: what was compared (tokens, texts, token lengths, "
        "line lengths), its lines and those of the corpus (of), the corpus's lines that its first and last are, and "
        "how many are cut into other tokens (recut)",
    )

    train = serializers.BooleanField(source="options.train", **NOT_ASKED)
    targets = serializers.BooleanField(source="has_targets", help_text="words in the log")
    predictions = serializers.BooleanField(source="has_predictions", help_text="all predictions in the log")
    readings = serializers.CharField(source="options.readings", **NOT_ASKED)
    select_from = serializers.IntegerField(source="options.select_from", **NOT_ASKED)
    next_word_only = serializers.BooleanField(source="options.next_word_only", **NOT_ASKED)
    num_candidates = serializers.IntegerField(source="options.num_candidates", **NOT_ASKED)
    seed = serializers.IntegerField(source="options.seed", **NOT_ASKED)
    p_anykey = serializers.FloatField(source="options.p_anykey", **NOT_ASKED)
    error_chars = serializers.CharField(source="options.error_chars", **NOT_ASKED)
    transcript = serializers.BooleanField(source="options.transcript", default=False)
    player_options = serializers.DictField(source="options.player", default=dict)

    class Meta(GameSerializer.Meta):
        fields = [
            *GameSerializer.Meta.fields, "corpus_match", "train", "targets", "predictions", "readings", "select_from",
            "next_word_only", "num_candidates", "seed", "p_anykey", "error_chars", "transcript", "player_options",
            "n_words",
        ]  # fmt: skip
        read_only_fields = fields


class LmcGameAbout(Body):
    title = serializers.CharField(max_length=200, required=False)
    visibility = serializers.ChoiceField(Visibility.choices, required=False)
    description = serializers.CharField(max_length=20_000, required=False, allow_blank=True)


class HowToPlay(Body):
    corpus = serializers.SlugField(max_length=80)
    title = serializers.CharField(max_length=200, default="", allow_blank=True)
    visibility = serializers.ChoiceField(Visibility.choices, default=Visibility.PRIVATE)
    train = serializers.BooleanField(default=False)
    targets = serializers.BooleanField(default=True, help_text="words in the log")
    predictions = serializers.BooleanField(default=False, help_text="wp: all predictions in the log")
    readings = serializers.ChoiceField(["reference", "corrected"], default="reference")
    select_from = serializers.IntegerField(default=SELECT_FROM, min_value=1, max_value=100, help_text="tc")
    next_word_only = serializers.BooleanField(
        default=False, help_text="wc: ask once for each word, before its first letter"
    )
    words = serializers.ListField(
        child=serializers.CharField(max_length=200, trim_whitespace=False),
        default=list,
        max_length=playing.MAX_WORDS,
        help_text="ic, wr: the vocabulary; default: the words of the corpus, most frequent first",
    )
    num_candidates = serializers.IntegerField(
        default=typing_errors.CANDIDATES, min_value=2, max_value=1_000, help_text="ic, wr"
    )
    seed = serializers.IntegerField(
        default=typing_errors.SEED, min_value=1, max_value=2**31 - 1, help_text="ic, wr"
    )
    p_anykey = serializers.FloatField(
        default=typing_errors.P_ANYKEY, min_value=0.0001, max_value=0.9999, help_text="ic, wr"
    )
    error_chars = serializers.CharField(
        default=typing_errors.ERROR_CHARS, max_length=500, trim_whitespace=False, help_text="ic, wr"
    )
    transcript = serializers.BooleanField(
        default=False, help_text="of programs: keep the end of what is said, for transcript.txt"
    )
    player_options = serializers.DictField(
        child=serializers.IntegerField(), default=dict, help_text="by name; see lmc/players/"
    )


class NewGame(HowToPlay):
    game = serializers.ChoiceField(ALL_GAMES)
    player = serializers.CharField(max_length=200, help_text=PLAYER)


class NewGames(HowToPlay):
    games = serializers.ListField(
        child=serializers.ChoiceField(ALL_GAMES), min_length=1, max_length=len(ALL_GAMES)
    )
    players = serializers.ListField(
        child=serializers.CharField(max_length=200, help_text=PLAYER),
        min_length=1,
        max_length=playing.MAX_GAMES,
    )


class NewLog(LmcGameAbout):
    former = {"log": "file"}

    file = serializers.FileField(
        help_text="JSON lines of one game of LM Challenge 4 or 5, packed with gzip or not"
    )
    corpus = serializers.SlugField(
        max_length=80,
        required=False,
        help_text="the text it was played on; compared with the log",
    )


class GameView(ObjectView[Game]):
    lookup_field = "key"

    def rows_at(self, address: str) -> QuerySet[Game]:
        return selectors.game_at(self.request.user, address)

    def may_change(self, game: Game) -> bool:
        return permissions.can_steer(self.request.user, game)


class GameFilter(Filters):
    corpus = django_filters.CharFilter("corpus__slug", label="Corpus")
    game = django_filters.ChoiceFilter(choices=ALL_GAMES, label="wp, tc, ic; wc, we, ce, wr")
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
        return self.page(rows.order_by("-created", "-pk"))

    @operation("Start a game", takes=NewGame, answers=GameDetailSerializer, status=202)
    def post(self, request: SignedInApiRequest) -> Response:
        """Queued. Read the address in `Location` until `state` is done; lines that were played can be read before."""
        body: dict[str, Any] = self.body()
        corpus = corpus_of(request, body["corpus"])
        made = playing.start_game(corpus, _wish(body, body["game"], body["player"]), actor=request.user)
        return self.answer(made, "api-lmc-game", made.key, wait=WAIT)


def _wish(body: dict[str, Any], game: str, player: str) -> playing.Wish:
    words = "".join(f"{word}\n" for word in body["words"]).encode()
    about = {name: body[name] for name in ("title", "visibility", "player_options", "transcript")}
    options = playing.options_of({**body, "game": game})
    return playing.Wish(player=player, options=options, words=words, **about)


class GameBatchSerializer(serializers.Serializer[Any]):
    games = GameDetailSerializer(many=True)


class GameBatch(ApiView):
    token_scope = Scope.RUN

    @operation("Start several games", takes=NewGames, answers=GameBatchSerializer, status=202)
    def post(self, request: SignedInApiRequest) -> Response:
        """Every game by every player, all or none of them. `train` is for players that learn; models of this site play
        without, and player_options go to players that take them."""
        body: dict[str, Any] = self.body()
        corpus = corpus_of(request, body["corpus"])
        known = {row["player"]: row for row in playing.players_for(request.user)}
        wishes = []
        for player in dict.fromkeys(body["players"]):
            about = known.get(player, {"learns": True, "options": body["player_options"]})
            told = {name: value for name, value in body["player_options"].items() if name in about["options"]}
            own = {
                **body,
                "train": body["train"] and about["learns"],
                "player_options": told,
                "transcript": body["transcript"] and player.startswith("process:"),
            }
            wishes += [_wish(own, game, player) for game in dict.fromkeys(body["games"])]
        made = playing.start_games(corpus, wishes, actor=request.user)
        data = GameBatchSerializer({"games": made}, context={"request": request}).data
        return Response(data, status=202, headers={"Location": reverse("api-lmc-games", request=request)})


class LogList(ApiView):
    parser_classes = [MultiPartParser]

    @operation("Upload a log", takes={FORM: NewLog}, answers=GameDetailSerializer, status=202)
    def post(self, request: SignedInApiRequest) -> Response:
        """Of a game that was played elsewhere; it is counted by a job. The first line that cannot be read, or that is
        not of the corpus, is named, and nothing is kept. Of a log without words, lengths are compared."""
        body = self.body()
        upload = body.pop("file")
        slug = body.pop("corpus", None)
        corpus = corpus_of(request, slug) if slug else None
        stream = open_upload(upload, MAX_UPLOAD)
        made = playing.upload_log(stream, actor=request.user, filename=upload.name, corpus=corpus, **body)
        return self.answer(made, "api-lmc-game", made.key, wait=WAIT)


class LmcPlayerSerializer(serializers.Serializer[Any]):
    player = serializers.CharField(help_text="as a new game takes it")
    name = serializers.CharField()
    kind = serializers.CharField(help_text="causal, ngram, process or adaptive")
    learns = serializers.BooleanField(help_text="whether it can be played with training")
    options = serializers.DictField(help_text="what it can be told: words, low, high, default by name")


class Players(ListView):
    @operation("List players", answers=LmcPlayerSerializer, many=True)
    def get(self, request: Request) -> Response:
        """Models, model programs and the built-in learner: whoever can play for you."""
        return self.page(playing.players_for(request.user))


class GameDetail(GameView):
    @operation("Read a game", answers=GameDetailSerializer)
    def get(self, request: Request, key: str) -> Response:
        """Its options, its progress and its main figure."""
        return self.read()

    @operation("Change a game's card", takes=LmcGameAbout, answers=GameDetailSerializer)
    def patch(self, request: Request, key: str) -> Response:
        """Title, visibility, description; never the log."""
        return self.change(playing.edit_game)

    @operation("Delete a game", status=204)
    def delete(self, request: Request, key: str) -> Response:
        """With its log."""
        return self.remove(playing.delete_game)


class Cancel(GameView):
    token_scope = Scope.RUN

    @operation("Stop a game", answers=GameDetailSerializer, also=[409])
    def post(self, request: Request, key: str) -> Response:
        """Lines that were played are kept."""
        return self.act(playing.cancel_game)


class Retry(GameView):
    token_scope = Scope.RUN

    @operation("Go on with a game", answers=GameDetailSerializer, also=[409])
    def post(self, request: Request, key: str) -> Response:
        """Behind the last line that was kept."""
        return self.act(playing.retry_game)


class CountAgain(GameView):
    token_scope = Scope.RUN

    @operation("Count a game again", answers=GameDetailSerializer, also=[409])
    def post(self, request: Request, key: str) -> Response:
        """For games that were counted by an earlier version of the site, whose text cannot be searched."""
        return self.act(playing.count_again)
