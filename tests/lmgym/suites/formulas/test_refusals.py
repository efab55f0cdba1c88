"""Invalid formulas raise a FormulaError with position and hint."""

from __future__ import annotations

import copy
import inspect
import sys

import pytest

from lmgym.suites.formulas import MAX_DEPTH, MAX_LENGTH, MAX_NODES, FormulaError, parse

A, B = "(1;%a%)", "(1;%b%)"


def refusal(text: str) -> FormulaError:
    with pytest.raises(FormulaError) as caught:
        parse(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("", 0, "empty"),
        (" \n ", 0, "empty"),
        (A, 0, "not true or false"),
        (f"{A} + [{A} > {B}] > 0", 10, "needs numbers"),
        (f"[{A} > {B}] > 0", 0, "needs numbers"),
        (f"{A} > {B} & {A}", 20, "needs comparisons, which are true or false"),
        (f"{A} | {A} > {B}", 0, "needs comparisons, which are true or false"),
        (f"~{A}", 1, "needs comparisons, which are true or false"),
        (f"-[{A} > {B}] > 0", 1, "needs numbers"),
        (f"{A} > ~{B}", 10, "is not allowed here"),
        (f"{A} > ", 10, "ends where"),
        (f"> {A}", 0, "is expected"),
        (f"{A} {B} > 0", 8, "operator is missing"),
        (f"{A} > 0 ~{B} > 0", 12, "operator is missing"),
        (f"[{A} > {B}", 0, "never closed"),
        (f"[{A} > {B})", 18, "closed by a )"),
        (f"{A} > {B}]", 17, "has no opening bracket"),
        ("() > 1", 0, "empty"),
        ("0,5 > 1", 1, "comma"),
        ("abs > 1", 0, "brackets"),
        ("abs(1, 2) > 1", 7, "one argument"),
        ("min() > 1", 4, "is expected"),
        (f"min({A} > 1) > 0", 4, "needs numbers"),
        ("verb > 1", 0, "Unknown word"),
        ("1e999 > 0", 0, "too large"),
        ("(1;a) > 0", 3, "needs a %"),
        ("(1;%a) > 0", 3, "no closing %"),
        ("(1;%a) > (1;%b%)", 13, "missing after the condition name"),
        ("(1;% %) > 0", 3, "empty"),
        ("(1;%a\x00b%) > 0", 3, "control character"),
        ("(*) > 0", 0, "not complete"),
        ("(1234567;%a%) > 0", 0, "too large"),
        ("[3;%a%] > 0", 2, "not valid here"),
        ("(-1;%a%) > 0", 1, '"-1" is not a region number'),
        ("0 < ( −1;%a%)", 6, '"−1" is not a region number'),
        ("(1.5;%a%) > 0", 1, '"1.5" is not a region number'),
        ("(1,2;%a%) > 0", 1, '"1,2" is not a region number'),
        ("(1-3;%a%) > 0", 1, '"1-3" is not a region number'),
        ("(verb;%a%) > 0", 1, '"verb" is not a region number'),
        ("(;%a%) > 0", 1, "region number is missing"),
        ("(2:%a%) > 0", 2, "separated by ;"),
        ("(2,%a%) > 0", 2, "separated by ;"),
        ("(1;%a%) ^ 2 > 0", 8, '"^" is not valid here'),
        ("(1;%a%) ≈ 2", 8, '"≈" is not valid here'),
        ("(1;%a%) < inf", 10, 'Unknown word "inf"'),
        ("(1;%a%) < ∞", 10, '"∞" is not valid here'),
        ("３ > 2", 0, "FULLWIDTH DIGIT THREE"),
        ("(٣;%a%) > 2", 1, "ARABIC-INDIC DIGIT THREE"),
        ("1 >\u200b 2", 3, "ZERO WIDTH SPACE"),
    ],
)
def test_refusals_say_what_is_wrong_and_where(text: str, position: int, message: str) -> None:
    error = refusal(text)
    assert error.position == position
    assert message in error.message
    assert 0 <= error.position <= len(text)
    assert str(error).startswith(f"Column {position + 1}: ")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("3 > 2 > 5", "[3 > 2] & [2 > 5]"),
        (f"{A} < {B} <= 9", f"[{A} < {B}] & [{B} <= 9]"),
        ("1 < 2 < 3 < 4", "[1 < 2] & [2 < 3] & [3 < 4]"),
        (A, f"{A} > 0"),
        (f"{A} > {B} and {B} > 0", "Use & for “and”"),
        (f"not {A} > {B}", "Use ~ for “not”"),
        (f"{A} > {B} && {B} > 0", "single &"),
        (f"{A} > {B} || {B} > 0", "single |"),
        (f"{A} => {B}", "Use >="),
        (f"{A} =< {B}", "Use <="),
        (f"{A} <> {B}", "Use !="),
        (f"!{A} > {B}", "Use ~"),
        (f"{A} – {B} > 0", "Use -"),
        (f"{A} × 2 > {B}", "Use *"),
        (f"{{{A} > {B}}}", "( ) or [ ]"),
        ("mix(1, 2) > 0", "Did you mean min?"),
        ("0,5 > 1", "point"),
        ("(-1;%a%) > 0", "Regions are numbered from 1. For a negative value, write -(1;%condition%)"),
        ("(1.5;%a%) > 0", "whole numbers, as in (1;%condition%)"),
        ("(1,2;%a%) > 0", "To add several, write (1;%condition%) + (2;%condition%)"),
        ("(verb;%a%) > 0", "looks like (3;%condition%)"),
        ("(2:%a%) > 0", "Write (2;%condition%)"),
        (f"{A} ^ 2 > 0", "Powers are not supported"),
        (f"{A} ≈ {B}", "Use = for approximately equal"),
        (f"{A} ~= {B}", "Use = for approximately equal"),
        (f"{A} < inf", "Infinity is not supported"),
        (f"-Infinity < {A}", "Infinity is not supported"),
        ("３ > 2", "0 to 9"),
    ],
)
def test_refusals_come_with_the_way_out(text: str, hint: str) -> None:
    assert hint in refusal(text).hint


