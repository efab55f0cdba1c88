"""The command `stats`. Logs of wp and tc are counted without loading numpy, those of long ones by several processes."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, Any

from gym.lmchallenge import files
from gym.lmchallenge.blocks import plain_json, typed_json
from gym.lmchallenge.errors import OptionError
from gym.lmchallenge.logs import Checker
from gym.lmchallenge.quick import Quick

if TYPE_CHECKING:
    from gym.lmchallenge.cli import Streams
    from gym.lmchallenge.mixtures import Mix

SHORT = 1_000_000
"""Bytes, unpacked, up to which a log is read with the standard library alone."""


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
def opened(name: str, streams: Streams) -> Iterator[tuple[IO[bytes], str]]:
    """The bytes of a log, and what errors call it."""
    if name == "-":
        yield files.unpacked(streams.source), "standard input"
        return
    with files.opened(name) as stream:
        yield stream, name


def show_stats(options: argparse.Namespace, streams: Streams) -> int:
    """`stats`."""
    results: list[tuple[str, Any]] = []
    for name, mix in paired(options.log, options.opt_args):
        with opened(name, streams) as (stream, source):
            head, rest = _head(stream)
            lines = chain(head, rest)
            found: Any = None
            if not mix and not options.more and _is_quick(head, bool(rest), source, options):
                found, notices = _quickly(lines, name, source, options, bool(rest))
            else:
                found, notices = _thoroughly(lines, name, source, mix, options, streams)
        for notice in notices:
            streams.err.write(f"note: {name}: {notice}\n")
        results.append((name, found))
    streams.say(_csv(results) if options.output == "csv" else _json(results))
    return 0


def _head(stream: IO[bytes]) -> tuple[list[bytes], Iterator[bytes] | tuple[()]]:
    """The lines of the first SHORT bytes, and what follows; () if that is all."""
    head: list[bytes] = []
    size = 0
    for line in iter(stream.readline, b""):
        head.append(line)
        size += len(line)
        if size > SHORT:
            return head, iter(stream.readline, b"")
    return head, ()


def _is_quick(head: list[bytes], is_long: bool, source: str, options: argparse.Namespace) -> bool:
    """Whether the log is counted without numpy: wp and tc, long logs only as a whole."""
    checker = Checker(source)
    if is_long and options.partition != "all":
        return False
    rows = map(checker.row, islice(enumerate(head, 1), options.lines))
    return any(row is not None for row in rows) and checker.game != "ic"


def _quickly(
    lines: Iterator[bytes], name: str, source: str, options: argparse.Namespace, is_long: bool
) -> tuple[list[dict[str, Any]], Sequence[str]]:
    quick = None
    if is_long and options.lines is None and name != "-" and files.is_plain(name):
        from gym.lmchallenge.parts import counted

        quick = counted(name, options.filter)
    if quick is None:
        quick = Quick(options.filter, options.partition)
        numbered = islice(enumerate(lines, 1), options.lines)
        quick.take(numbered, source, typed_json if is_long else plain_json)
    return quick.statistics(), quick.notices


def _thoroughly(
    lines: Iterator[bytes],
    name: str,
    source: str,
    mix: Mix | None,
    options: argparse.Namespace,
    streams: Streams,
) -> tuple[Any, Sequence[str]]:
    # The threads of numpy's linear algebra take longer to start than many logs to count.
    if "numpy" not in sys.modules:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from gym.lmchallenge import mixing, stats
    from gym.lmchallenge.cli_logs import searched
    from gym.lmchallenge.readers import read_log

    mixes = [mix] if mix else mixing.grid()
    table = read_log(lines, source, options.lines, keep=options.filter, mixes=mixes)
    if mix and table.game != "ic":
        raise OptionError(f"{name} is a log of {table.game}.", "A mixture (-a) is for ic.")
    if table.game == "ic" and not mix:
        mix = searched(stats.search(table), "accuracy", options.verbose, streams)
    found: Any = stats.statistics(table, options.partition, mix)
    if options.more:
        from gym.lmchallenge.extras import extras

        found = {"parts": found, "more": extras(table, mix, **_savings(options))}
    return found, table.notices


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
