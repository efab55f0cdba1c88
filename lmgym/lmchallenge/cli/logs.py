"""Commands that read logs: `stats`, `ic-opt`, `pretty` and `compare`; `diff`, `grep` and `validate` for version 5.

These commands import numpy, which playing does not need.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from lmgym.lmchallenge import gzip_reader
from lmgym.lmchallenge.cli import tables
from lmgym.lmchallenge.errors import LogError, OptionError
from lmgym.lmchallenge.logs import coloured, interpolation, pretty, pretty_html, stats
from lmgym.lmchallenge.logs.compare import (
    TextFingerprint,
    WordsFingerprint,
    compare,
    games_correspond,
)
from lmgym.lmchallenge.logs.decoder import LogLine, read_lines
from lmgym.lmchallenge.logs.extra_metrics import cross_validated, extra_metrics
from lmgym.lmchallenge.logs.interpolation import Mix
from lmgym.lmchallenge.logs.log_rows import line_of
from lmgym.lmchallenge.logs.table import Lines as TableLines
from lmgym.lmchallenge.logs.table import Table, read_table
from lmgym.lmchallenge.logs.version5 import GAME_WORDS as GAME_WORDS_5
from lmgym.lmchallenge.logs.version5 import log as version5_log
from lmgym.lmchallenge.logs.version5 import pretty as version5_pretty
from lmgym.lmchallenge.logs.version5 import schema, selection
from lmgym.lmchallenge.logs.version5 import stats as version5
from lmgym.lmchallenge.logs.version5 import table as version5_table
from lmgym.lmchallenge.play.games import GAME_WORDS
from lmgym.stats import corrected
from lmgym.text.columns import record

if TYPE_CHECKING:
    from lmgym.lmchallenge.cli.streams import Streams

Lines: TypeAlias = Iterator[tuple[int, LogLine]]
FILTER = "alphaemoji"
"""Default token filter of version 4."""


def paired(logs: Sequence[str], mixes: Sequence[Mix]) -> list[tuple[str, Mix | None]]:
    """Pair logs with mixtures. A single log is paired with every mixture, and a single mixture with every log.

    Without logs, standard input ("-") is used; without mixtures, None.

    Raises:
        OptionError: several logs and a different number of several mixtures.
    """
    names: Sequence[str] = logs or ["-"]
    if not mixes:
        return [(name, None) for name in names]
    if len(names) == 1:
        return [(names[0], mix) for mix in mixes]
    if len(mixes) == 1:
        return [(name, mixes[0]) for name in names]
    if len(names) != len(mixes):
        raise OptionError(
            f"The numbers of logs ({len(names)}) and mixtures ({len(mixes)}) differ.",
            "Pass one mixture, or one per log.",
        )
    return list(zip(names, mixes, strict=True))


@dataclass(frozen=True)
class Log:
    """An open log: its name for messages, its lines, and whether it is version 5 (None for an empty log)."""

    source: str
    lines: Iterator[bytes]
    is_version_5: bool | None


@contextlib.contextmanager
def raw(name: str, streams: Streams) -> Iterator[Log]:
    """Open a log, decompressing it if necessary, and detect its version from the first line."""
    source = "standard input" if name == "-" else name
    with contextlib.ExitStack() as stack:
        if name == "-":
            stream = gzip_reader.unpacked(streams.source, source)
        else:
            stream = stack.enter_context(gzip_reader.opened(name))
        is_of_5, lines = version5_log.recognised(stream, source)
        yield Log(source, lines, is_of_5)


@contextlib.contextmanager
def opened(name: str, streams: Streams, limit: int | None = None) -> Iterator[Lines]:
    """Open a version 4 log and decode its lines."""
    with raw(name, streams) as log:
        yield read_lines(log.lines, log.source, limit)


def searched(results: list[tuple[Mix, float | None]], target: str, verbose: int, streams: Streams) -> Mix:
    """Return the best mixture, reporting the search as verbosely as requested."""
    chosen, value = stats.best(results)
    if verbose > 1:
        streams.err.write(f"DEBUG\tSearching: {len(results)} configurations\n")
        for mix, score in results:
            streams.err.write(f"DEBUG\tRun: {target} = {_six(score)}, args = {mix.as_dict()}\n")
    if verbose:
        streams.err.write(f"INFO\tBest: {target} = {_six(value)}, args = {chosen.as_dict()}\n")
    return chosen


def _six(value: float | None) -> str:
    return "nan" if value is None else f"{value:f}"


# -- stats ---------------------------------------------------------------------------------------------------


def show_stats(options: argparse.Namespace, streams: Streams) -> int:
    """Run `stats`."""
    results: list[tuple[str, Any]] = []
    labels: list[list[str]] = []
    is_of_5 = None if options.human else True
    for name, mix in paired(options.log, options.opt_args):
        with raw(name, streams) as log:
            if is_of_5 is None:
                is_of_5 = log.is_version_5
            elif log.is_version_5 not in (is_of_5, None):
                raise OptionError(
                    f"{name} is a version {5 if log.is_version_5 else 4} log.",
                    "Run stats separately on logs of each version; -H only applies to version 5.",
                )
            if is_of_5:
                _only_version_5(options)
                counts = version5.count(version5_log.read(log.lines, log.source, options.lines))
                results.append((name, counts.rates() if options.human else counts.sums()))
            else:
                table, statistics = _statistics(options, streams, name, log, mix)
                results.append((name, statistics))
                labels.append(_labels(table.lines, options.partition))
    output = options.output or streams.usual
    if output == "table":
        streams.print_line(tables.statistics(results, labels, options.partition, is_of_5=bool(is_of_5)))
    elif is_of_5:
        streams.print_line(_version_5(results, output))
    else:
        streams.print_line(_csv(results) if output == "csv" else _json(results))
    return 0


def _statistics(
    options: argparse.Namespace, streams: Streams, name: str, log: Log, mix: Mix | None
) -> tuple[Table, Any]:
    """Compute the statistics of a version 4 log."""
    mixes = [mix] if mix else interpolation.grid()
    lines = read_lines(log.lines, log.source, options.lines)
    table = read_table(lines, filters=[options.filter or FILTER], mixes=mixes)
    if mix and table.game != "ic":
        raise OptionError(f"{name} is a log of {table.game}.", "Mixtures (-a) only apply to ic.")
    if table.game == "ic" and not mix:
        mix = searched(stats.search(table), "accuracy", options.verbose, streams)
    statistics: Any = stats.statistics(table, options.partition, mix)
    if options.more:
        statistics = {"parts": statistics, "more": extra_metrics(table, mix, **_savings(options))}
    for notice in table.notices:
        streams.err.write(f"note: {name}: {notice}\n")
    return table, statistics


def _labels(lines: TableLines, partition: str) -> list[str]:
    """Return the label for each part in a table: the part's user, or its line number."""
    if partition == "user":
        return [coloured.user_words(user) for user, _ in itertools.groupby(lines.users)]
    return [str(number) for number in lines.numbers] if partition == "line" else []


