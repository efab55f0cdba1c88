"""Harmless documents mean the same to this reader and to pyhocon, the parser that agent servers use."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym.conversations.hocon import read

pyhocon = pytest.importorskip("pyhocon")

NAMES = st.sampled_from(["agent", "text", "sly_data", "x", "y-z", "key2", "Upper"])
WORDS = st.lists(
    st.sampled_from(["hello", "there", "don't", "x-y", "a_b", "ok;"]), min_size=1, max_size=3
).map(" ".join)
# Left out is what pyhocon gets wrong: null and "" within lists, escapes, several blanks between words.
QUOTED = st.text("abcdefgh äöü :,{}[]#=/$'", min_size=1, max_size=10).map(
    lambda text: json.dumps(text, ensure_ascii=False)
)
TRIPLE = (
    st.text('abc\n :{}"#', min_size=1, max_size=10)
    .map(lambda text: f'"""{text}"""')
    .filter(lambda text: not text.startswith('""""'))
)
NUMBERS = st.integers(-999, 999).map(str) | st.sampled_from(["1.5", "0.25", "-2.0", "1e3", "2.5E-2"])
ATOMS = WORDS | QUOTED | TRIPLE | NUMBERS | st.sampled_from(["true", "false"])
COMMENTS = st.sampled_from(["", "  # about", "  // more: {x}"])


@st.composite
def lists(draw, below):
    parts = draw(st.lists(below, max_size=3))
    separator = draw(st.sampled_from([", ", ",\n", "\n"]))
    return "[" + separator.join(parts) + draw(st.sampled_from(["", ","] if parts else [""])) + "]"


@st.composite
def objects(draw, below, braces=True):
    lines = []
    for name, value in draw(st.lists(st.tuples(NAMES, below), max_size=4, unique_by=lambda pair: pair[0])):
        key = draw(st.sampled_from([name, f'"{name}"', f"{name}.inner"]))
        sign = draw(st.sampled_from([": ", " = ", ":"]))
        lines.append(f"{key}{sign}{value}{draw(COMMENTS)}")
    body = "\n".join(lines)
    return f"{{\n{body}\n}}" if braces else body


VALUES = st.recursive(ATOMS, lambda below: lists(below) | objects(below), max_leaves=8)


@settings(max_examples=150, deadline=None)
@given(objects(VALUES, braces=False))
def test_generated_documents(text):
    theirs = json.loads(json.dumps(pyhocon.ConfigFactory.parse_string(text)))
    assert read(text).value == theirs


TOGETHER = [
    "a: {b: 1}\na: {c: 2}",
    "a: {b: {c: 1}}\na.b.d: 2",
    "a: [1]\nb: ${a} [2]",
    "a: x\nb: pre ${a} post",
    "a: {v: 1}\nb: ${a} {w: 2}",
    "a: 1\na: ${?none}",
    "a: ${?none}\nb: 1",
    'a: """x"y""""',
    "a: [\n  {b: 1}\n  {b: 2}\n]",
    "a { b = 1, c = two }",
    "base: {x: 1, y: 2}\na: ${base} {y: 3}\nb: ${a.y}",
]


@pytest.mark.parametrize("text", TOGETHER)
def test_merging_and_substituting(text):
    theirs = json.loads(json.dumps(pyhocon.ConfigFactory.parse_string(text)))
    assert read(text).value == theirs


@pytest.mark.published
def test_the_published_cases_read_alike(conformance, monkeypatch):
    monkeypatch.delenv("USER_TEXT", raising=False)
    files = sorted((conformance / "neurosan" / "cases").glob("*.hocon"))
    assert len(files) > 30
    for file in files:
        theirs = json.loads(json.dumps(pyhocon.ConfigFactory.parse_string(file.read_text())))
        assert read(file.read_bytes()).value == theirs, file.name
