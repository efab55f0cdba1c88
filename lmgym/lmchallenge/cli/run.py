"""`run`: play a game on a corpus and write its log."""

from __future__ import annotations

import argparse
import contextlib
import gzip
import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TextIO

from lmgym.lmchallenge import corpus, gzip_reader
from lmgym.lmchallenge.corpus_tools import CorpusInspector
from lmgym.lmchallenge.errors import LmcError, OptionError, PlayerError
from lmgym.lmchallenge.logs import log_rows
from lmgym.lmchallenge.logs.log_rows import Recorder
from lmgym.lmchallenge.logs.version5 import GAME_WORDS as GAME_WORDS_5
from lmgym.lmchallenge.play import players, version5
from lmgym.lmchallenge.play.games import Game, GameOptions
from lmgym.lmchallenge.play.loop import play
from lmgym.lmchallenge.play.player import Player, Timed

if TYPE_CHECKING:
    from lmgym.lmchallenge.cli.streams import ModelPlayer, Streams


def run(options: argparse.Namespace, streams: Streams, model: ModelPlayer, named: Any) -> int:
    """Run `run`."""
    if options.gzip and options.log:
        raise OptionError(
            "--gzip compresses standard output; a log file is not compressed, so that a game can be resumed.",
            "Omit --gzip and compress the file afterwards.",
        )
    game_options = _game_options(options)
    words = None
    if options.game in ("ic", "wr"):
        with gzip_reader.opened(options.vocab) as stream:
            words = corpus.vocabulary(stream, options.vocab)
    game = game_options.build(words)
    with contextlib.ExitStack() as stack:
        transcript: Any = (
            stack.enter_context(Path(options.transcript).open("wb")) if options.transcript else None
        )
        player = Timed(_player(options, model, named, transcript))
        stack.callback(_stop, player)
        write, existing = _log(options, streams, stack)
        if options.skip and existing:
            raise OptionError(
                f"{options.log} exists, and the game would resume after its line {existing:,}, but --skip is "
                f"{options.skip:,}.",
                "Omit --skip, or choose a new file.",
            )
        if existing and isinstance(game_options, version5.Options):
            raise OptionError(
                f"{options.log} already exists, and a log of version 5 does not show which messages are done.",
                "Choose a new file, and pass the number of played lines with --skip.",
            )
        skip = options.skip or existing
        if skip and options.game == "ic" and not options.seed:
            raise OptionError("Seed 0 uses the clock, so the errors cannot be reproduced.", "Set a seed.")
        form, source = _corpus(options, streams)
        inspector = CorpusInspector(form)
        lines = inspector.inspect(corpus.read(source, form, "standard input"))
        progress = _Progress(streams.err, options.quiet)
        failure: LmcError | None = None
        try:
            for number, rows in _played(game_options, lines, game, player, skip):
                for row in rows:
                    write(row)
                progress.line(number)
            player.close()
        except LmcError as error:
            failure = error
        progress.end(inspector, player)
        if options.report:
            _report(options.report, inspector, player, failure)
    if failure:
        raise failure
    return 0


def _game_options(options: argparse.Namespace) -> GameOptions | version5.Options:
    if options.game not in GAME_WORDS_5:
        return GameOptions.of(vars(options))
    if not options.targets:
        raise OptionError("Logs of version 5 always contain the words.", "Omit -W.")
    if options.readings != "reference":
        raise OptionError("--readings applies only to version 4 games.", "Omit it.")
    return version5.Options.of(vars(options))


def _corpus(options: argparse.Namespace, streams: Streams) -> tuple[str, Iterable[bytes]]:
    """Return the corpus's format and its lines."""
    stream = gzip_reader.unpacked(streams.source, "standard input")
    form = options.format or ("auto" if options.game in GAME_WORDS_5 else "text")
    if form != "auto":
        return form, stream
    first = stream.readline()
    return corpus.sniff(first), itertools.chain([first] if first else [], stream)


