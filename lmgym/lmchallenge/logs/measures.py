"""Metrics of a log, token by token. Each is a ratio of two sums, so that parts of a log can be summed,
resampled and compared.

Tables of version 5 logs (`version5.table`) have the games wc, we, ce and wr; metrics shared with version 4 have the
same name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lmgym.lmchallenge.errors import LogError, OptionError
from lmgym.lmchallenge.logs.interpolation import Mix
from lmgym.lmchallenge.logs.stats import LAST_INDEX, best, places, search
from lmgym.lmchallenge.logs.table import Flags, Floats, Ints, Table

CHAR_BITS = 8.0
"""Cost in bits per character of a word without a score: the cost of spelling it in bytes."""
MOST_RANK = 1_000
_HITS = ("hit3", "hit1", "hit2", "hit5", "hit10", "hit20")
_PLACES = tuple(f"idx{index}_hit3" for index in range(LAST_INDEX + 1))
METRICS: dict[str, tuple[str, ...]] = {
    "wp": (*_HITS, "hit", "mrr", "bits", *_PLACES),
    "tc": ("pcpc", "kpc", "keystroke_savings"),
    "ic": ("accuracy", "base_accuracy", "corrected_errors", "miscorrected", "improvement", "bits"),
    "wc": (
        *_HITS,
        "hit",
        "mrr",
        "completion.characters",
        "completion.tokens",
        *_PLACES,
    ),
    "we": ("entropy.mean", "entropy.bits", "entropy.hit"),
    "ce": ("entropy.mean", "entropy.bits", "entropy.hit"),
    "wr": ("accuracy", "base_accuracy", "corrected_errors", "miscorrected", "improvement"),
}
"""Metrics by game, the main metric first. wp and wc also accept any other `hitN` with N up to MOST_RANK."""
LOWER_IS_BETTER = frozenset({"kpc", "bits", "miscorrected", "entropy.mean", "entropy.bits"})
ENTROPIES = frozenset({"entropy.mean", "entropy.bits"})
"""Metrics computed over scored tokens only."""
COUNTERPART_GAMES = ({"wp", "wc"}, {"ic", "wr"})
"""Counterparts in the two versions: metrics of the same name agree if all tokens are counted."""
_HIT = re.compile(r"hit([1-9]\d{0,3})")


def metrics_of(games: Sequence[str]) -> tuple[str, ...]:
    """Return the metrics that all of these games have."""
    return tuple(name for name in METRICS[games[0]] if all(name in METRICS[game] for game in games))


def metric_of(games: Sequence[str], name: str = "") -> str:
    """Return the metric with this name; default: the main metric. Raises OptionError."""
    known = metrics_of(games)
    name = name or known[0]
    hit = _HIT.fullmatch(name)
    if name not in known and not (hit and "hit1" in known and int(hit[1]) <= MOST_RANK):
        more = ", or hit with another number, such as hit5" if "hit1" in known else ""
        raise OptionError(
            f"Unknown metric {name!r} for {', '.join(dict.fromkeys(games))}.",
            f"Choose one of {', '.join(known)}{more}.",
        )
    return name


@dataclass(frozen=True)
class Measured:
    """A metric as a ratio of sums over tokens (tc: over typed and accepted texts).

    above     float64[n_tokens], numerator
    below     float64[n_tokens], denominator
    is_share  each token is either right or wrong, so McNemar's test applies
    """

    metric: str
    above: Floats
    below: Floats
    is_share: bool

    @property
    def value(self) -> float | None:
        total = float(self.below.sum())
        return float(self.above.sum()) / total if total else None

    def only(self, tokens: Flags) -> Measured:
        """Restrict the metric to some tokens."""
        return replace(self, above=np.where(tokens, self.above, 0.0), below=np.where(tokens, self.below, 0.0))

    def by(self, part: Ints, parts: int) -> tuple[Floats, Floats]:
        """Sum numerator and denominator by part. `part` is int64[n_tokens]."""
        return (
            np.bincount(part, weights=self.above, minlength=parts).astype(np.float64),
            np.bincount(part, weights=self.below, minlength=parts).astype(np.float64),
        )


def measure(table: Table, metric: str = "", mix: Mix | None = None) -> Measured:
    """Compute a metric for each token.

    Args:
        metric: default: the game's main metric.
        mix: for ic, one of the table's mixtures; default: the best one.

    Raises:
        OptionError: the game does not have the metric.
        LogError: the metric is "bits", and the scores are not logarithms of probabilities.
    """
    name = metric_of([table.game], metric)
    if table.game in ("wp", "wc"):
        return _predicted(table, name)
    if table.game == "tc":
        return _completed(table, name)
    if table.game in ("we", "ce"):
        return _entropy(table, name)
    return _corrected(table, name, mix)


def _share(name: str, right: Flags, of: Flags) -> Measured:
    return Measured(name, (right & of).astype(np.float64), of.astype(np.float64), is_share=True)


def _predicted(table: Table, name: str) -> Measured:
    kept, rank = table.selected, table.rank
    if name == "bits":
        return _bits(table)
    if name == "mrr":
        gained = np.where(kept & (rank > 0), 1 / np.maximum(rank, 1), 0.0)
        return Measured(name, gained, kept.astype(np.float64), is_share=False)
    if name == "completion.characters":
        chars = np.where(kept, table.chars, 0).astype(np.float64)
        return Measured(name, np.where(kept, table.completed, 0).astype(np.float64), chars, is_share=False)
    if name == "completion.tokens":
        return _share(name, table.completed > 0, kept)
    if name == "hit":
        return _share(name, rank > 0, kept)
    if name.startswith("idx"):
        place = np.minimum(places(table), LAST_INDEX)
        return _share(name, (rank > 0) & (rank <= 3), kept & (place == int(name[3])))
    return _share(name, (rank > 0) & (rank <= int(name.removeprefix("hit"))), kept)


def _completed(table: Table, name: str) -> Measured:
    accepted, allowed = table.rank > 0, table.allowed.astype(np.float64)
    if name == "keystroke_savings":
        chars = table.chars.astype(np.float64)
        return Measured(name, np.where(accepted, chars - 1, 0.0), chars, is_share=False)
    if name == "kpc":
        return Measured(
            name, np.where(accepted, allowed > 0, allowed).astype(np.float64), allowed, is_share=False
        )
    return Measured(name, np.where(accepted, allowed, 0.0), allowed, is_share=False)


def _entropy(table: Table, name: str) -> Measured:
    scored = table.selected & ~np.isnan(table.score)
    if name == "entropy.hit":
        return _share(name, scored, table.selected)
    nats = np.where(scored, -table.score, 0.0)
    if name == "entropy.mean":
        return Measured(name, nats, scored.astype(np.float64), is_share=False)
    chars = np.where(scored, table.chars, 0).astype(np.float64)
    return Measured(name, nats / math.log(2), chars, is_share=False)


def _corrected(table: Table, name: str, mix: Mix | None) -> Measured:
    kept, before = table.selected, table.before
    if name == "bits":
        return _bits(table)
    if name == "base_accuracy":
        return _share(name, before, kept)
    if len(table.mixes) > 1:
        mix = mix or best(search(table))[0]
    after = table.first(table.mixes.index(mix) if mix is not None and len(table.mixes) > 1 else 0)
    if name == "corrected_errors":
        return _share(name, after, kept & ~before)
    if name == "miscorrected":
        return _share(name, ~after, kept & before)
    if name == "improvement":
        gained = (kept & ~before & after).astype(np.float64) - (kept & before & ~after)
        return Measured(name, gained, (kept & ~before).astype(np.float64), is_share=False)
    return _share(name, after, kept)


def _bits(table: Table) -> Measured:
    """Compute bits per character; a token without a score costs CHAR_BITS per character."""
    kept, scored = table.selected, np.isfinite(table.score)
    if bool((table.score[kept & scored] > 0).any()):
        raise LogError(
            "Some scores are above 0, so they are not logarithms of probabilities.", "Choose another metric."
        )
    bits = np.where(scored, -table.score / math.log(2), table.chars * CHAR_BITS)
    chars = np.where(kept, table.chars, 0).astype(np.float64)
    return Measured("bits", np.where(kept, bits, 0.0), chars, is_share=False)


def ranks(table: Table, most: int = 100) -> dict[str, Any]:
    """Count the tokens of wp or wc at each rank up to `most`, `beyond` it, and `missed`."""
    rank = table.rank[table.selected]
    counts = np.bincount(rank[(rank > 0) & (rank <= most)], minlength=1)
    return {
        "n": len(rank),
        "counts": [[at, int(n)] for at, n in enumerate(counts) if n],
        "beyond": int((rank > most).sum()),
        "missed": int((rank == 0).sum()),
    }


def by_part(table: Table, part_of_line: Ints) -> list[dict[str, Any]]:
    """Compute the METRICS, except hit3 by place, of parts of a version 5 log: {"messages", "tokens", "characters",
    "skipped", …}. A rate with denominator 0 is None.
    """
    parts = int(part_of_line[-1]) + 1
    part, kept = part_of_line[table.line], table.selected
    columns: dict[str, list[Any]] = {
        "messages": np.bincount(part_of_line, minlength=parts).tolist(),
        "tokens": np.bincount(part[kept], minlength=parts).tolist(),
        "characters": np.bincount(part, np.where(kept, table.chars, 0), parts).astype(np.int64).tolist(),
        "skipped": np.bincount(part[~kept], minlength=parts).tolist(),
    }
    for name in METRICS[table.game]:
        if name not in _PLACES:
            above, below = measure(table, name).by(part, parts)
            columns[name] = [float(a / b) if b else None for a, b in zip(above, below, strict=True)]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
