"""Forward passes of a planned forest. Needs torch.

`Trees` runs prefix trees, `Batches` length-sorted batches for models whose attention cannot mask trees. Both read
the hidden row of each needed prefix once, but may compute shared ancestors again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
import torch

from lmgym.models.engine.batching import batches
from lmgym.models.engine.block_attention import additive, attending, layout
from lmgym.models.engine.forest import Chunk, Forest, Ints, cut
from lmgym.models.engine.memory import unless_full
from lmgym.models.engine.model_runner import ModelRunner, to_device

Result = TypeVar("Result")
Read = Callable[["Job", torch.Tensor], Result]
"""Function that converts the hidden rows [job.nodes, features] of a job to a result."""


class PassMode(NamedTuple):
    """Mode of running sequences of one kind (`Turns.kind`): in prefix trees or in padded batches."""

    by_tree: bool
    kind: tuple[int, int]


USUAL = (0, 0)


def group_sequences(runner: ModelRunner, lengths: Sequence[int]) -> dict[PassMode, Sequence[int]]:
    """Group sequences (by index) that may share forward passes: first those run as trees, then the others by kind."""
    modes: dict[int, PassMode] = {}
    for length in set(lengths):
        kind = runner.turns.kind(length)
        is_in_reach = runner.reach is None or length <= runner.reach
        modes[length] = PassMode(runner.blocks > 0 and is_in_reach and kind == USUAL, kind)
    different = sorted(set(modes.values()), key=lambda mode: (not mode.by_tree, mode.kind))
    if len(different) == 1:
        return {different[0]: range(len(lengths))}
    groups: dict[PassMode, list[int]] = {mode: [] for mode in different}
    for at, length in enumerate(lengths):
        groups[modes[length]].append(at)
    return dict(groups)


@torch.inference_mode()
def reset_positions(runner: ModelRunner) -> None:
    """Run one short pass to reset rotary frequencies that a longer text changed."""
    runner.states(input_ids=torch.zeros((1, 1), dtype=torch.long, device=runner.device))


class Job(NamedTuple):
    """One forward pass.

    Attributes:
        inputs: arguments of the model.
        nodes, place: nodes to read (sorted), and the row of each in the flattened output.
        edges, rows: indices of the forest's edges and rows that are read.
        keys: keys of each block of queries (`block_attention.Layout`); None for a padded batch.
    """

    inputs: dict[str, torch.Tensor]
    nodes: Ints
    place: Ints
    edges: Ints
    rows: Ints
    keys: torch.Tensor | None = None


class Step(NamedTuple):
    """A job that is not built yet, because building takes memory, with the forest's edges and rows that it reads."""

    build: Callable[[], Job]
    edges: Ints
    rows: Ints