def _played(
    options: GameOptions | version5.Options,
    lines: Iterable[corpus.Line],
    game: Game,
    player: Player,
    skip: int,
) -> Iterator[tuple[int, list[log_rows.Row]]]:
    """Yield (line number, the line's log rows) for each line of the corpus."""
    if isinstance(options, version5.Options):
        for message in version5.play(lines, game, player, train=options.train, skip=skip):
            yield message.number, message.rows
    else:
        for line in play(lines, game, player, train=options.train, readings=options.readings, skip=skip):
            yield line.number, [line.row]


def _log(
    options: argparse.Namespace, streams: Streams, stack: contextlib.ExitStack
) -> tuple[Callable[[log_rows.Row], None], int]:
    """Return the function that writes rows, and the number of lines already in the log."""
    if options.log:
        recorder = stack.enter_context(Recorder(options.log))
        return recorder.add, recorder.done
    out: Any = streams.out
    if options.gzip:
        out = stack.enter_context(gzip.GzipFile(fileobj=streams.out, mode="wb", mtime=0))

    def write(row: log_rows.Row) -> None:
        out.write(log_rows.line_of(row).encode("ascii"))
        if not options.gzip:
            out.flush()

    return write, 0


def _player(
    options: argparse.Namespace, model: ModelPlayer, named: Any, transcript: IO[bytes] | None
) -> Player:
    spec = options.predictor
    if spec.startswith("model:"):
        return model(spec.removeprefix("model:"), options.options)
    limits = {
        name: seconds
        for name in ("start_timeout", "reply_timeout")
        if (seconds := getattr(options, name, None)) is not None
    }
    return players.from_terminal(
        spec,
        options.options,
        named=named(),
        transcript=transcript,
        limits=limits,
        by_name=getattr(options, "game", "") in GAME_WORDS_5,
    )


def _stop(player: Timed) -> None:
    """Kill the player's process if it is still running; close players of other kinds."""
    kill = getattr(player.player, "kill", None)
    if kill:
        kill()
    else:
        with contextlib.suppress(PlayerError):
            player.close()


def _protocol_warnings(player: Timed) -> dict[str, int]:
    protocol_warnings = getattr(player.player, "protocol_warnings", None)
    return protocol_warnings.as_dict() if protocol_warnings else {}


def _report(path: str, inspector: CorpusInspector, player: Timed, failure: LmcError | None) -> None:
    data = {
        "lines": inspector.lines,
        "warnings": [warning.as_dict() for warning in inspector.warnings],
        "latency": player.latency.as_dict(),
        "oddities": _protocol_warnings(player),
        "error": str(failure) if failure else None,
        "stderr": getattr(player.player, "stderr", ""),
    }
    Path(path).write_text(json.dumps(data, indent=2) + "\n", "utf-8")


class _Progress:
    """Progress on standard error every two seconds, with warnings at the end."""

    def __init__(self, err: TextIO, quiet: bool) -> None:
        self.err, self.quiet = err, quiet
        self.start = self.last = time.monotonic()

    def line(self, number: int) -> None:
        if not self.quiet and (time_now := time.monotonic()) - self.last >= 2:
            self.last = time_now
            self.err.write(f"line {number:,}, {time_now - self.start:.0f} s\n")
            self.err.flush()

    def end(self, inspector: CorpusInspector, player: Timed) -> None:
        if self.quiet:
            return
        for warning in inspector.warnings:
            times = f", {warning.count} times" if warning.count > 1 else ""
            self.err.write(f"warning: line {warning.line}{times}: {warning.message}\n")
        for name, count in _protocol_warnings(player).items():
            self.err.write(f"note: {count:,} {_WARNING_WORDS[name]}\n")
        calls = player.latency.calls("predict")
        self.err.write(
            f"lines: {inspector.lines:,}, predictions: {calls:,}, {time.monotonic() - self.start:.1f} s\n"
        )


_WARNING_WORDS = {
    "odd_fields": "replies whose last field had no score and was dropped",
    "not_finite": "non-finite scores",
    "repeated": "candidates scored more than once; the last score was used",
    "unasked": "scored candidates that were not requested",
    "omitted": "requested candidates without a score",
    "empty": "replies without a prediction",
}
