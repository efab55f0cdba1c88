"""The commands that read logs: `stats`, `ic-opt`, `pretty` and `compare`. They load numpy, which games do without."""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from gym.lmchallenge.core import gzip_reader, interpolation, pretty, stats
from gym.lmchallenge.core.compare import TextFingerprint, compare
from gym.lmchallenge.core.errors import OptionError
from gym.lmchallenge.core.extra_metrics import cross_validated, extra_metrics
from gym.lmchallenge.core.interpolation import Mix
from gym.lmchallenge.core.log_decoder import LogLine, read_lines
from gym.lmchallenge.core.table import Table, read_table

if TYPE_CHECKING:
    from gym.lmchallenge.core.cli import Streams

Lines: TypeAlias = Iterator[tuple[int, LogLine]]


def paired(logs: Sequence[str], mixes: Sequence[Mix]) -> list[tuple[str, Mix | None]]:
    """Logs and mixtures side by side; one of either goes with all of the other."""
    names: Sequence[str] = logs or ["-"]
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
def opened(name: str, streams: Streams, limit: int | None = None) -> Iterator[Lines]:
    """The lines of a log, decoded."""
    if name == "-":
        yield read_lines(gzip_reader.unpacked(streams.source), "standard input", limit)
        return
    with gzip_reader.opened(name) as stream:
        yield read_lines(stream, name, limit)


def searched(found: list[tuple[Mix, float | None]], target: str, verbose: int, streams: Streams) -> Mix:
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


# -- stats ---------------------------------------------------------------------------------------------------


def show_stats(options: argparse.Namespace, streams: Streams) -> int:
    """`stats`."""
    results: list[tuple[str, Any]] = []
    for name, mix in paired(options.log, options.opt_args):
        with opened(name, streams, options.lines) as lines:
            mixes = [mix] if mix else interpolation.grid()
            table = read_table(lines, filters=[options.filter], mixes=mixes)
        if mix and table.game != "ic":
            raise OptionError(f"{name} is a log of {table.game}.", "A mixture (-a) is for ic.")
        if table.game == "ic" and not mix:
            mix = searched(stats.search(table), "accuracy", options.verbose, streams)
        found: Any = stats.statistics(table, options.partition, mix)
        if options.more:
            found = {"parts": found, "more": extra_metrics(table, mix, **_savings(options))}
        for notice in table.notices:
            streams.err.write(f"note: {name}: {notice}\n")
        results.append((name, found))
    streams.say(_csv(results) if options.output == "csv" else _json(results))
    return 0


def _savings(options: argparse.Namespace) -> dict[str, Any]:
    """The parameters of keystroke savings that were given."""
    given = {name: getattr(options, name) for name in ("selection_cost", "auto_space", "literal")}
    return {name: value for name, value in given.items() if value not in (None, False)}


def _json(results: list[tuple[str, Any]]) -> str:
    return json.dumps(results[0][1] if len(results) == 1 else dict(results), sort_keys=True)


def _csv(results: list[tuple[str, Any]]) -> str:
    """As the reference: separated by tabs, one line per log, the columns of the first log."""
    if any(not isinstance(parts, list) or len(parts) != 1 for _, parts in results):
        raise OptionError(
            "CSV has one line per log.", "Leave the partition (-p) and --more away, or write JSON."
        )
    keys = sorted(results[0][1][0])
    lines = [["log", *keys], *([name, *(str(row.get(key, "")) for key in keys)] for name, (row,) in results)]
    return "\n".join("\t".join(line) for line in lines)


# -- ic-opt --------------------------------------------------------------------------------------------------


def show_best_mixture(options: argparse.Namespace, streams: Streams) -> int:
    """`ic-opt`."""
    with opened(options.log, streams, options.lines) as lines:
        mixes = interpolation.grid(
            options.alpha or interpolation.ALPHA, options.oov_penalty or interpolation.OOV_PENALTY
        )
        table = read_table(lines, filters=[options.filter], mixes=mixes)
    if table.game != "ic":
        raise OptionError(f"{options.log} is a log of {table.game}.", "ic-opt is for ic.")
    mix = searched(stats.search(table, options.target), options.target, options.verbose, streams)
    answer: dict[str, Any] = mix.as_dict()
    if options.cross_validate:
        answer["cross_validated"] = cross_validated(table, options.target)
    streams.say(json.dumps(answer, sort_keys=True))
    return 0


# -- pretty --------------------------------------------------------------------------------------------------


def show_colours(options: argparse.Namespace, streams: Streams) -> int:
    """`pretty`."""
    pairs = paired(options.log, options.opt_args)
    with contextlib.ExitStack() as stack:
        mixes: list[Mix | None] = []
        logs: list[Iterator[LogLine]] = []
        for name, mix in pairs:
            if mix is None and name != "-":
                mix = _best_of(name, options.filter, streams)
            mixes.append(mix)
            logs.append(line for _, line in stack.enter_context(opened(name, streams)))
        for text in pretty.ansi(logs, keep=options.filter, mixes=mixes, readings=options.readings):
            streams.say(text)
    return 0


def _best_of(name: str, keep: str, streams: Streams) -> Mix | None:
    """For a log of ic without a mixture: the best one."""
    with opened(name, streams, 1) as lines:
        if not any(line.game == "ic" for _, line in lines):
            return None
    with opened(name, streams) as lines:
        table = read_table(lines, filters=[keep], mixes=interpolation.grid())
    mix, _ = stats.best(stats.search(table))
    streams.err.write(f"note: {name}: coloured by the best mixture, {json.dumps(mix.as_dict())}\n")
    return mix


# -- compare -------------------------------------------------------------------------------------------------


def show_comparison(options: argparse.Namespace, streams: Streams) -> int:
    """`compare`: each log against the first."""
    tables: list[Table] = []
    texts: list[TextFingerprint] = []
    pairs = paired(options.log, options.opt_args)
    for name, mix in pairs:
        text = TextFingerprint()
        with opened(name, streams) as lines:
            mixes = [mix] if mix else interpolation.grid()
            table = read_table(text.through(lines), filters=[options.filter, "all"], mixes=mixes)
        if texts and not text.same(texts[0]):
            raise OptionError(
                f"{name} is of another text than {options.log[0]}.", "Their figures cannot be compared."
            )
        tables.append(table)
        texts.append(text)
        if text.hidden:
            streams.err.write(
                f"note: {name}: no words: all tokens count, and texts are compared by lengths.\n"
            )
    keep = "all" if any(text.hidden for text in texts) else options.filter
    tables = [table.by(keep) for table in tables]
    chosen = [
        mix or (stats.best(stats.search(table))[0] if table.game == "ic" else None)
        for (_, mix), table in zip(pairs, tables, strict=True)
    ]
    answer = {
        "first": options.log[0],
        "filter": keep,
        "text_fingerprint": texts[0].name,
        "comparisons": [
            {
                "log": name,
                **compare(tables[0], table, mixes=(chosen[0], mix), cluster=options.cluster).as_dict(),
            }
            for name, table, mix in zip(options.log[1:], tables[1:], chosen[1:], strict=True)
        ],
    }
    streams.say(json.dumps(answer, sort_keys=True))
    return 0