def test_a_chain_of_comparisons_is_refused_where_the_second_begins() -> None:
    # syntaxgym-core 0.8a1 silently keeps the first pair; Python would read a chain
    assert refusal("3 > 2 > 5").position == 6


def test_the_error_is_a_value_error_that_can_be_copied() -> None:
    error = refusal("3 > 2 > 5")
    twin = copy.copy(error)
    assert isinstance(twin, ValueError)
    assert (str(twin), twin.position, twin.length) == (str(error), error.position, error.length)


def test_what_is_not_text_is_refused() -> None:
    for value in (None, 3, b"1 > 0", ["1 > 0"]):
        with pytest.raises(FormulaError):
            parse(value)  # type: ignore[arg-type]


def test_length_is_bounded() -> None:
    fitting = "1 > 0".ljust(MAX_LENGTH)
    assert parse(fitting).text == fitting
    assert f"at most {MAX_LENGTH}" in refusal(fitting + " ").message


def test_depth_is_bounded() -> None:
    assert parse("(" * MAX_DEPTH + "1 > 0" + ")" * MAX_DEPTH).evaluate({})
    for text in (
        "(" * (MAX_DEPTH + 1) + "1 > 0" + ")" * (MAX_DEPTH + 1),
        "~" * MAX_DEPTH + "1 > 0",
        "-" * MAX_DEPTH + "1 > 0",
        "1+(2*" * MAX_DEPTH + "1" + ")" * MAX_DEPTH + " > 0",
    ):
        assert "levels deep" in refusal(text).message


def test_the_number_of_parts_is_bounded() -> None:
    assert parse("+".join(["1"] * (MAX_NODES - 3)) + ">0").evaluate({})
    assert f"more than {MAX_NODES}" in refusal("+".join(["1"] * (MAX_NODES - 2)) + ">0").message


