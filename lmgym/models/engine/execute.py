"""What a causal model says of planned tokens: surprisals and masses, sequence by sequence. Needs torch.

`passes` runs the model; here every needed token is looked up once, and goes to all sequences that asked for it.
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
from lmgym.models.engine.passes import USUAL, Job, lots, through, turn_back
from lmgym.models.engine.scores import ScoringFailure

__all__ = ["ROWS_PER_BLOCK", "Computed", "Flat", "compute", "compute_flat", "score_sequences"]

Floats = NDArray[np.float64]


class Computed(NamedTuple):
    """One sequence's values, in bits; behind a stem, those of its own tokens. NaN = not asked for (or a first token,
    which has nothing before it).

    bits  float64[tokens]
    mass  float64[tokens, sets]: -log2 of each vocabulary set's probability right after the token
    """

    bits: Floats
    mass: Floats


class Flat(NamedTuple):
    """The values of all sequences, one after the other.

    starts    int64[k+1]: where those of sequence k begin
    bits      float64[positions], mass float64[positions, sets]: as in Computed; without meaning for what failed
    failures  by sequence
    """

    starts: Ints
    bits: Floats
    mass: Floats
    failures: dict[int, ScoringFailure]


def score_sequences(
    model: Any, sequences: Sequence[Sequence[int]], *, device: torch.device, budget: int
) -> list[list[float] | ScoringFailure]:
    """Surprisal in bits of every token after the first of each sequence, by padded batches.

    `model` is a transformers causal model in eval mode on `device`; nothing else is assumed of it. Result k
    has max(len(sequences[k]) - 1, 0) values. See `compute` for what happens when memory runs out.
    """
    found = compute(ModelRunner(model, device), sequences, budget=budget)
    return [one if isinstance(one, ScoringFailure) else one.bits[1:].tolist() for one in found]


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
    """Bits of the needed tokens of each sequence, and masses of `sets` after the tokens flagged in `rows`.

    Arguments as in `forest.grow` and `model_runner.look_up`. Values are computed in fp32 from the model's logits; they
    do not depend on other sequences beyond fp32 noise. When memory runs out the budget is halved and the work
    goes on; a sequence that does not fit alone gives a ScoringFailure. A value that is not finite gives one
    too. Sequences that are long enough for the model to work otherwise (`Turns`) share passes with their kind only.
    """
    found = compute_flat(
        runner,
        sequences,
        budget=budget,
        needed=None if needed is None else np.fromiter(chain.from_iterable(needed), np.bool_),
        rows=None if rows is None else np.fromiter(chain.from_iterable(rows), np.bool_),
        sets=sets,
        stems=stems,
        stem_of=stem_of,
    )
    bounds = found.starts.tolist()
    return [
        found.failures.get(at) or Computed(found.bits[start:stop], found.mass[start:stop])
        for at, (start, stop) in enumerate(pairwise(bounds))
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
    """What `compute` gives, for many short sequences: `needed` and `rows` are flags of all tokens, one sequence after
    the other, and so are the values."""
    own = list(map(len, sequences))
    starts = np.concatenate(([0], np.cumsum(own, dtype=np.int64)))
    lengths = own
    if stem_of is not None:
        lengths = [n + (len(stems[at]) if at >= 0 else 0) for n, at in zip(own, stem_of, strict=True)]
    width = 0 if sets is None else int(sets.shape[1])
    found = Flat(starts, np.full(starts[-1], np.nan), np.full((starts[-1], width), np.nan), {})
    for way, chosen in lots(runner, lengths).items():
        at = _places(starts, chosen)
        forest = grow(
            _of(sequences, chosen),
            None if needed is None else needed[at],
            None if rows is None else rows[at],
            whole=way.kind != USUAL,
            stems=stems,
            stem_of=_of(stem_of, chosen),
        )
        if way.kind[1]:
            turn_back(runner)
        ledger = _run(runner, forest, sets, budget, by_tree=way.by_tree)
        failures = _spread(forest, ledger, found, at)
        for number, (token, memory) in failures.items():
            one = chosen[number]
            found.failures[one] = _failure(
                runner.device, lengths[one], lengths[one] - own[one] + token, memory
            )
    _again(runner, sequences, found, budget, (needed, rows), sets, stems, stem_of)
    return found


def _again(
    runner: ModelRunner,
    sequences: Sequence[Sequence[int]],
    found: Flat,
    budget: int,
    flags: tuple[Flags | None, Flags | None],
    sets: torch.Tensor | None,
    stems: Sequence[Sequence[int]],
    stem_of: Sequence[int] | None,
) -> None:
    """What ran out of memory may have been run for another text, so each such text is tried by itself, in a plain
    pass."""
    if len(sequences) == 1 and not runner.blocks:
        return
    plain = replace(runner, blocks=0)
    for at in [at for at, failure in found.failures.items() if isinstance(failure, _TooLarge)]:
        place = slice(*found.starts[at : at + 2])
        needed, rows = (None if one is None else one[place] for one in flags)
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
        found.bits[place], found.mass[place] = alone.bits, alone.mass
        del found.failures[at]
        if alone.failures:
            found.failures[at] = alone.failures[0]


def _of(values: Sequence[Any] | None, chosen: Sequence[int]) -> Any:
    """The chosen ones, which are often all."""
    return values if values is None or len(chosen) == len(values) else [values[at] for at in chosen]


def _places(starts: Ints, chosen: Sequence[int]) -> slice | Ints:
    """Where the values of the chosen sequences stand among those of all."""
    if len(chosen) == len(starts) - 1:
        return slice(None)
    return np.concatenate([np.arange(starts[at], starts[at + 1]) for at in chosen])


class _TooLarge(ScoringFailure):
    """Memory ran out."""


class _Ledger(NamedTuple):
    """Values by edge and row of a forest. NaN in `bits` = the model gave no number; `short` = memory."""

    bits: Floats
    mass: Floats
    short_edge: Flags
    short_row: Flags


class _Work(NamedTuple):
    """Values that are still on the device."""

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
    for step, work in through(
        runner, forest, budget, partial(_looked, runner, forest, sets), by_tree=by_tree
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


def _looked(
    runner: ModelRunner, forest: Forest, sets: torch.Tensor | None, job: Job, states: torch.Tensor
) -> _Work:
    """Head for the nodes that are read."""
    row = np.searchsorted(job.nodes, forest.edge_node[job.edges])
    return _Work(job, *look_up(runner, states, row, forest.edge_token[job.edges], sets))


def _spread(forest: Forest, ledger: _Ledger, found: Flat, at: slice | Ints) -> dict[int, tuple[int, bool]]:
    """Give the values to the sequences that asked for them. Of each that failed: the token, and whether it is for lack
    of memory."""
    asked, looked = forest.edge_of >= 0, forest.row_of >= 0
    bits = np.full(len(asked), np.nan)
    bits[asked] = ledger.bits[forest.edge_of[asked]]
    mass = np.full((len(asked), ledger.mass.shape[1]), np.nan)
    mass[looked] = ledger.mass[forest.row_of[looked]]
    found.bits[at], found.mass[at] = bits, mass
    short = np.zeros(len(asked), np.bool_)
    short[asked] |= ledger.short_edge[forest.edge_of[asked]]
    short[looked] |= ledger.short_row[forest.row_of[looked]]
    odd = asked & ~np.isfinite(bits) | np.isnan(mass[:, :1]).any(1) & looked
    failed: dict[int, tuple[int, bool]] = {}
    for place in np.flatnonzero(short | odd).tolist():
        number = int(np.searchsorted(forest.starts, place, "right")) - 1
        token, memory = failed.get(number, (place - int(forest.starts[number]), False))
        failed[number] = (token, memory or bool(short[place]))
    return failed


def _failure(device: torch.device, length: int, token: int, memory: bool) -> ScoringFailure:
    if memory:
        return _TooLarge(f"Memory on {device} ran out on this text alone ({length} tokens).", transient=True)
    return ScoringFailure(
        f"The model's value for token {token + 1} is not a finite number; "
        "with float16 this can be an overflow: try float32 or bfloat16."
    )
