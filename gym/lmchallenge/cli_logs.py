"""The commands that read logs: `stats`, `ic-opt` and `pretty`. Apart from `cli`, since they load numpy and games
need not."""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gym.lmchallenge import corpus, logs, mixing, pretty, stats
from gym.lmchallenge.errors import OptionError
from gym.lmchallenge.table import read_table

if TYPE_CHECKING:
    from gym.lmchallenge.cli import Streams


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


def show_stats(options: argparse.Namespace, streams: Streams) -> int:
    """`stats`."""
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


def show_best_mixture(options: argparse.Namespace, streams: Streams) -> int:
    """`ic-opt`."""
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


def show_colours(options: argparse.Namespace, streams: Streams) -> int:
    """`pretty`."""
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
