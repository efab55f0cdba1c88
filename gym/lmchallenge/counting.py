"""Statistics of the logs of games, and comparisons of games.

The job that ends a game computes the statistics of its log once: for every filter, as a whole and by user,
with the search for the best mixture, the metrics that the reference lacks, and the search index. Everything
else, such as comparisons, is computed on request.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import numpy as np

from gym.lmchallenge.models import Game
from gym.lmchallenge.storage import decoded, decoded_tokens, lines_of, table_of
from lmgym.lmchallenge.errors import LmcError, LogError
from lmgym.lmchallenge.logs import interpolation, stats
from lmgym.lmchallenge.logs.compare import (
    GameComparison,
    TextFingerprint,
    WordsFingerprint,
    games_correspond,
)
from lmgym.lmchallenge.logs.compare import compare as compare_tables
from lmgym.lmchallenge.logs.extra_metrics import extra_metrics, interval_by_line, keystroke_savings
from lmgym.lmchallenge.logs.interpolation import Mix
from lmgym.lmchallenge.logs.measures import by_part, metric_of, ranks
from lmgym.lmchallenge.logs.table import Ints, Table, read_table
from lmgym.lmchallenge.logs.text_index import Index, Words, index_of, index_of_messages
from lmgym.lmchallenge.logs.version5 import stats as version5
from lmgym.lmchallenge.logs.version5.log import Token
from lmgym.lmchallenge.logs.version5.reranking import Mixture
from lmgym.lmchallenge.logs.version5.table import read_table as read_table_5
from lmgym.lmchallenge.play.loop import learnt_before
from lmgym.lmchallenge.tokens import FILTERS
from lmgym.stats import corrected

MAX_PARTS = 1_000
"""Maximum number of users in a log with statistics by user."""
MAX_MATRIX = 20_000_000
"""Maximum size of the table needed to search for a wr mixture: number of tokens times the length of the
longest list of candidates."""
MAX_SIZE_NOW = 30_000_000
"""Size in bytes of the largest log that is processed during a request."""


def count(game: Game, check: Any) -> dict[str, Index]:
    """Set `statistics` and `fingerprint` of the game (and the rank base in the report of a tc game) without saving it,
    and return its search index by filter.

    `check()` is called before each filter. A version 4 log is decoded only once.
    """
    check()
    if game.version == 5:
        return _count_version_5(game, check)
    text, words = TextFingerprint(), Words()
    mixes = interpolation.grid() if game.game == "ic" else []
    lines = words.record_stream(text.hash_stream(decoded(game)))
    table = read_table(lines, filters=list(FILTERS), mixes=mixes)
    learnt = _learnt(game)
    statistics: dict[str, Any] = {}
    indexes = {}
    for name in FILTERS:
        check()
        statistics[name] = counted(table.by(name), learnt=learnt)
        mix = mixes.index(Mix(**statistics[name]["mix"])) if mixes else 0
        indexes[name] = index_of(table.by(name), words, mix)
    game.fingerprint = text.hexdigest
    if game.game == "tc":
        # Known for games played here. For uploaded logs, a rank of 0 indicates it.
        played_base = int(game.options.get("readings") == "corrected")
        base = table.rank_base if game.kind == Game.Kind.UPLOADED else played_base
        game.report = {**game.report, "rank_base": base}
    game.statistics = statistics
    return indexes


def _count_version_5(game: Game, check: Any) -> dict[str, Index]:
    """Set `statistics` and `fingerprint` for a version 5 log, whose only filter is "all", and return its
    search index."""
    counts = version5.Counts()

    def mixture() -> Mixture | None:
        _small_enough_to_mix(counts)
        return counts.mixture

    table = read_table_5(_counted_5(decoded_tokens(game), counts, check), game.game, mixture)
    _small_enough_to_mix(counts)
    game.fingerprint = f"{counts.fingerprint:08x}"
    sums = counts.sums()
    statistics = {
        "all": [counts.rates()],
        "user": _by_user_5(table),
        "mix": sums["reranking"]["args"],
        "more": {"ranks": ranks(table)} if table.game == "wc" else {},
        "notices": [],
        "counts": {**sums, "characters_scored": counts.characters_scored, "lines": len(table.lines)},
    }
    game.statistics = {"all": finite(statistics)}
    # Outcomes of wr depend on the mixture, which has only just been determined.
    return {"all": index_of_messages(decoded_tokens(game), game.game, mixture_of(game))}


def _small_enough_to_mix(counts: version5.Counts) -> None:
    if (size := len(counts.lengths) * max(counts.lengths, default=0)) > MAX_MATRIX:
        raise LogError(
            f"The log has {len(counts.lengths):,} tokens with up to {max(counts.lengths):,} candidates, a table of "
            f"{size:,} scores; the search for a mixture allows at most {MAX_MATRIX:,}.",
            "Split the log, or count it with `lmc stats`.",
        )


def _counted_5(
    tokens: Iterator[tuple[int, Token]], counts: version5.Counts, check: Any
) -> Iterator[tuple[int, Token]]:
    """Yield the tokens unchanged, adding each to `counts`."""
    for number, token in tokens:
        if number % 10_000 == 0:
            check()
        counts.add(token)
        yield number, token


def _by_user_5(table: Table) -> list[dict[str, Any]] | str:
    parts = table.lines.parts("user")
    if int(parts[-1]) >= MAX_PARTS:
        return _too_many(parts)
    names = dict(zip(parts.tolist(), table.lines.users, strict=True))
    return [{"user": names[number], **row} for number, row in enumerate(by_part(table, parts))]


def _too_many(parts: Ints) -> str:
    return f"There are {int(parts[-1]) + 1:,} groups of lines; at most {MAX_PARTS:,} are counted separately."


def rank_base_of(game: Game) -> int | None:
    """Return the lowest possible rank in the log, 0 or 1; None if a tc log has no ranks."""
    return game.report.get("rank_base") if game.game == "tc" else 1


def _learnt(game: Game) -> list[int] | None:
    """Return the number of characters actually learnt before each line; None without training or if the text
    is unknown."""
    if game.kind == Game.Kind.UPLOADED or game.corpus is None or not game.options["train"]:
        return None
    return list(islice(learnt_before(lines_of(game.corpus)), game.lines))


def counted(table: Table, *, learnt: Sequence[int] | None = None) -> dict[str, Any]:
    """Return the statistics of a table: {"all": [statistics], "user": [statistics of each user] or a message, "more",
    "notices"}; for ic also "mix", "search" and "counts", for tc "intervals". The result is JSON without NaN."""
    statistics: dict[str, Any] = {"notices": list(table.notices)}
    mix: Mix | None = None
    if table.game == "ic":
        search = stats.search(table)
        statistics["search"] = [{**mixture.as_dict(), "value": value} for mixture, value in search]
        mix = stats.best(search)[0]
        statistics["mix"] = mix.as_dict()
        kept, right = table.selected, table.before
        statistics["counts"] = {"right": int((kept & right).sum()), "wrong": int((kept & ~right).sum())}
    if table.game == "tc":
        statistics["intervals"] = _intervals(table)
    statistics["all"] = stats.statistics(table, "all", mix)
    statistics["user"] = _by_user(table, mix)
    statistics["more"] = extra_metrics(table, mix, learnt=learnt)
    shown: dict[str, Any] = finite(statistics)
    return shown


def _intervals(table: Table) -> dict[str, dict[str, float | None]]:
    """Return 95% intervals of the tc rates, from resampling lines, whose characters depend on each other."""
    accepted, allowed = table.rank > 0, table.allowed
    chars = allowed.astype(float)
    tops = {"pcpc": np.where(accepted, allowed, 0), "kpc": np.where(accepted, allowed > 0, allowed)}
    intervals = {}
    for name, top in tops.items():
        low, high = interval_by_line(table.line, top.astype(float), chars, len(table.lines))
        intervals[name] = {"low": low, "high": high}
    return intervals


def _by_user(table: Table, mix: Mix | None) -> list[dict[str, Any]] | str:
    parts = table.lines.parts("user")
    if len(parts) and int(parts[-1]) >= MAX_PARTS:
        return _too_many(parts)
    rows = stats.statistics(table, "user", mix)
    names: dict[int, str] = {}
    for part, user in zip(parts.tolist(), table.lines.users, strict=True):
        names.setdefault(part, user)
    return [{"user": names[number], **row} for number, row in enumerate(rows)]


def keep_of(keep: str, *games: Game) -> str:
    """Return the filter that applies: "all" if a log has no words, since hidden tokens are always included,
    and for version 5, where `lmc grep` selects tokens."""
    return keep if all(game.has_filters for game in games) else "all"


def statistics_of(game: Game, keep: str) -> dict[str, Any]:
    """Return the statistics for this filter, or {} if they have not been computed."""
    statistics: dict[str, Any] = game.statistics.get(keep, {})
    return statistics


def mix_of(game: Game, keep: str) -> Mix | None:
    """Return the best mixture of an ic game for this filter; None for other games of version 4."""
    chosen = statistics_of(game, keep).get("mix")
    return Mix(chosen["alpha"], chosen["oov_penalty"]) if chosen else None


def parts_of(game: Game) -> int:
    """Return the number of lines in a log (version 5: messages)."""
    counts = statistics_of(game, "all").get("counts", {})
    return int(counts.get("lines", counts["messages"])) if game.version == 5 else game.lines


def by_line(game: Game, keep: str, first: int, last: int) -> list[dict[str, Any]]:
    """Return the statistics of each line from `first` to `last` (version 5: messages, numbered from 1)."""
    if game.version == 5:
        small_enough(game)
        table = table_of_version_5(game)
        rows = by_part(table, np.arange(len(table.lines), dtype=np.int64))[first - 1 : last]
        return [{"line": number, **row} for number, row in enumerate(finite(rows), first)]
    mix = mix_of(game, keep)
    table = table_of(game, keep=keep, mixes=[mix] if mix else [], first=first, last=last)
    numbers = list(table.lines.numbers)
    rows = stats.statistics(table, "line", mix)
    return [{"line": number, **finite(row)} for number, row in zip(numbers, rows, strict=True)]


def savings(game: Game, keep: str, **rules: Any) -> dict[str, Any]:
    """Compute keystroke savings with other parameters."""
    small_enough(game)
    result: dict[str, Any] = finite(asdict(keystroke_savings(table_of(game, keep=keep), **rules)))
    return result


def small_enough(*games: Game) -> None:
    """Raise LmcError for logs that are too large to process during a request."""
    for game in games:
        if game.size > MAX_SIZE_NOW:
            raise LmcError(
                f"The log of {game.title} is {game.size / 1e6:,.0f} MB; on request, this site processes logs of "
                f"up to {MAX_SIZE_NOW / 1e6:,.0f} MB.",
                "Download it and use `lmgym lmc`.",
            )


def best_of(search: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the first mixture with the highest value; ties go to the lowest penalty, then the lowest alpha."""
    return max(search, key=lambda row: -math.inf if row["value"] is None else row["value"])


