"""Compare outcomes with those of float64: which ones differ, and which of these are marked as too close to
call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.engine.workload import suite_files
from lmgym.models.engine import ERROR_BITS, ScoringPolicy, TokenError, TokenScores
from lmgym.runs.compute import measure
from lmgym.runs.outcomes import evaluate_predictions
from lmgym.suites.formats import SuiteDocument, read_suite

FLOAT32 = TokenError(ERROR_BITS["float32"])
Judged = tuple[Sequence[int], Sequence[bool]]
"""Outcomes, and for each whether it is too close to call."""


def with_bits(score: TokenScores, bits: Iterable[float]) -> TokenScores:
    """Return a copy of the scores with other bits, one value for each scored token."""
    values = iter(bits)
    result = replace(score, bits=[None if old is None else next(values) for old in score.bits])
    if next(values, None) is not None:
        raise ValueError(f"more values than tokens in {score.tokens}")
    return result


def of_suites(
    scores: Sequence[TokenScores],
    truth: Sequence[TokenScores],
    suites: int | None,
    *,
    left_to_right: bool,
    error: TokenError = FLOAT32,
) -> dict[str, int]:
    """Compare the outcomes of all predictions and items of the suites (or the first `suites`), evaluated as
    in a run. `error`: bound on the error of one token, in `scores` and in `truth`."""
    start, pairs = 0, []
    for path in suite_files(suites)[1]:
        document = read_suite(path.read_bytes(), path.name)
        stop = start + len(document.sentences)
        pairs += zip(
            _judged(document, scores[start:stop], left_to_right, error),
            _judged(document, truth[start:stop], left_to_right, error),
            strict=True,
        )
        start = stop
    if start != len(scores):
        raise ValueError(f"{start} sentences in the suites, {len(scores)} were scored")
    return _counted(pairs)


def of_pairs(scores: Sequence[TokenScores], truth: Sequence[TokenScores]) -> dict[str, int]:
    """Compare outcomes of minimal pairs, that is, whether the first sentence of a pair has fewer bits than
    the second."""
    sizes = np.array([len(score.ids) for score in scores]).reshape(-1, 2).sum(axis=1)
    bounds = FLOAT32.of_margin(sizes, sizes)
    ours, exact = (_margins(rows) for rows in (scores, truth))
    judged = [
        (np.sign(margins).astype(int).tolist(), (np.abs(margins) < bounds).tolist())
        for margins in (ours, exact)
    ]
    return _counted([(judged[0], judged[1])])


def _margins(scores: Sequence[TokenScores]) -> NDArray[np.float64]:
    sums = np.array([sum(bits for bits in score.bits if bits is not None) for score in scores])
    return sums[1::2] - sums[::2]


def _judged(
    document: SuiteDocument, scores: Sequence[TokenScores], left_to_right: bool, error: TokenError
) -> list[Judged]:
    grid = measure(document, scores, ScoringPolicy(), left_to_right=left_to_right).grid()
    return [
        (evaluation.outcomes, evaluation.close) for evaluation in evaluate_predictions(document, grid, error)
    ]


def _counted(pairs: Iterable[tuple[Judged, Judged]]) -> dict[str, int]:
    """Count outcomes, those too close to call, and those that differ from float64, both marked and unmarked."""
    counts = {"outcomes": 0, "too_close": 0, "differ_marked": 0, "differ_unmarked": 0}
    for (outcomes, close), (exact, _) in pairs:
        marked, differ = np.array(close, bool), np.array(outcomes) != np.array(exact)
        counts["outcomes"] += len(outcomes)
        counts["too_close"] += int(marked.sum())
        counts["differ_marked"] += int((differ & marked).sum())
        counts["differ_unmarked"] += int((differ & ~marked).sum())
    return counts
