"""The HOCON reader on well-formed documents."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.agents.hocon import HoconError, read

READINGS = [
    ("", {}),
    ("a: 1", {"a": 1}),
    ("{a: 1,}", {"a": 1}),
    ("a = 1\nb = 2", {"a": 1, "b": 2}),
    ("a { b { c: 1 } }\na.b.d: 2", {"a": {"b": {"c": 1, "d": 2}}}),
    ('"a.b": 1, c."d.e".f: 2', {"a.b": 1, "c": {"d.e": {"f": 2}}}),
    ("a b c: 1", {"a b c": 1}),
    ("a: {b: 1}, a: {c: 2}", {"a": {"b": 1, "c": 2}}),
    ("a: {b: 1}, a: 2, a: {c: 3}", {"a": {"c": 3}}),
    ("a: 1, a: {b: 2}", {"a": {"b": 2}}),
    ("a: [1, 2,]\na += 3", {"a": [1, 2, 3]}),
    ("a += 1\na += [2]", {"a": [1, [2]]}),
    ("a: [1] [2, 3]", {"a": [1, 2, 3]}),
    ("a: {b: 1} {c: 2}", {"a": {"b": 1, "c": 2}}),
    ("a: [\n1\n2\n]", {"a": [1, 2]}),
    ("a:\n\n[1]", {"a": [1]}),
    ("a: one  two three # comment", {"a": "one  two three"}),
    ("a: x // comment\nb: y", {"a": "x", "b": "y"}),
    ('a: "http://x/y#z" # comment', {"a": "http://x/y#z"}),
    ('a: "x" "y"', {"a": "x y"}),
    ('a: "x" y 3', {"a": "x y 3"}),
    ("a: 007, b: 1., c: 1e3, d: -1.5e+3", {"a": 7, "b": "1.", "c": 1000.0, "d": -1500.0}),
    ('a: "x\ty", b: """x\ty"""', {"a": "x\ty", "b": "x\ty"}),
    ("a: True, b: .5, c: NULL", {"a": True, "b": 0.5, "c": None}),
    (
        "a: true, b: false, c: null, d: yes, e: true false",
        {"a": True, "b": False, "c": None, "d": "yes", "e": "true false"},
    ),
    ("a: 3/3", {"a": "3/3"}),
    ("a: 5 seconds, b: 10 days", {"a": "5 seconds", "b": "10 days"}),
    (r'a: "\u00e9\/\b\n\"\\"', {"a": 'é/\b\n"\\'}),
    (r'a: "\ud83d\ude00"', {"a": "😀"}),
    ("a: 'x'", {"a": "'x'"}),
    ("\ufeffa: 1", {"a": 1}),
    ("ключ: значение", {"ключ": "значение"}),
    ("a: 1\r\nb: 2\r\n", {"a": 1, "b": 2}),
    ("include: 3", {"include": 3}),
    ('"include" : "x"', {"include": "x"}),
    ("including: 3", {"including": 3}),
    ("[1, {a: 2}]", [1, {"a": 2}]),
    ("a: []\nb: {}", {"a": [], "b": {}}),
]
TRIPLE = [
    ('a: """one\ntwo"""', "one\ntwo"),
    ('a: """he said "yes""""', 'he said "yes"'),
    ('a: """"x"""', '"x'),
    ('a: """x""""""', 'x"""'),
    (r'a: """\n ${x} # no"""', r"\n ${x} # no"),
    ('a: """"""', ""),
]
SUBSTITUTIONS = [
    ("a: 1, b: ${a}", {"a": 1, "b": 1}),
    ("b: ${a}, a: 1, a: 2", {"a": 2, "b": 2}),
    ("a: x, b: ${a} and ${a}s", {"a": "x", "b": "x and xs"}),
    ("a: 1.0, b: v${a}", {"a": 1.0, "b": "v1.0"}),
    ("a: {b: 1, c: ${a.b}}", {"a": {"b": 1, "c": 1}}),
    ("x: {b: 1, c: 3}, a: ${x} {b: 2}", {"x": {"b": 1, "c": 3}, "a": {"b": 2, "c": 3}}),
    ("x: [1], a: ${x} [2]", {"x": [1], "a": [1, 2]}),
    ('path: a\npath: ${path}":b"', {"path": "a:b"}),
    ("a: [1], a: ${a} [2], a += 3", {"a": [1, 2, 3]}),
    ("x: {b: 1}, a: {c: 2}, a: ${x}", {"x": {"b": 1}, "a": {"c": 2, "b": 1}}),
    ("a: ${?none}", {}),
    ("a: 1, a: ${?none}", {"a": 1}),
    ("a: [1, ${?none}, 2]", {"a": [1, 2]}),
    ("a: ${?none}b", {"a": "b"}),
    ("a: {x: ${b.y}}, b: {y: ${a.z}}, a: {z: 1}", {"a": {"x": 1, "z": 1}, "b": {"y": 1}}),
    ("a: {v: 1}, b: ${a}, b.v: 2", {"a": {"v": 1}, "b": {"v": 2}}),
]


