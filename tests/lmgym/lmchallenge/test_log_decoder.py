"""Decoding lines by their schema gives the same result as decoding them value by value."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lmgym.lmchallenge.errors import LmcError
from lmgym.lmchallenge.logs import decoder, interpolation, log_rows, stats, table
from lmgym.lmchallenge.logs.decoder import read_lines
from lmgym.lmchallenge.logs.table import Table, read_table
from lmgym.lmchallenge.tokens import FILTERS
from tests.lmgym.lmchallenge.decoded import table_of
from tests.lmgym.lmchallenge.differential import WORDS

GRID = interpolation.grid(interpolation.Domain(0, 1, 3), interpolation.Domain(-2, 0, 2))
TEXT = st.sampled_from([*WORDS, "", " the", "@x", "\ud800"]) | st.text("ab @é猫🍕", max_size=5)
SCORE = st.floats() | st.integers(-9, 9) | st.sampled_from([10**400, -0.0, True, "1", None])
COUNT = st.integers(0, 4) | st.sampled_from([-1, 1.0, True, None, "1", 2**53, 2**70])
USER = st.none() | st.sampled_from(["a", "b", 1, 1.0, True, [1], {"b": 1, "a": 2}, 2**70, "ü"])


def often(usual, odd):
    """Return a strategy that draws from `usual` in 12 of 13 cases, else from `odd`."""
    return st.one_of(*[usual] * 12, odd)


NUMBER = often(st.floats(-20, 0) | st.integers(-9, 0), SCORE)
RANKED = st.fixed_dictionaries(
    {"target": often(TEXT, SCORE)},
    optional={
        "rank": often(st.integers(1, 5), COUNT),
        "score": NUMBER,
        "predictions": st.just([["a", -1.0]]),
    },
)
HIDDEN = st.fixed_dictionaries(
    {"targetChars": often(st.integers(0, 9), COUNT)}, optional={"rank": COUNT, "score": NUMBER}
)
PAIR = st.tuples(NUMBER, often(NUMBER | st.none(), SCORE))
CORRECTED = st.fixed_dictionaries(
    {
        "target": TEXT,
        "verbatim": TEXT,
        "score": PAIR,
        "candidates": st.lists(often(st.tuples(TEXT, NUMBER, NUMBER | st.none()), PAIR), max_size=4),
    },
    optional={"verbatimMatch": often(st.none(), st.booleans() | st.just(1))},
)
BARE = st.fixed_dictionaries(
    {
        "targetChars": often(st.integers(0, 9), COUNT),
        "verbatimMatch": often(st.booleans(), st.integers(0, 2)),
        "score": PAIR,
        "candidates": st.lists(PAIR, max_size=4),
    }
)
KINDS = {"wp": [RANKED, HIDDEN], "tc": [RANKED, HIDDEN], "ic": [CORRECTED, BARE]}


@st.composite
def log(draw: st.DrawFn) -> list[bytes]:
    game = draw(st.sampled_from(sorted(KINDS)))
    kind = draw(st.sampled_from(KINDS[game]))
    key = log_rows.RESULT_KEYS[game]
    row = st.fixed_dictionaries(
        {key: st.lists(kind, max_size=4)},
        optional={"userId": USER, "trainingChars": often(st.integers(0, 99), SCORE), "x": st.just([[None]])},
    )
    lines = [
        json.dumps(one, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass") + b"\n"
        for one in draw(st.lists(row, max_size=5))
    ]
    odd = [
        b"\n",
        b" {} \r\n",
        b"[1]\n",
        b"\xff\n",
        b'{"wordPredictions": []}\n',
        lines[0][:9] if lines else b"",
        b"{" * 9000,
    ]
    if draw(st.integers(0, 3)) == 0:
        lines.insert(draw(st.integers(0, len(lines))), draw(st.sampled_from(odd)))
    return lines


def read(lines: list[bytes], keep: str = "all") -> Table | str:
    try:
        return read_table(read_lines(lines), filters=[keep], mixes=GRID)
    except LmcError as error:
        return error.message


@pytest.fixture
def no_schema(monkeypatch: pytest.MonkeyPatch):
    """Let no line fit its schema, so that every line is checked and converted value by value."""
    monkeypatch.setattr(decoder, "_decoded", lambda raw, decoder: None)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(log(), st.sampled_from(sorted(FILTERS)))
def test_a_line_decoded_by_its_schema_means_what_it_means_value_by_value(lines, keep):
    fast = read(lines, keep)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoder, "_decoded", lambda raw, decoder: None)
        slow = read(lines, keep)
    if isinstance(slow, str) or isinstance(fast, str):
        assert fast == slow
        return
    for name, column in vars(slow).items():
        found = getattr(fast, name)
        if isinstance(column, np.ndarray):
            assert found.dtype == column.dtype
            np.testing.assert_array_equal(found, column)
        elif name == "lines":
            assert (found.numbers, found.users, found.learnt) == (column.numbers, column.users, column.learnt)
        else:
            assert found == column


def test_a_usual_line_is_decoded_by_its_schema(monkeypatch: pytest.MonkeyPatch):
    lines = [b'{"wordPredictions": [{"rank": 1, "score": -1.5, "target": "the"}], "userId": "a"}\n'] * 1200
    read_singly: list[bytes] = []
    whole = decoder._object
    monkeypatch.setattr(decoder, "_object", lambda raw, where: read_singly.append(raw) or whole(raw, where))
    assert len(list(read_lines(lines))) == 1200
    assert len(read_singly) == 1  # to see which game it is


@given(log())
def test_a_table_of_all_filters_is_the_table_of_each(lines):
    try:
        whole = read_table(read_lines(lines), filters=list(FILTERS), mixes=GRID)
    except LmcError:
        return
    for keep in FILTERS:
        own = read_table(read_lines(lines), filters=[keep], mixes=GRID)
        np.testing.assert_array_equal(whole.by(keep).allowed, own.allowed)
        # repr, since NaN (of trainingChars) is not equal to itself
        assert repr(stats.statistics(whole.by(keep))) == repr(stats.statistics(own))


HIDDEN_WORD = {
    "targetChars": 2,
    "verbatimMatch": True,
    "score": [-1, -2],
    "candidates": [[-1, -2], [-3, None]],
}


def ic_lines(*entries: dict) -> list[bytes]:
    return [json.dumps({"inputCorrections": [entry]}).encode() + b"\n" for entry in entries]


@pytest.mark.parametrize("patched", [False, True])
def test_a_verbatim_match_of_null_is_none_given(patched, request):
    if patched:
        request.getfixturevalue("no_schema")
    about = {"verbatimMatch": None, "score": [-1, -2], "candidates": []}
    named = ic_lines(*({"target": "a", "verbatim": typed, **about} for typed in "ab"))
    found = read(named)
    assert not isinstance(found, str)
    assert found.before.tolist() == [True, False]
    hidden = ic_lines(HIDDEN_WORD, {**HIDDEN_WORD, "verbatimMatch": None})
    assert "line 2: inputCorrections[0]: verbatimMatch is missing, and so is target or verbatim" in str(
        read(hidden)
    )


def test_a_word_without_what_was_typed_is_named_in_every_line():
    entry = {"target": "a", "score": [-1, -2], "candidates": []}
    lines = ic_lines({**entry, "verbatim": "b"}, entry)
    assert "line 2: inputCorrections[0]: verbatimMatch is missing, and so is target or verbatim" in str(
        read(lines)
    )


@pytest.mark.parametrize("at", [0, 3, 6, 9])
def test_a_candidate_that_is_none_is_named_with_its_line(monkeypatch, at):
    monkeypatch.setattr(table, "CORRECTIONS", 4)
    lines = ic_lines(*[HIDDEN_WORD] * 10)
    lines[at : at + 1] = ic_lines({**HIDDEN_WORD, "candidates": [[-1, -2], [-1, "x"]]})
    assert read(lines) == f"Line {at + 1} of the log: 'x' is not a score."


@pytest.mark.parametrize("score", [15 * 10**307, -(17 * 10**307)])
def test_whole_scores_that_a_double_holds_are_taken(score):
    line = json.dumps({"wordPredictions": [{"target": "a", "rank": 1, "score": score}]}).encode() + b"\n"
    found = read([line] * 3)
    assert isinstance(found, Table)
    assert found.score.tolist() == [float(score)] * 3


@pytest.mark.parametrize("at", [0, 20, 39])
@pytest.mark.parametrize(
    "line",
    [b"{\n", b"\xff\n", b'{"textCompletions": []}\n', b'{"wordPredictions": [{"target": 1}]}\n', b"\n"],
)
def test_an_odd_line_is_named_wherever_it_stands_and_a_blank_one_passed_over(line, at):
    lines = [b'{"wordPredictions": [{"target": "the"}]}\n'] * 40
    lines[at] = line
    found = read(lines)
    if line == b"\n":
        assert isinstance(found, Table)
        assert len(found.lines) == 39
    else:
        other = at == 0 and b"textCompletions" in line  # the next line is then of another game
        assert f"line {2 if other else at + 1}" in str(found)


def test_lines_are_decoded_as_they_are_asked_for():
    taken = []

    def lines():
        for number in range(1, 9):
            taken.append(number)
            yield b'{"wordPredictions": []}\n'

    for number, _ in read_lines(lines()):
        assert taken == list(range(1, number + 1))


def test_ranks_of_text_completion_say_what_they_count_from():
    def base(*ranks):
        return table_of({"textCompletions": [{"target": "a", "rank": rank} for rank in ranks]}).rank_base

    assert (base(None, 1), base(1, 0), base(None)) == (1, 0, None)
