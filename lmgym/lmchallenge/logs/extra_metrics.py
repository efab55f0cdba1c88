"""What the reference does not count: bits per character, keystroke savings, learning curves, and a mixture judged on
text that it was not chosen on. Every rate comes with its n and a 95 % interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lmgym.lmchallenge.logs.interpolation import Mix
from lmgym.lmchallenge.logs.measures import CHAR_BITS, Measured, measure, ranks
from lmgym.lmchallenge.logs.stats import best, search
from lmgym.lmchallenge.logs.table import Flags, Floats, Ints, Table
from lmgym.stats import drawn_sums, percentile_interval
from lmgym.stats.intervals import wilson

FOLDS = 10
CURVE_BINS = 10
RESAMPLES = 2_000


def extra_metrics(
    table: Table, mix: Mix | None = None, *, learnt: Sequence[int] | None = None, **savings: Any
) -> dict[str, Any]:
    """Everything that this game's log allows. `learnt`: see `learning_curve`; `savings`: of `keystroke_savings`."""
    found: dict[str, Any] = {"learning_curve": learning_curve(table, mix, learnt=learnt)}
    if table.game == "wp":
        found["ranks"] = ranks(table)
    if table.game != "tc":
        found["bits_per_character"] = bits_per_character(table)
    if table.game == "tc":
        found["keystroke_savings"] = keystroke_savings(table, **savings)
        if not savings and bool(table.blank.any()):
            found["keystroke_savings_auto_space"] = keystroke_savings(table, auto_space=True)
    if table.game == "ic" and len(table.mixes) > 1:
        found["cross_validated"] = cross_validated(table)
    return found


def bits_per_character(table: Table, *, char_bits: float = CHAR_BITS) -> dict[str, Any]:
    """Bits of the counted tokens, by their characters (blanks between tokens are not among them).

    Scores are taken for natural logarithms of probabilities, as the API allows but does not demand: a log
    with a positive score gives None and says why. A token without a score (not predicted, or out of the
    vocabulary) costs `char_bits` for each of its characters: the OOV policy. `scored_only` leaves those
    tokens out.
    """
    kept = table.kept
    score, chars = table.score[kept], table.chars[kept]
    scored = np.isfinite(score)
    policy = f"{char_bits:g} bits for each character of a token without a score"
    result: dict[str, Any] = {
        "n": int(kept.sum()),
        "scored": int(scored.sum()),
        "characters": int(chars.sum()),
        "oov_policy": policy,
        "value": None,
        "scored_only": None,
    }
    if bool((score[scored] > 0).any()):
        return {**result, "reason": "Some scores are above 0, so they are no logarithms of probabilities."}
    bits = np.where(scored, -score / math.log(2), chars * char_bits)
    if result["characters"]:
        result["value"] = float(bits.sum() / chars.sum())
        result["interval"] = interval_by_line(
            table.line[kept], bits, chars.astype(np.float64), len(table.lines)
        )
    if chars[scored].sum():
        result["scored_only"] = float(bits[scored].sum() / chars[scored].sum())
    return result


