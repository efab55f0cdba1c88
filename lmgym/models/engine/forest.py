"""Prefix trees over token ids, planned with sorted arrays: which positions to run, in which chunks, and
which vocabulary rows to look at.

Sentences of a suite share most of their beginnings. In a prefix tree every distinct prefix is one node, which
is run once; every distinct (prefix, next token) that somebody needs is one edge, which is looked up once. A
prefix without a needed successor is not run at all. Nodes are numbered depth first, so that the descendants
of node q are the range [q, end(q)) and attention to ancestors only is a range test: key j is visible to
query i if and only if j <= i < end(j).

Everything is a deterministic function of the input; 134,000 sentences take well under a second. No torch.
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
"""A chunk may end anywhere in its last quarter: where the fewest ancestors have to be run again."""


class Forest(NamedTuple):
    """A planned set of prefix trees. n nodes in depth-first order, m edges sorted by node, r looked-at nodes.

    token, depth, parent, end  int64[n]; parent -1 for roots; descendants of q (itself included): [q, end[q])
    edge_node, edge_token      int64[m]: token `edge_token` after the prefix that ends in `edge_node`
    row_node                   int64[r], sorted: nodes whose whole distribution is asked for
    starts                     int64[k+1]: where sequence k begins in the flat arrays below
    edge_of, row_of            int64[positions]: edge (row) of each token of each sequence; -1 = none
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
    """Nodes to run together: the ancestors of node `first`, run again, then nodes [first, last).

    token, position, end  int64[p]: input id, position id and (local) end of the range that sees this key
    edges                 the chunk's edges as a slice of the forest's
    rows                  the chunk's rows as a slice of the forest's row_node
    node_at               local index of global node q is q - first + node_at
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
        """Positions up to the first leaf; no chunk that begins with this node has fewer."""
        own = np.arange(self.node_at, len(self.token))
        return self.node_at + int(np.argmax(self.end[self.node_at :] == own + 1)) + 1


def grow(
    sequences: Sequence[Sequence[int]],
    needed: Sequence[Sequence[bool]] | Flags | None = None,
    rows: Sequence[Sequence[bool]] | Flags | None = None,
    *,
    whole: bool = False,
    stems: Sequence[Sequence[int]] = (),
    stem_of: Sequence[int] | None = None,
) -> Forest:
    """Plan the needed tokens of `sequences` (ids, start token included).

    needed[k][i]  token i of sequence k is to be scored; None = all. A token with nothing before it is never scored
    rows[k][i]    the distribution after token i is asked for; None = none. Either may be one flat array
    whole         run each sequence to its last token, wanted or not, if anything of it is wanted
    stems         beginnings that many sequences have: sequence k goes on after stems[stem_of[k]] (-1 = after nothing),
                  and only its own tokens count in `starts`, `edge_of` and `row_of`. The forest is that of the sequences
                  written out, but its planning takes no time for beginnings that repeat.
    """
    laid = _laid(sequences, stems, stem_of)
    own, total = int(laid.starts[len(stems)]), len(laid.flat)
    want, look = np.zeros(total, np.bool_), np.zeros(total, np.bool_)
    want[own:] = _flags(needed, total - own, default=True)
    want &= laid.before >= 0
    look[own:] = _flags(rows, total - own, default=False)
    node_of, levels = _levels(laid, _fed(laid, want, look, whole))
    number, token, depth, parent, end = _depth_first(levels)
    nodes = np.where(node_of >= 0, number[node_of], -1) if len(number) else node_of
    edge_of, edge_node, edge_token = _edges(laid, np.flatnonzero(want), nodes)
    row_of = np.full(total, -1, np.int64)
    row_node, inverse = np.unique(nodes[look], return_inverse=True)
    row_of[look] = inverse
    starts = laid.starts[len(stems) :] - own
    return Forest(
        token, depth, parent, end, edge_node, edge_token, row_node, starts, edge_of[own:], row_of[own:]
    )


class _Laid(NamedTuple):
    """Stems, then sequences, one after the other.

    flat    int64[positions]: ids
    starts  int64[k+1]: where each begins in `flat`
    stem    int64[k]: which one each goes on after; -1 = none
    offset  int64[k]: depth of its first token
    before  int64[positions]: the position before; -1 = none
    width   above every id
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


