"""Metrics that the reference lacks: bits per character, keystroke savings, learning curves, cross-validated mixtures.

Every rate has its n and a 95% interval. Results are frozen dataclasses; their field names are the keys of `lmc stats
--more`, of stored statistics and of the API (`asdict`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lmgym.lmchallenge.logs.interpolation import Mix
from lmgym.lmchallenge.logs.measures import CHAR_BITS, Measured, measure, ranks
from lmgym.lmchallenge.logs.stats import best, search
from lmgym.lmchallenge.logs.table import Flags, Floats, Ints, Table
from lmgym.stats import drawn_sums, percentile_interval
from lmgym.stats.intervals import wilson
from lmgym.text.columns import described

FOLDS = 10
CURVE_BINS = 10
RESAMPLES = 2_000


@dataclass(frozen=True)
class BitsPerCharacter:
    """Bits of the counted tokens per character; spaces between tokens are not counted."""

    n: int = described("counted tokens", "tokens")
    scored: int = described("tokens with a score", "tokens")
    characters: int = described("characters of the counted tokens", "characters")
    oov_policy: str = described("cost of a token without a score")
    value: float | None = described(
        "bits per character; a token without a score costs what oov_policy says", "bits", default=None
    )
    low: float | None = described(
        "lower limit of the 95% interval, from resampling lines", "bits", default=None
    )
    high: float | None = described("upper limit of the 95% interval", "bits", default=None)
    scored_only: float | None = described(
        "bits per character of the tokens with a score", "bits", default=None
    )
    reason: str = described("reason if the scores allow no value, else empty", default="")


@dataclass(frozen=True)
class KeystrokeSavings:
    """(characters − keystrokes) / characters over the whole text, regardless of the filter."""

    n: int = described("characters of the text", "characters")
    keystrokes: float = described("keystrokes needed for the text", "keystrokes")
    value: float | None = described("share of keystrokes saved", "0 to 1")
    low: float | None = described("lower limit of the 95% interval, from resampling lines", "0 to 1")
    high: float | None = described("upper limit of the 95% interval", "0 to 1")
    selection_cost: float = described("keystrokes to accept a prediction", "keystrokes")
    auto_space: bool = described("a space after an accepted prediction is free")
    literal: bool = described("each run of typed characters costs one more selection")


@dataclass(frozen=True)
class CurvePoint:
    """A bin of a learning curve."""

    from_characters: float = described("fewest characters learnt before a line of the bin", "characters")
    to_characters: float = described("most characters learnt before a line of the bin", "characters")
    lines: int = described("lines of the bin", "lines")
    n: int = described("denominator of the value, in tokens or characters")
    value: float | None = described("the game’s main metric", "of the metric")
    low: float | None = described("lower limit of the 95% interval", "of the metric")
    high: float | None = described("upper limit of the 95% interval", "of the metric")


@dataclass(frozen=True)
class CrossValidation:
    """Accuracy of input correction on held-out text, with mixtures chosen on the other folds."""

    accuracy: float | None = described("share of held-out tokens that are right after correction", "0 to 1")
    n: int = described("held-out tokens", "tokens")
    low: float | None = described("lower limit of the 95% interval (Wilson)", "0 to 1")
    high: float | None = described("upper limit of the 95% interval", "0 to 1")
    cluster: str = described("unit that is never split between folds: user or line")


def extra_metrics(
    table: Table, mix: Mix | None = None, *, learnt: Sequence[int] | None = None, **savings: Any
) -> dict[str, Any]:
    """Compute every metric that this game's log allows, as JSON.

    Args:
        learnt: see `learning_curve`.
        savings: arguments of `keystroke_savings`.
    """
    metrics: dict[str, Any] = {"learning_curve": learning_curve(table, mix, learnt=learnt)}
    if table.game == "wp":
        metrics["ranks"] = ranks(table)
    if table.game == "tc":
        metrics["keystroke_savings"] = asdict(keystroke_savings(table, **savings))
        if not savings and bool(table.blank.any()):
            metrics["keystroke_savings_auto_space"] = asdict(keystroke_savings(table, auto_space=True))
    else:
        metrics["bits_per_character"] = asdict(bits_per_character(table))
    if table.game == "ic" and len(table.mixes) > 1:
        metrics["cross_validated"] = cross_validated(table)
    return metrics


def bits_per_character(table: Table, *, char_bits: float = CHAR_BITS) -> BitsPerCharacter:
    """Compute bits per character, treating scores as natural logarithms of probabilities.

    The protocol allows other scores, so a log with a positive score gets no value and a reason. A token without a score
    (not predicted, or out of the vocabulary) costs `char_bits` per character: the OOV policy. `scored_only` excludes
    these tokens.
    """
    kept = table.selected
    score, chars = table.score[kept], table.chars[kept]
    scored = np.isfinite(score)
    n, characters = int(kept.sum()), int(chars.sum())
    policy = f"{char_bits:g} bits for each character of a token without a score"
    if bool((score[scored] > 0).any()):
        reason = "Some scores are above 0, so they are not logarithms of probabilities."
        return BitsPerCharacter(n, int(scored.sum()), characters, policy, reason=reason)
    bits = np.where(scored, -score / math.log(2), chars * char_bits)
    scored_chars = chars[scored].sum()
    low, high = interval_by_line(table.line[kept], bits, chars.astype(np.float64), len(table.lines))
    return BitsPerCharacter(
        n,
        int(scored.sum()),
        characters,
        policy,
        float(bits.sum() / chars.sum()) if characters else None,
        low,
        high,
        float(bits[scored].sum() / scored_chars) if scored_chars else None,
    )


def keystroke_savings(
    table: Table, *, selection_cost: float = 1.0, auto_space: bool = False, literal: bool = False
) -> KeystrokeSavings:
    """Compute the keystrokes saved over the whole text.

    Args:
        selection_cost: keystrokes to accept a prediction; a typed character is one.
        auto_space: a space right after an accepted prediction is free, because it is inserted automatically.
        literal: each run of typed characters costs one more selection, to confirm it.
    """
    accepted = table.rank > 0
    keys: Floats = np.where(accepted, selection_cost, table.chars.astype(np.float64))
    if auto_space:
        after = np.zeros(len(accepted), dtype=np.bool_)
        after[1:] = accepted[:-1] & (table.line[1:] == table.line[:-1])
        keys = keys - (after & ~accepted & table.blank)
    if literal:
        keys = keys + (~accepted) * selection_cost
    chars = table.chars.astype(np.float64)
    total, keystrokes = float(chars.sum()), float(keys.sum())
    low, high = interval_by_line(table.line, chars - keys, chars, len(table.lines))
    value = (total - keystrokes) / total if total else None
    return KeystrokeSavings(int(total), keystrokes, value, low, high, selection_cost, auto_space, literal)


def learning_curve(
    table: Table,
    mix: Mix | None = None,
    *,
    metric: str = "",
    bins: int = CURVE_BINS,
    learnt: Sequence[int] | None = None,
) -> dict[str, Any] | None:
    """Compute a metric as a function of the number of characters learnt so far.

    Args:
        metric: default: the game's main metric.
        bins: maximum number of bins, each with about the same number of lines.
        learnt: int[n_lines], characters actually learnt before each line (`play.loop.learnt_before`). Default: the
            log's trainingChars, which counts batches differently.

    Returns:
        {"metric", "by", "most", "points"}: "by" is "learnt" or "trainingChars"; "most" maps each of these counts to
        its highest known value; "points" are CurvePoints as dicts. None for a log without training.
    """
    logged = np.array([np.nan if value is None else value for value in table.lines.learnt], dtype=np.float64)
    by = "trainingChars" if learnt is None else "learnt"
    most = {"trainingChars": int(np.nanmax(logged))} if np.isfinite(logged).any() else {}
    chars = logged if learnt is None else np.array(learnt, dtype=np.float64)
    known = np.isfinite(chars)
    if known.any():
        most[by] = int(np.nanmax(chars))
    if not most.get(by):
        return None
    measured = measure(table, metric, mix)
    points = [asdict(point) for point in _curve(table, measured, chars, bins)]
    return {"metric": measured.metric, "by": by, "most": most, "points": points}


def _curve(table: Table, measured: Measured, of_line: Floats, bins: int) -> list[CurvePoint]:
    """Bin lines by `of_line`, float64[n_lines]. Lines with NaN (unknown) are in no bin."""
    known = np.isfinite(of_line)
    edges = np.unique(np.quantile(of_line[known], np.linspace(0, 1, bins + 1)[1:-1]))
    bin_of_line = np.where(known, np.searchsorted(edges, np.nan_to_num(of_line), side="right"), -1)
    bin_of_token = bin_of_line[table.line]
    points = []
    for number in range(len(edges) + 1):
        lines = np.flatnonzero(bin_of_line == number)
        if len(lines):
            first, last = float(of_line[lines].min()), float(of_line[lines].max())
            rate = _rate(table, measured, bin_of_token == number)
            points.append(CurvePoint(first, last, len(lines), *rate))
    return points


def _rate(
    table: Table, measured: Measured, inside: Flags
) -> tuple[int, float | None, float | None, float | None]:
    """Return (n, value, low, high) for the tokens `inside`. The interval is Wilson's for shares, else from resampling
    lines.
    """
    above, below = measured.above[inside], measured.below[inside]
    top, bottom = float(above.sum()), float(below.sum())
    rate = wilson(round(top), round(bottom)) if measured.is_share else None
    low, high = (
        (rate.low, rate.high)
        if rate
        else interval_by_line(table.line[inside], above, below, len(table.lines))
    )
    return int(bottom), top / bottom if bottom else None, low, high


def folds(table: Table, number: int = FOLDS) -> tuple[Ints, str]:
    """Assign lines to folds, round-robin in the order of the log.

    Returns:
        int64[n_lines], and the unit kept together: "user" if there are at least `number` users, else "line".
    """
    users = {user: at for at, user in enumerate(dict.fromkeys(table.lines.users))}
    if len(users) >= number:
        return np.array([users[user] % number for user in table.lines.users], dtype=np.int64), "user"
    return np.arange(len(table.lines), dtype=np.int64) % number, "line"


def cross_validated(table: Table, target: str = "accuracy", number: int = FOLDS) -> dict[str, Any] | None:
    """Evaluate the search for a mixture on held-out text.

    For each fold the mixture is chosen on all others (first maximum of `target`); accuracy is over all held-out tokens.
    The reference chooses and evaluates on the same text, which is optimistic.

    Returns:
        CrossValidation as a dict, with "folds": [{"fold", "alpha", "oov_penalty"}]. None with fewer than two lines.
    """
    if len(table.lines) < 2:
        return None
    number = min(number, len(table.lines))
    fold_of_line, cluster = folds(table, number)
    fold = fold_of_line[table.line]
    held = np.zeros(len(table.line), dtype=np.bool_)
    chosen = []
    for at in range(number):
        inside = fold == at
        if not inside.any():
            continue
        mix = best(search(table.part(~inside), target))[0]
        chosen.append({"fold": at, **mix.as_dict()})
        held[inside] = table.first(table.mixes.index(mix))[inside]
    counted = table.selected
    right, n = int((held & counted).sum()), int(counted.sum())
    rate = wilson(right, n)
    result = CrossValidation(
        right / n if n else None, n, rate.low if rate else None, rate.high if rate else None, cluster
    )
    return {**asdict(result), "folds": chosen}


def interval_by_line(
    line: Ints, above: Floats, below: Floats, lines: int, seed: int = 0
) -> tuple[float, float] | tuple[None, None]:
    """Compute the 95% interval of a ratio of sums by resampling lines, whose tokens depend on each other.

    Args:
        line: int64[n_tokens], line of each token.
        above, below: float64[n_tokens], terms of the numerator and of the denominator.
        lines: number of lines of the log.

    Returns:
        (low, high); (None, None) with fewer than two counted lines.
    """
    tops = np.bincount(line, weights=above, minlength=lines)
    bottoms = np.bincount(line, weights=below, minlength=lines)
    used = np.flatnonzero(bottoms > 0)
    if len(used) < 2:
        return None, None
    above, below = drawn_sums([tops[used], bottoms[used]], RESAMPLES, np.random.default_rng(seed))
    limits = percentile_interval(above / below)
    return limits.low, limits.high
