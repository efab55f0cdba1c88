"""Plan prefix trees over token ids with sorted arrays: positions to run, chunks, and vocabulary rows to read.

Sentences of a suite share most of their prefixes. Each distinct prefix is one node, which is run once; each distinct
(prefix, next token) that is needed is one edge, which is looked up once. Prefixes without a needed successor are not
run. Nodes are numbered depth first, so that the descendants of node q are the range [q, end(q)), and attention to
ancestors is a range test: query i sees key j if and only if j <= i < end(j).

Planning is deterministic and takes well under a second for 134,000 sentences. Does not need torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

FILL = 0.75
"""Minimum fraction of a chunk's capacity for new nodes that is filled. In the remaining quarter, the chunk is
cut at the node with the fewest ancestors, because the next chunk runs the ancestors again."""


class Forest(NamedTuple):
    """Planned prefix trees: n nodes in depth-first order, m edges sorted by node, r rows.

    Attributes:
        token, depth, parent, end: int64[n]; the parent of a root is -1; descendants of q, including q: [q, end[q]).
        edge_node, edge_token: int64[m], token `edge_token` after the prefix that ends in `edge_node`.
        row_node: int64[r], sorted, nodes whose whole distribution is needed.
        starts: int64[k+1], start of each sequence in the flat arrays below.
        edge_of, row_of: int64[positions], edge or row of each token of each sequence; -1 = none.
    """

    token: Ints
    depth: Ints
    parent: Ints
    end: Ints
    edge_node: Ints
    edge_token: Ints
    row_node: Ints
    starts: Ints
    edge_of: Ints
    row_of: Ints


class Chunk(NamedTuple):
    """Nodes to run together: the ancestors of node `first`, which are run again, and nodes [first, last).

    Attributes:
        token, position, end: int64[p], input id, position id, and local end of the range of queries that see
            the key.
        edges: slice of the forest's edges.
        rows: slice of the forest's row_node.
        node_at: the local index of node q is q - first + node_at.
    """

    first: int
    last: int
    token: Ints
    position: Ints
    end: Ints
    edges: slice
    rows: slice
    node_at: int

    @property
    def least(self) -> int:
        """Number of positions up to the first leaf, the minimum for any chunk that begins with this node."""
        local = np.arange(self.node_at, len(self.token))
        return self.node_at + int(np.argmax(self.end[self.node_at :] == local + 1)) + 1


def grow(
    sequences: Sequence[Sequence[int]],
    needed: Sequence[Sequence[bool]] | Flags | None = None,
    rows: Sequence[Sequence[bool]] | Flags | None = None,
    *,
    whole: bool = False,
    stems: Sequence[Sequence[int]] = (),
    stem_of: Sequence[int] | None = None,
) -> Forest:
    """Plan the forest that covers the needed tokens of sequences.

    Args:
        sequences: token ids, including start tokens.
        needed: needed[k][i] is True if token i of sequence k is to be scored; may be one flat array; None = all. A
            token without a predecessor is never scored.
        rows: rows[k][i] is True if the distribution after token i is needed; may be one flat array; None = none.
        whole: run each sequence with a needed token to its last token.
        stems: prefixes shared by many sequences. The forest is the same as for the full sequences, but each stem is
            planned only once.
        stem_of: sequence k continues stems[stem_of[k]]; -1 = no stem. `starts`, `edge_of` and `row_of` exclude the
            tokens of stems.
    """
    laid = _laid(sequences, stems, stem_of)
    shift, total = int(laid.starts[len(stems)]), len(laid.flat)
    to_score, to_read = np.zeros(total, np.bool_), np.zeros(total, np.bool_)
    to_score[shift:] = _flags(needed, total - shift, default=True)
    to_score &= laid.before >= 0
    to_read[shift:] = _flags(rows, total - shift, default=False)
    node_of, levels = _levels(laid, _fed(laid, to_score, to_read, whole))
    number, token, depth, parent, end = _depth_first(levels)
    nodes = np.where(node_of >= 0, number[node_of], -1) if len(number) else node_of
    edge_of, edge_node, edge_token = _edges(laid, np.flatnonzero(to_score), nodes)
    row_of = np.full(total, -1, np.int64)
    row_node, inverse = np.unique(nodes[to_read], return_inverse=True)
    row_of[to_read] = inverse
    starts = laid.starts[len(stems) :] - shift
    return Forest(
        token, depth, parent, end, edge_node, edge_token, row_node, starts, edge_of[shift:], row_of[shift:]
    )


class _Laid(NamedTuple):
    """Stems and sequences, concatenated.

    Attributes:
        flat: int64[positions], token ids.
        starts: int64[k+1], start of each stem or sequence in `flat`.
        stem: int64[k], the stem that each sequence continues; -1 = none.
        offset: int64[k], depth of the first token of each stem or sequence.
        before: int64[positions], preceding position; -1 = none.
        width: a number greater than every token id.
    """

    flat: Ints
    starts: Ints
    stem: Ints
    offset: Ints
    before: Ints
    width: int


def _laid(
    sequences: Sequence[Sequence[int]], stems: Sequence[Sequence[int]], stem_of: Sequence[int] | None
) -> _Laid:
    rows = [*stems, *sequences]
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    starts = np.concatenate(([0], np.cumsum(lengths)))
    flat = np.fromiter(chain.from_iterable(rows), np.int64, int(starts[-1]))
    stem = np.full(len(rows), -1, np.int64)
    if stem_of is not None:
        stem[len(stems) :] = stem_of
        stem[(stem >= 0) & (lengths[stem] == 0)] = -1
    offset = np.where(stem >= 0, lengths[stem], 0)
    before = np.arange(len(flat)) - 1
    first = lengths > 0
    before[starts[:-1][first]] = starts[stem[first] + 1] - 1
    return _Laid(flat, starts, stem, offset, before, int(flat.max(initial=0)) + 1)


def _fed(laid: _Laid, to_score: Flags, to_read: Flags, whole: bool) -> Ints:
    """Return the number of tokens to run for each sequence.

    A token is run if it or a later token has a needed successor or row. A whole stem is run if a sequence that
    continues it has a needed token or row.
    """
    lengths = np.diff(laid.starts)
    position = np.arange(len(to_score)) - np.repeat(laid.starts[:-1], lengths)
    # Counted from 1; 0 = nothing is needed. If only the first token after a stem is needed, only the stem is run.
    reach = np.maximum(np.where(to_score, position + 1, 0), np.where(to_read, position + 2, 0))
    most = np.zeros(len(lengths), np.int64)
    if (some := lengths > 0).any():
        most[some] = np.maximum.reduceat(reach, laid.starts[:-1][some])
    fed = np.where(most > 0, lengths if whole else most - 1, 0)
    stems = laid.stem[(laid.stem >= 0) & (most > 0)]
    fed[stems] = lengths[stems]
    return fed


def _flags(values: Sequence[Sequence[bool]] | Flags | None, total: int, *, default: bool) -> Flags:
    """Flatten flags into one array."""
    if values is None:
        return np.full(total, default)
    if not isinstance(values, np.ndarray):
        values = np.fromiter(chain.from_iterable(values), np.bool_)
    if len(values) != total:
        raise ValueError(f"there are {len(values)} flags for {total} tokens")
    return values


class _Level(NamedTuple):
    """Nodes of one depth, sorted by (parent, token). `parent` counts over all levels; at depth 0 it is 0."""

    base: int
    parent: Ints
    token: Ints


def _levels(laid: _Laid, fed: Ints) -> tuple[Ints, list[_Level]]:
    """Number distinct prefixes by depth. Returns the node of each position (-1 if it is not run), and the levels."""
    node_of = np.full(len(laid.flat), -1, np.int64)
    levels: list[_Level] = []
    base = 0
    over = np.where(fed > 0, laid.offset + fed, 0)
    for depth in range(int(over.max(initial=0))):
        active = np.flatnonzero((laid.offset <= depth) & (depth < over))
        at = laid.starts[active] + depth - laid.offset[active]
        above = node_of[laid.before[at]] if depth else np.zeros(len(active), np.int64)
        keys, inverse = np.unique(above * laid.width + laid.flat[at], return_inverse=True)
        node_of[at] = base + inverse
        levels.append(_Level(base, keys // laid.width, keys % laid.width))
        base += len(keys)
    return node_of, levels


def _depth_first(levels: list[_Level]) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Renumber nodes depth first. Returns each node's new number, then token, depth, parent and end by new number."""
    count = levels[-1].base + len(levels[-1].token) if levels else 0
    size = np.ones(count, np.int64)
    for upper, lower in zip(reversed(levels[:-1]), reversed(levels[1:]), strict=True):
        inside = size[lower.base : lower.base + len(lower.token)]
        sums = np.bincount(lower.parent - upper.base, inside, minlength=len(upper.token))
        size[upper.base : lower.base] += sums.astype(np.int64)
    number = np.zeros(count, np.int64)
    token, depth = np.zeros(count, np.int64), np.zeros(count, np.int64)
    parent, end = np.full(count, -1, np.int64), np.zeros(count, np.int64)
    for at, level in enumerate(levels):
        block = slice(level.base, level.base + len(level.token))
        before = np.cumsum(size[block]) - size[block]
        if at:
            first = np.searchsorted(level.parent, level.parent, "left")
            before += number[level.parent] + 1 - before[first]
        number[block] = before
        token[before], depth[before], end[before] = level.token, at, before + size[block]
        if at:
            parent[before] = number[level.parent]
    return number, token, depth, parent, end


