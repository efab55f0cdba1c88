"""Games and uploaded logs in the REST API."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from gym.accounts.models import Scope
from gym.accounts.requests import SignedInApiRequest
from gym.api.base import ApiView, ListView, ObjectView
from gym.api.filters import Filters, NameFilter
from gym.api.operations import operation
from gym.api.records import RecordSerializer
from gym.api.requests import Body
from gym.jobs.api import waiting_reason
from gym.jobs.models import Job
from gym.lmchallenge import permissions, playing, selectors
from gym.lmchallenge.api.corpora import FORM, corpus_of
from gym.lmchallenge.counting import keep_of
from gym.lmchallenge.game_views import MAX_UPLOAD
from gym.lmchallenge.models import Game
from gym.sharing.models import Visibility
from gym.uploads import open_upload
from lmgym.lmchallenge.logs.version5 import GAME_WORDS as GAME_WORDS_5
from lmgym.lmchallenge.play import typing_errors
from lmgym.lmchallenge.play.games import GAME_WORDS, SELECT_FROM

WAIT = 5
PLAYER = '"model:SLUG", "process:NAME" (a program configured in the site\'s settings) or "adaptive"'
STATES = [*Job.State.choices, ("lost", "lost")]
ALL_GAMES = sorted((GAME_WORDS | GAME_WORDS_5).items())


class GameSerializer(serializers.ModelSerializer[Game]):
    id = serializers.CharField(source="key")
    corpus = serializers.CharField(source="corpus.slug", allow_null=True, default=None)
    owner = serializers.CharField(source="owner.username", allow_null=True, default=None)
    state = serializers.ChoiceField(STATES)
    player = serializers.CharField(
        source="played_by", help_text="in the form that a new game accepts; empty for uploaded logs"
    )
    options = serializers.DictField()
    progress = serializers.SerializerMethodField(
        help_text="lines played and in total, the job's error, and what the job waits for (`behind`, empty in lists)"
    )
    version = serializers.IntegerField(
        help_text="version of LM Challenge: 4 (wp, tc, ic) or 5 (wc, we, ce, wr)"
    )
    figure = serializers.SerializerMethodField(
        help_text="main metric: hit3, pcpc or accuracy over tokens with a letter or an emoji (filter alphaemoji), or "
        "over all tokens (filter all) if the log has no words; in version 5, hit3 (wc), mean in nats (we, ce) or "
        "accuracy (wr) over the selected tokens; null before the statistics are computed"
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
        return {"done": job.done, "total": job.total, "error": job.error, "behind": waiting_reason(self, job)}

    def get_figure(self, row: Game) -> dict[str, Any] | None:
        headline = row.headline
        keep = keep_of("alphaemoji", row)
        return {"name": headline[0], "value": headline[1], "filter": keep} if headline else None


INAPPLICABLE: dict[str, Any] = {"allow_null": True, "default": None}
"""Arguments of serializer fields for options that apply only to some games and not to uploaded logs."""


class GameDetailSerializer(GameSerializer):
    corpus_match = serializers.DictField(
        source="report.corpus_match",
        allow_null=True,
        default=None,
        help_text="for an uploaded log with a corpus: what was compared (tokens, texts, token lengths, line lengths), "
        "its lines and those of the corpus (of), the corpus lines of its first and last line, and the number of lines "
        "with other token boundaries (recut)",
    )

    train = serializers.BooleanField(source="options.train", **INAPPLICABLE)
    targets = serializers.BooleanField(source="has_targets", help_text="the log contains the words")
    predictions = serializers.BooleanField(
        source="has_predictions", help_text="the log contains all predictions"
    )
    readings = serializers.CharField(source="options.readings", **INAPPLICABLE)
    select_from = serializers.IntegerField(source="options.select_from", **INAPPLICABLE)
    next_word_only = serializers.BooleanField(source="options.next_word_only", **INAPPLICABLE)
    num_candidates = serializers.IntegerField(source="options.num_candidates", **INAPPLICABLE)
    seed = serializers.IntegerField(source="options.seed", **INAPPLICABLE)
    p_anykey = serializers.FloatField(source="options.p_anykey", **INAPPLICABLE)
    error_chars = serializers.CharField(source="options.error_chars", **INAPPLICABLE)
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
    targets = serializers.BooleanField(default=True, help_text="include the words in the log")
    predictions = serializers.BooleanField(default=False, help_text="wp: include all predictions in the log")
    readings = serializers.ChoiceField(["reference", "corrected"], default="reference")
    select_from = serializers.IntegerField(
        default=SELECT_FROM, min_value=1, max_value=100, help_text="tc: number of predictions considered"
    )
    next_word_only = serializers.BooleanField(
        default=False, help_text="wc: predict once per word, before its first letter"
    )
    words = serializers.ListField(
        child=serializers.CharField(max_length=200, trim_whitespace=False),
        default=list,
        max_length=playing.MAX_WORDS,
        help_text="ic, wr: vocabulary; default: the words of the corpus, most frequent first",
    )
    num_candidates = serializers.IntegerField(
        default=typing_errors.CANDIDATES,
        min_value=2,
        max_value=1_000,
        help_text="ic, wr: candidates per word",
    )
    seed = serializers.IntegerField(
        default=typing_errors.SEED,
        min_value=1,
        max_value=2**31 - 1,
        help_text="ic, wr: seed of the typing errors",
    )
    p_anykey = serializers.FloatField(
        default=typing_errors.P_ANYKEY, min_value=0.0001, max_value=0.9999, help_text="ic, wr"
    )
    error_chars = serializers.CharField(
        default=typing_errors.ERROR_CHARS, max_length=500, trim_whitespace=False, help_text="ic, wr"
    )
    transcript = serializers.BooleanField(
        default=False,
        help_text="model programs: keep the end of all commands and replies, for transcript.txt",
    )
    player_options = serializers.DictField(
        child=serializers.IntegerField(),
        default=dict,
        help_text="options of the player, by name; lmc/players/ lists them",
    )


class NewGame(HowToPlay):
    game = serializers.ChoiceField(ALL_GAMES)
    player = serializers.CharField(max_length=200, help_text=PLAYER)


class NewLog(LmcGameAbout):
    file = serializers.FileField(
        help_text="JSON lines of one game of LM Challenge 4 or 5, optionally gzipped"
    )
    corpus = serializers.SlugField(
        max_length=80,
        required=False,
        help_text="corpus of the game; the log is compared with it",
    )


class GameView(ObjectView[Game]):
    lookup_field = "key"

    def visible_rows(self, address: str) -> QuerySet[Game]:
        return selectors.game_at(self.request.user, address)

    def can_change(self, game: Game) -> bool:
        return permissions.can_steer(self.request.user, game)


class GameFilter(Filters):
    corpus = NameFilter("corpus__slug", selectors.visible_to, label="Corpus")
    game = django_filters.ChoiceFilter(choices=ALL_GAMES, label="wp, tc, ic; wc, we, ce, wr")
    kind = django_filters.ChoiceFilter(choices=Game.Kind.choices, label="Kind of player")
    fingerprint = django_filters.CharFilter("fingerprint", label="Text fingerprint")

    class Meta:
        model = Game
        fields: list[str] = []


class GameList(ListView):
    filterset_class = GameFilter
    token_scope = Scope.RUN

    @operation("List games", response=GameSerializer, many=True)
    def get(self, request: Request) -> Response:
        """List your own games and public games on texts that you may read, newest first; for staff also private
        ones."""
        rows = selectors.listed_games(request.user).defer("report", "words", "corpus__packed")
        return self.page(rows.order_by("-created", "-pk"))

    @operation("Start a game", body=NewGame, response=GameDetailSerializer, status=202)
    def post(self, request: SignedInApiRequest) -> Response:
        """Queue a game. Poll `Location` until `state` is done; lines already played are available earlier."""
        body: dict[str, Any] = self.body()
        corpus = corpus_of(request, body["corpus"])
        made = playing.start_game(
            corpus, _game_request(body, body["game"], body["player"]), actor=request.user
        )
        return self.respond(made, "api-lmc-game", made.key, wait=WAIT)


def _game_request(body: dict[str, Any], game: str, player: str) -> playing.GameRequest:
    words = "".join(f"{word}\n" for word in body["words"]).encode()
    about = {name: body[name] for name in ("title", "visibility", "player_options", "transcript")}
    options = playing.options_of({**body, "game": game})
    return playing.GameRequest(player=player, options=options, words=words, **about)


class LogList(ApiView):
    parser_classes = [MultiPartParser]

    @operation("Upload a log", body={FORM: NewLog}, response=GameDetailSerializer, status=202)
    def post(self, request: SignedInApiRequest) -> Response:
        """Upload the log of a game played elsewhere; a job computes its statistics. An unreadable line, or
        one that is not in the corpus, is a 400 that names the first one. Logs without words are compared by
        length."""
        body = self.body()
        upload = body.pop("file")
        slug = body.pop("corpus", None)
        corpus = corpus_of(request, slug) if slug else None
        stream = open_upload(upload, MAX_UPLOAD)
        made = playing.upload_log(stream, actor=request.user, filename=upload.name, corpus=corpus, **body)
        return self.respond(made, "api-lmc-game", made.key, wait=WAIT)


class LmcPlayerSerializer(RecordSerializer):
    class Meta:
        dataclass = playing.Player
        ref_name = "LmcPlayer"
        fields = ["player", "name", "kind", "learns", "options"]


class Players(ListView):
    @operation("List players", response=LmcPlayerSerializer, many=True)
    def get(self, request: Request) -> Response:
        """List the models, model programs and the built-in adaptive n-gram that can play for you."""
        return self.page(playing.players_for(request.user))


class GameDetail(GameView):
    @operation("Read a game", response=GameDetailSerializer)
    def get(self, request: Request, key: str) -> Response:
        """Return options, progress and main metric."""
        return self.read()

    @operation("Change a game", body=LmcGameAbout, response=GameDetailSerializer)
    def patch(self, request: Request, key: str) -> Response:
        """Change title, visibility or description. The log cannot be changed."""
        return self.change(playing.edit_game)

    @operation("Delete a game", status=204)
    def delete(self, request: Request, key: str) -> Response:
        """Delete the game and its log."""
        return self.remove(playing.delete_game)


class Cancel(GameView):
    token_scope = Scope.RUN

    @operation("Cancel a game", response=GameDetailSerializer, also=[409])
    def post(self, request: Request, key: str) -> Response:
        """Cancel the game; lines already played are kept."""
        return self.act(playing.cancel_game)