def keystroke_savings(
    table: Table, *, selection_cost: float = 1.0, auto_space: bool = False, literal: bool = False
) -> dict[str, Any]:
    """(characters - keystrokes) / characters over the whole text, whatever the filter.

    A typed character is one keystroke, an accepted prediction `selection_cost`. With `auto_space`, a blank
    that is typed right after an accepted prediction costs nothing (it comes with the prediction). With
    `literal`, each typed stretch costs one selection more (the typist confirms what was typed).
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
    total = float(chars.sum())
    interval = interval_by_line(table.line, chars - keys, chars, len(table.lines))
    return {
        "n": int(total),
        "keystrokes": float(keys.sum()),
        "value": (total - float(keys.sum())) / total if total else None,
        "interval": interval,
        "selection_cost": selection_cost,
        "auto_space": auto_space,
        "literal": literal,
    }


def learning_curve(
    table: Table,
    mix: Mix | None = None,
    *,
    metric: str = "",
    bins: int = CURVE_BINS,
    learnt: Sequence[int] | None = None,
) -> dict[str, Any] | None:
    """A metric (the headline figure) by the number of characters learnt before, in at most `bins` bins with about as
    many lines each. None for a log without training. "by" says which number: "learnt", what was really learnt before
    each line (`learnt`, see play.learnt_before), or "trainingChars", what the log says, which counts batches otherwise;
    "most" has the highest of each that is known. Each bin: "from", "to", "lines", "n", "value", "interval"."""
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
    return {"metric": measured.metric, "by": by, "most": most, "points": _curve(table, measured, chars, bins)}


def _curve(table: Table, measured: Measured, of_line: Floats, bins: int) -> list[dict[str, Any]]:
    known = np.isfinite(of_line)
    edges = np.unique(np.quantile(of_line[known], np.linspace(0, 1, bins + 1)[1:-1]))
    bin_of_line = np.where(known, np.searchsorted(edges, np.nan_to_num(of_line), side="right"), -1)
    bin_of_token = bin_of_line[table.line]
    points = []
    for number in range(len(edges) + 1):
        lines = np.flatnonzero(bin_of_line == number)
        if len(lines):
            span = {
                "from": float(of_line[lines].min()),
                "to": float(of_line[lines].max()),
                "lines": len(lines),
            }
            points.append(span | _point(table, measured, bin_of_token == number))
    return points


def _point(table: Table, measured: Measured, inside: Flags) -> dict[str, Any]:
    """n, value and interval of some tokens: by Wilson for a share, else from resampling lines."""
    above, below = measured.above[inside], measured.below[inside]
    top, bottom = float(above.sum()), float(below.sum())
    found = wilson(round(top), round(bottom)) if measured.is_share else None
    return {
        "n": int(bottom),
        "value": top / bottom if bottom else None,
        "interval": [found.low, found.high]
        if found
        else interval_by_line(table.line[inside], above, below, len(table.lines)),
    }


def folds(table: Table, number: int = FOLDS) -> tuple[Ints, str]:
    """The fold of each line, and what was kept together: users if there are at least as many as folds, else
    lines. Clusters go to folds in turn, in the order of the log."""
    users = {user: at for at, user in enumerate(dict.fromkeys(table.lines.users))}
    if len(users) >= number:
        return np.array([users[user] % number for user in table.lines.users], dtype=np.int64), "user"
    return np.arange(len(table.lines), dtype=np.int64) % number, "line"


def cross_validated(table: Table, target: str = "accuracy", number: int = FOLDS) -> dict[str, Any] | None:
    """The search judged on text that it did not see: for each fold the mixture is chosen on all others (first
    maximum of `target`, as ever). Reports accuracy over all held-out tokens; the reference's figure, chosen
    and judged on the same text, is too good. None with fewer than two lines."""
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
    counted = table.kept
    right, n = int((held & counted).sum()), int(counted.sum())
    interval = wilson(right, n)
    return {
        "accuracy": right / n if n else None,
        "n": n,
        "interval": [interval.low, interval.high] if interval else None,
        "folds": chosen,
        "cluster": cluster,
    }


def interval_by_line(
    line: Ints, above: Floats, below: Floats, lines: int, seed: int = 0
) -> list[float] | None:
    """95 % interval of a ratio of sums, from resampling lines (tokens of one line hang together)."""
    tops = np.bincount(line, weights=above, minlength=lines)
    bottoms = np.bincount(line, weights=below, minlength=lines)
    used = np.flatnonzero(bottoms > 0)
    if len(used) < 2:
        return None
    above, below = drawn_sums([tops[used], bottoms[used]], RESAMPLES, np.random.default_rng(seed))
    limits = percentile_interval(above / below)
    return [limits.low, limits.high]
