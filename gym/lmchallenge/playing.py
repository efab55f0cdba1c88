"""Use cases for games: list players and their options, start and resume games, upload logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction

from gym.accounts import daily_sentences
from gym.accounts.models import AnyUser, User
from gym.jobs import services as jobs
from gym.jobs.conf import SHORT
from gym.jobs.errors import WrongState
from gym.lmchallenge import permissions
from gym.lmchallenge.models import COUNT, PLAY, Corpus, FormerGameKey, Game
from gym.lmchallenge.quotas import GAMES
from gym.lmchallenge.storage import LogContents, append, lines_of, pack, parse_upload
from gym.sharing.addresses import renew_keys
from gym.sharing.models import Visibility
from lmgym.files.bounded import Limits, Refused, check
from lmgym.lmchallenge import corpus as corpora
from lmgym.lmchallenge import corpus_tools
from lmgym.lmchallenge.errors import CorpusError, LmcError, LogError
from lmgym.lmchallenge.logs.alignment import LogText
from lmgym.lmchallenge.logs.version5 import GAME_WORDS as GAME_WORDS_5
from lmgym.lmchallenge.play import players, version5
from lmgym.lmchallenge.play.backend_players import PLAYABLE
from lmgym.lmchallenge.play.games import GameOptions
from lmgym.lmchallenge.play.typing_errors import ErrorModel
from lmgym.text.columns import described
from models_registry import permissions as model_permissions
from models_registry.models import RegisteredModel
from models_registry.names import named_with_owner
from models_registry.queues import queue_of
from models_registry.selectors import runnable_by

ADAPTIVE = "adaptive"


@dataclass(frozen=True)
class Option:
    """An integer option of a player."""

    words: str
    low: int
    high: int
    default: int


_PREDICTIONS = Option("maximum number of predictions", 1, 100, 20)
PLAYER_OPTIONS: dict[str, dict[str, Option]] = {
    "causal": {
        "predictions": _PREDICTIONS,
        "paths": Option("spellings summed per candidate", 1, 20, 3),
        "beam": Option("beam width", 1, 64, 16),
        "steps": Option("search depth in tokens", 1, 8, 3),
        "together": Option("lines played together", 1, 32, 8),
    },
    "ngram": {"predictions": _PREDICTIONS},
    ADAPTIVE: {
        "predictions": _PREDICTIONS,
        "order": Option("n-gram order", 1, 8, 3),
    },
    "process": {},
}
"""Options by kind of player. "causal" and "ngram" are models of the site."""


def playable(models: Any) -> Any:
    """Return the models that can play."""
    return models.filter(backend__in=PLAYABLE)


def _check_player_options(kind: str, values: dict[str, Any]) -> None:
    """Raise ValidationError for options that players of this kind do not accept."""
    known = PLAYER_OPTIONS[kind]
    wrong = []
    for name, value in values.items():
        option = known.get(name)
        if option is None:
            wrong.append(
                f"{name} is not an option of this player; its options are {', '.join(known) or 'none'}."
            )
        elif type(value) is not int or not option.low <= value <= option.high:
            wrong.append(f"{name} is {value!r}: use a whole number from {option.low} to {option.high}.")
    if wrong:
        raise ValidationError({"player_options": wrong})


@dataclass(frozen=True)
class Player:
    """A player that a user can choose."""

    player: str = described("in the form that a new game accepts")
    name: str = described("name of the model or program")
    kind: str = described("causal, ngram, process or adaptive")
    learns: bool = described("can it be trained?")
    options: dict[str, Option] = described("its options by name")
    words: str = described("its name on the form")


def players_for(user: AnyUser) -> list[Player]:
    """List the players available to this user."""
    rows = [
        _choice(f"model:{row.slug}", row.name, row.backend, learns=False, words=named_with_owner(row))
        for row in playable(runnable_by(user)).order_by("slug")
    ]
    rows += [_choice(f"process:{name}", name, "process", learns=True) for name in programs()]
    return [*rows, _choice(ADAPTIVE, "adaptive n-gram", ADAPTIVE, learns=True)]


def _choice(player: str, name: str, kind: str, *, learns: bool, words: str = "") -> Player:
    return Player(player, name, kind, learns, PLAYER_OPTIONS[kind], words or name)


WITH_VOCABULARY = ("ic", "wr")
MAX_GAMES = 20
"""Maximum number of games per request."""
MAX_WORDS = 200_000
MAX_LOG = 200_000_000
"""Size in bytes of the largest uploaded log, uncompressed."""
MAX_LOGS = 20
"""Maximum number of logs per upload."""
ABOUT = ("title", "visibility", "description")


@dataclass(frozen=True)
class GameRequest:
    """A game to start. `player` is "adaptive", "model:SLUG" or "process:NAME". `transcript`: keep the end of the
    traffic with a program.
    """

    player: str
    options: GameOptions | version5.Options
    words: bytes = b""
    title: str = ""
    visibility: str = Visibility.PRIVATE
    player_options: dict[str, Any] = field(default_factory=dict)
    transcript: bool = False


def programs() -> list[str]:
    """Return the names of the model programs configured in the settings."""
    return sorted(players.configured(settings.GYM_LMC_PLAYERS))


def start_game(corpus: Corpus, game_request: GameRequest, *, actor: User) -> Game:
    """Queue a game, saving game and job atomically. Its lines count towards the daily limit.

    Raises ValidationError, OverQuota, TooManySentences, LimitReached and PermissionDenied.
    """
    if not permissions.can_play(actor, corpus):
        raise PermissionDenied("you may not play on this corpus")
    options = game_request.options
    _check_options(options)
    kind, name, model = _player(game_request.player, actor)
    _check_player_options(model.backend if model is not None else kind, game_request.player_options)
    if kind == Game.Kind.ADAPTIVE and not options.train:
        raise ValidationError(
            {"train": ["The adaptive n-gram cannot predict without training. Turn training on."]}
        )
    if kind == Game.Kind.MODEL and options.train:
        raise ValidationError({"train": ["Models of this site do not learn. Turn training off."]})
    if game_request.transcript and kind != Game.Kind.PROCESS:
        raise ValidationError({"transcript": ["Transcripts are only available for programs."]})
    words = _vocabulary(corpus, game_request.words) if options.game in WITH_VOCABULARY else []
    with GAMES.growing(actor, new=True):
        daily_sentences.charge(actor, corpus.lines)
        game = Game(
            corpus=corpus,
            owner=actor,
            title=(game_request.title or f"{name}, {options.game}")[:200],
            visibility=game_request.visibility,
            game=options.game,
            kind=kind,
            model=model,
            player=name,
            options={
                **options.as_dict(),
                "player": game_request.player_options,
                **({"transcript": True} if game_request.transcript else {}),
            },
            words=pack("".join(f"{word}\n" for word in words).encode()) if words else b"",
            n_words=len(words),
            has_targets=isinstance(options, version5.Options) or options.targets,
            has_predictions=isinstance(options, version5.Options)
            or (options.game == "wp" and options.predictions and options.targets),
        )
        if model is not None:
            game.report = {"fingerprint": model.fingerprint}
        game.clean_fields(exclude=["words", "report", "statistics", "options"])
        game.save()
        game.job = jobs.enqueue(
            PLAY,
            {"game": game.pk},
            owner=actor,
            queue=queue_of(model) if model is not None else "default",
            title=f"{game.title} on {corpus.title}",
            total=corpus.lines,
            batch=jobs.batch_of(actor),
        )
        game.save(update_fields=["job"])
    return game


def start_games(corpus: Corpus, game_requests: Sequence[GameRequest], *, actor: User) -> list[Game]:
    """Queue games, or none if one fails. Raises the same errors as `start_game`, and ValidationError for none or more
    than MAX_GAMES. If several were requested, validation errors name the game and the player."""
    if not 1 <= len(game_requests) <= MAX_GAMES:
        raise ValidationError(f"You selected {len(game_requests)} games. Start 1 to {MAX_GAMES} at once.")
    made = []
    with transaction.atomic():
        for game_request in game_requests:
            try:
                made.append(start_game(corpus, game_request, actor=actor))
            except ValidationError as error:
                if len(game_requests) == 1:
                    raise
                messages = [
                    f"{game_request.options.game} by {game_request.player}: {message}"
                    for message in error.messages
                ]
                raise ValidationError(messages) from error
    return made


def options_of(values: Mapping[str, Any]) -> GameOptions | version5.Options:
    """Pick the values that are options of `values["game"]`, a game of either version. Raises OptionError."""
    return (version5.Options if values["game"] in GAME_WORDS_5 else GameOptions).of(values)


def _check_options(options: GameOptions | version5.Options) -> None:
    wrong: dict[str, list[str]] = {}
    if options.game in WITH_VOCABULARY:
        if options.seed == 0 and options.game == "ic":
            wrong["seed"] = ["Seed 0 uses the clock, so the game could not be resumed. Choose another seed."]
        if not 2 <= options.num_candidates <= 1_000:
            wrong["num_candidates"] = ["Use 2 to 1000."]
        try:
            ErrorModel(options.p_anykey, options.error_chars)
        except LmcError as error:
            wrong["p_anykey"] = [str(error)]
    if isinstance(options, GameOptions) and options.game == "tc" and not 1 <= options.select_from <= 100:
        wrong["select_from"] = ["Use 1 to 100."]
    if wrong:
        raise ValidationError(wrong)


def _player(spec: str, actor: User) -> tuple[str, str, RegisteredModel | None]:
    """Return (kind, name, model) of a player. Raises ValidationError."""
    if spec == ADAPTIVE:
        return Game.Kind.ADAPTIVE, "adaptive n-gram", None
    kind, _, name = spec.partition(":")
    if kind == "process" and name in programs():
        return Game.Kind.PROCESS, name, None
    model = RegisteredModel.objects.filter(slug=name).first() if kind == "model" else None
    if model is None or not model_permissions.can_run(actor, model):
        raise ValidationError({"player": [f"There is no player {spec!r} that you can use."]})
    if model.backend not in PLAYABLE:
        raise ValidationError({"player": [f"{model.name} cannot play; only causal and n-gram models can."]})
    if not model.is_ready:
        raise ValidationError({"player": [f"{model.name} is not ready."]})
    return Game.Kind.MODEL, model.slug, model


def _vocabulary(corpus: Corpus, data: bytes) -> list[str]:
    """Return the words in the file or, if there is no file, the words of the corpus, most frequent first."""
    try:
        check(data, Limits(lines=MAX_WORDS))
        words = (
            corpora.vocabulary(data.splitlines(keepends=True))
            if data
            else corpus_tools.vocabulary(lines_of(corpus))
        )
    except Refused as error:
        raise ValidationError(
            {"words": [f"{error.message}; at most {MAX_WORDS:,} words are allowed."]}
        ) from error
    except CorpusError as error:
        raise ValidationError({"words": [str(error)]}) from error
    if len(words) > MAX_WORDS:
        raise ValidationError({"words": [f"{len(words):,} words; at most {MAX_WORDS:,} are allowed."]})
    return words


def upload_log(
    stream: Any,
    *,
    actor: User,
    title: str = "",
    filename: str = "the log",
    corpus: Corpus | None = None,
    visibility: str = Visibility.PRIVATE,
    description: str = "",
) -> Game:
    """Store a log from a stream, which may be compressed, and queue a job that computes its statistics.

    Raises LogError naming the line, e.g. the first line that does not match the corpus; also ValidationError,
    OverQuota, LimitReached and PermissionDenied.
    """
    if not actor.is_authenticated or (corpus is not None and not permissions.can_play(actor, corpus)):
        raise PermissionDenied("you may not upload a log here")
    if visibility not in Visibility.values:
        raise ValidationError({"visibility": [f"Choose one of {', '.join(Visibility.values)}."]})
    with GAMES.growing(actor, new=True):
        game = Game(
            corpus=corpus,
            owner=actor,
            title=(title or filename)[:200],
            visibility=visibility,
            description=description,
            kind=Game.Kind.UPLOADED,
            game="wp",
            filename=filename[:200],
        )
        game.clean_fields(exclude=["words", "report", "statistics", "options"])
        game.save()
        contents = LogContents(text=LogText() if corpus is not None else None)
        for lines in parse_upload(stream, filename, MAX_LOG, contents):
            append(game, lines)
        if not game.lines:
            raise LogError(f"{filename}: the log is empty.", "There is nothing to count.")
        if corpus is not None and contents.text is not None:
            match = contents.text.match(partial(lines_of, corpus), partial(contents.logged, game), filename)
            game.report = {"corpus_match": match.as_dict()}
        game.game = contents.played
        game.has_targets = contents.words or not contents.entries
        game.has_predictions = contents.predictions
        title, batch = f"Count {game.title}", jobs.batch_of(actor)
        game.job = jobs.enqueue(COUNT, {"game": game.pk}, owner=actor, queue=SHORT, title=title, batch=batch)
        game.save(update_fields=["game", "has_targets", "has_predictions", "report", "job"])
    return game


def upload_logs(
    files: Sequence[tuple[str, Any]], *, actor: User, title: str = "", **about: Any
) -> list[Game]:
    """Store several logs, each (name, stream), or none if one fails. Raises the same errors as `upload_log`."""
    if len(files) > MAX_LOGS:
        raise ValidationError(
            {"file": [f"You selected {len(files)} files. Upload at most {MAX_LOGS} at once."]}
        )
    several = len(files) > 1
    with transaction.atomic():
        return [
            upload_log(
                stream,
                actor=actor,
                filename=name,
                title=f"{title}, {name}" if title and several else title,
                **about,
            )
            for name, stream in files
        ]


def edit_game(game: Game, *, actor: User, **fields: str) -> None:
    """Change title, visibility or description."""
    permissions.require(permissions.can_steer(actor, game))
    was = game.visibility
    for name in ABOUT:
        if name in fields:
            setattr(game, name, fields[name])
    game.clean_fields(exclude=["words", "report", "statistics", "options"])
    with GAMES.growing(game.owner or actor, actor=actor):
        game.save(update_fields=list(ABOUT))
        if game.visibility == Visibility.UNLISTED != was:
            renew_keys([game], FormerGameKey)


def cancel_game(game: Game, *, actor: User) -> None:
    """Cancel a game. Played lines are kept."""
    permissions.require(permissions.can_steer(actor, game))
    if game.job is None:
        raise ValidationError("The job of this game no longer exists, so there is nothing to cancel.")
    jobs.request_cancel(game.job, actor=actor)


def retry_game(game: Game, *, actor: User) -> None:
    """Queue the job of a failed or cancelled game again. Play resumes after the last stored line."""
    permissions.require(permissions.can_steer(actor, game))
    if game.job is None:
        raise ValidationError("The job of this game no longer exists. Start a new game.")
    with transaction.atomic():
        jobs.retry(game.job, actor=actor, batch=jobs.batch_of(game.owner) if game.owner else None)


def recount(game: Game, *, actor: User) -> None:
    """Queue a job that recomputes the statistics of a finished game. The old ones are shown until it ends."""
    permissions.require(permissions.can_steer(actor, game))
    if not game.is_counted or game.state != "done":
        raise WrongState("Only a finished game can be counted again.")
    owner = game.owner or actor
    with transaction.atomic():
        title = f"Count {game.title} again"
        game.job = jobs.enqueue(
            COUNT, {"game": game.pk}, owner=owner, queue=SHORT, title=title, batch=jobs.batch_of(owner)
        )
        game.save(update_fields=["job"])


def delete_game(game: Game, *, actor: User) -> None:
    """Delete a game with its log."""
    permissions.require(permissions.can_steer(actor, game))
    with transaction.atomic():
        jobs.stop(game.job, actor=actor)
        game.delete()
