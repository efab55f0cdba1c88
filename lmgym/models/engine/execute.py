"""Surprisals, and masses of vocabulary sets, for planned tokens under a causal model. Needs torch.

`passes` runs the model. This module looks up each needed (prefix, token) once and copies the value to all sequences
that contain it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from lmgym.models.engine.forest import Flags, Forest, Ints, grow
from lmgym.models.engine.model_runner import ROWS_PER_BLOCK, ModelRunner, look_up
from lmgym.models.engine.passes import USUAL, Job, group_sequences, reset_positions, run_passes
from lmgym.models.engine.scores import ScoringFailure

__all__ = ["ROWS_PER_BLOCK", "Computed", "Flat", "compute", "compute_flat", "score_sequences"]

Floats = NDArray[np.float64]


class Computed(NamedTuple):
    """Values of one sequence in bits, excluding its stem. NaN = not requested, or a first token.

    Attributes:
        bits: float64[tokens], surprisal.
        mass: float64[tokens, sets], -log2 of the probability of each vocabulary set after the token.
    """

    bits: Floats
    mass: Floats


class Flat(NamedTuple):
    """Values of all sequences, concatenated.

    Attributes:
        starts: int64[k+1], start of each sequence.
        bits, mass: float64[positions] and float64[positions, sets], as in Computed; undefined for failed sequences.
        failures: failures by index of the sequence.
    """

    starts: Ints
    bits: Floats
    mass: Floats
    failures: dict[int, ScoringFailure]


def score_sequences(
    model: Any, sequences: Sequence[Sequence[int]], *, device: torch.device, budget: int
) -> list[list[float] | ScoringFailure]:
    """Compute the surprisal of every token after the first of each sequence, in padded batches.

    Args:
        model: transformers causal model in eval mode on `device`.
        sequences: token ids.
        budget: positions per forward pass; see `compute` for what happens when memory runs out.

    Returns:
        For each sequence its max(n - 1, 0) surprisals in bits, or a failure.
    """
    results = compute(ModelRunner(model, device), sequences, budget=budget)
    return [result if isinstance(result, ScoringFailure) else result.bits[1:].tolist() for result in results]


def compute(
    runner: ModelRunner,
    sequences: Sequence[Sequence[int]],
    *,
    budget: int,
    needed: Sequence[Sequence[bool]] | None = None,
    rows: Sequence[Sequence[bool]] | None = None,
    sets: torch.Tensor | None = None,
    stems: Sequence[Sequence[int]] = (),
    stem_of: Sequence[int] | None = None,
) -> list[Computed | ScoringFailure]:
    """Compute surprisals of needed tokens, and masses of `sets` after the tokens flagged in `rows`.

    Values are computed in fp32 from the model's logits and do not depend on other sequences beyond fp32 noise.
    Sequences long enough to change the model's computation (`Turns`) share passes only with sequences of the same kind.
    Arguments are as in `forest.grow` and `model_runner.look_up`.

    Returns:
        Values or a failure for each sequence. When memory runs out, the budget is halved. A sequence fails if it does
        not fit into memory even when it is run separately, or if one of its values is not finite.
    """
    flat = compute_flat(
        runner,
        sequences,
        budget=budget,
        needed=None if needed is None else np.fromiter(chain.from_iterable(needed), np.bool_),
        rows=None if rows is None else np.fromiter(chain.from_iterable(rows), np.bool_),
        sets=sets,
        stems=stems,
        stem_of=stem_of,
    )
    bounds = flat.starts.tolist()
    return [
        flat.failures.get(k) or Computed(flat.bits[start:stop], flat.mass[start:stop])
        for k, (start, stop) in enumerate(pairwise(bounds))
    ]


def compute_flat(
    runner: ModelRunner,
    sequences: Sequence[Sequence[int]],
    *,
    budget: int,
    needed: Flags | None = None,
    rows: Flags | None = None,
    sets: torch.Tensor | None = None,
    stems: Sequence[Sequence[int]] = (),
    stem_of: Sequence[int] | None = None,
) -> Flat:
    """Compute the values of `compute` with flags and results of all sequences concatenated.

    This is faster for many short sequences.
    """
    own_lengths = list(map(len, sequences))
    starts = np.concatenate(([0], np.cumsum(own_lengths, dtype=np.int64)))
    lengths = own_lengths
    if stem_of is not None:
        lengths = [n + (len(stems[at]) if at >= 0 else 0) for n, at in zip(own_lengths, stem_of, strict=True)]
    width = 0 if sets is None else int(sets.shape[1])
    flat = Flat(starts, np.full(starts[-1], np.nan), np.full((starts[-1], width), np.nan), {})
    for mode, chosen in group_sequences(runner, lengths).items():
        at = _places(starts, chosen)
        forest = grow(
            _of(sequences, chosen),
            None if needed is None else needed[at],
            None if rows is None else rows[at],
            whole=mode.kind != USUAL,
            stems=stems,
            stem_of=_of(stem_of, chosen),
        )
        if mode.kind[1]:
            reset_positions(runner)
        ledger = _run(runner, forest, sets, budget, by_tree=mode.by_tree)
        failures = _spread(forest, ledger, flat, at)
        for number, (token, is_memory) in failures.items():
            k = chosen[number]
            flat.failures[k] = _failure(
                runner.device, lengths[k], lengths[k] - own_lengths[k] + token, is_memory
            )
    _retry_alone(runner, sequences, flat, budget, (needed, rows), sets, stems, stem_of)
    return flat


def _retry_alone(
    runner: ModelRunner,
    sequences: Sequence[Sequence[int]],
    flat: Flat,
    budget: int,
    flags: tuple[Flags | None, Flags | None],
    sets: torch.Tensor | None,
    stems: Sequence[Sequence[int]],
    stem_of: Sequence[int] | None,
) -> None:
    """Rerun each text that ran out of memory separately in a plain pass: another text may have been the cause."""
    if len(sequences) == 1 and not runner.blocks:
        return
    plain = replace(runner, blocks=0)
    for at in [at for at, failure in flat.failures.items() if isinstance(failure, _TooLarge)]:
        span = slice(*flat.starts[at : at + 2])
        needed, rows = (None if values is None else values[span] for values in flags)
        alone = compute_flat(
            plain,
            [sequences[at]],
            budget=budget,
            needed=needed,
            rows=rows,
            sets=sets,
            stems=stems,
            stem_of=_of(stem_of, [at]),
        )
        flat.bits[span], flat.mass[span] = alone.bits, alone.mass
        del flat.failures[at]
        if alone.failures:
            flat.failures[at] = alone.failures[0]


def _of(values: Sequence[Any] | None, chosen: Sequence[int]) -> Any:
    """Select values by index; avoids a copy if all are chosen."""
    return values if values is None or len(chosen) == len(values) else [values[at] for at in chosen]


def _places(starts: Ints, chosen: Sequence[int]) -> slice | Ints:
    """Return the positions of the chosen sequences in the concatenated values."""
    if len(chosen) == len(starts) - 1:
        return slice(None)
    return np.concatenate([np.arange(starts[at], starts[at + 1]) for at in chosen])


class _TooLarge(ScoringFailure):
    """Failure of a text that does not fit into memory."""


class _Ledger(NamedTuple):
    """Values by edge and row of a forest. NaN in `bits` = the model gave no number; `short_…` = memory ran out."""

    bits: Floats
    mass: Floats
    short_edge: Flags
    short_row: Flags


class _Work(NamedTuple):
    """Values of one job, still on the device."""

    job: Job
    bits: torch.Tensor
    mass: torch.Tensor


def _run(
    runner: ModelRunner, forest: Forest, sets: torch.Tensor | None, budget: int, *, by_tree: bool
) -> _Ledger:
    """Compute all edges and rows of a forest."""
    width = 0 if sets is None else int(sets.shape[1])
    ledger = _Ledger(
        np.full(len(forest.edge_node), np.nan),
        np.full((len(forest.row_node), width), np.nan),
        np.zeros(len(forest.edge_node), np.bool_),
        np.zeros(len(forest.row_node), np.bool_),
    )
    done: list[_Work] = []
    for step, work in run_passes(
        runner, forest, budget, partial(_read, runner, forest, sets), by_tree=by_tree
    ):
        if work is not None:
            done.append(work)
        else:
            ledger.short_edge[step.edges] = True
            ledger.short_row[step.rows] = True
    for job, bits, mass in done:
        ledger.bits[job.edges] = bits.cpu().double().numpy()
        if width and len(job.rows):
            at = np.searchsorted(job.nodes, forest.row_node[job.rows])
            ledger.mass[job.rows] = mass.cpu().double().numpy()[at]
    return ledger


def _read(
    runner: ModelRunner, forest: Forest, sets: torch.Tensor | None, job: Job, states: torch.Tensor
) -> _Work:
    """Apply the head to a job's hidden rows and look up the values of its edges and rows."""
    row = np.searchsorted(job.nodes, forest.edge_node[job.edges])
    return _Work(job, *look_up(runner, states, row, forest.edge_token[job.edges], sets))


