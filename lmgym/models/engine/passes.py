"""Forward passes of a planned forest: trees (`Trees`), or length-sorted padded batches (`Padded`) for models whose
attention takes no tree mask. Both run every needed prefix once. Needs torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
import torch

from lmgym.models.engine.block_attention import additive, attending, layout
from lmgym.models.engine.forest import Chunk, Forest, Ints, cut
from lmgym.models.engine.memory import unless_full
from lmgym.models.engine.model_runner import ModelRunner, to_device
from lmgym.models.engine.plan import chunks

Found = TypeVar("Found")
Read = Callable[["Job", torch.Tensor], Found]
"""What is made of the hidden rows [job.nodes, features] of a job."""


class Way(NamedTuple):
    """How some sequences are run: by trees or in padded batches, and of which kind they are (`Turns.kind`)."""

    by_tree: bool
    kind: tuple[int, int]


USUAL = (0, 0)


def lots(runner: ModelRunner, lengths: Sequence[int]) -> dict[Way, Sequence[int]]:
    """Sequences (by number) that may share forward passes. Trees first; then by kind."""
    ways: dict[int, Way] = {}
    for length in set(lengths):
        kind = runner.turns.kind(length)
        near = runner.reach is None or length <= runner.reach
        ways[length] = Way(runner.blocks > 0 and near and kind == USUAL, kind)
    different = sorted(set(ways.values()), key=lambda way: (not way.by_tree, way.kind))
    if len(different) == 1:
        return {different[0]: range(len(lengths))}
    found: dict[Way, list[int]] = {way: [] for way in different}
    for at, length in enumerate(lengths):
        found[ways[length]].append(at)
    return dict(found)


@torch.inference_mode()
def turn_back(runner: ModelRunner) -> None:
    """Undo what a longer text has left behind in the model's rotary positions: one short pass does."""
    runner.states(input_ids=torch.zeros((1, 1), dtype=torch.long, device=runner.device))


class Job(NamedTuple):
    """One forward pass: model inputs, and where to find what.

    nodes, place  nodes to read (sorted), and the row of each in the flattened output
    edges, rows   numbers of the forest's edges and rows that are read
    keys          which keys each block of queries sees (`block_attention.Layout`); None = a padded batch
    """

    inputs: dict[str, torch.Tensor]
    nodes: Ints
    place: Ints
    edges: Ints
    rows: Ints
    keys: torch.Tensor | None = None


class Step(NamedTuple):
    """A job that is still to be built (which takes memory), and the forest's edges and rows that it is for."""

    build: Callable[[], Job]
    edges: Ints
    rows: Ints


class Trees:
    """Chunks of a forest, one after the other, under a budget that may shrink on the way."""

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
        found = getattr(self.runner.model, "dtype", torch.float32)
        return found if isinstance(found, torch.dtype) else torch.float32


class Padded:
    """Length-sorted batches of whole paths. A path runs from a root to a leaf and reads the nodes that no
    earlier path has read: in depth-first order, those behind the leaf before."""

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
    """Numbers k with begin[i] <= keys[k] < end[i] for some i; keys are sorted, the ranges disjoint and
    ascending."""
    low, high = np.searchsorted(keys, begin), np.searchsorted(keys, end)
    return np.concatenate([np.arange(a, b) for a, b in zip(low, high, strict=True)])


def _read_nodes(forest: Forest, edges: Ints, rows: Ints) -> Ints:
    return np.unique(np.concatenate((forest.edge_node[edges], forest.row_node[rows])))


def through(
    runner: ModelRunner, forest: Forest, budget: int, read: Read[Found], *, by_tree: bool
) -> Iterator[tuple[Step, Found | None]]:
    """All steps of a forest, and what `read` makes of each. When memory runs out, smaller ones are tried; None for a
    path that does not fit alone."""
    queue = Trees(runner, forest, budget) if by_tree else Padded(runner, forest, budget)
    for step in queue:
        found = unless_full(runner.device, partial(_forward, runner, step, read))
        if found is not None:
            queue.accept()
        elif queue.shrink():
            continue
        yield step, found


@torch.inference_mode()
def _forward(runner: ModelRunner, step: Step, read: Read[Found]) -> Found:
    """Build a job and run it; both take memory."""
    job = step.build()
    place = to_device(job.place, runner.device)
    with attending(job.keys):
        states = runner.states_at(place, **job.inputs)
    return read(job._replace(inputs={}, keys=None), states)
