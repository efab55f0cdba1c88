"""Corpora and logs are read unchanged, and errors name what cannot be read."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.lmchallenge import corpus
from lmgym.lmchallenge.corpus_tools import MESSAGES, CorpusInspector, preview, to_text
from lmgym.lmchallenge.errors import CorpusError, LmcError, LogError
from lmgym.lmchallenge.logs import interpolation, log_rows, stats
from lmgym.lmchallenge.logs.decoder import read_lines, read_rows
from lmgym.lmchallenge.logs.table import read_table
from tests.lmgym.lmchallenge.decoded import table_of


def split(data: bytes) -> list[bytes]:
    return (
        data.splitlines(keepends=True) if b"\r" not in data else [part + b"\n" for part in data.split(b"\n")]
    )


def warnings(form: str, *texts: str) -> dict[str, tuple[int, int]]:
    inspector = CorpusInspector(form)
    list(inspector.inspect(corpus.read([text.encode("utf-8", "surrogatepass") for text in texts], form)))
    return {found.code: (found.line, found.count) for found in inspector.warnings}


def test_only_newlines_end_lines_and_carriage_returns_at_the_end_go():
    found = [line.text for line in corpus.read([b"a\r\r\n", "b\u2028c\n".encode(), b" d\re "])]
    assert found == ["a", "b\u2028c", " d\re "]


def test_other_keys_are_kept_and_text_is_taken_out():
    (line,) = corpus.read([b'{"userId": [1], "timestamp": null, "text": "a\\nb", "lang": "en"}\n'], "json")
    assert line.row == {"userId": [1], "timestamp": None, "lang": "en"}
    assert line.text == "a\nb"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"{}\n", 'key "text" is missing'),
        (b"[1]\n", "a list, not an object"),
        (b'{"text": 3}\n', '"text" is a number'),
        (b"\n", "Empty lines are not allowed"),
        (b"\xef\xbb\xbf{}\n", "byte order mark"),
        (b'{"text": "a"\n', "not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"\xff\n", "not UTF-8"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(line, words):
    with pytest.raises(CorpusError, match="line 2") as error:
        list(corpus.read([b'{"text": "a"}\n', line], "json"))
    assert words in str(error.value)


@given(st.lists(st.binary(max_size=40), max_size=4), st.sampled_from(corpus.FORMATS))
def test_any_bytes_are_read_or_refused(lines, form):
    try:
        found = preview(corpus.read(lines, form), form)
    except CorpusError:
        return
    assert found["lines"] == len(lines)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["target", "rank", "score"]), inner)
    ),
    max_leaves=8,
)
ENTRY = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("target", "verbatim"), st.text(max_size=3) | VALUES),
        **dict.fromkeys(("rank", "score", "targetChars", "candidates", "verbatimMatch"), VALUES),
    },
)


@given(st.sampled_from(sorted(log_rows.GAMES)), st.lists(ENTRY | VALUES, max_size=3), VALUES)
def test_any_json_is_a_log_or_refused(key, entries, learnt):
    data = [json.dumps({key: entries, "trainingChars": learnt}).encode()]
    try:
        table = read_table(read_lines(data), mixes=interpolation.grid())
        stats.statistics(table)
    except LmcError:
        return


def test_every_oddity_has_a_warning():
    text = ("\ufeffa\tb", "c\rd", "e\u2028f", "x\x01", "cafe\u0301", "", "g\r\n", '{"text": "a"}')
    assert set(warnings("text", *text)) == {
        "bom", "tab", "return", "separator", "control", "marks", "empty", "json-as-text", "crlf"
    }  # fmt: skip
    rows = [
        {"text": "a\nb", "user": "x"},
        {"text": "\ud800"},
        {"userId": "u", "timestamp": 2, "text": "a", "lang": "en"},
        {"userId": "u", "timestamp": 1, "text": "a", "trainingChars": 3},
        {"userId": "u", "timestamp": 1, "text": "a"},
        {"userId": ["v"], "timestamp": "x", "text": "a"},
        {"userId": "u", "timestamp": None, "text": "a"},
        {"userId": "u", "timestamp": None, "text": "a"},
    ]
    found = warnings("json", *map(json.dumps, rows))
    assert set(found) | set(warnings("text", *text)) == set(MESSAGES)
    assert found["batch"] == (5, 1)
    assert found["returning-user"] == (7, 1)


def test_users_are_counted_by_the_key_of_either_version():
    rows = [{"text": "a", "user": "x"}, {"text": "b", "user": "y"}, {"text": "c", "user": "y", "userId": "z"}]
    found = preview(corpus.read([json.dumps(row).encode() for row in rows], "json"), "json")
    assert (found["users"], [line["user"] for line in found["shown"]]) == (3, ["x", "y", "z"])
    [warning] = [one for one in found["warnings"] if one["code"] == "user-key"]
    assert 'Only games of LM Challenge 5 read the key "user"' in warning["message"]


@pytest.mark.parametrize("form", corpus.FORMATS)
def test_a_zip_that_is_given_for_a_corpus_is_called_a_zip(form):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("corpus.txt", "the cat")
    with pytest.raises(CorpusError, match=r"line 1: this is a zip archive\. Extract the"):
        list(corpus.read(packed.getvalue().splitlines(keepends=True), form))


def test_a_corpus_without_oddities_has_no_warnings():
    assert warnings("json", '{"userId": "a", "timestamp": 1, "text": "It\'s 3 o\'clock, naïve 💩 猫!"}') == {}


def test_the_format_is_told_from_the_first_line():
    assert corpus.sniff(b'{"text": "a"}\n') == "json"
    assert (
        corpus.sniff(b'{"txt": "a"}\n{"text": "a"}') == corpus.sniff(b"") == corpus.sniff(b"12\n") == "text"
    )


def test_a_vocabulary_keeps_the_order_and_the_first_of_equals():
    assert corpus.vocabulary([b"b\n", b"a\r\n", b"b\n", b" c \n", b"\n", b"d\re"]) == [
        "b",
        "a",
        " c ",
        "",
        "d",
        "e",
    ]


def test_documents_own_shapes_are_read():
    """Ranks of tc counted from 1, whole numbers, candidates of different lengths, an error score of 0."""
    ic = {
        "inputCorrections": [
            {
                "score": [-5, -2],
                "target": "Hi",
                "verbatim": "Ho",
                "candidates": [["Ho", 0, -9], ["Hop", -4, -4], ["Hi", -5, -2]],
            }
        ]
    }
    tc = {"textCompletions": [{"target": "H"}, {"score": -3, "rank": 1, "target": "ello"}]}
    for row in (ic, tc):
        assert stats.statistics(table_of(row, mixes=interpolation.grid()))[0]["lines"] == 1


def test_a_log_of_two_games_is_refused():
    with pytest.raises(LogError, match="line 2: a line of wp in a log of tc"):
        list(read_rows([b'{"textCompletions": []}', b'{"wordPredictions": []}']))


def test_windows_line_ends_are_told_and_a_newline_alone_is_not():
    assert warnings("text", "a\r\n", "b\n", "c\r\r\n") == {"crlf": (1, 2)}
    assert warnings("json", '{"text": "a"}\r\n') == {"crlf": (1, 1)}


def test_a_text_that_ends_in_a_carriage_return_is_no_plain_text():
    with pytest.raises(CorpusError, match="Line 2"):
        list(to_text(corpus.read([b'{"text": "a"}\n', b'{"text": "b\\r"}\n'], "json")))
