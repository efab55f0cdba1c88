"""Run planned forests through a causal model. Needs torch.

Two ways to the same numbers: trees (`_Trees`), and length-sorted padded batches (`_Padded`) for
models whose attention takes no tree mask. Both run every needed prefix and look every needed token up once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from models_registry.engine.blocks import additive, attending, layout, tree_mask
from models_registry.engine.budgets import tree_budget
from models_registry.engine.forest import Chunk, Forest, Ints, cut, grow
from models_registry.engine.memory import give_back, is_out_of_memory
from models_registry.engine.plan import chunks
from models_registry.engine.reader import ROWS_PER_BLOCK, Reader, look, to_device
from models_registry.engine.scores import ScoringFailure

__all__ = ["ROWS_PER_BLOCK", "Computed", "compute", "score_sequences"]

Floats = NDArray[np.float64]


class Computed(NamedTuple):
    """One sequence's values, in bits; behind a stem, those of its own tokens. NaN = not asked for (or a first token,
    which has nothing before it).

    bits  float64[tokens]
    mass  float64[tokens, sets]: -log2 of each vocabulary set's probability right after the token
    """

    bits: Floats
    mass: Floats


def score_sequences(
    model: Any, sequences: Sequence[Sequence[int]], *, device: torch.device, budget: int
) -> list[list[float] | ScoringFailure]:
    """Surprisal in bits of every token after the first of each sequence, by padded batches.

    `model` is a transformers causal model in eval mode on `device`; nothing else is assumed of it. Result k
    has max(len(sequences[k]) - 1, 0) values. See `compute` for what happens when memory runs out.
    """
    found = compute(Reader(model, device), sequences, budget=budget)
    return [one if isinstance(one, ScoringFailure) else one.bits[1:].tolist() for one in found]


def compute(
    reader: Reader,
    sequences: Sequence[Sequence[int]],
    *,
    budget: int,
    needed: Sequence[Sequence[bool]] | None = None,
    rows: Sequence[Sequence[bool]] | None = None,
    sets: torch.Tensor | None = None,
    groups: Sequence[int] | None = None,
    stems: Sequence[Sequence[int]] = (),
    stem_of: Sequence[int] | None = None,
) -> list[Computed | ScoringFailure]:
    """Bits of the needed tokens of each sequence, and masses of `sets` after the tokens flagged in `rows`.

    Arguments as in `forest.grow` and `reader.look`. Values are computed in fp32 from the model's logits; they
    do not depend on other sequences beyond fp32 noise. When memory runs out the budget is halved and the work
    goes on; a sequence that does not fit alone gives a ScoringFailure. A value that is not finite gives one
    too. Sequences that are long enough for the model to work otherwise (`Turns`) share passes with their kind only.
    """
    results: list[Computed | ScoringFailure | None] = [None] * len(sequences)
    lengths = list(map(len, sequences))
    if stem_of is not None:
        lengths = [n + (len(stems[at]) if at >= 0 else 0) for n, at in zip(lengths, stem_of, strict=True)]
    for way, chosen in _lots(reader, lengths).items():
        own = [sequences[at] for at in chosen]
        asked = (_of(values, chosen) for values in (needed, rows, groups))
        whole = way.kind != _USUAL
        forest = grow(own, *asked, whole=whole, stems=stems, stem_of=_of(stem_of, chosen))
        if way.kind[1]:
            _turn_back(reader)
        ledger = _run(reader, forest, sets, budget, by_tree=way.by_tree)
        before = [lengths[at] - len(sequences[at]) for at in chosen]
        for at, one in zip(chosen, _by_sequence(forest, ledger, reader.device, before), strict=True):
            results[at] = one
    # What ran out of memory may have been run for another text, so each such text is tried by itself, in a plain pass.
    for at in range(len(results)):
        if isinstance(results[at], _TooLarge) and (len(sequences) > 1 or reader.tree):
            plain = replace(reader, tree=False)
            (results[at],) = compute(
                plain,
                [sequences[at]],
                budget=budget,
                needed=_of(needed, [at]),
                rows=_of(rows, [at]),
                sets=sets,
                stems=stems,
                stem_of=_of(stem_of, [at]),
            )
    return [one for one in results if one is not None]


def _of(values: Sequence[Any] | None, chosen: Sequence[int]) -> list[Any] | None:
    return None if values is None else [values[at] for at in chosen]


class _Way(NamedTuple):
    """How some sequences are run: by trees or in padded batches, and of which kind they are (`Turns.kind`)."""

    by_tree: bool
    kind: tuple[int, int]


_USUAL = (0, 0)


def _lots(reader: Reader, lengths: Sequence[int]) -> dict[_Way, list[int]]:
    """Sequences (by number) that may share forward passes. Trees first; then by kind."""
    lots: dict[_Way, list[int]] = {}
    for at, length in enumerate(lengths):
        kind = reader.turns.kind(length)
        near = reader.reach is None or length <= reader.reach
        lots.setdefault(_Way(reader.tree and near and kind == _USUAL, kind), []).append(at)
    return {way: lots[way] for way in sorted(lots, key=lambda way: (not way.by_tree, way.kind))}


@torch.inference_mode()
def _turn_back(reader: Reader) -> None:
    """Undo what a longer text has left behind in the model's rotary positions: one short pass does."""
    reader.states(input_ids=torch.zeros((1, 1), dtype=torch.long, device=reader.device))