def _edges(laid: _Laid, positions: Ints, nodes: Ints) -> tuple[Ints, Ints, Ints]:
    """Find distinct (node, next token). Returns each position's edge (-1 = none), and each edge's node and token."""
    edge_of = np.full(len(laid.flat), -1, np.int64)
    keys = nodes[laid.before[positions]] * laid.width + laid.flat[positions]
    distinct, inverse = np.unique(keys, return_inverse=True)
    edge_of[positions] = inverse
    return edge_of, distinct // laid.width, distinct % laid.width


def cut(forest: Forest, first: int, budget: int, most: int | None = None) -> Chunk:
    """Cut the chunk that begins with node `first`: at most `budget` positions, including its ancestors.

    If ancestors take more than half of the budget, as many new nodes as ancestors are run, and the first path is run to
    its leaf. Long texts therefore cost at most about twice their positions, and a chunk never exceeds the maximum of
    the budget, the longest path, and twice the number of ancestors of `first` (or `most`).

    Raises:
        ValueError: the budget is below 1.
    """
    if budget < 1:
        raise ValueError(f"the budget must be at least 1, not {budget}")
    nodes = len(forest.token)
    above = int(forest.depth[first])
    usual = budget - above
    room = max(usual, above if most is None else min(above, most - above), 1)
    room = max(room, _to_leaf(forest, first, room))
    last = min(first + room, nodes)
    if last < nodes and room == usual:
        earliest = first + max(1, int(room * FILL))
        window = forest.depth[earliest : last + 1]
        last -= int(np.argmin(window[::-1]))
    path = np.zeros(above, np.int64)
    node = first
    for at in range(above - 1, -1, -1):
        node = int(forest.parent[node])
        path[at] = node
    run = np.concatenate((path, np.arange(first, last)))
    return Chunk(
        first,
        last,
        forest.token[run],
        forest.depth[run],
        np.minimum(forest.end[run], last) - first + above,
        slice(*map(int, np.searchsorted(forest.edge_node, (first, last)))),
        slice(*map(int, np.searchsorted(forest.row_node, (first, last)))),
        above,
    )


def _to_leaf(forest: Forest, first: int, room: int) -> int:
    """Return the number of nodes from `first` to the next leaf, searching in steps that double from `room`."""
    while True:
        following = np.arange(first + 1, min(first + room, len(forest.end)) + 1)
        leaves = np.flatnonzero(forest.end[first : first + room] == following)
        if len(leaves):
            return int(leaves[0]) + 1
        room *= 2


def cut_all(forest: Forest, budget: int) -> list[Chunk]:
    """Cut all chunks under one budget, in order. Each node is in the range [first, last) of exactly one chunk."""
    cut_chunks: list[Chunk] = []
    first = 0
    while first < len(forest.token):
        cut_chunks.append(cut(forest, first, budget))
        first = cut_chunks[-1].last
    return cut_chunks
