"""The commands `ic-opt`, `pretty` and `compare`. Apart from `cli`, since they load numpy and games need not."""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gym.lmchallenge import logs, mixing, pretty, stats
from gym.lmchallenge.cli_stats import opened, paired
from gym.lmchallenge.errors import OptionError
from gym.lmchallenge.readers import read_log

if TYPE_CHECKING:
    from gym.lmchallenge.cli import Streams


@contextlib.contextmanager
def _rows(name: str, streams: Streams, limit: int | None = None) -> Iterator[Iterator[tuple[int, logs.Row]]]:
    with opened(name, streams) as (stream, source):
        yield logs.read(stream, source, limit)


def searched(
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
    with opened(options.log, streams) as (stream, source):
        mixes = mixing.grid(options.alpha, options.oov_penalty)
        table = read_log(stream, source, options.lines, keep=options.filter, mixes=mixes)
    if table.game != "ic":
        raise OptionError(f"{options.log} is a log of {table.game}.", "ic-opt is for ic.")
    mix = searched(stats.search(table, options.target), options.target, options.verbose, streams)
    answer: dict[str, Any] = mix.as_dict()
    if options.cross_validate:
        from gym.lmchallenge.extras import cross_validated

        answer["cross_validated"] = cross_validated(table, options.target)
    streams.say(json.dumps(answer, sort_keys=True))
    return 0


def show_colours(options: argparse.Namespace, streams: Streams) -> int:
    """`pretty`."""
    pairs = paired(options.log, options.opt_args)
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
    with opened(name, streams) as (stream, source):
        mix, _ = stats.best(stats.search(read_log(stream, source, keep=keep, mixes=mixing.grid())))
    streams.err.write(f"note: {name}: coloured by the best mixture, {json.dumps(mix.as_dict())}\n")
    return mix


def show_comparison(options: argparse.Namespace, streams: Streams) -> int:
    """`compare`: each log against the first."""
    from gym.lmchallenge.compare import Text, compare, text

    pairs = paired(options.log, options.opt_args)
    texts: list[Text] = []
    for name, _ in pairs:
        if name == "-":
            raise OptionError("A log to compare is read twice.", "Give files.")
        with _rows(name, streams) as rows:
            found = text(row for _, row in rows)
        if texts and not found.same(texts[0]):
            raise OptionError(
                f"{name} is of another text than {options.log[0]}.", "Their figures cannot be compared."
            )
        texts.append(found)
        if found.hidden:
            streams.err.write(
                f"note: {name}: no words: all tokens count, and texts are compared by lengths.\n"
            )
    keep = "all" if any(found.hidden for found in texts) else options.filter
    tables, mixes = [], []
    for name, mix in pairs:
        with opened(name, streams) as (stream, source):
            tried = [mix] if mix else mixing.grid()
            table = read_log(stream, source, keep=keep, mixes=tried)
        if table.game == "ic" and mix is None:
            mix = stats.best(stats.search(table))[0]
        tables.append(table)
        mixes.append(mix)
    answer = {
        "first": options.log[0],
        "filter": keep,
        "text_fingerprint": texts[0].name,
        "comparisons": [
            {
                "log": name,
                **compare(tables[0], table, mixes=(mixes[0], mix), cluster=options.cluster).as_dict(),
            }
            for name, table, mix in zip(options.log[1:], tables[1:], mixes[1:], strict=True)
        ],
    }
    streams.say(json.dumps(answer, sort_keys=True))
    return 0