class _TooLarge(ScoringFailure):
    """Memory ran out."""


class _Job(NamedTuple):
    """One forward pass: model inputs, and where to find what.

    nodes, place  nodes to read (sorted), and the row of each in the flattened output
    edges, rows   numbers of the forest's edges and rows that are read
    keys          which keys each block of queries sees (`blocks.Layout`); None = attention by the mask alone
    """

    inputs: dict[str, torch.Tensor]
    nodes: Ints
    place: Ints
    edges: Ints
    rows: Ints
    keys: torch.Tensor | None = None


class _Step(NamedTuple):
    """A job that is still to be built (which takes memory), and the forest's edges and rows that it is for."""

    build: Callable[[], _Job]
    edges: Ints
    rows: Ints


class _Ledger(NamedTuple):
    """Values by edge and row of a forest. NaN in `bits` = the model gave no number; `short` = memory."""

    bits: Floats
    mass: Floats
    short_edge: NDArray[np.bool_]
    short_row: NDArray[np.bool_]


class _Work(NamedTuple):
    """Values that are still on the device."""

    job: _Job
    bits: torch.Tensor
    mass: torch.Tensor


def _run(reader: Reader, forest: Forest, sets: torch.Tensor | None, budget: int, *, by_tree: bool) -> _Ledger:
    """Compute all edges and rows of a forest."""
    width = 0 if sets is None else int(sets.shape[1])
    ledger = _Ledger(
        np.full(len(forest.edge_node), np.nan),
        np.full((len(forest.row_node), width), np.nan),
        np.zeros(len(forest.edge_node), np.bool_),
        np.zeros(len(forest.row_node), np.bool_),
    )
    queue = _Trees(reader, forest, budget) if by_tree else _Padded(reader, forest, budget)
    done: list[_Work] = []
    for step in queue:
        work = _attempt(reader, forest, step, sets)
        if work is not None:
            done.append(work)
            queue.accept()
        elif not queue.shrink():
            ledger.short_edge[step.edges] = True
            ledger.short_row[step.rows] = True
    for job, bits, mass in done:
        ledger.bits[job.edges] = bits.cpu().double().numpy()
        if width and len(job.rows):
            at = np.searchsorted(job.nodes, forest.row_node[job.rows])
            ledger.mass[job.rows] = mass.cpu().double().numpy()[at]
    return ledger


