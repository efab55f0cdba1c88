"""Two runs on the same text: what differs, and whether it could be chance.

Tokens of one user, or of one line, hang together, so whole clusters are resampled. McNemar's test looks at the
tokens that only one of the two got right; it takes tokens for independent, which makes it bold: the bootstrap is
the one to trust.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from typing import Any

import numpy as np
from msgspec import UNSET

from lmgym.lmchallenge.errors import LogError
from lmgym.lmchallenge.logs.decoder import LogLine
from lmgym.lmchallenge.logs.interpolation import Mix
from lmgym.lmchallenge.logs.measures import ALIKE, ENTROPIES, LOWER_IS_BETTER, Measured, measure, metric_of
from lmgym.lmchallenge.logs.table import UNKNOWN, Floats, Table
from lmgym.lmchallenge.logs.version5.log import Token
from lmgym.stats import holm_of_known, mcnemar_p, multinomial_sums, percentile_interval

RESAMPLES = 10_000
ALPHA = 0.05


def games_correspond(first: str, second: str) -> bool:
    """Whether figures of these games measure the same thing: one game, or its counterpart of the other version."""
    return first == second or {first, second} in ALIKE


class TextFingerprint:
    """A hash of the text that a log is about, taken as its lines go by: users and targets in order, or the lengths of
    targets that are hidden. Logs of wp and ic on one corpus share it; tc cuts its text elsewhere, so its whole lines
    are hashed. `hidden`: the log does not have all of its words."""

    def __init__(self) -> None:
        self.hidden = False
        self._names, self._lengths = hashlib.sha256(), hashlib.sha256()

    def through(self, lines: Iterable[tuple[int, LogLine]]) -> Iterator[tuple[int, LogLine]]:
        """The same lines."""
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
    def name(self) -> str:
        """Hexadecimal."""
        return self._names.hexdigest()

    def same(self, other: TextFingerprint) -> bool:
        """Whether both are of one text, as far as both say: a log without words says lengths (of tc: of its lines)
        only."""
        if self.hidden == other.hidden:
            return self.name == other.name
        return self._lengths.digest() == other._lengths.digest()


class WordsFingerprint:
    """A hash of the words of a log of words, of either version: targets in order, of lines (messages) that have some.
    Words that are hidden count by their lengths."""

    def __init__(self) -> None:
        self._words = hashlib.sha256()

    def through(self, lines: Iterable[tuple[int, LogLine]]) -> Iterator[tuple[int, LogLine]]:
        """The same lines, of version 4."""
        for number, line in lines:
            if line.entries:
                self._add(line.text)
            yield number, line

    def through_messages(self, tokens: Iterable[tuple[int, Token]]) -> Iterator[tuple[int, Token]]:
        """The same tokens of version 5."""
        for _, group in groupby(tokens, lambda one: (one[1].user, one[1].message)):
            message = list(group)
            self._add([token.target for _, token in message])
            yield from message

    def _add(self, words: Sequence[str | int]) -> None:
        self._words.update(repr(list(words)).encode("utf-8", "surrogatepass") + b"\n")

    @property
    def name(self) -> str:
        """Hexadecimal."""
        return self._words.hexdigest()


@dataclass(frozen=True)
class Comparison:
    """Second minus first, by a metric of `measures.METRICS`.

    first, second    the figure of each log by itself
    difference       of the tokens that both logs count; those that only one of them scores are left out of an entropy
    n                what the difference is divided by: tokens or characters of the first
    interval         95 % interval of the difference, from resampling clusters; None if there is one only
    p                two-sided share of resamples on the other side of 0
    p_holm           p, corrected by Holm's method for all comparisons made together
    only_first, only_second, mcnemar_p   tokens that only one got right, and the exact test; None where tokens are not
                     right or wrong
    notes            what a reader of the difference should know
    """

    metric: str
    first: float | None
    second: float | None
    difference: float | None
    interval: list[float] | None
    p: float | None
    cluster: str
    clusters: int
    n: int
    only_first: int | None = None
    only_second: int | None = None
    mcnemar_p: float | None = None
    p_holm: float | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def lower_is_better(self) -> bool:
        return self.metric in LOWER_IS_BETTER

    @property
    def verdict(self) -> str:
        """What the interval says of the second, or why there is none. Where several are compared the corrected p must
        be below 5 %, too."""
        if self.difference is None:
            return "cannot be tested: no value"
        if self.interval is None:
            return f"cannot be tested: one {self.cluster}"
        low, high = self.interval
        if low <= 0 <= high or (self.p_holm is not None and self.p_holm >= ALPHA):
            return "no significant difference"
        return "better" if (low > 0) != self.lower_is_better else "worse"

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {**asdict(self), "verdict": self.verdict}


def compare(
    first: Table,
    second: Table,
    *,
    metric: str = "",
    mixes: tuple[Mix | None, Mix | None] = (None, None),
    cluster: str = "auto",
    seed: int = 0,
) -> Comparison:
    """Compare two tables of one filter on the same text (check `TextFingerprint.same` before; where one is hidden, the
    filter must be "all", since the other filters need words), of one game or of two whose figures correspond. `metric`:
    by default the main one. cluster: "user", "line", or "auto": users if there are at least 10. Raises LogError where
    lines or tokens do not fit, OptionError for a metric that one of the games has not."""
    if not games_correspond(first.game, second.game):
        raise LogError("The logs are of different games.", "Compare like with like.")
    metric = metric_of([first.game, second.game], metric)
    if first.filter != second.filter:
        raise LogError("The logs are counted by different filters.", "Compare like with like.")
    if len(first.lines) != len(second.lines):
        raise LogError(
            f"The logs have {len(first.lines):,} and {len(second.lines):,} lines.", "Compare whole runs."
        )
    if first.game != "tc" and not (
        np.array_equal(first.line, second.line) and np.array_equal(first.chars, second.chars)
    ):
        raise LogError("The logs are of different texts.", "Compare runs on the same corpus.")
    if first.game != "tc" and not np.array_equal(first.kept, second.kept):
        raise LogError("Other tokens are selected in one log than in the other.", "Select the same ones.")
    a, b = measure(first, metric, mixes[0]), measure(second, metric, mixes[1])
    value_a, value_b = a.value, b.value
    notes = _other_errors(first, second, metric)
    if metric in ENTROPIES:
        both = (a.below > 0) & (b.below > 0)
        notes += _other_scored(a, b, int(both.sum()), int(first.kept.sum()))
        a, b = a.only(both), b.only(both)
    names, kind = _clusters(first, cluster)
    number = int(names.max()) + 1 if len(names) else 0
    (above_a, below_a), (above_b, below_b) = a.by(names[first.line], number), b.by(names[second.line], number)
    sums = [above_a, above_b, below_a, below_b]
    difference = None if a.value is None or b.value is None else b.value - a.value
    interval, p = _bootstrap(sums, seed) if difference is not None and number > 1 else (None, None)
    result = Comparison(
        metric, value_a, value_b, difference, interval, p, kind, number, int(a.below.sum()), notes=notes
    )
    if not a.is_share or not np.array_equal(a.below, b.below):
        return result
    only_first, only_second = (
        int(((one.above > 0) & (other.above == 0)).sum()) for one, other in ((a, b), (b, a))
    )
    return replace(
        result,
        only_first=only_first,
        only_second=only_second,
        mcnemar_p=mcnemar_p(only_first, only_second),
    )


def _other_scored(a: Measured, b: Measured, both: int, counted: int) -> list[str]:
    """A log may leave hard tokens without a score: its mean is then of other tokens."""
    if np.array_equal(a.below, b.below):
        return []
    return [
        "The two logs score different tokens. "
        f"The difference counts the {both:,} of {counted:,} tokens that both score."
    ]


def _other_errors(first: Table, second: Table, metric: str) -> list[str]:
    if first.game not in ("ic", "wr") or metric == "bits":  # bits do not depend on what was typed
        return []
    known = (first.typed != UNKNOWN) & (second.typed != UNKNOWN)
    other = known & (first.typed != second.typed)
    if first.game == second.game == "ic":  # without words, both still say which were typed right
        other |= first.before != second.before
    count = int((other & first.kept).sum())
    if not count:
        return []
    return [
        "The two games corrected different typing errors: part of the difference is theirs. "
        f"{count:,} of {int(first.kept.sum()):,} words were typed differently."
    ]


def corrected(found: Sequence[Comparison]) -> list[Comparison]:
    """Comparisons that were made together, with their p corrected."""
    adjusted = holm_of_known([one.p for one in found])
    return [replace(one, p_holm=p) for one, p in zip(found, adjusted, strict=True)]


def _clusters(table: Table, wanted: str) -> tuple[np.ndarray[Any, np.dtype[np.int64]], str]:
    users = {user: at for at, user in enumerate(dict.fromkeys(table.lines.users))}
    if wanted == "user" or (wanted == "auto" and len(users) >= 10):
        return np.array([users[user] for user in table.lines.users], dtype=np.int64), "user"
    return np.arange(len(table.lines), dtype=np.int64), "line"


def _bootstrap(sums: list[Floats], seed: int) -> tuple[list[float], float]:
    """Interval and p of the difference of two ratios of sums over clusters."""
    # Clusters with equal sums are drawn together: of each kind as many as so many single draws would give.
    kinds, counts = np.unique(np.stack(sums, axis=1), axis=0, return_counts=True)
    resamples = max(1_000, min(RESAMPLES, 50_000_000 // len(kinds)))
    a, b, below_a, below_b = multinomial_sums(kinds, resamples, np.random.default_rng(seed), counts).T
    some = (below_a > 0) & (below_b > 0)
    differences = np.zeros(resamples)
    differences[some] = b[some] / below_b[some] - a[some] / below_a[some]
    limits = percentile_interval(differences)
    beyond = min((differences <= 0).mean(), (differences >= 0).mean())
    return [limits.low, limits.high], float(min(1.0, 2 * max(beyond, 1 / resamples)))
