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
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, TextIO

from gym.lmchallenge import corpus, lint, logs, mixing, players, pretty, serve, stats, tools
from gym.lmchallenge.errors import LmcError, OptionError, PlayerError
from gym.lmchallenge.games import GameOptions
from gym.lmchallenge.options import joined, parser
from gym.lmchallenge.play import play
from gym.lmchallenge.player import Player, Timed
from gym.lmchallenge.process import Command
from gym.lmchallenge.record import Recorder
from gym.lmchallenge.table import read_table

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
        calls = player.latency.as_dict()["predict"]["calls"]
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


def _paired(files: Sequence[str], mixes: Sequence[mixing.Mix]) -> list[tuple[str, mixing.Mix | None]]:
    """Logs and mixtures side by side; one of either goes with all of the other."""
    names: Sequence[str] = files or ["-"]
    if not mixes:
        return [(name, None) for name in names]
    if len(names) == 1:
        return [(names[0], mix) for mix in mixes]
    if len(mixes) == 1:
        return [(name, mixes[0]) for name in names]
    if len(names) != len(mixes):
        raise OptionError(
            f"There are {len(names)} logs and {len(mixes)} mixtures.", "Give one mixture, or one per log."
        )
    return list(zip(names, mixes, strict=True))


@contextlib.contextmanager
def _rows(name: str, streams: Streams, limit: int | None = None) -> Iterator[Iterator[tuple[int, logs.Row]]]:
    if name == "-":
        yield logs.read(corpus.unpacked(streams.source), "standard input", limit)
        return
    with corpus.opened(name) as stream:
        yield logs.read(stream, name, limit)


def _stats(options: argparse.Namespace, streams: Streams, *_: Any) -> int:
    results: list[tuple[str, Any]] = []
    for name, mix in _paired(options.log, options.opt_args):
        mixes = [mix] if mix else mixing.grid()
        with _rows(name, streams, options.lines) as rows:
            table = read_table(rows, keep=options.filter, mixes=mixes)
        if mix and table.game != "ic":
            raise OptionError(f"{name} is a log of {table.game}.", "A mixture (-a) is for ic.")
        if table.game == "ic" and not mix:
            mix = _searched(stats.search(table), "accuracy", options.verbose, streams)
        for notice in table.notices:
            streams.err.write(f"note: {name}: {notice}\n")
        found: Any = stats.statistics(table, options.partition, mix)
        if options.more:
            from gym.lmchallenge.extras import extras

            found = {"parts": found, "more": extras(table, mix)}
        results.append((name, found))
    streams.say(_csv(results) if options.output == "csv" else _json(results))
    return 0


def _json(results: list[tuple[str, Any]]) -> str:
    return json.dumps(results[0][1] if len(results) == 1 else dict(results), sort_keys=True)


def _csv(results: list[tuple[str, Any]]) -> str:
    """As the reference: separated by tabs, one line per log."""
    if any(not isinstance(parts, list) or len(parts) != 1 for _, parts in results):
        raise OptionError(
            "CSV has one line per log.", "Leave the partition (-p) and --more away, or write JSON."
        )
    keys = sorted({key for _, (row,) in results for key in row})
    lines = [["log", *keys], *([name, *(str(row.get(key, "")) for key in keys)] for name, (row,) in results)]
    return "\n".join("\t".join(line) for line in lines)


def _searched(
    found: list[tuple[mixing.Mix, float | None]], target: str, verbose: int, streams: Streams
) -> mixing.Mix:
    """The best mixture, with as much said about the search as was asked."""
    chosen, value = stats.best(found)
    if verbose > 1:
        streams.err.write(f"DEBUG\tSearching: {len(found)} configurations\n")
        for mix, score in found:
            streams.err.write(f"DEBUG\tRun: {target} = {_six(score)}, args = {mix.as_dict()}\n")
    if verbose:
        streams.err.write(f"INFO\tBest: {target} = {_six(value)}, args = {chosen.as_dict()}\n")
    return chosen


def _six(value: float | None) -> str:
    return "nan" if value is None else f"{value:f}"


def _ic_opt(options: argparse.Namespace, streams: Streams, *_: Any) -> int:
    with _rows(options.log, streams, options.lines) as rows:
        table = read_table(rows, keep=options.filter, mixes=mixing.grid(options.alpha, options.oov_penalty))
    if table.game != "ic":
        raise OptionError(f"{options.log} is a log of {table.game}.", "ic-opt is for ic.")
    mix = _searched(stats.search(table, options.target), options.target, options.verbose, streams)
    answer: dict[str, Any] = mix.as_dict()
    if options.cross_validate:
        from gym.lmchallenge.extras import cross_validated

        answer["cross_validated"] = cross_validated(table, options.target)
    streams.say(json.dumps(answer, sort_keys=True))
    return 0


def _pretty(options: argparse.Namespace, streams: Streams, *_: Any) -> int:
    pairs = _paired(options.log, options.opt_args)
    with contextlib.ExitStack() as stack:
        mixes: list[mixing.Mix | None] = []
        opened: list[Iterator[logs.Row]] = []
        for name, mix in pairs:
            if mix is None and name != "-":
                mix = _best_of(name, options.filter, streams)
            mixes.append(mix)
            opened.append(row for _, row in stack.enter_context(_rows(name, streams)))
        for line in pretty.ansi(opened, keep=options.filter, mixes=mixes, readings=options.readings):
            streams.say(line)
    return 0


def _best_of(name: str, keep: str, streams: Streams) -> mixing.Mix | None:
    """For a log of ic without a mixture: the best one."""
    with _rows(name, streams, 1) as rows:
        first = next(rows, None)
    if first is None or logs.game_of(first[1]) != "ic":
        return None
    with _rows(name, streams) as rows:
        mix, _ = stats.best(stats.search(read_table(rows, keep=keep, mixes=mixing.grid())))
    streams.err.write(f"note: {name}: coloured by the best mixture, {json.dumps(mix.as_dict())}\n")
    return mix


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
    "stats": _stats,
    "ic-opt": _ic_opt,
    "pretty": _pretty,
    "corpus": _corpus,
}