@pytest.mark.parametrize(("text", "value"), READINGS, ids=[text or "empty" for text, _ in READINGS])
def test_documents_mean_what_the_specification_says(text, value):
    assert read(text).value == value
    assert read(text.encode()).value == value


@pytest.mark.parametrize(("text", "value"), TRIPLE)
def test_of_many_closing_quotes_the_extra_ones_belong_to_the_text(text, value):
    assert read(text).value == {"a": value}


@pytest.mark.parametrize(("text", "value"), SUBSTITUTIONS)
def test_substitutions_name_values_of_the_document(text, value):
    assert read(text).value == value


def test_named_variables_are_looked_up_after_the_document():
    given_ones = {"KEY": "secret", "a": "outer", "unused": "x"}
    document = read('k: ${KEY}, a: inner, b: ${a}, c: "pre-"${KEY}, d: ${?other.name}', given_ones)
    assert document.value == {"k": "secret", "a": "inner", "b": "inner", "c": "pre-secret"}
    assert document.variables == {"KEY"}


def test_what_two_substitutions_name_are_two_values():
    value = read("x: {l: [1]}, a: ${x}, b: ${x}").value
    value["a"]["l"].append(2)
    assert value["b"] == {"l": [1]}


def test_every_value_has_a_place():
    document = read('a: 1\nb {\n  "c d": [x,\n    {e: 2}]\n}\n')
    assert document.place(("a",)) == (1, 1)
    assert document.place(("b", "c d")) == (3, 3)
    assert document.place(("b", "c d", 1)) == (4, 5)
    assert document.place(("b", "c d", 1, "e")) == (4, 6)
    assert document.place(("b", "absent")) == (2, 1)


WRONG = [
    ("a: 1 : 2", "syntax", 1, 6),
    ("a:", "syntax", 1, 3),
    ("a: [1", "syntax", 1, 4),
    ("{\n a: 1", "syntax", 1, 1),
    ("a: 1,,b: 2", "syntax", 1, 6),
    ("a: 1 }", "syntax", 1, 6),
    ("{a: 1} x", "syntax", 1, 8),
    ('a: "x\n"', "syntax", 1, 4),
    ('a: "x', "syntax", 1, 4),
    ('\na: """x""', "syntax", 2, 4),
    (r'a: "\x"', "syntax", 1, 5),
    (r'a: "\ud83d"', "syntax", 1, 5),
    (r'a: "\u0000"', "syntax", 1, 5),
    ("a..b: 1", "syntax", 1, 1),
    ("a: ${b", "syntax", 1, 7),
    ("a: $b", "syntax", 1, 4),
    ("a: ${b}\nb: ${a}", "cycle", 1, 4),
    ("a: {b: ${a}}", "cycle", 1, 8),
    ("a: ${b}", "undefined", 1, 4),
    ("a: [1] x", "mixed", 1, 4),
    ("a: {b: 1} [2]", "mixed", 1, 4),
    ("a: 1\na += 2", "mixed", 2, 1),
    ("a: 1e400", "limit", 1, 4),
    ("a: `x`", "syntax", 1, 4),
    ("a: http://x/y", "syntax", 1, 8),
    ("a: +3", "syntax", 1, 4),
    ("a: [1,,2]", "syntax", 1, 7),
    (r'a: "\q"', "syntax", 1, 5),
]


@pytest.mark.parametrize(("text", "code", "line", "column"), WRONG)
def test_errors_name_their_place(text, code, line, column):
    with pytest.raises(HoconError) as caught:
        read(text)
    assert (caught.value.code, caught.value.line, caught.value.column) == (code, line, column)
    assert str(caught.value).startswith(f"line {line}, column {column}: ")


def test_a_circle_is_named():
    with pytest.raises(HoconError, match="in a cycle: c → b → c"):
        read("a: ${b}, b: ${c}, c: ${b}")


def test_bytes_that_are_no_utf_8_are_named():
    with pytest.raises(HoconError) as caught:
        read(b"a: 1\nb: \xe9")
    assert (caught.value.code, caught.value.line, caught.value.column) == ("encoding", 2, 4)


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(allow_nan=False, allow_infinity=False)
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
JSON = st.recursive(
    SCALARS | TEXTS,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(TEXTS, below, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(TEXTS, JSON, max_size=5), st.booleans(), st.sampled_from([None, 2]))
def test_json_is_read_as_json(value, ascii_only, indent):
    assert read(json.dumps(value, ensure_ascii=ascii_only, indent=indent)).value == value