class _Trees:
    """Chunks of a forest, one after the other, under a budget that may shrink on the way."""

    def __init__(self, reader: Reader, forest: Forest, budget: int) -> None:
        self.reader, self.forest = reader, forest
        self.budget = self.calm = tree_budget(reader, budget)
        self.most: int | None = None
        self.first = 0
        self.chunk: Chunk | None = None

    def __iter__(self) -> Iterator[_Step]:
        while self.first < len(self.forest.token):
            self.chunk = chunk = cut(self.forest, self.first, self.budget, self.most)
            edges = np.arange(chunk.edges.start, chunk.edges.stop)
            rows = np.arange(chunk.rows.start, chunk.rows.stop)
            yield _Step(partial(self._job, chunk, edges, rows), edges, rows)

    def accept(self) -> None:
        """The chunk is done: go on behind it."""
        assert self.chunk is not None
        self.first = self.chunk.last
        self.calm = self.budget

    def shrink(self) -> bool:
        """Memory ran out: whether a smaller chunk can be tried. If not, the one path is passed over."""
        assert self.chunk is not None
        size, least = len(self.chunk.token), self.chunk.least
        if size == least:
            self.first, self.budget = self.chunk.last, max(1, self.calm // 2)
            return False
        self.budget = max(1, min(self.budget, size) // 2)
        self.most = (size + least) // 2
        return True

    def _job(self, chunk: Chunk, edges: Ints, rows: Ints) -> _Job:
        device = self.reader.device
        nodes = _read_nodes(self.forest, edges, rows)
        place = nodes - chunk.first + chunk.node_at
        token, position, keys = chunk.token, chunk.position, None
        if self.reader.blocks:
            plan = layout(chunk.end, self.reader.blocks)
            more = (0, plan.size - len(token))
            token, position = np.pad(token, more), np.pad(position, more)
            mask = additive(to_device(plan.hidden, device), self._dtype())[:, None]
            keys = to_device(plan.keys, device)
        else:
            mask = tree_mask(to_device(chunk.end, device), self._dtype())
        inputs = {
            "input_ids": to_device(token[None], device),
            "attention_mask": mask,
            "position_ids": to_device(position[None], device),
        }
        return _Job(inputs, nodes, place, edges, rows, keys)

    def _dtype(self) -> torch.dtype:
        found = getattr(self.reader.model, "dtype", torch.float32)
        return found if isinstance(found, torch.dtype) else torch.float32


class _Padded:
    """Length-sorted batches of whole paths. A path runs from a root to a leaf and reads the nodes that no
    earlier path has read: in depth-first order, those behind the leaf before."""

    def __init__(self, reader: Reader, forest: Forest, budget: int) -> None:
        self.reader, self.forest, self.budget = reader, forest, budget
        self.leaves = np.flatnonzero(forest.end == np.arange(len(forest.end)) + 1)
        self.begin = np.concatenate(([0], self.leaves[:-1] + 1))
        self.pending = self._batches(np.arange(len(self.leaves)))
        self.batch: Ints = self.leaves[:0]

    def __iter__(self) -> Iterator[_Step]:
        while self.pending:
            self.batch = self.pending.pop()
            paths = np.sort(self.batch)
            begin, end = self.begin[paths], self.leaves[paths] + 1
            edges, rows = (
                _ranges(keys, begin, end) for keys in (self.forest.edge_node, self.forest.row_node)
            )
            yield _Step(partial(self._job, paths, edges, rows), edges, rows)

    def accept(self) -> None:
        """Nothing to do: the batch has left the stack."""

    def shrink(self) -> bool:
        """Memory ran out: whether smaller batches can be tried. If not, the one path is passed over."""
        if len(self.batch) == 1:
            return False
        width = int(self.forest.depth[self.leaves[self.batch]].max()) + 1
        self.budget = max(1, min(self.budget, width * len(self.batch)) // 2)
        self.pending = self._batches(np.concatenate((self.batch, *reversed(self.pending))))
        return True

    def _batches(self, paths: Ints) -> list[Ints]:
        """Paths (numbers into `leaves`) as a stack of batches, shortest on top."""
        lengths = (self.forest.depth[self.leaves[paths]] + 1).tolist()
        return [paths[group] for group in chunks(lengths, self.budget)][::-1]

    def _job(self, paths: Ints, edges: Ints, rows: Ints) -> _Job:
        forest, ends = self.forest, self.leaves[paths]
        lengths = forest.depth[ends] + 1
        width = int(lengths.max())
        ids = np.zeros((len(paths), width), np.int64)
        line, node = np.arange(len(paths)), ends
        while len(node):
            ids[line, forest.depth[node]] = forest.token[node]
            kept = forest.parent[node] >= 0
            line, node = line[kept], forest.parent[node[kept]]
        nodes = _read_nodes(forest, edges, rows)
        place = np.searchsorted(ends, nodes) * width + forest.depth[nodes]
        mask = (np.arange(width)[None, :] < lengths[:, None]).astype(np.int64)
        device = self.reader.device
        inputs = {"input_ids": to_device(ids, device), "attention_mask": to_device(mask, device)}
        return _Job(inputs, nodes, place, edges, rows)


def _ranges(keys: Ints, begin: Ints, end: Ints) -> Ints:
    """Numbers k with begin[i] <= keys[k] < end[i] for some i; keys are sorted, the ranges disjoint and
    ascending."""
    low, high = np.searchsorted(keys, begin), np.searchsorted(keys, end)
    return np.concatenate([np.arange(a, b) for a, b in zip(low, high, strict=True)])


def _read_nodes(forest: Forest, edges: Ints, rows: Ints) -> Ints:
    return np.unique(np.concatenate((forest.edge_node[edges], forest.row_node[rows])))


def _attempt(reader: Reader, forest: Forest, step: _Step, sets: torch.Tensor | None) -> _Work | None:
    """Build a job and run it, or None when memory ran out on either."""
    try:
        return _forward(reader, forest, step.build(), sets)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
    # Outside the handler, so that the traceback no longer holds the tensors.
    give_back(reader.device)
    return None


@torch.inference_mode()
def _forward(reader: Reader, forest: Forest, job: _Job, sets: torch.Tensor | None) -> _Work:
    """Body for all positions, head for the nodes that are read."""
    place = to_device(job.place, reader.device)
    with attending(job.keys):
        states = reader.states_at(place, **job.inputs)
    row = np.searchsorted(job.nodes, forest.edge_node[job.edges])
    bits, mass = look(reader, states, row, forest.edge_token[job.edges], sets)
    return _Work(job._replace(inputs={}, keys=None), bits, mass)


def _by_sequence(
    forest: Forest, ledger: _Ledger, device: torch.device, before: Sequence[int]
) -> list[Computed | ScoringFailure]:
    """Spread values over the sequences that asked for them; `before`: tokens of each one's stem."""
    asked = forest.edge_of >= 0
    bits = np.full(len(asked), np.nan)
    bits[asked] = ledger.bits[forest.edge_of[asked]]
    looked = forest.row_of >= 0
    mass = np.full((len(asked), ledger.mass.shape[1]), np.nan)
    mass[looked] = ledger.mass[forest.row_of[looked]]
    short = np.zeros(len(asked), np.bool_)
    short[asked] |= ledger.short_edge[forest.edge_of[asked]]
    short[looked] |= ledger.short_row[forest.row_of[looked]]
    odd = asked & ~np.isfinite(bits) | np.isnan(mass[:, :1]).any(1) & looked
    results: list[Computed | ScoringFailure] = []
    trouble = np.flatnonzero(short | odd)
    bounds = forest.starts.tolist()
    spoiled = set((np.searchsorted(forest.starts, trouble, "right") - 1).tolist())
    for at, (start, stop) in enumerate(pairwise(bounds)):
        if at in spoiled:
            results.append(_failure(short[start:stop], odd[start:stop], device, before[at]))
        else:
            results.append(Computed(bits[start:stop], mass[start:stop]))
    return results


def _failure(
    short: NDArray[np.bool_], odd: NDArray[np.bool_], device: torch.device, before: int
) -> ScoringFailure:
    if short.any():
        return _TooLarge(
            f"Memory on {device} ran out on this text alone ({before + len(short)} tokens).", transient=True
        )
    return ScoringFailure(
        f"The model's value for token {before + int(np.argmax(odd)) + 1} is not a finite number; "
        "with float16 this can be an overflow: try float32 or bfloat16."
    )