def _fed(laid: _Laid, want: Flags, look: Flags, whole: bool) -> Ints:
    """How many of its tokens are fed for each: a token is when it, or anything after it, has a needed successor or is
    looked at; a stem is, as a whole, when anything behind it is wanted."""
    lengths = np.diff(laid.starts)
    place = np.arange(len(want)) - np.repeat(laid.starts[:-1], lengths)
    # Counted from 1, and 0 for nothing: behind a stem, the first token can be wanted, which feeds the stem alone.
    reach = np.maximum(np.where(want, place + 1, 0), np.where(look, place + 2, 0))
    most = np.zeros(len(lengths), np.int64)
    if (some := lengths > 0).any():
        most[some] = np.maximum.reduceat(reach, laid.starts[:-1][some])
    fed = np.where(most > 0, lengths if whole else most - 1, 0)
    stems = laid.stem[(laid.stem >= 0) & (most > 0)]
    fed[stems] = lengths[stems]
    return fed


def _flags(values: Sequence[Sequence[bool]] | Flags | None, total: int, *, default: bool) -> Flags:
    """One flat array of flags."""
    if values is None:
        return np.full(total, default)
    if not isinstance(values, np.ndarray):
        values = np.fromiter(chain.from_iterable(values), np.bool_)
    if len(values) != total:
        raise ValueError(f"there are {len(values)} flags for {total} tokens")
    return values


class _Level(NamedTuple):
    """The nodes of one depth, sorted by (parent, token). `parent` counts over all levels; at depth 0 it is 0."""

    base: int
    parent: Ints
    token: Ints


def _levels(laid: _Laid, fed: Ints) -> tuple[Ints, list[_Level]]:
    """Number the distinct prefixes depth by depth: node of every fed position (else -1), and the levels."""
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
    """Renumber depth first: the new number of each node, then token, depth, parent and end by new number."""
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
        own = slice(level.base, level.base + len(level.token))
        before = np.cumsum(size[own]) - size[own]
        if at:
            first = np.searchsorted(level.parent, level.parent, "left")
            before += number[level.parent] + 1 - before[first]
        number[own] = before
        token[before], depth[before], end[before] = level.token, at, before + size[own]
        if at:
            parent[before] = number[level.parent]
    return number, token, depth, parent, end


def _edges(laid: _Laid, wanted: Ints, nodes: Ints) -> tuple[Ints, Ints, Ints]:
    """Distinct (node, next token): the edge of each position (-1 = none), then node and token of each edge."""
    edge_of = np.full(len(laid.flat), -1, np.int64)
    keys = nodes[laid.before[wanted]] * laid.width + laid.flat[wanted]
    distinct, inverse = np.unique(keys, return_inverse=True)
    edge_of[wanted] = inverse
    return edge_of, distinct // laid.width, distinct % laid.width


def cut(forest: Forest, first: int, budget: int, most: int | None = None) -> Chunk:
    """The chunk that begins with node `first`: at most `budget` positions, its ancestors included.

    Where ancestors take more than half of that, as many new nodes as ancestors are run, and the first path is run to
    its leaf. So long texts cost about twice their positions at most, and a chunk has no more positions than the budget
    allows, the longest path has, or twice the ancestors of `first` are (those or `most`). Raises ValueError below
    budget 1.
    """
    if budget < 1:
        raise ValueError(f"a budget of {budget} holds nothing")
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
    """Nodes from `first` to the first leaf behind it; any smaller number than `room` if they fit into that."""
    while True:
        own = np.arange(first + 1, min(first + room, len(forest.end)) + 1)
        leaves = np.flatnonzero(forest.end[first : first + room] == own)
        if len(leaves):
            return int(leaves[0]) + 1
        room *= 2


def cut_all(forest: Forest, budget: int) -> list[Chunk]:
    """All chunks under one budget, in order; every node is in exactly one chunk's own range."""
    found: list[Chunk] = []
    first = 0
    while first < len(forest.token):
        found.append(cut(forest, first, budget))
        first = found[-1].last
    return found