class Trees:
    """Chunks of a forest in order, under a budget that can shrink."""

    def __init__(self, runner: ModelRunner, forest: Forest, budget: int) -> None:
        self.runner, self.forest = runner, forest
        self.budget = self.calm = budget
        self.most: int | None = None
        self.first = 0
        self.chunk: Chunk | None = None

    def __iter__(self) -> Iterator[Step]:
        while self.first < len(self.forest.token):
            self.chunk = chunk = cut(self.forest, self.first, self.budget, self.most)
            edges = np.arange(chunk.edges.start, chunk.edges.stop)
            rows = np.arange(chunk.rows.start, chunk.rows.stop)
            yield Step(partial(self._job, chunk, edges, rows), edges, rows)

    def accept(self) -> None:
        """Continue after the current chunk."""
        assert self.chunk is not None
        self.first = self.chunk.last
        self.calm = self.budget

    def shrink(self) -> bool:
        """Reduce the budget after memory ran out. Returns False if the path does not fit by itself and is skipped."""
        assert self.chunk is not None
        size, least = len(self.chunk.token), self.chunk.least
        if size == least:
            self.first, self.budget = self.chunk.last, max(1, self.calm // 2)
            return False
        self.budget = max(1, min(self.budget, size) // 2)
        self.most = (size + least) // 2
        return True

    def _job(self, chunk: Chunk, edges: Ints, rows: Ints) -> Job:
        device = self.runner.device
        nodes = _read_nodes(self.forest, edges, rows)
        place = nodes - chunk.first + chunk.node_at
        plan = layout(chunk.end, self.runner.blocks)
        more = (0, plan.size - len(chunk.token))
        inputs = {
            "input_ids": to_device(np.pad(chunk.token, more)[None], device),
            "attention_mask": additive(to_device(plan.hidden, device), self._dtype())[:, None],
            "position_ids": to_device(np.pad(chunk.position, more)[None], device),
        }
        return Job(inputs, nodes, place, edges, rows, to_device(plan.keys, device))

    def _dtype(self) -> torch.dtype:
        dtype = getattr(self.runner.model, "dtype", torch.float32)
        return dtype if isinstance(dtype, torch.dtype) else torch.float32


class Batches:
    """Length-sorted batches of whole paths from a root to a leaf, grouped by `runner.batching`.

    A path reads the nodes that no earlier path has read: in depth-first order, the nodes after the previous leaf.
    """

    def __init__(self, runner: ModelRunner, forest: Forest, budget: int) -> None:
        self.runner, self.forest, self.budget = runner, forest, budget
        self.leaves = np.flatnonzero(forest.end == np.arange(len(forest.end)) + 1)
        self.begin = np.concatenate(([0], self.leaves[:-1] + 1))
        self.pending = self._batches(np.arange(len(self.leaves)))
        self.batch: Ints = self.leaves[:0]

    def __iter__(self) -> Iterator[Step]:
        while self.pending:
            self.batch = self.pending.pop()
            paths = np.sort(self.batch)
            begin, end = self.begin[paths], self.leaves[paths] + 1
            edges, rows = (
                _ranges(keys, begin, end) for keys in (self.forest.edge_node, self.forest.row_node)
            )
            yield Step(partial(self._job, paths, edges, rows), edges, rows)

    def accept(self) -> None:
        """Do nothing: the batch is no longer on the stack."""

    def shrink(self) -> bool:
        """Reduce the budget after memory ran out. Returns False if the path does not fit by itself and is skipped."""
        if len(self.batch) == 1:
            return False
        width = int(self.forest.depth[self.leaves[self.batch]].max()) + 1
        self.budget = max(1, min(self.budget, width * len(self.batch)) // 2)
        self.pending = self._batches(np.concatenate((self.batch, *reversed(self.pending))))
        return True

    def _batches(self, paths: Ints) -> list[Ints]:
        """Group paths (indices of `leaves`) into a stack of batches, shortest on top."""
        lengths = (self.forest.depth[self.leaves[paths]] + 1).tolist()
        return [paths[group] for group in batches(lengths, self.budget, self.runner.batching)][::-1]

    def _job(self, paths: Ints, edges: Ints, rows: Ints) -> Job:
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
        device = self.runner.device
        inputs = {"input_ids": to_device(ids, device), "attention_mask": to_device(mask, device)}
        return Job(inputs, nodes, place, edges, rows)


def _ranges(keys: Ints, begin: Ints, end: Ints) -> Ints:
    """Return indices k with begin[i] <= keys[k] < end[i] for some i; keys are sorted, ranges disjoint and ascending."""
    low, high = np.searchsorted(keys, begin), np.searchsorted(keys, end)
    return np.concatenate([np.arange(a, b) for a, b in zip(low, high, strict=True)])


def _read_nodes(forest: Forest, edges: Ints, rows: Ints) -> Ints:
    return np.unique(np.concatenate((forest.edge_node[edges], forest.row_node[rows])))


def run_passes(
    runner: ModelRunner, forest: Forest, budget: int, read: Read[Result], *, by_tree: bool
) -> Iterator[tuple[Step, Result | None]]:
    """Run all steps of a forest, in smaller steps when memory runs out.

    Yields:
        Each step with the result of `read`; None for a path that does not fit by itself.
    """
    queue = Trees(runner, forest, budget) if by_tree else Batches(runner, forest, budget)
    for step in queue:
        result = unless_full(runner.device, partial(_forward, runner, step, read))
        if result is not None:
            queue.accept()
        elif queue.shrink():
            continue
        yield step, result


@torch.inference_mode()
def _forward(runner: ModelRunner, step: Step, read: Read[Result]) -> Result:
    """Build a job and run it; both take memory."""
    job = step.build()
    positions = to_device(job.place, runner.device)
    with attending(job.keys):
        states = runner.states_at(positions, **job.inputs)
    return read(job._replace(inputs={}, keys=None), states)
