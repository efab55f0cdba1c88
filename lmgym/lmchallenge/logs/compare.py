"""Compare two logs of the same text: the difference in a metric and its significance.

Tokens of one user or line depend on each other, so the bootstrap resamples whole clusters. McNemar's test treats tokens
as independent, which makes its p too small; trust the bootstrap.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from msgspec import UNSET

from lmgym.lmchallenge.errors import LogError
from lmgym.lmchallenge.logs.decoder import LogLine
from lmgym.lmchallenge.logs.interpolation import Mix
from lmgym.lmchallenge.logs.measures import (
    COUNTERPART_GAMES,
    ENTROPIES,
    LOWER_IS_BETTER,
    Measured,
    measure,
    metric_of,
)
from lmgym.lmchallenge.logs.table import UNKNOWN, Floats, Table
from lmgym.lmchallenge.logs.version5.log import Token
from lmgym.stats import (
    BOOTSTRAP,
    Comparison,
    mcnemar_p,
    multinomial_sums,
    percentile_interval,
    two_sided_p,
)
from lmgym.text.columns import described

RESAMPLES = 10_000


def games_correspond(first: str, second: str) -> bool:
    """Return whether metrics of both games are comparable: the same game, or its counterpart in the other version."""
    return first == second or {first, second} in COUNTERPART_GAMES


class TextFingerprint:
    """Hash of a log's text, updated as its lines are streamed.

    Hashes users and targets in order, or the lengths of hidden targets. wp and ic logs of the same corpus have the same
    hash; for tc, which splits text differently, whole lines are hashed. `hidden`: some words of the log are hidden.
    """

    def __init__(self) -> None:
        self.hidden = False
        self._names, self._lengths = hashlib.sha256(), hashlib.sha256()

    def hash_stream(self, lines: Iterable[tuple[int, LogLine]]) -> Iterator[tuple[int, LogLine]]:
        """Yield the lines unchanged, hashing each."""
        for number, line in lines:
            self._add(line)
            yield number, line

    def _add(self, line: LogLine) -> None:
        parts = line.text
        user = None if line.user is UNSET else line.user
        self._names.update(repr((user, parts)).encode("utf-8", "surrogatepass") + b"\n")
        lengths = [part if isinstance(part, int) else len(part) for part in parts]
        self._lengths.update(repr(lengths).encode() + b"\n")
        self.hidden = self.hidden or any(isinstance(part, int) for part in parts)

    @property
    def hexdigest(self) -> str:
        """The hash in hexadecimal."""
        return self._names.hexdigest()

    def matches(self, other: TextFingerprint) -> bool:
        """Return whether both logs have the same text, as far as their hashes show. Logs without words are compared by
        token lengths (tc: line lengths).
        """
        if self.hidden == other.hidden:
            return self.hexdigest == other.hexdigest
        return self._lengths.digest() == other._lengths.digest()


class WordsFingerprint:
    """Hash of a log's words, comparable between versions: targets in order, for lines (messages) that have any.

    Hidden words are hashed by their length.
    """

    def __init__(self) -> None:
        self._words = hashlib.sha256()

    def hash_stream(self, lines: Iterable[tuple[int, LogLine]]) -> Iterator[tuple[int, LogLine]]:
        """Yield the lines of a version 4 log unchanged, hashing each."""
        for number, line in lines:
            if line.entries:
                self._add(line.text)
            yield number, line

    def hash_messages(self, tokens: Iterable[tuple[int, Token]]) -> Iterator[tuple[int, Token]]:
        """Yield the tokens of a version 5 log unchanged, hashing each message."""
        for _, group in groupby(tokens, lambda pair: (pair[1].user, pair[1].message)):
            message = list(group)
            self._add([token.target for _, token in message])
            yield from message

    def _add(self, words: Sequence[str | int]) -> None:
        self._words.update(repr(list(words)).encode("utf-8", "surrogatepass") + b"\n")

    @property
    def hexdigest(self) -> str:
        """The hash in hexadecimal."""
        return self._words.hexdigest()


@dataclass(frozen=True)
class GameComparison(Comparison):
    """Two logs of the same text, compared by a metric of `measures.METRICS`.

    The values are computed for each log separately. For entropies, the difference covers only tokens that both logs
    score. `n` is the first log's denominator in the difference, in tokens or characters. p is from the bootstrap over
    clusters.
    """

    cluster: str = described("unit of resampling: user or line", default="line")
    clusters: int = described(
        "number of resampled units; no interval with fewer than two", "clusters", default=0
    )
    p_mcnemar: float | None = described(
        "exact p of McNemar’s test; empty unless the metric counts each token, the same in both logs, as right or "
        "wrong",
        default=None,
    )
    verdict: str = described(
        "verdict on the second log: better, worse, no significant difference, or why the difference cannot be "
        "tested",
        init=False,
        default="",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "verdict", self._verdict())

    @property
    def lower_is_better(self) -> bool:
        return self.measure in LOWER_IS_BETTER

    def _verdict(self) -> str:
        """Return the verdict on the second log, from the interval and from p, corrected among several comparisons."""
        if self.difference is None:
            return "cannot be tested: no value"
        if self.low is None:
            return f"cannot be tested: only one {self.cluster}"
        if not self.is_significant:
            return "no significant difference"
        return "better" if (self.low > 0) != self.lower_is_better else "worse"


def compare(
    first: Table,
    second: Table,
    *,
    names: tuple[str, str] = ("first", "second"),
    metric: str = "",
    mixes: tuple[Mix | None, Mix | None] = (None, None),
    cluster: str = "auto",
    seed: int = 0,
) -> GameComparison:
    """Compare two logs of the same text. Both tables must use the same filter.

    The caller checks that the texts agree (`TextFingerprint.matches`). If either log hides its words, the filter must
    be "all", since the other filters need words.

    Args:
        names: names for the logs in the result.
        metric: one of `measures.METRICS`; default: the game's main metric.
        mixes: the mixture for each ic log.
        cluster: "user", "line", or "auto": users if there are at least 10, else lines.

    Raises:
        LogError: games, filters, lines or tokens differ, or scores are not logarithms of probabilities (for "bits").
        OptionError: one of the games does not have the metric.
    """
    _check_comparable(first, second)
    metric = metric_of([first.game, second.game], metric)
    a, b = measure(first, metric, mixes[0]), measure(second, metric, mixes[1])
    value_a, value_b = a.value, b.value
    notes = _other_errors(first, second, metric)
    if metric in ENTROPIES:
        both = (a.below > 0) & (b.below > 0)
        notes += _other_scored(a, b, int(both.sum()), int(first.selected.sum()))
        a, b = a.only(both), b.only(both)
    cluster_of_line, kind = _clusters(first, cluster)
    clusters = int(cluster_of_line.max()) + 1 if len(cluster_of_line) else 0
    (above_a, below_a), (above_b, below_b) = (
        side.by(cluster_of_line[first.line], clusters) for side in (a, b)
    )
    difference = None if a.value is None or b.value is None else b.value - a.value
    low = high = p = None
    if difference is not None and clusters > 1:
        low, high, p = _bootstrap([above_a, above_b, below_a, below_b], seed)
    only_first = only_second = p_mcnemar = None
    if a.is_share and np.array_equal(a.below, b.below):
        only_first, only_second = (
            int(((side.above > 0) & (other.above == 0)).sum()) for side, other in ((a, b), (b, a))
        )
        p_mcnemar = mcnemar_p(only_first, only_second)
    return GameComparison(
        first=names[0],
        second=names[1],
        measure=metric,
        n=int(a.below.sum()),
        first_value=value_a,
        second_value=value_b,
        difference=difference,
        low=low,
        high=high,
        only_first=only_first,
        only_second=only_second,
        test="" if p is None else BOOTSTRAP.key,
        p=p,
        note=" ".join(notes),
        cluster=kind,
        clusters=clusters,
        p_mcnemar=p_mcnemar,
    )


def _check_comparable(first: Table, second: Table) -> None:
    """Raise LogError for tables of different games, filters, lines or tokens."""
    if not games_correspond(first.game, second.game):
        raise LogError("The logs are of different games.", "Compare logs of the same game.")
    if first.filter != second.filter:
        raise LogError("The logs are counted with different filters.", "Choose one filter for both.")
    if len(first.lines) != len(second.lines):
        raise LogError(
            f"The logs have {len(first.lines):,} and {len(second.lines):,} lines.", "Compare complete games."
        )
    if first.game == "tc":
        return
    if not (np.array_equal(first.line, second.line) and np.array_equal(first.chars, second.chars)):
        raise LogError("The logs have different texts.", "Compare games on the same corpus.")
    if not np.array_equal(first.selected, second.selected):
        raise LogError("The logs select different tokens.", "Select the same tokens in both.")


def _other_scored(a: Measured, b: Measured, both: int, counted: int) -> list[str]:
    """Return a note if the logs score different tokens: a log without scores for hard tokens would look better than it
    is.
    """
    if np.array_equal(a.below, b.below):
        return []
    return [
        "The two logs score different tokens. "
        f"Tokens that both score, which alone count in the difference: {both:,} of {counted:,}."
    ]


def _other_errors(first: Table, second: Table, metric: str) -> list[str]:
    if first.game not in ("ic", "wr") or metric == "bits":  # bits do not depend on what was typed
        return []
    known = (first.typed != UNKNOWN) & (second.typed != UNKNOWN)
    other = known & (first.typed != second.typed)
    if first.game == second.game == "ic":  # even logs without words show which were typed right
        other |= first.before != second.before
    count = int((other & first.selected).sum())
    if not count:
        return []
    return [
        "The two games have different typing errors, which explain part of the difference. "
        f"Words typed differently: {count:,} of {int(first.selected.sum()):,}."
    ]


def _clusters(table: Table, cluster: str) -> tuple[np.ndarray[Any, np.dtype[np.int64]], str]:
    users = {user: at for at, user in enumerate(dict.fromkeys(table.lines.users))}
    if cluster == "user" or (cluster == "auto" and len(users) >= 10):
        return np.array([users[user] for user in table.lines.users], dtype=np.int64), "user"
    return np.arange(len(table.lines), dtype=np.int64), "line"


def _bootstrap(sums: list[Floats], seed: int) -> tuple[float, float, float]:
    """Resample clusters; return the 95% interval and two-sided p of the difference
    between two ratios of sums.

    `sums`: numerators of both sides, then denominators, each float64[n_clusters].
    """
    # Clusters with equal sums are drawn together, by a multinomial with the counts of each kind.
    kinds, counts = np.unique(np.stack(sums, axis=1), axis=0, return_counts=True)
    resamples = max(1_000, min(RESAMPLES, 50_000_000 // len(kinds)))
    a, b, below_a, below_b = multinomial_sums(kinds, resamples, np.random.default_rng(seed), counts).T
    some = (below_a > 0) & (below_b > 0)
    differences = np.zeros(resamples)
    differences[some] = b[some] / below_b[some] - a[some] / below_a[some]
    limits = percentile_interval(differences)
    p = two_sided_p(differences, int(counts[(kinds[:, 2] > 0) & (kinds[:, 3] > 0)].sum()))
    return limits.low, limits.high, p