@pytest.mark.parametrize(
    "text",
    [
        "[1>2|1>2&~" * 15 + "(" * 34 + "1>2" + ")" * 34 + "]" * 15,
        "1+2*-abs(" * 11 + "(" * 39 + "(1;%a%)" + ")" * 39 + ")" * 11 + ">0",
    ],
)
def test_the_deepest_formulas_leave_python_room_to_spare(text: str) -> None:
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 480)
    try:
        formula = parse(text)
        assert parse(formula.canonical()).canonical() == formula.canonical()
        assert formula.describe({})
        formula.chance_level()
    finally:
        sys.setrecursionlimit(usual)


HOSTILE = [
    "__import__('os').system('true')",
    "().__class__.__bases__[0].__subclasses__()",
    "eval('1')",
    "exec('import os')",
    "compile('1','','eval')",
    "open('/etc/passwd').read()",
    "lambda: 0",
    "[x for x in (1,2)]",
    "{1: 2}[1] > 0",
    "(1;%a%).__class__ > 0",
    "(1;%a%)[0] > 0",
    "abs.__globals__ > 0",
    "abs(__import__('os')) > 0",
    "min(*[1,2]) > 0",
    "min(a=1) > 0",
    "f'{1}' > 0",
    "'a' * 1000000000 > 0",
    "9**9**9**9 > 0",
    "1 << 99999999 > 0",
    "1 if 1 else 2",
    "1 > 0; import os",
    "1 > 0\nimport os",
    "1 > 0 # comment",
    "1 > 0 \\",
    "`id` > 0",
    "$(id) > 0",
    "${HOME} > 0",
    "%s%s%s%n",
    "{{7*7}} > 48",
    "{% load x %}",
    "<script>alert(1)</script>",
    "'; DROP TABLE suites; --",
    "1 > 0 -- ",
    "1 := 0",
    "True",
    "None > 0",
    "nan > 0",
    "inf > 0",
    "1e400 > 0",
    "-1e999 < 0",
    "0x10 > 0",
    "1_000 > 0",
    "1j > 0",
    "１ > ０",
    "٣ > 2",
    "² > 1",
    "½ > 0",
    "Ⅷ > 0",
    "1 ＞ 0",
    "（1;%a%） > 0",
    "(1;％a％) > 0",
    "\ufeff1 > 0",
    "1 > 0\x00",
    "\ud800 > 0",
    "(" * 10**5,
    "[" * 10**5 + "]" * 10**5,
    "~" * 10**5 + "1 > 0",
    "-" * 1990 + "1 > 0",
    "(" * 1000 + "1 > 0" + ")" * 900,
    "(1;%a%)+" * 10**5,
    "1<" * 900 + "1",
    "(" + "9" * 1900 + ";%a%) > 0",
    "(1;" + "%" * 1900 + ") > 0",
    "(*;" * 600,
    "min(" * 400 + "1",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_refused_with_a_short_message(text: str) -> None:
    assert len(str(refusal(text))) < 1000


def test_the_hostile_list_is_long_enough_to_mean_something() -> None:
    assert len(set(HOSTILE)) >= 60


def test_check_names_what_the_suite_lacks_and_the_nearest_match() -> None:
    formula = parse("(2;%mismach%) > (9;%match%) & (9;%mismach%) > (*;%match%)")
    errors = formula.check({1: "NP", 2: "Verb", 3: "End"}, ["match", "mismatch"])
    assert [error.position for error in errors] == [0, 16]
    assert 'no condition "mismach"' in errors[0].message
    assert 'Did you mean "mismatch"?' in errors[0].hint
    assert "no region 9" in errors[1].message
    assert "3 (End)" in errors[1].hint


def test_check_is_silent_when_everything_is_there() -> None:
    formula = parse("(2;%mismatch%) > (*;%match%)")
    assert formula.check({2: "Verb"}, ["match", "mismatch"]) == []


def test_check_lists_the_conditions_when_none_is_near() -> None:
    (error,) = parse("(1;%zzz%) > 0").check({1: ""}, ["match", "mismatch"])
    assert error.hint == "Conditions: match, mismatch."
