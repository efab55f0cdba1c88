"""Harmless documents mean the same to this reader and to pyhocon, the parser that agent servers use."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.agents.hocon import read

pyhocon = pytest.importorskip("pyhocon")

NAMES = st.sampled_from(["agent", "text", "sly_data", "x", "y-z", "key2", "Upper"])
WORDS = st.lists(
    st.sampled_from(["hello", "there", "don't", "x-y", "a_b", "ok;"]), min_size=1, max_size=3
).map(" ".join)
# Without what pyhocon reads wrongly: null and "" within lists, escapes, several spaces between words.
QUOTED = st.text("abcdefgh äöü :,{}[]#=/$'", min_size=1, max_size=10).map(
    lambda text: json.dumps(text, ensure_ascii=False)
)
TRIPLE = (
    st.text('abc\n :{}"#', min_size=1, max_size=10)
    .filter(lambda text: '"""' not in text)
    .map(lambda text: f'"""{text}"""')
    .filter(lambda text: not text.startswith('""""'))
)
NUMBERS = st.integers(-999, 999).map(str) | st.sampled_from(
    ["1.5", "0.25", "-2.0", "1e3", "2.5E-2", ".5", "-.5", ".5e1", "5."]
)
BOOLEANS = st.sampled_from(["true", "false", "True", "FALSE", "tRUE", "yes", "None"])
ATOMS = WORDS | QUOTED | TRIPLE | NUMBERS | BOOLEANS
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


SPELLINGS = [
    "true", "True", "TRUE", "tRUE", "false", "False", "FALSE", "fALSE", "null", "Null", "NULL", "nULL",
    "None", "none", "NONE", "yes", "Yes", "no", "on", "On", "off", "y", "undefined", "NaN", "Infinity", "-inf",
    ".5", "-.5", ".0", "-.0", ".5e1", "-.5E-1", ".5e+1", "5.", "-5.", ".", "-", "-.", ".e1", "1.e3", "1e3", "1E3",
    "1e+3", "1e-400", "007", "00.5", "-0", "0x10", "1_000", "1e", ".5f", ".5.2", ".5%", ".5s", "\u0665", "fal\u017fe",
    '"True"', '".5"', "trueish", "Truex", "True_x", "True1", "x True", "1 True", "x-True", ".5 x", ".5 1",
    "True.x", "None x", '"x" True',
]  # fmt: skip
PLACES = [
    "a = {}\nb: 1", "a:{},b: 1", '{{"a": {}}}', "a {{ b: {} }}", "a: [x, {}, 1]", "a: [\n{}\n]", "a: {} # why\n",
    "a: {} // why\n", "a: {}\r\nb: 1", "a: 1\na: {}\nb: 1",
]  # fmt: skip


def assert_alike(text):
    theirs = json.loads(json.dumps(pyhocon.ConfigFactory.parse_string(text)))
    assert json.dumps(read(text).value) == json.dumps(theirs), text  # as JSON, since True == 1 == 1.0


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_words_and_numbers_mean_the_same_in_every_spelling(spelling):
    assert_alike(f"a: {spelling}\nb: [{spelling}, 1]\nc: {{d: {spelling}}}")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("spelling", ["True", "NULL", ".5"])
def test_words_and_numbers_mean_the_same_in_every_place(spelling, place):
    assert_alike(place.format(spelling))


@pytest.mark.parametrize("spelling", ["True", "fALSE", "-.5"])
def test_substitutions_hand_on_words_and_numbers(spelling):
    assert_alike(f"a: {spelling}\nb: ${{a}}\nc: [${{a}}]")


@pytest.mark.parametrize(
    "text", ["True: 1", "Null.x: 1", "a.TRUE: 1", "True: 1\na: ${True}", "false { x: 1 }"]
)
def test_keys_are_text_in_every_spelling(text):
    assert_alike(text)


@pytest.mark.parametrize(
    "text", ["a: True ${?x}", "a: ${?x} .5", "a: ${?x}FALSE", "a: 5 ${?x}", "a: [1] ${?x}"]
)
def test_beside_an_undefined_substitution_a_value_stays_what_it_is(text):
    assert_alike(text + "\nb: 1")


JOINED = [
    "True x", "true  x", "true false", "x true", "5 true", "x .5", "x  007", "version 1.10", "true;", "true/false",
    "True.5", "true-1", 'True "x"', '"x" true', '"a".5', "1 .5", ".5 .5", "true ${b}", "${b} TRUE", "${b}.5",
    "1.50 ${b}", "y 1.50 ${b}", "5 ${b}",
]  # fmt: skip


@pytest.mark.parametrize("value", JOINED)
def test_where_they_join_text_differently_the_remark_says_what_the_other_reads(value):
    text = f"b: 1\na: {value}\nc: 1"
    document = read(text)
    (remark,) = document.remarks
    theirs = pyhocon.ConfigFactory.parse_string(text)["a"]
    said = remark.message.removeprefix("neuro-san changes this unquoted text to ").removesuffix(".")
    assert json.loads(said).replace("${b}", "1") == theirs != document.value["a"]
    assert (remark.code, remark.path, remark.line, remark.column) == ("joined-text", ("a",), 2, 4)
    assert read('b: 1\na: "true x"\nc: two words\nd: x ${b} y\ne: 3/3\nf: 1.5 m').remarks == ()


@pytest.mark.published
def test_the_published_cases_read_alike(conformance, monkeypatch):
    monkeypatch.delenv("USER_TEXT", raising=False)
    files = sorted((conformance / "neurosan" / "cases").glob("*.hocon"))
    assert len(files) > 30
    for file in files:
        theirs = json.loads(json.dumps(pyhocon.ConfigFactory.parse_string(file.read_text())))
        assert read(file.read_bytes()).value == theirs, file.name