def _only_version_5(options: argparse.Namespace) -> None:
    """Raise OptionError for options that do not apply to version 5 logs."""
    values = {
        "-f": options.filter,
        "-p": options.partition != "all",
        "-a": options.opt_args,
        "--more": options.more,
        "keystroke savings": _savings(options),
    }
    if wrong := [name for name, value in values.items() if value]:
        raise OptionError(
            f"{', '.join(wrong)}: not available for logs of version 5.",
            "Select tokens with `lmc grep`; -H gives sums.",
        )


def _version_5(results: list[tuple[str, Any]], output: str) -> str:
    """Format statistics as version 5 does: one JSON object per line, or CSV."""
    rows = [{"log": name, **statistics} for name, statistics in results]
    if output == "json":
        return "\n".join(json.dumps(row, sort_keys=True) for row in rows)
    table = [version5.flat(row) for row in rows]
    names = version5.columns(table)
    cells: list[list[Any]] = [names, *([row.get(name) for name in names] for row in table)]
    return "\r\n".join(",".join(map(tables.csv_cell, row)) for row in cells) + "\r"


def _savings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options for keystroke savings that were set."""
    values = {name: getattr(options, name) for name in ("selection_cost", "auto_space", "literal")}
    return {name: value for name, value in values.items() if value not in (None, False)}


def _json(results: list[tuple[str, Any]]) -> str:
    return json.dumps(results[0][1] if len(results) == 1 else dict(results), sort_keys=True)


def _csv(results: list[tuple[str, Any]]) -> str:
    """Format statistics as the reference does: tab-separated, one line per log, with the columns of the first log."""
    if any(not isinstance(parts, list) or len(parts) != 1 for _, parts in results):
        raise OptionError("CSV has one line per log.", "Omit -p and --more, or write JSON.")
    keys = sorted(results[0][1][0])
    lines = [["log", *keys], *([name, *(str(row.get(key, "")) for key in keys)] for name, (row,) in results)]
    return "\n".join("\t".join(line) for line in lines)


# -- ic-opt --------------------------------------------------------------------------------------------------


def show_best_mixture(options: argparse.Namespace, streams: Streams) -> int:
    """Run `ic-opt`."""
    with opened(options.log, streams, options.lines) as lines:
        mixes = interpolation.grid(
            options.alpha or interpolation.ALPHA, options.oov_penalty or interpolation.OOV_PENALTY
        )
        table = read_table(lines, filters=[options.filter or FILTER], mixes=mixes)
    if table.game != "ic":
        raise OptionError(f"{options.log} is a log of {table.game}.", "ic-opt only works on ic logs.")
    mix = searched(stats.search(table, options.target), options.target, options.verbose, streams)
    answer: dict[str, Any] = mix.as_dict()
    if options.cross_validate:
        answer["cross_validated"] = cross_validated(table, options.target)
    streams.print_line(json.dumps(answer, sort_keys=True))
    return 0


# -- pretty --------------------------------------------------------------------------------------------------


def show_colours(options: argparse.Namespace, streams: Streams) -> int:
    """Run `pretty`."""
    keep = options.filter or FILTER
    if options.output == "html":
        return _html(options, keep, streams)
    with contextlib.ExitStack() as stack:
        mixes: list[Mix | None] = []
        logs: list[Iterator[LogLine]] = []
        for name, mix in paired(options.log, options.opt_args):
            log = stack.enter_context(raw(name, streams))
            if log.is_version_5:
                return _colours_5(options, log, streams)
            if mix is None and name != "-":
                mix = _best_of(name, keep, streams)
            mixes.append(mix)
            logs.append(line for _, line in read_lines(log.lines, log.source))
        game = ""
        if streams.is_terminal:
            first = list(itertools.islice(logs[0], 1))
            game = first[0].game if first else ""
            logs[0] = itertools.chain(first, logs[0])
        for text in pretty.ansi(logs, keep=keep, mixes=mixes, readings=options.readings):
            streams.print_line(text)
    if game and len(logs) > 1:
        streams.print_line(_legend_of_changes(pretty.CHANGE_WORDS[game], pretty.CHANGES))
    elif game:
        words = pretty.OUTCOME_WORDS
        if game == "wp" and options.readings == "reference":
            words = {**words, **pretty.REFERENCE_WORDS}
        streams.print_line(_legend(pretty.LEGENDS[game], words, pretty.OUTCOMES))
    return 0


def _html(options: argparse.Namespace, keep: str, streams: Streams) -> int:
    """Write one log as an HTML file."""
    if len(options.log) > 1 or len(options.opt_args) > 1:
        raise OptionError("`-o html` accepts only one log.", "Omit -o to compare several logs.")
    (name, mix), *_ = paired(options.log, options.opt_args)
    with raw(name, streams) as log:
        if log.is_version_5:
            _no_filter(options)
            tokens = list(version5_log.read(log.lines, log.source))
            game = version5_pretty.game_of(tokens)
            lines = coloured.messages_of(tokens, version5_pretty.mixture_of(tokens))
            about = [f"{GAME_WORDS_5.get(game, '').capitalize()} ({game}), LM Challenge 5"]
        else:
            decoded = read_lines(log.lines, log.source)
            first = list(itertools.islice(decoded, 1))
            if first and first[0][1].game == "ic" and mix is None:
                if name == "-":
                    raise OptionError("An ic log needs a mixture.", "Pass a file name, or a mixture with -a.")
                mix = _best_of(name, keep, streams)
            game = first[0][1].game if first else ""
            about = (
                [f"{GAME_WORDS[game].capitalize()} ({game}), LM Challenge 4", f"Token filter: {keep}"]
                if game
                else []
            )
            lines = (
                coloured.line_of(number, line, keep, mix, base=None)
                for number, line in itertools.chain(first, decoded)
            )
        if not game:
            raise LogError(f"{log.source}: the log is empty.", "There is nothing to show.")
        for text in pretty_html.document(log.source, game, lines, about):
            streams.out.write(text.encode("utf-8", "replace"))
    return 0


def _legend(names: Sequence[str], words: Mapping[str, str], colours: Mapping[str, pretty.Colour]) -> str:
    """Return a legend of outcomes for a terminal."""
    labels = [pretty.coded([(words[name], colours[name])]) for name in names if words[name]]
    return "\n" + "; ".join(labels)


def _legend_of_changes(words: Mapping[pretty.Change, str], colours: Mapping[str, int]) -> str:
    """Return a legend of changes for a terminal."""
    labels = [pretty.coded([(text, (colours[name], bold))]) for (name, bold), text in words.items()]
    return "\n" + "; ".join(labels)


def _colours_5(options: argparse.Namespace, log: Log, streams: Streams) -> int:
    if len(options.log) > 1:
        raise OptionError(
            "`pretty` accepts only one version 5 log.", "To compare two, use lmc diff BASELINE LOG."
        )
    _no_filter(options)
    tokens = list(version5_log.read(log.lines, log.source))
    for text in version5_pretty.ansi(tokens, options.entropy_interval, options.readings):
        streams.print_line(text)
    if streams.is_terminal and tokens:
        words = version5_pretty.words(options.entropy_interval)
        names = version5_pretty.LEGENDS[tokens[0][1].game]
        streams.print_line(_legend(names, words, version5_pretty.OUTCOMES))
    return 0


def _no_filter(options: argparse.Namespace) -> None:
    if options.filter or options.opt_args:
        raise OptionError("-f and -a: not available for logs of version 5.", "Select tokens with `lmc grep`.")


def _best_of(name: str, keep: str, streams: Streams) -> Mix | None:
    """Find the best mixture for an ic log; return None for other games."""
    with opened(name, streams, 1) as lines:
        if not any(line.game == "ic" for _, line in lines):
            return None
    with opened(name, streams) as lines:
        table = read_table(lines, filters=[keep], mixes=interpolation.grid())
    mix, _ = stats.best(stats.search(table))
    streams.err.write(f"note: {name}: using the best mixture, {json.dumps(mix.as_dict())}\n")
    return mix


# -- version 5 ------------------------------------------------------------------------------------------------


def show_difference(options: argparse.Namespace, streams: Streams) -> int:
    """Run `diff`."""
    logs = []
    for name in (options.baseline, options.log):
        with raw(name, streams) as log:
            logs.append(list(version5_log.read(log.lines, log.source)))
    for text in version5_pretty.difference(logs[0], logs[1], options.entropy_interval, options.readings):
        streams.print_line(text)
    if streams.is_terminal and (game := version5_pretty.game_of(logs[1])):
        streams.print_line(_legend_of_changes(version5_pretty.CHANGE_WORDS[game], version5_pretty.CHANGES))
    return 0


def select(options: argparse.Namespace, streams: Streams) -> int:
    """Run `grep`."""
    with raw(options.log, streams) as log:
        rows = version5_log.read_rows(log.lines, log.source)
        for row in selection.select(rows, [options.pattern, *options.more], options.keep):
            streams.out.write(line_of(row).encode("ascii"))
    return 0


def validate(options: argparse.Namespace, streams: Streams) -> int:
    """Run `validate`; return 1 if any line violates the version 5 schema."""
    code = 0
    for name in options.log or ["-"]:
        with raw(name, streams) as log:
            for problem in schema.problems(version5_log.read_rows(log.lines, log.source), log.source):
                streams.err.write(f"{problem}\n")
                code = 1
    return code


# -- compare -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Side:
    """A log in a comparison: name, columns, its mixture if set, and hashes of its text (for version 5, of the words
    only).
    """

    name: str
    table: Table
    mix: Mix | None
    words: WordsFingerprint
    text: TextFingerprint | None

    @property
    def is_hidden(self) -> bool:
        return self.text is not None and self.text.hidden

    def is_like(self, other: _Side) -> bool:
        """Return whether both logs have the same text, as far as their hashes show."""
        if self.text is None or other.text is None:
            return self.words.hexdigest == other.words.hexdigest
        return self.text.matches(other.text)


def show_comparison(options: argparse.Namespace, streams: Streams) -> int:
    """Run `compare`: compare each log with the baseline."""
    token_filter = options.filter or FILTER
    others = [name for name in options.log if name != options.baseline]
    pairs = paired([options.baseline, *others] if options.baseline else options.log, options.opt_args)
    if len(pairs) < 2:
        raise OptionError("A comparison needs two logs.", "Pass both: lmc compare BASELINE LOG")
    sides = [_side(name, mix, token_filter, streams) for name, mix in pairs]
    first = sides[0]
    for side in sides[1:]:
        if not games_correspond(first.table.game, side.table.game):
            raise OptionError(
                f"{side.name} is a log of the game {side.table.game}, {first.name} of {first.table.game}.",
                "Compare logs of the same game.",
            )
        if not side.is_like(first):
            raise OptionError(
                f"{side.name} was played on a different text than {first.name}.",
                "Compare logs of the same text.",
            )
    of_5 = [side for side in sides if side.text is None]
    if of_5 and options.filter not in (None, "all"):
        raise OptionError(
            f"-f does not apply to {of_5[0].name}, a log of version 5.",
            "All selected tokens are counted; select tokens with `lmc grep`.",
        )
    keep = "all" if of_5 or any(side.is_hidden for side in sides) else token_filter
    selected = [side.table.by(keep) for side in sides]
    if 0 < len(of_5) < len(sides):
        selected = [table.without_empty_lines() for table in selected]
    mixes = [
        side.mix or (stats.best(stats.search(table))[0] if table.game == "ic" else None)
        for side, table in zip(sides, selected, strict=True)
    ]
    rows = corrected(
        [
            compare(
                selected[0],
                table,
                names=(first.name, side.name),
                metric=options.metric,
                mixes=(mixes[0], mix),
                cluster=options.cluster,
            )
            for side, table, mix in zip(sides[1:], selected[1:], mixes[1:], strict=True)
        ]
    )
    for row in rows:
        if row.note:
            streams.err.write(f"note: {row.second}: {row.note}\n")
    output = options.output or streams.usual
    if output == "table":
        streams.print_line(tables.comparison(rows, keep))
        return 0
    if output == "csv":
        streams.print_line(tables.comparison_csv(rows))
        return 0
    fingerprint = (first.text or first.words).hexdigest
    comparisons = [record(row) for row in rows]
    streams.print_line(
        json.dumps(
            {"filter": keep, "text_fingerprint": fingerprint, "comparisons": comparisons}, sort_keys=True
        )
    )
    return 0


def _side(name: str, mix: Mix | None, token_filter: str, streams: Streams) -> _Side:
    words, text = WordsFingerprint(), TextFingerprint()
    with raw(name, streams) as log:
        if log.is_version_5:
            tokens = list(words.hash_messages(version5_log.read(log.lines, log.source)))
            return _Side(
                name, version5_table.read_table(tokens, version5_pretty.game_of(tokens)), None, words, None
            )
        lines = words.hash_stream(text.hash_stream(read_lines(log.lines, log.source)))
        table = read_table(lines, filters=[token_filter, "all"], mixes=[mix] if mix else interpolation.grid())
    if text.hidden:
        streams.err.write(
            f"note: {name} has no words, so all tokens are counted and texts are compared by length.\n"
        )
    return _Side(name, table, mix, words, text)
