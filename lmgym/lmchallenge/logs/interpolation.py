"""Mixtures of the two scores of an `ic` candidate, and the search grid for the best mixture.

A candidate with the scores e (typing) and l (model) has the mixed score (1 - alpha) e + alpha l. If l is missing, it is
replaced by the lowest model score of the token's candidates (0 if none has one) plus the OOV penalty. The rank of the
target is the number of candidates with at least its score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lmgym.lmchallenge.errors import LogError, OptionError

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]


MOST_VALUES = 100_000


@dataclass(frozen=True)
class Mix:
    """Parameters of a mixture."""

    alpha: float
    oov_penalty: float

    def as_dict(self) -> dict[str, float]:
        """Return the parameters as `ic-opt` prints them."""
        return {"alpha": self.alpha, "oov_penalty": self.oov_penalty}


@dataclass(frozen=True)
class Domain:
    """`n` values from `low` to `high`, or their midpoint if n is 1."""

    low: float
    high: float
    n: int

    @classmethod
    def parse(cls, text: str) -> Domain:
        """Parse MIN:MAX:N or a single value. Raises OptionError."""
        try:
            if ":" not in text:
                return cls(float(text), float(text), 1)
            low, high, n = text.split(":")
            domain = cls(float(low), float(high), int(n))
        except ValueError:
            raise OptionError(
                f"{text!r} is not a range.", "Write MIN:MAX:N, such as 0:1:11, or one value."
            ) from None
        if not 1 <= domain.n <= MOST_VALUES:
            raise OptionError(f"{text!r} has {domain.n:,} values.", f"Use 1 to {MOST_VALUES:,}.")
        return domain

    def values(self) -> list[float]:
        """Return low + step * i for each i, computed as in the reference, so a value may differ slightly from
        its decimal form.
        """
        if self.n == 1:
            return [(self.low + self.high) / 2]
        step = (self.high - self.low) / (self.n - 1)
        return [self.low + step * at for at in range(self.n)]


ALPHA = Domain(0.0, 1.0, 11)
OOV_PENALTY = Domain(-8, 0, 5)


def grid(alpha: Domain = ALPHA, oov_penalty: Domain = OOV_PENALTY) -> list[Mix]:
    """Return all mixtures, sorted by penalty, then alpha."""
    return [Mix(a, o) for o in oov_penalty.values() for a in alpha.values()]


@dataclass(frozen=True)
class Tokens:
    """Tokens with their candidates in flat arrays; token k's candidates are at starts[k]:starts[k + 1]."""

    starts: Ints  # int64[n_tokens + 1]
    error: Floats  # float64[n_candidates]
    model: Floats  # float64[n_candidates]; NaN if null
    null: Flags  # bool[n_candidates]: the model score is null (not NaN)
    target_error: Floats  # float64[n_tokens]
    target_model: Floats
    target_null: Flags
    floor: Floats  # float64[n_tokens], lowest model score of the candidates, 0 without any

    @classmethod
    def of(
        cls,
        candidates: Sequence[Sequence[Any]],
        scores: Sequence[tuple[float, float | None]],
        where: str = "the log",
    ) -> Tokens:
        """Build Tokens from each token's candidates and target scores. The last two values of a candidate are its
        scores.

        Raises LogError.
        """
        error: list[Any] = []
        model: list[Any] = []
        for row in filter(None, candidates):
            try:
                widths = set(map(len, row))
                columns = list(zip(*(row if len(widths) == 1 else [pair[-2:] for pair in row]), strict=True))
                error.extend(columns[-2])
                model.extend(columns[-1])
            except (TypeError, ValueError, IndexError):
                raise LogError(f"{where}: a candidate is not [text, number, number or null].") from None
        starts = np.concatenate(([0], np.cumsum([len(row) for row in candidates], dtype=np.int64)))
        values, null = _column(model, where)
        return cls(
            starts,
            _column(error, where, nulls=False)[0],
            values,
            null,
            _column([pair[0] for pair in scores], where, nulls=False)[0],
            *_column([pair[1] for pair in scores], where),
            _floor(values, null, starts),
        )

    def __len__(self) -> int:
        return len(self.starts) - 1

    def ranks(self, mix: Mix) -> Ints:
        """Return int64[n_tokens], the rank of each target: 1 is best; 0 if no candidate scores as high (the target is
        not among them, or its score is NaN).
        """
        return self._count(mix.alpha, *self._with_floor(mix.oov_penalty))

    def correct(self, mixes: Sequence[Mix]) -> Flags:
        """Return bool[n_tokens, n_mixtures]: True where the target ranks first."""
        columns: list[Flags] = []
        for penalty, same in groupby(mixes, attrgetter("oov_penalty")):
            scores = self._with_floor(penalty)
            columns += [self._count(mix.alpha, *scores) == 1 for mix in same]
        return np.stack(columns, axis=1)

    def _with_floor(self, penalty: float) -> tuple[Floats, Floats]:
        """Return the model scores of candidates and targets, with missing scores filled in."""
        floor = penalty + self.floor
        model = np.where(self.null, np.repeat(floor, np.diff(self.starts)), self.model)
        return model, np.where(self.target_null, floor, self.target_model)

    def _count(self, alpha: float, model: Floats, target_model: Floats) -> Ints:
        with np.errstate(invalid="ignore"):
            worth = (1 - alpha) * self.error + alpha * model
            target = (1 - alpha) * self.target_error + alpha * target_model
            beats = worth >= np.repeat(target, np.diff(self.starts))
        running = np.concatenate(([0], np.cumsum(beats, dtype=np.int64)))
        return np.asarray(running[self.starts[1:]] - running[self.starts[:-1]], dtype=np.int64)


def _column(values: Sequence[Any], where: str, nulls: bool = True) -> tuple[Floats, Flags]:
    """Return numbers as an array, and a mask of the nulls."""
    kinds = set(map(type, values))
    if not kinds <= ({int, float, type(None)} if nulls else {int, float}):
        odd = next(value for value in values if type(value) not in (int, float))
        raise LogError(f"{where}: {odd!r} is not a score.")
    try:
        numbers = np.array(values, dtype=np.float64)
    except OverflowError:
        raise LogError(f"{where}: a score is too large.") from None
    null = np.isnan(numbers)
    if null.any() and float in kinds:
        null = np.fromiter((value is None for value in values), dtype=np.bool_, count=len(values))
    return numbers, null


def _floor(model: Floats, null: Flags, starts: Ints) -> Floats:
    """Return each token's lowest model score, or 0 if it has none. As with Python's min, a NaN wins only if it is
    first.
    """
    sizes = np.diff(starts)
    floor = np.zeros(len(sizes))
    if not len(model):
        return floor
    scored = np.where(null, np.inf, model)
    full = np.flatnonzero(sizes > 0)
    lowest = np.minimum.reduceat(scored, starts[:-1][full])
    any_scored = np.add.reduceat((~null).astype(np.int64), starts[:-1][full]) > 0
    floor[full] = np.where(any_scored, lowest, 0.0)
    for token in full[np.isnan(lowest)]:
        part = slice(starts[token], starts[token + 1])
        floor[token] = min(model[part][~null[part]].tolist())
    return floor
