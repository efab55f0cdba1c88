"""How `ic` mixes the two scores of a candidate, and the search for the best mixture.

A candidate with the scores e (typing) and l (model) is worth (1 - alpha) e + alpha l; without l, it takes the
lowest model score of the token's candidates (0 if there is none) plus the OOV penalty. The rank of the target is
the number of candidates worth at least as much.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gym.lmchallenge.errors import LogError
from gym.lmchallenge.mixtures import ALPHA as ALPHA
from gym.lmchallenge.mixtures import OOV_PENALTY as OOV_PENALTY
from gym.lmchallenge.mixtures import Domain as Domain
from gym.lmchallenge.mixtures import Mix as Mix
from gym.lmchallenge.mixtures import grid as grid

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class Tokens:
    """Tokens with their candidates side by side: candidates of token k stand from starts[k] to starts[k + 1]."""

    starts: Ints  # (tokens + 1,)
    error: Floats  # (candidates,)
    model: Floats  # (candidates,), NaN where null
    null: Flags  # (candidates,) whether the model gave nothing (a NaN that it did give is none)
    target_error: Floats  # (tokens,)
    target_model: Floats
    target_null: Flags
    floor: Floats  # (tokens,) lowest model score among the candidates, 0 if there is none

    @classmethod
    def of(cls, entries: Sequence[dict[str, Any]], where: str = "the log") -> Tokens:
        """From the entries of a log. Raises LogError."""
        error: list[Any] = []
        model: list[Any] = []
        sizes: list[int] = []
        for entry in entries:
            found = entry["candidates"]
            sizes.append(len(found))
            if not found:
                continue
            try:
                widths = set(map(len, found))
                columns = list(
                    zip(*(found if len(widths) == 1 else [pair[-2:] for pair in found]), strict=True)
                )
                error.extend(columns[-2])
                model.extend(columns[-1])
            except (TypeError, ValueError, IndexError):
                raise LogError(f"{where}: a candidate is not [text, number, number or null].") from None
        targets = [entry["score"] for entry in entries]
        if any(not isinstance(pair, list) or len(pair) != 2 for pair in targets):
            raise LogError(f"{where}: a score is not a pair of numbers.")
        starts = np.concatenate(([0], np.cumsum(np.array(sizes, dtype=np.int64))))
        values, null = _column(model, where)
        return cls(
            starts,
            _column(error, where, nulls=False)[0],
            values,
            null,
            _column([pair[0] for pair in targets], where, nulls=False)[0],
            *_column([pair[1] for pair in targets], where),
            _floor(values, null, starts),
        )

    @classmethod
    def of_columns(
        cls,
        sizes: Sequence[int],
        candidates: Iterable[tuple[Any, ...]],
        scores: Sequence[tuple[float, float | None]],
    ) -> Tokens:
        """From what `typed` decodes: all are numbers or null. `sizes` are numbers of candidates per token; of each
        candidate the last two values count."""
        every = list(candidates)
        error, model = (np.array([one[at] for one in every], dtype=np.float64) for at in (-2, -1))
        target_error, target_model = np.array(scores, dtype=np.float64).reshape(-1, 2).T
        starts = np.concatenate(([0], np.cumsum(np.array(sizes, dtype=np.int64))))
        null = np.isnan(model)
        nothing = np.isnan(target_model)
        return cls(
            starts, error, model, null, target_error, target_model, nothing, _floor(model, null, starts)
        )

    def __len__(self) -> int:
        return len(self.starts) - 1

    def ranks(self, mix: Mix) -> Ints:
        """Rank of each target: 1 is best; 0 if no candidate is worth as much (the target is not among them, or
        NaN)."""
        floor = mix.oov_penalty + self.floor
        per_candidate = np.repeat(floor, np.diff(self.starts))
        model = np.where(self.null, per_candidate, self.model)
        target_model = np.where(self.target_null, floor, self.target_model)
        return self._count(mix.alpha, model, target_model)

    def correct(self, mixes: Sequence[Mix]) -> Flags:
        """(tokens, mixes): whether the target's rank is 1."""
        result = np.zeros((len(self), len(mixes)), dtype=np.bool_)
        penalty: float | None = None
        model, target_model = self.model, self.target_model
        for column, mix in enumerate(mixes):
            if mix.oov_penalty != penalty:
                penalty = mix.oov_penalty
                floor = penalty + self.floor
                model = np.where(self.null, np.repeat(floor, np.diff(self.starts)), self.model)
                target_model = np.where(self.target_null, floor, self.target_model)
            result[:, column] = self._count(mix.alpha, model, target_model) == 1
        return result

    def _count(self, alpha: float, model: Floats, target_model: Floats) -> Ints:
        with np.errstate(invalid="ignore"):
            worth = (1 - alpha) * self.error + alpha * model
            target = (1 - alpha) * self.target_error + alpha * target_model
            beats = worth >= np.repeat(target, np.diff(self.starts))
        running = np.concatenate(([0], np.cumsum(beats, dtype=np.int64)))
        return np.asarray(running[self.starts[1:]] - running[self.starts[:-1]], dtype=np.int64)


def _column(values: Sequence[Any], where: str, nulls: bool = True) -> tuple[Floats, Flags]:
    """Numbers as an array, and where null stood."""
    kinds = set(map(type, values))
    if not kinds <= ({int, float, type(None)} if nulls else {int, float}):
        odd = next(value for value in values if type(value) not in (int, float))
        raise LogError(f"{where}: {odd!r} stands where a score belongs.")
    try:
        numbers = np.array(values, dtype=np.float64)
    except OverflowError:
        raise LogError(f"{where}: a score is too large a number.") from None
    null = np.isnan(numbers)
    if null.any() and float in kinds:
        null = np.fromiter((value is None for value in values), dtype=np.bool_, count=len(values))
    return numbers, null


def _floor(model: Floats, null: Flags, starts: Ints) -> Floats:
    """Per token the lowest model score, 0 without any. As Python's min does it, a NaN counts only in first place."""
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
