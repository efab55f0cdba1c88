"""Statistics of LM Challenge 4, with the same names and values.

A rate with denominator 0 is None, where the reference raises ZeroDivisionError.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmgym.lmchallenge.errors import OptionError
from lmgym.lmchallenge.logs.interpolation import Mix
from lmgym.lmchallenge.logs.table import Floats, Ints, Lines, Table

HITS = (1, 3, 10, 20)
LAST_INDEX = 4
IC_METRICS = ("accuracy", "corrected_errors", "miscorrected", "improvement", "skip", "words")


def statistics(table: Table, partition: str = "all", mix: Mix | None = None) -> list[dict[str, Any]]:
    """Return one dictionary per part, in the order of the log.

    For `ic`, `mix` must be one of the table's mixtures; default: the mixture with the best accuracy over the
    whole log, as in the reference.
    """
    part_of_line = table.lines.parts(partition)
    parts = int(part_of_line[-1]) + 1
    part = part_of_line[table.line]
    results = _about_lines(table.lines, part_of_line, parts)
    if table.game == "wp":
        columns = _word_prediction(table, part, parts)
    elif table.game == "tc":
        columns = _text_completion(table, part, parts)
    else:
        columns = _input_correction(table, part, parts, _number_of(table, mix))
    for name, values in columns.items():
        for result, value in zip(results, values, strict=True):
            result[name] = value
    if table.game == "wp":
        for result in results:
            for index in range(LAST_INDEX + 1):
                if result[f"idx{index}_hit3"] is None:
                    del result[f"idx{index}_hit3"]
    return results


def search(table: Table, target: str = "accuracy") -> list[tuple[Mix, float | None]]:
    """Return each mixture with its `target` metric over the whole log (None if undefined), in search order. Raises
    OptionError for an unknown `target`."""
    if target not in IC_METRICS:
        raise OptionError(f"Unknown metric {target!r}.", f"Choose one of {', '.join(IC_METRICS)}.")
    nothing = np.zeros(len(table.line), dtype=np.int64)
    return [
        (mix, _input_correction(table, nothing, 1, number)[target][0])
        for number, mix in enumerate(table.mixes)
    ]


def best(results: list[tuple[Mix, float | None]]) -> tuple[Mix, float | None]:
    """Return the first mixture with the highest value, and that value; ties go to the lowest penalty, then
    the lowest alpha.
    """
    return max(results, key=lambda pair: -np.inf if pair[1] is None else pair[1])


def _number_of(table: Table, mix: Mix | None) -> int:
    if len(table.mixes) == 1 and mix is None:
        return 0
    chosen = mix or best(search(table))[0]
    if chosen not in table.mixes:
        raise OptionError("The table was computed without this mixture.", "Pass it to read_table.")
    return table.mixes.index(chosen)


def _about_lines(lines: Lines, part_of_line: Ints, parts: int) -> list[dict[str, Any]]:
    """Count lines, users and training_chars (a running maximum, reset by lines without the key)."""
    results: list[dict[str, Any]] = [{"lines": 0, "users": 0, "training_chars": None} for _ in range(parts)]
    users: set[str] = set()
    current = -1
    for at, number in enumerate(part_of_line.tolist()):
        if number != current:
            current, users = number, set()
        result, learnt = results[number], lines.learnt[at]
        result["lines"] += 1
        users.add(lines.users[at])
        result["users"] = len(users)
        highest = result["training_chars"]
        result["training_chars"] = learnt if highest is None or learnt is None else max(highest, learnt)
    return results


def _sums(part: Ints, parts: int, values: NDArray[Any]) -> Floats:
    if parts == 1:
        return np.array([values.sum(dtype=np.int64 if values.dtype == np.bool_ else None)], dtype=np.float64)
    return np.bincount(part, weights=values.astype(np.float64), minlength=parts).astype(np.float64)


def _rates(numerator: Floats, denominator: Floats) -> list[float | None]:
    return [float(a / b) if b else None for a, b in zip(numerator, denominator, strict=True)]


def _whole(values: Floats) -> list[int]:
    return [int(value) for value in values]


def _word_prediction(table: Table, part: Ints, parts: int) -> dict[str, list[Any]]:
    kept, hit = table.selected, table.selected & (table.rank > 0)
    words = _sums(part, parts, kept)
    columns: dict[str, list[Any]] = {
        "words": _whole(words),
        "chars": _whole(_sums(part, parts, np.where(kept, table.chars, 0))),
        "skip": _rates(_sums(part, parts, ~kept), words),
        "miss": _rates(_sums(part, parts, kept & ~hit), words),
        "hit": _rates(_sums(part, parts, hit), words),
        "mrr": _rates(_sums(part, parts, np.where(hit, 1 / np.maximum(table.rank, 1), 0.0)), words),
    }
    for most in HITS:
        columns[f"hit{most}"] = _rates(_sums(part, parts, hit & (table.rank <= most)), words)
    place = np.minimum(places(table), LAST_INDEX)
    for index in range(LAST_INDEX + 1):
        at_index = kept & (place == index)
        ranked = _sums(part, parts, hit & at_index)
        rates = _rates(_sums(part, parts, hit & at_index & (table.rank <= 3)), _sums(part, parts, at_index))
        columns[f"idx{index}_hit3"] = [rate if n else None for rate, n in zip(rates, ranked, strict=True)]
    return columns


def places(table: Table) -> Ints:
    """Return int64[n_tokens]: the number of counted tokens before each token in its line."""
    before: Ints = np.cumsum(table.selected, dtype=np.int64) - table.selected
    first = np.searchsorted(table.line, np.arange(len(table.lines)))
    start = (
        before[np.minimum(first, len(before) - 1)]
        if len(before)
        else np.zeros(len(table.lines), dtype=np.int64)
    )
    return np.asarray(before - start[table.line], dtype=np.int64)


def _text_completion(table: Table, part: Ints, parts: int) -> dict[str, list[Any]]:
    accepted, allowed = table.rank > 0, table.allowed
    chars = _sums(part, parts, allowed)
    return {
        "chars": _whole(chars),
        "pcpc": _rates(_sums(part, parts, np.where(accepted, allowed, 0)), chars),
        "kpc": _rates(_sums(part, parts, np.where(accepted, allowed > 0, allowed)), chars),
        "skip": _rates(_sums(part, parts, table.chars - allowed), chars),
    }


def _input_correction(table: Table, part: Ints, parts: int, mix: int) -> dict[str, list[Any]]:
    before, after, kept = table.before, table.first(mix), table.selected
    words = _sums(part, parts, np.ones_like(kept))
    pp, pf = _sums(part, parts, kept & before & after), _sums(part, parts, kept & before & ~after)
    fp, ff = _sums(part, parts, kept & ~before & after), _sums(part, parts, kept & ~before & ~after)
    return {
        "words": _whole(words),
        "skip": _rates(_sums(part, parts, ~kept), words),
        "accuracy": _rates(fp + pp, fp + pp + ff + pf),
        "corrected_errors": _rates(fp, fp + ff),
        "miscorrected": _rates(pf, pf + pp),
        "improvement": _rates(fp - pf, ff + fp),
    }
