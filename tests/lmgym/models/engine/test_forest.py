"""Planned prefix trees: nothing is lost or repeated, and nodes see only their ancestors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.models.engine.forest import Chunk, Forest, cut, cut_all, grow

sequences = st.lists(st.lists(st.integers(0, 3), max_size=8), max_size=25)


@st.composite
def jobs(draw: st.DrawFn) -> tuple[list[list[int]], list[list[bool]], list[list[bool]]]:
    """Draw sequences, their needed flags and their row flags."""
    rows = draw(sequences)
    flags = [draw(st.lists(st.booleans(), min_size=len(row), max_size=len(row))) for row in rows]
    looks = [draw(st.lists(st.booleans(), min_size=len(row), max_size=len(row))) for row in rows]
    return rows, flags, looks


def path(forest: Forest, node: int) -> tuple[int, ...]:
    """Return the tokens from the root to a node."""
    found: list[int] = []
    while node >= 0:
        found.append(int(forest.token[node]))
        node = int(forest.parent[node])
    return tuple(reversed(found))


@given(jobs())
def test_every_needed_token_is_one_edge_after_its_own_prefix(job: tuple) -> None:
    rows, flags, looks = job
    forest = grow(rows, flags, looks)
    wanted: dict[tuple, int] = {}
    looked: dict[tuple, int] = {}
    fed: set[tuple] = set()
    for number, row in enumerate(rows):
        start = int(forest.starts[number])
        for at, token in enumerate(row):
            edge, look = int(forest.edge_of[start + at]), int(forest.row_of[start + at])
            assert (edge >= 0) == (flags[number][at] and at > 0)
            assert (look >= 0) == looks[number][at]
            if edge >= 0:
                assert path(forest, int(forest.edge_node[edge])) == tuple(row[:at])
                assert forest.edge_token[edge] == token
                key = tuple(row[: at + 1])
                assert wanted.setdefault(key, edge) == edge
                fed |= {tuple(row[:k]) for k in range(1, at + 1)}
            if look >= 0:
                assert path(forest, int(forest.row_node[look])) == tuple(row[: at + 1])
                assert looked.setdefault(tuple(row[: at + 1]), look) == look
                fed |= {tuple(row[:k]) for k in range(1, at + 2)}
    assert len(forest.edge_node) == len(wanted)
    assert len(forest.row_node) == len(looked)
    assert len(forest.token) == len(fed)
    assert (np.diff(forest.edge_node) >= 0).all()


@given(jobs(), st.integers(1, 30))
def test_chunks_hold_every_node_once_with_its_ancestors_and_nobody_else_in_sight(
    job: tuple, budget: int
) -> None:
    rows, flags, looks = job
    forest = grow(rows, flags, looks)
    chunks = cut_all(forest, budget)
    own = [node for chunk in chunks for node in range(chunk.first, chunk.last)]
    assert own == list(range(len(forest.token)))
    assert sum(chunk.edges.stop - chunk.edges.start for chunk in chunks) == len(forest.edge_node)
    assert sum(chunk.rows.stop - chunk.rows.start for chunk in chunks) == len(forest.row_node)
    for chunk in chunks:
        check_chunk(forest, chunk)
        assert len(chunk.token) <= max(budget, chunk.least, 2 * chunk.node_at)


def check_chunk(forest: Forest, chunk: Chunk) -> None:
    for node in range(chunk.first, chunk.last):
        here = node - chunk.first + chunk.node_at
        seen = [j for j in range(here + 1) if here < chunk.end[j]]
        assert tuple(int(chunk.token[j]) for j in seen) == path(forest, node)
        assert [int(chunk.position[j]) for j in seen] == list(range(len(seen)))
    edges = forest.edge_node[chunk.edges]
    assert ((edges >= chunk.first) & (edges < chunk.last)).all()


@st.composite
def stemmed(draw: st.DrawFn) -> tuple[list[list[int]], list[int], tuple]:
    """Draw stems, the stem that each sequence continues (-1 = none), and a job."""
    stems = draw(st.lists(st.lists(st.integers(0, 3), max_size=5), max_size=4))
    job = draw(jobs())
    return stems, [draw(st.integers(-1, len(stems) - 1)) for _ in job[0]], job


@given(stemmed(), st.booleans())
def test_sequences_behind_stems_are_planned_as_if_they_were_written_out(job: tuple, whole: bool) -> None:
    stems, stem_of, (rows, flags, looks) = job
    before = [stems[stem] if stem >= 0 else [] for stem in stem_of]
    no = [[False] * len(stem) for stem in before]
    written = grow(
        [stem + row for stem, row in zip(before, rows, strict=True)],
        [one + own for one, own in zip(no, flags, strict=True)],
        [one + own for one, own in zip(no, looks, strict=True)],
        whole=whole,
    )
    forest = grow(rows, flags, looks, whole=whole, stems=stems, stem_of=stem_of)
    for name in ("token", "depth", "parent", "end", "edge_node", "edge_token", "row_node"):
        np.testing.assert_array_equal(getattr(forest, name), getattr(written, name), name)
    for number, (stem, row) in enumerate(zip(before, rows, strict=True)):
        start = int(written.starts[number]) + len(stem)
        own = slice(int(forest.starts[number]), int(forest.starts[number + 1]))
        np.testing.assert_array_equal(forest.edge_of[own], written.edge_of[start : start + len(row)])
        np.testing.assert_array_equal(forest.row_of[own], written.row_of[start : start + len(row)])


@given(jobs())
def test_the_same_job_gives_the_same_plan(job: tuple) -> None:
    for a, b in zip(grow(*job), grow(*job), strict=True):
        np.testing.assert_array_equal(a, b)


def test_nothing_needed_is_nothing_run() -> None:
    forest = grow([[1, 2, 3], [], [4]], [[False] * 3, [], [True]])
    assert len(forest.token) == 0
    assert cut_all(forest, 8) == []


@pytest.mark.parametrize("budget", [1, 64, 512])
@pytest.mark.parametrize("length", [257, 512, 2048])
@pytest.mark.parametrize("shared", [0, 250])
def test_long_texts_cost_about_twice_their_positions_at_most(length: int, shared: int, budget: int) -> None:
    one = grow([list(range(length))])
    assert positions(one, budget) == len(one.token) == length - 1
    several = grow([[*range(shared), *[text] * (length - shared)] for text in range(10_000, 10_004)])
    assert positions(several, budget) <= 2.1 * len(several.token)


@pytest.mark.parametrize("budget", [64, 256])
def test_many_ends_of_one_long_beginning_cost_about_twice_their_positions_at_most(budget: int) -> None:
    forest = grow([[*range(1000), end, *range(7)] for end in range(2000, 2600)])
    assert positions(forest, budget) <= 2.1 * len(forest.token)
    assert max(len(chunk.token) for chunk in cut_all(forest, budget)) <= 2 * 1007


def positions(forest: Forest, budget: int) -> int:
    return sum(len(chunk.token) for chunk in cut_all(forest, budget))


def test_short_sentences_fill_chunks_up_to_the_budget() -> None:
    draw = np.random.default_rng(4)
    forest = grow([draw.integers(0, 3, 20).tolist() for _ in range(400)])
    for chunk in cut_all(forest, 64)[:-1]:
        room = 64 - chunk.node_at
        assert int(room * 0.75) <= chunk.last - chunk.first <= room


def test_a_bound_on_positions_holds_down_to_one_path() -> None:
    forest = grow([[*range(100), end, 7] for end in range(200, 300)])
    first = int(np.flatnonzero(forest.depth == 100)[0])
    sizes = [len(cut(forest, first, 8, most).token) for most in (None, 150, 110, 100)]
    assert sizes == [200, 150, 110, 101]
    assert cut(forest, first, 8).least == 101


def test_chunks_prefer_to_end_where_a_tree_ends() -> None:
    forest = grow([[group, 1, 2, 3, 4, 5, 6, 7, 8, 9] for group in range(10)])
    assert {chunk.last - chunk.first for chunk in cut_all(forest, 20)} == {18}


def test_a_budget_must_hold_something() -> None:
    with pytest.raises(ValueError, match="budget must be at least 1"):
        cut(grow([[1, 2]]), 0, 0)


def test_many_sentences_share_their_stems_and_are_cut_into_chunks() -> None:
    draw = np.random.default_rng(0)
    stems = draw.integers(0, 5000, (1500, 7))
    tails = draw.integers(0, 5000, (30_000, 6))
    rows = np.hstack([stems[np.arange(30_000) // 20], tails]).tolist()
    forest = grow(rows)
    assert len(forest.edge_node) < 360_000
    assert max(len(chunk.token) for chunk in cut_all(forest, 256)) <= 256


def test_flags_may_be_one_array_and_must_be_as_many_as_the_tokens() -> None:
    rows = [[1, 2, 3], [1, 2], [4]]
    needed = [[False, True, True], [False, True], [False]]
    flat = grow(rows, np.concatenate(needed))
    for one, other in zip(flat, grow(rows, needed), strict=True):
        np.testing.assert_array_equal(one, other)
    for wrong in (np.ones(5, np.bool_), np.ones(1, np.bool_), [[True]] * 3):
        with pytest.raises(ValueError, match=r"flags for 6 tokens"):
            grow(rows, wrong)
