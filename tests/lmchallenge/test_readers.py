"""Blocks that are decoded by type mean what the same lines mean one by one."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
import regex
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gym.lmchallenge import blocks, logs, mixing, readers, stats
from gym.lmchallenge.errors import LmcError
from gym.lmchallenge.quick import Quick
from gym.lmchallenge.tokens import FILTERS
from tests.lmchallenge.differential import WORDS

GRID = mixing.grid(mixing.Domain(0, 1, 3), mixing.Domain(-2, 0, 2))
TEXT = st.sampled_from([*WORDS, "", " the", "@x", "\ud800"]) | st.text("ab @é猫🍕", max_size=5)
SCORE = st.floats() | st.integers(-9, 9) | st.sampled_from([10**400, -0.0, True, "1", None])
COUNT = st.integers(0, 4) | st.sampled_from([-1, 1.0, True, None, "1", 2**53, 2**70])
USER = st.none() | st.sampled_from(["a", "b", 1, 1.0, True, [1], {"b": 1, "a": 2}, 2**70, "ü"])


def often(usual, odd):
    """Mostly the first."""
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
    key = logs.RESULT_KEYS[game]
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


def read(lines: list[bytes], keep: str, fast: bool) -> readers.Table | str:
    try:
        if fast:
            return readers.read_log(lines, keep=keep, mixes=GRID)
        return readers.read_table(logs.read(lines), keep=keep, mixes=GRID)
    except LmcError as error:
        return error.message


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(log(), st.sampled_from(sorted(FILTERS)))
def test_a_log_read_in_blocks_is_the_log_read_line_by_line(lines, keep):
    fast, slow = read(lines, keep, True), read(lines, keep, False)
    if isinstance(slow, str) or isinstance(fast, str):
        assert fast == slow
        return
    for name, column in vars(slow).items():
        found = getattr(fast, name)
        if isinstance(column, np.ndarray):
            assert found.dtype == column.dtype
            np.testing.assert_array_equal(found, column)
        elif name == "lines":
            assert (found.numbers, found.users, found.has_user, found.learnt) == (
                column.numbers,
                column.users,
                column.has_user,
                column.learnt,
            )
        else:
            assert found == column


def test_a_usual_log_is_read_in_blocks(monkeypatch: pytest.MonkeyPatch):
    lines = [b'{"wordPredictions": [{"rank": 1, "score": -1.5, "target": "the"}], "userId": "a"}\n'] * 1200
    read_singly: list[bytes] = []
    whole = logs._row
    monkeypatch.setattr(logs, "_row", lambda raw, where: read_singly.append(raw) or whole(raw, where))
    assert len(readers.read_log(lines).line) == 1200
    assert len(read_singly) == 1  # to see which game it is


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    log(),
    st.sampled_from(sorted(FILTERS)),
    st.sampled_from(logs.PARTITIONS),
    st.sampled_from([blocks.plain_json, blocks.typed_json]),
)
def test_a_log_counted_without_numpy_is_the_log_counted_with_it(lines, keep, partition, decode):
    def thoroughly():
        table = readers.read_table(logs.read(lines), keep=keep)
        return stats.statistics(table, partition), list(table.notices)

    quick = Quick(keep, partition)
    try:
        if not quick.take(enumerate(lines, 1), "the log", decode):
            return  # a log of ic
        found = quick.statistics(), quick.notices
    except LmcError as error:
        with pytest.raises(LmcError) as expected:
            thoroughly()
        assert error.message == expected.value.message
        return
    rows, notices = thoroughly()
    assert found[1] == notices
    assert [row.keys() for row in found[0]] == [row.keys() for row in rows]
    for one, other in zip(found[0], rows, strict=True):
        assert one == pytest.approx(other, abs=1e-12, nan_ok=True)


def test_the_command_line_counts_short_logs_without_numpy_or_regex(tmp_path):
    path = tmp_path / "log"
    path.write_text('{"wordPredictions": [{"target": "the", "rank": 1, "score": -1}, {"target": "é"}]}\n')
    program = (
        "import sys; from gym.lmchallenge.cli import main; main(['stats', sys.argv[1]]); "
        "print(sorted({'numpy', 'regex', 'msgspec', 'dataclasses'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[1] == "[]"


def test_letters_are_those_of_the_tokenizer_in_every_version_of_python():
    letter, other = regex.compile(r"\p{L}"), regex.compile(r"\P{L}")
    for code in range(0x110000):
        text = chr(code)
        assert FILTERS["alpha"](text) == (letter.search(text) is not None and text != "@"), hex(code)
        assert FILTERS["alphaonly"](text) == (other.search(text) is None), hex(code)


HIDDEN_WORD = {
    "targetChars": 2,
    "verbatimMatch": True,
    "score": [-1, -2],
    "candidates": [[-1, -2], [-3, None]],
}


def ic_lines(*entries: dict) -> list[bytes]:
    return [json.dumps({"inputCorrections": [entry]}).encode() + b"\n" for entry in entries]


@pytest.mark.parametrize("fast", [True, False])
def test_a_verbatim_match_of_null_is_none_given(fast):
    about = {"verbatimMatch": None, "score": [-1, -2], "candidates": []}
    named = ic_lines(*({"target": "a", "verbatim": typed, **about} for typed in "ab"))
    found = read(named, "all", fast)
    assert not isinstance(found, str)
    assert found.before.tolist() == [True, False]
    assert [logs.right_before(row["inputCorrections"][0]) for _, row in logs.read(named)] == [True, False]
    hidden = ic_lines(HIDDEN_WORD, {**HIDDEN_WORD, "verbatimMatch": None})
    assert "line 2: inputCorrections[0]: what was typed is missing" in str(read(hidden, "all", fast))


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("at", [0, 3, 6, 9])
def test_a_candidate_that_is_none_is_named_with_its_line(monkeypatch, fast, at):
    monkeypatch.setattr(readers, "_CHUNK", 4)
    monkeypatch.setattr(readers, "_BLOCK_LINES", 3)
    lines = ic_lines(*[HIDDEN_WORD] * 10)
    lines[at : at + 1] = ic_lines({**HIDDEN_WORD, "candidates": [[-1, -2], [-1, "x"]]})
    assert read(lines, "all", fast) == f"Line {at + 1} of the log: 'x' stands where a score belongs."


@pytest.mark.parametrize("decode", [blocks.plain_json, blocks.typed_json])
@pytest.mark.parametrize("score", [15 * 10**307, -(17 * 10**307)])
def test_whole_scores_that_a_double_holds_are_taken(decode, score):
    line = json.dumps({"wordPredictions": [{"target": "a", "rank": 1, "score": score}]}).encode() + b"\n"
    quick = Quick("all")
    assert quick.take(enumerate([line] * 3, 1), "the log", decode)
    assert quick.statistics()[0]["hit1"] == 1
    assert isinstance(read([line] * 3, "all", False), readers.Table)


def test_long_lines_are_not_gathered():
    line = b'{"wordPredictions": []%s}\n' % (b" " * blocks.BYTES)
    taken = 0

    def lines():
        nonlocal taken
        for number in range(1, 9):
            taken = number
            yield number, line

    for at, block in enumerate(blocks.blocks(lines(), logs.Checker("the log"), blocks.plain_json), 1):
        assert len(block.sizes) == 1
        assert taken == at
    assert taken == 8