def _spread(forest: Forest, ledger: _Ledger, flat: Flat, at: slice | Ints) -> dict[int, tuple[int, bool]]:
    """Copy values to all sequences that requested them.

    Returns:
        For each failed sequence, the failed token and whether memory ran out.
    """
    has_edge, has_row = forest.edge_of >= 0, forest.row_of >= 0
    bits = np.full(len(has_edge), np.nan)
    bits[has_edge] = ledger.bits[forest.edge_of[has_edge]]
    mass = np.full((len(has_edge), ledger.mass.shape[1]), np.nan)
    mass[has_row] = ledger.mass[forest.row_of[has_row]]
    flat.bits[at], flat.mass[at] = bits, mass
    short = np.zeros(len(has_edge), np.bool_)
    short[has_edge] |= ledger.short_edge[forest.edge_of[has_edge]]
    short[has_row] |= ledger.short_row[forest.row_of[has_row]]
    not_finite = has_edge & ~np.isfinite(bits) | np.isnan(mass[:, :1]).any(1) & has_row
    failed: dict[int, tuple[int, bool]] = {}
    for position in np.flatnonzero(short | not_finite).tolist():
        number = int(np.searchsorted(forest.starts, position, "right")) - 1
        token, is_memory = failed.get(number, (position - int(forest.starts[number]), False))
        failed[number] = (token, is_memory or bool(short[position]))
    return failed


def _failure(device: torch.device, length: int, token: int, is_memory: bool) -> ScoringFailure:
    if is_memory:
        return _TooLarge(
            f"This text ({length} tokens) does not fit into the memory of {device}.", transient=True
        )
    return ScoringFailure(
        f"The model's value for token {token + 1} is not a finite number. "
        "With float16, this may be an overflow: try float32 or bfloat16."
    )
