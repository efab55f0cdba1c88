"""Mixture of error and model scores that ranks most targets first: (1 - alpha) error + max(alpha model, beta)."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Mixture:
    """The best mixture of a log, the number of targets that rank first under it and by the error score alone, and the
    largest number of candidates."""

    alpha: float
    beta: float
    correct: int
    base_correct: int
    max_candidates: int

    @classmethod
    def of(cls, alpha: float, beta: float | None) -> Mixture:
        """Restore a stored mixture; `beta` is None (NaN in JSON) if there is no model score."""
        return cls(alpha, float("nan") if beta is None else beta, 0, 0, 0)

    @property
    def args(self) -> dict[str, float]:
        return {"alpha": self.alpha, "beta": self.beta}

    def score(self, error: float, model: float | None) -> float:
        """Return a candidate's mixed score."""
        return float(
            _mixed(self.alpha, self.beta, np.float64(error), np.float64(-np.inf if model is None else model))
        )


def best_mixture(error: array[float], model: array[float], lengths: array[int]) -> Mixture:
    """Find the best mixture by Nelder-Mead from the reference's starting point.

    `lengths`: number of candidates of each token, the target first. Without any model score, beta is NaN and
    `correct` is 0.
    """
    of = np.frombuffer(lengths, dtype=np.int64)
    errors, models = _matrix(error, of), _matrix(model, of)
    scored = models[models != -np.inf]
    alpha, beta = 0.5, 0.5 * float(np.median(scored)) if scored.size else float("nan")
    if scored.size:
        from scipy.optimize import fmin  # slow to import

        alpha, beta = fmin(
            lambda at: -_first(_mixed(at[0], at[1], errors, models)), [alpha, beta], disp=False
        )
    correct = _first(_mixed(alpha, beta, errors, models)) if scored.size else 0
    return Mixture(float(alpha), float(beta), correct, _first(errors), errors.shape[1])


def _mixed(alpha: Any, beta: Any, error: Any, model: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return (1 - alpha) * error + np.maximum(alpha * model, beta)


def _matrix(values: array[float], lengths: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return float32[n_tokens, maximum number of candidates], padded with -inf."""
    matrix = np.full((len(lengths), int(lengths.max())), -np.inf, dtype=np.float32)
    matrix[np.arange(matrix.shape[1]) < lengths[:, None]] = np.frombuffer(values, dtype=np.float32)
    return matrix


def firsts(
    error: array[float], model: array[float], lengths: array[int], mixture: Mixture
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return two bool[n_tokens]: the target ranks first by the error score only, and with the mixture."""
    of = np.frombuffer(lengths, dtype=np.int64)
    errors, models = _matrix(error, of), _matrix(model, of)
    return _is_first(errors), _is_first(_mixed(mixture.alpha, mixture.beta, errors, models))


def _is_first(scores: NDArray[Any]) -> NDArray[np.bool_]:
    """Return bool[n_rows]: True where the first score is above all others."""
    is_first: NDArray[np.bool_] = scores[:, 0] > scores[:, 1:].max(axis=1, initial=-np.inf)
    return is_first


def _first(scores: NDArray[Any]) -> int:
    return int(_is_first(scores).sum())
