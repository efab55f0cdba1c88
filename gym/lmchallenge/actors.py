"""Background jobs that play a game line by line, or compute the statistics of a log."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from time import monotonic
from typing import Any

from django.conf import settings
from django.utils import timezone

from gym.jobs import rights
from gym.jobs.context import JobContext
from gym.jobs.errors import Cancelled, MissingResource, PermanentFailure, WorkerStopping
from gym.jobs.handlers import handler
from gym.lmchallenge import counting, permissions, playing, storage
from gym.lmchallenge.models import COUNT, PLAY, Corpus, Game, TextIndex
from lmgym import __version__
from lmgym.lmchallenge.corpus import Line
from lmgym.lmchallenge.errors import LmcError
from lmgym.lmchallenge.logs import log_rows, text_index
from lmgym.lmchallenge.logs.text_index import Index
from lmgym.lmchallenge.play import players, version5
from lmgym.lmchallenge.play.adaptive import AdaptivePlayer
from lmgym.lmchallenge.play.backend_players import player_for_backend
from lmgym.lmchallenge.play.games import GameOptions
from lmgym.lmchallenge.play.loop import play
from lmgym.lmchallenge.play.player import Player, Timed
from lmgym.lmchallenge.play.process import ProcessPlayer
from lmgym.models.backends import BackendError, NotOnThisMachine
from models_registry import permissions as model_permissions

COMMIT_SECONDS = 2.0
"""Seconds between commits. A killed worker loses at most that much play."""
MAX_LOG_PACKED = 500_000_000
MAX_TRANSCRIPT = 300_000
"""Bytes kept from the end of a transcript."""


@handler(PLAY)
def play_game(context: JobContext) -> None:
    """Resume a game after its last stored line, storing lines as they are played, and compute its statistics
    at the end. Lines played before a failure are kept, can be read and have statistics."""
    game = _game(context)
    if game.corpus is None:
        raise PermanentFailure("The corpus was deleted.")
    rights.require(context, _uses(game, game.corpus))
    try:
        player = Timed(_player(game))
    except NotOnThisMachine as error:
        raise MissingResource(error.lacks(game.player)) from error
    except (LmcError, BackendError) as error:
        raise PermanentFailure(str(error)) from error
    failure: LmcError | None = None
    try:
        _play_on(context, game, player)
        player.close()
    except LmcError as error:
        failure = error
    finally:
        if isinstance(player.player, ProcessPlayer):
            player.player.kill()
    game.report = _report(game, player)
    if failure is not None:
        _save_partial(context, game, str(failure))
        raise PermanentFailure(str(failure)) from failure
    _finish(context, game)


@handler(COUNT)
def count_log(context: JobContext) -> None:
    """Compute the statistics of an uploaded log, or recompute those of a game."""
    _finish(context, _game(context))


def _game(context: JobContext) -> Game:
    rows = Game.objects.select_related("corpus", "model")
    game = rows.filter(pk=context.payload["game"]).first()
    if game is None:
        raise PermanentFailure("The game was deleted.")
    return game


def _uses(game: Game, corpus: Corpus) -> dict[str, Callable[[Any], bool]]:
    uses = {f"the corpus {corpus.slug}": lambda person: permissions.can_play(person, corpus)}
    if (model := game.model) is not None:
        uses[f"the model {model.slug}"] = lambda person: model_permissions.can_run(person, model)
    return uses


def _player(game: Game) -> Player:
    if game.kind == Game.Kind.ADAPTIVE:
        return AdaptivePlayer(**game.options.get("player", {}))
    if game.kind == Game.Kind.PROCESS:
        command = players.configured(settings.GYM_LMC_PLAYERS).get(game.player)
        if command is None:
            raise PermanentFailure(
                f"The model program {game.player!r} is no longer in the settings (GYM_LMC_PLAYERS)."
            )
        return ProcessPlayer(command, transcript=_Transcript() if game.options.get("transcript") else None)
    if game.model is None or not game.model.is_ready:
        raise PermanentFailure("The model was deleted or is not ready.")
    from models_registry.warm import load_pinned

    return player_for_backend(load_pinned(game.model), game.options.get("player"))


class _Transcript(io.BytesIO):
    """The end of a transcript, kept in bounded memory."""

    def write(self, data: Any) -> int:
        if self.tell() > 2 * MAX_TRANSCRIPT:
            end = self.getvalue()[-MAX_TRANSCRIPT:]
            self.seek(0)
            self.truncate()
            super().write(end[end.find(b"\n") + 1 :])
        return super().write(data)

    def text(self) -> str:
        """Return the end of the transcript in whole lines."""
        end = self.getvalue()[-MAX_TRANSCRIPT:]
        whole = end if len(end) < MAX_TRANSCRIPT else end[end.find(b"\n") + 1 :]
        return whole.decode("utf-8", "replace").replace("\0", "\ufffd")


class _Counted:
    """Iterable of lines that counts how many were consumed. Lines played while the count stays the same
    belong to one block.
    """

    def __init__(self, lines: Iterable[Line], context: JobContext) -> None:
        self._lines = lines
        self._context = context
        self.taken = 0

    def __iter__(self) -> Iterator[Line]:
        for line in self._lines:
            self._context.check()
            self.taken += 1
            yield line


def _play_on(context: JobContext, game: Game, player: Player) -> None:
    """Play and store lines, committing only at the ends of blocks of lines played together, so that a later attempt
    forms the same blocks and gets the same numbers.
    """
    assert game.corpus is not None
    options = playing.options_of({**game.options, "game": game.game})
    lines = _Counted(storage.lines_of(game.corpus), context)
    waiting: list[str] = []
    size, lines_taken, since, done = 0, 0, monotonic(), _done(game)
    played = _played(options, lines, storage.words_of(game), player, done)
    try:
        for number, rows in played:
            due = size >= storage.CHUNK_BYTES or monotonic() - since >= COMMIT_SECONDS
            if waiting and due and lines.taken != lines_taken:
                _commit(context, game, waiting, done)
                waiting, size, since = [], 0, monotonic()
                if not options.train:  # a later attempt would have to replay the training
                    context.yield_turn()
            lines_taken = lines.taken
            for row in rows:
                waiting.append(log_rows.line_of(row))
                size += len(waiting[-1])
            done = number
            context.progress(number, game.corpus.lines, "lines")
    except (LmcError, Cancelled, WorkerStopping):
        _commit(context, game, waiting, done)
        raise
    _commit(context, game, waiting, done)


def _played(
    options: GameOptions | version5.Options,
    lines: Iterable[Line],
    words: list[str] | None,
    player: Player,
    skip: int,
) -> Iterator[tuple[int, list[log_rows.Row]]]:
    """Yield (line number, the line's log rows) for each line of the corpus. Version 5 has one row per token."""
    if isinstance(options, version5.Options):
        for message in version5.play(lines, options.build(words), player, train=options.train, skip=skip):
            yield message.number, message.rows
        return
    for line in play(
        lines, options.build(words), player, train=options.train, readings=options.readings, skip=skip
    ):
        yield line.number, [line.row]


def _done(game: Game) -> int:
    """Count the corpus lines whose rows are stored. (A version 5 log has no row for a line without tokens.)"""
    return int(game.report.get("played", 0)) if game.version == 5 else game.lines


def _commit(context: JobContext, game: Game, waiting: list[str], done: int) -> None:
    with context.transaction(brings_forward=True):
        storage.append(game, waiting)
        if game.version == 5:
            game.report = {**game.report, "played": done}
            Game.objects.filter(pk=game.pk).update(report=game.report)
    if game.packed_size > MAX_LOG_PACKED:
        raise PermanentFailure(
            f"The compressed log is larger than {MAX_LOG_PACKED / 1e6:,.0f} MB. Lines already played are kept. "
            "Play fewer lines, or use fewer candidates."
        )


def _report(game: Game, player: Timed) -> dict[str, Any]:
    """Return the game's report. Latencies are from the last attempt only."""
    protocol_warnings = getattr(player.player, "protocol_warnings", None)
    transcript = getattr(player.player, "transcript", None)
    return {
        **game.report,
        "latency": counting.finite(player.latency.as_dict()),
        "oddities": protocol_warnings.as_dict() if protocol_warnings else {},
        "stderr": getattr(player.player, "stderr", "")[-4_000:].replace("\0", "\ufffd"),
        "gym": __version__,
        **({"transcript": transcript.text()} if isinstance(transcript, _Transcript) else {}),
    }


def _save_partial(context: JobContext, game: Game, problem: str) -> None:
    indexes = counting.count(game, context.check) if game.lines else {}
    with context.transaction():
        game.problem = problem
        game.counted_at = timezone.now() if game.lines else None
        _save(game, indexes)


def _finish(context: JobContext, game: Game) -> None:
    try:
        indexes = counting.count(game, context.check)
    except LmcError as error:
        raise PermanentFailure(str(error)) from error
    with context.finish():
        game.counted_at = timezone.now()
        game.problem = ""
        _save(game, indexes)


def _save(game: Game, indexes: dict[str, Index]) -> None:
    if indexes:
        TextIndex.objects.update_or_create(game=game, defaults={"packed": text_index.pack(indexes)})
    game.save(update_fields=["report", "problem", "statistics", "fingerprint", "counted_at"])
