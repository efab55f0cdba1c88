"""The command line: `run`, `stats`, `ic-opt` and `pretty` as the reference's `lmc`, `corpus` and `serve` beside them.

Imports no Django; `manage.py lmc` hands in the players of the site. `python -m gym.lmchallenge` is this without them.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, TextIO

from gym.lmchallenge import corpus, lint, logs, players, serve, tools
from gym.lmchallenge.errors import LmcError, OptionError, PlayerError
from gym.lmchallenge.games import GameOptions
from gym.lmchallenge.options import joined, parser
from gym.lmchallenge.play import play
from gym.lmchallenge.player import Player, Timed
from gym.lmchallenge.process import Command
from gym.lmchallenge.record import Recorder

ModelPlayer = Callable[[str, Mapping[str, Any]], Player]
EXIT_ERROR = 1


class Streams:
    """Standard input and output as bytes, and standard error as text."""

    def __init__(
        self, source: IO[bytes] | None = None, out: IO[bytes] | None = None, err: TextIO | None = None
    ) -> None:
        self.source = source or sys.stdin.buffer
        self.out = out or sys.stdout.buffer
        self.err = err or sys.stderr

    def say(self, text: str) -> None:
        """One line of output."""
        self.out.write(text.encode("utf-8", "replace") + b"\n")


def main(
    argv: Sequence[str],
    prog: str = "python -m gym.lmchallenge",
    *,
    streams: Streams | None = None,
    model: ModelPlayer | None = None,
    named: Callable[[], Mapping[str, Command]] = dict,
) -> int:
    """Run; the exit code. Wrong arguments end in SystemExit(2)."""
    streams = streams or Streams()
    options = parser(prog).parse_args(joined(list(argv)))
    try:
        return _COMMANDS[options.command](options, streams, model or _no_model, named)
    except LmcError as error:
        streams.err.write(f"{prog}: {error}\n")
        return EXIT_ERROR
    except BrokenPipeError:
        with contextlib.suppress(OSError):
            sys.stdout.close()
        return 0
    except OSError as error:
        streams.err.write(f"{prog}: {error}\n")
        return EXIT_ERROR


def _no_model(slug: str, options: Mapping[str, Any]) -> Player:
    raise OptionError(
        "The models of a site are only to be had through its manage.py.", f"manage.py lmc … model:{slug}"
    )


# -- run and serve -------------------------------------------------------------------------------------------


def _run(options: argparse.Namespace, streams: Streams, model: ModelPlayer, named: Any) -> int:
    given = vars(options)
    known = {name: given[name] for name in GameOptions.__dataclass_fields__ if name in given}
    game_options = GameOptions(**known)
    words = None
    if options.game == "ic":
        with corpus.opened(options.vocab) as stream:
            words = corpus.vocabulary(stream, options.vocab)
    game = game_options.build(words)
    with contextlib.ExitStack() as stack:
        transcript: Any = (
            stack.enter_context(Path(options.transcript).open("wb")) if options.transcript else None
        )
        player = Timed(_player(options, model, named, transcript))
        stack.callback(_stop, player)
        write, there = _log(options, streams, stack)
        skip = options.skip or there
        if skip and options.game == "ic" and not options.seed:
            raise OptionError("Seed 0 takes the clock, so errors cannot be drawn again.", "Give the seed.")
        watch = lint.Watch(options.format)
        lines = corpus.read(corpus.unpacked(streams.source), options.format, "standard input")
        progress = _Progress(streams.err, options.quiet)
        failure: LmcError | None = None
        try:
            played = play(
                watch.through(lines),
                game,
                player,
                train=options.train,
                readings=options.readings,
                skip=skip,
            )
            for row in played:
                write(row.row)
                progress.line(row.number)
            player.close()
        except LmcError as error:
            failure = error
        progress.end(watch, player)
        if options.report:
            _report(options.report, watch, player, failure)
    if failure:
        raise failure
    return 0


def _log(
    options: argparse.Namespace, streams: Streams, stack: contextlib.ExitStack
) -> tuple[Callable[[logs.Row], None], int]:
    """Where lines of the log go, and how many are there."""
    if options.log:
        recorder = stack.enter_context(Recorder(options.log))
        return recorder.add, recorder.done
    out: Any = streams.out
    if options.gzip:
        out = stack.enter_context(gzip.GzipFile(fileobj=streams.out, mode="wb", mtime=0))

    def write(row: logs.Row) -> None:
        out.write(logs.line_of(row).encode("ascii"))
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
        name: given
        for name in ("start_timeout", "reply_timeout")
        if (given := getattr(options, name, None)) is not None
    }
    return players.from_terminal(spec, options.options, named=named(), transcript=transcript, limits=limits)


def _stop(player: Timed) -> None:
    """End a process whatever happened; one that was closed properly stays as it is."""
    kill = getattr(player.player, "kill", None)
    if kill:
        kill()
    else:
        with contextlib.suppress(PlayerError):
            player.close()


def _oddities(player: Timed) -> dict[str, int]:
    found = getattr(player.player, "oddities", None)
    return found.as_dict() if found else {}


def _report(path: str, watch: lint.Watch, player: Timed, failure: LmcError | None) -> None:
    data = {
        "lines": watch.lines,
        "warnings": [warning.as_dict() for warning in watch.warnings],
        "latency": player.latency.as_dict(),
        "oddities": _oddities(player),
        "error": str(failure) if failure else None,
        "stderr": getattr(player.player, "stderr", ""),
    }
    Path(path).write_text(json.dumps(data, indent=2) + "\n", "utf-8")


class _Progress:
    """A line on standard error every two seconds, and warnings at the end."""

    def __init__(self, err: TextIO, quiet: bool) -> None:
        self.err, self.quiet = err, quiet
        self.start = self.last = time.monotonic()

    def line(self, number: int) -> None:
        if not self.quiet and (now := time.monotonic()) - self.last >= 2:
            self.last = now
            self.err.write(f"{number:,} lines, {now - self.start:.0f} s\n")
            self.err.flush()

    def end(self, watch: lint.Watch, player: Timed) -> None:
        if self.quiet:
            return
        for warning in watch.warnings:
            times = f", {warning.count} times" if warning.count > 1 else ""
            self.err.write(f"warning: line {warning.line}{times}: {warning.message}\n")
        for name, count in _oddities(player).items():
            self.err.write(f"note: {count:,} {_ODDITY_WORDS[name]}\n")
        calls = player.latency.calls("predict")
        self.err.write(
            f"{watch.lines:,} lines, {calls:,} predictions, {time.monotonic() - self.start:.1f} s\n"
        )


_ODDITY_WORDS = {
    "odd_fields": "replies with a last field that has no score; it was dropped",
    "not_finite": "scores that are not finite",
    "repeated": "candidates answered more than once; the last counts",
    "unasked": "candidates that nobody asked for",
    "omitted": "candidates left out",
    "empty": "replies without a prediction",
}


def _serve(options: argparse.Namespace, streams: Streams, model: ModelPlayer, named: Any) -> int:
    spec = "adaptive" if options.model == "adaptive" else f"model:{options.model}"
    options.predictor = spec
    player = _player(options, model, named, None)
    try:
        serve.serve(player, streams.source, streams.out, streams.err)
    finally:
        player.close()
    return 0


# -- logs ----------------------------------------------------------------------------------------------------


def _logs(options: argparse.Namespace, streams: Streams, *_: Any) -> int:
    from gym.lmchallenge import cli_logs

    shown = {
        "stats": cli_logs.show_stats,
        "ic-opt": cli_logs.show_best_mixture,
        "pretty": cli_logs.show_colours,
    }
    return shown[options.command](options, streams)


# -- corpora -------------------------------------------------------------------------------------------------


def _corpus(options: argparse.Namespace, streams: Streams, *_: Any) -> int:
    form = getattr(options, "format", "text" if options.tool == "to-json" else "json")
    stream = corpus.unpacked(streams.source)
    if options.tool == "sort":
        for raw in tools.in_order(stream, "standard input"):
            streams.out.write(raw)
        return 0
    lines = corpus.read(stream, form, "standard input")
    if options.tool == "check":
        streams.say(json.dumps(tools.preview(lines, form), indent=2))
    elif options.tool == "vocab":
        for word, count in tools.vocabulary(
            lines, keep=options.filter, least=options.min_count, most=options.most
        ):
            streams.say(f"{word}\t{count}" if options.counts else word)
    else:
        made = (
            tools.to_text(lines)
            if options.tool == "to-text"
            else tools.to_json(lines, user=options.user, timestamps=options.timestamps)
        )
        for text in made:
            streams.out.write(text.encode("utf-8"))
    return 0


_COMMANDS: dict[str, Callable[[argparse.Namespace, Streams, ModelPlayer, Any], int]] = {
    "run": _run,
    "serve": _serve,
    "stats": _logs,
    "ic-opt": _logs,
    "pretty": _logs,
    "corpus": _corpus,
}