def finite(value: Any) -> Any:
    """Replace NaN and infinities with None, since JSON does not have them."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# --- comparison ---


CLUSTERS = {"auto": "users if there are at least ten, else lines", "user": "users", "line": "lines"}
MOST_COMPARED = 6


@dataclass(frozen=True)
class Compared:
    """A game and its comparison with the baseline."""

    game: Game
    comparison: GameComparison


def compare_games(games: Sequence[Game], keep: str, cluster: str, metric: str = "") -> list[Compared]:
    """Compare every game with the first, using a metric (default: the main metric) and a filter (see `keep_of`).

    p values are corrected together. Raises LogError if texts or games differ, OptionError for a metric that they do not
    share, and LmcError for logs that are too large.
    """
    if not 2 <= len(games) <= MOST_COMPARED or len({game.pk for game in games}) < len(games):
        raise LogError(f"Compare two to {MOST_COMPARED} different games.", "Select them in the list.")
    first = games[0]
    for other in games[1:]:
        if not games_correspond(first.game, other.game):
            raise LogError(
                f"{first.title} is a game of {first.game}, {other.title} one of {other.game}.",
                "Compare games of the same kind.",
            )
    metric = metric_of([game.game for game in games], metric)
    small_enough(*games)
    keep = keep_of(keep, *games)
    tables, mixes = _tables(games, keep)
    rows = [
        compare_tables(
            tables[0],
            table,
            names=(first.title, game.title),
            metric=metric,
            mixes=(mixes[0], mix),
            cluster=cluster,
        )
        for game, table, mix in zip(games[1:], tables[1:], mixes[1:], strict=True)
    ]
    return [Compared(game, row) for game, row in zip(games[1:], corrected(rows), strict=True)]


def _tables(games: Sequence[Game], keep: str) -> tuple[list[Table], list[Mix | None]]:
    """Read games on the same text as tables. Raises LogError if the texts differ."""
    first = games[0]
    if len({game.version for game in games}) > 1:
        return _tables_of_both_versions(games)
    by_lengths = [other for other in games if other.has_targets != first.has_targets]
    for other in games[1:]:
        if other not in by_lengths and not (first.fingerprint and first.fingerprint == other.fingerprint):
            raise _other_text(first, other)
    if first.version == 5:
        return [table_of_version_5(game) for game in games], [None] * len(games)
    mixes = [mix_of(game, keep) for game in games]
    tables, texts = [], {game: TextFingerprint() for game in games}
    for game, mix in zip(games, mixes, strict=True):
        lines = decoded(game)
        if by_lengths:
            lines = texts[game].hash_stream(lines)
        tables.append(read_table(lines, filters=[keep], mixes=[mix] if mix else []))
    for other in by_lengths:
        if not texts[first].matches(texts[other]):
            raise _other_text(first, other)
    return tables, mixes


def _tables_of_both_versions(games: Sequence[Game]) -> tuple[list[Table], list[Mix | None]]:
    """Read games of both versions as tables. Version 5 logs have no lines without tokens and name users differently, so
    only the words are compared.
    """
    tables: list[Table] = []
    mixes: list[Mix | None] = []
    texts = []
    for game in games:
        words = WordsFingerprint()
        if game.version == 5:
            tokens = words.hash_messages(decoded_tokens(game))
            tables.append(read_table_5(tokens, game.game, mixture_of(game)))
            mixes.append(None)
        else:
            mix = mix_of(game, "all")
            lines = words.hash_stream(decoded(game))
            table = read_table(lines, filters=["all"], mixes=[mix] if mix else [])
            tables.append(table.without_empty_lines())
            mixes.append(mix)
        texts.append(words.hexdigest)
    for game, text in zip(games[1:], texts[1:], strict=True):
        if text != texts[0]:
            raise _other_text(games[0], game)
    return tables, mixes


def mixture_of(game: Game) -> Mixture | None:
    """Return the wr mixture that was found when the log's statistics were computed; None for other games."""
    chosen = statistics_of(game, "all").get("mix")
    return Mixture.of(chosen["alpha"], chosen["beta"]) if chosen and "beta" in chosen else None


def table_of_version_5(game: Game) -> Table:
    """Read a version 5 log as a table."""
    return read_table_5(decoded_tokens(game), game.game, mixture_of(game))


def _other_text(first: Game, other: Game) -> LogError:
    return LogError(
        f"{other.title} was played on a different text than {first.title}.",
        "Their text fingerprints differ, so they cannot be compared.",
    )
