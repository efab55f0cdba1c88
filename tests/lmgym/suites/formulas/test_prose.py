"""Formulas in English, and as pieces for rendering."""

from __future__ import annotations

import pytest

from lmgym.suites.formulas import parse

NAMES = {1: "NP", 2: "Verb", 3: "Main clause"}


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        ("(2;%mismatch%) > (2;%match%)", "surprisal at Verb is higher in mismatch than in match"),
        ("(2;%mismatch%) - (2;%match%) > 0", "surprisal at Verb is higher in mismatch than in match"),
        ("0 > (2;%match%) - (2;%mismatch%)", "surprisal at Verb is lower in match than in mismatch"),
        ("(2;%a%) >= (2;%b%)", "surprisal at Verb is at least as high in a as in b"),
        ("(2;%a%) = (2;%b%)", "surprisal at Verb is about the same in a as in b"),
        ("(2;%a%) != (2;%b%)", "surprisal at Verb is not about the same in a as in b"),
        ("(1;%a%) < (2;%a%)", "in a, surprisal is lower at NP than at Verb"),
        ("(1;%a%) < (2;%b%)", "surprisal at NP in a is lower than surprisal at Verb in b"),
        ("(3;%no gap%) < (3;%b%)", "surprisal at “Main clause” is lower in “no gap” than in b"),
        ("(9;%a%) < (9;%b%)", "surprisal at region 9 is lower in a than in b"),
        ("(*;%a%) < (*;%b%)", "total surprisal over the whole sentence is lower in a than in b"),
        (
            "(*;%a%) < (2;%a%)",
            "total surprisal over the whole sentence in a is lower than surprisal at Verb in a",
        ),
        (
            "[(1;%a%) + (2;%a%)] < [(1;%b%) + (2;%b%)]",
            "total surprisal at NP and Verb is lower in a than in b",
        ),
        (
            "[(1;%a%) < (1;%b%)] & [(1;%c%) < (1;%d%)]",
            "surprisal at NP is lower in a than in b, and in c than in d",
        ),
        (
            "[(1;%a%) < (1;%b%)] | ~[(2;%a%) > 3]",
            "surprisal at NP is lower in a than in b, or it is not the case that "
            "surprisal at Verb in a is higher than 3 bits",
        ),
        (
            "[(1;%a%) - (1;%b%)] > [(1;%c%) - (1;%d%)]",
            "at NP, a exceeds b by more than c exceeds d",
        ),
        ("1 < (1;%a%) - (1;%b%)", "the excess of surprisal at NP in a over b is higher than 1 bit"),
        (
            "[(1;%a%)-(1;%b%)]+[[(1;%c%)+(2;%c%)]-[(1;%d%)+(2;%d%)]]>0",
            "the sum of the excess of surprisal at NP in a over b and the excess of total surprisal at "
            "NP and Verb in c over d is higher than 0 bits",
        ),
        (
            "abs((1;%a%) - (1;%b%)) <= 2",
            "the absolute difference between surprisal at NP in a and surprisal at NP in b "
            "is at most as high as 2 bits",
        ),
        (
            "2 * (1;%a%) > max((1;%b%), -(2;%b%), 4)",
            "2 times surprisal at NP in a is higher than the largest of surprisal at NP in b, "
            "minus surprisal at Verb in b and 4 bits",
        ),
        (
            "[(1;%a%) + (1;%b%)] / 2 > (1;%a%) - (1;%b%) + abs((1;%c%))",
            "(the sum of surprisal at NP in a and surprisal at NP in b) divided by 2 is higher than "
            "surprisal at NP in a minus surprisal at NP in b plus the absolute value of surprisal at NP in c",
        ),
        (
            "[(1;%a%) > 1 | (1;%b%) > 1] & (2;%a%) - (1;%b%) > 1",
            "(surprisal at NP in a is higher than 1 bit, or surprisal at NP in b is higher than 1 bit), and "
            "the excess of surprisal at Verb in a over surprisal at NP in b is higher than 1 bit",
        ),
    ],
)
def test_formulas_read_as_english(text: str, prose: str) -> None:
    assert parse(text).describe(NAMES) == prose


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        ("(2;%a%) < (2;%b%)", "mean surprisal per token at Verb is lower in a than in b"),
        ("(1;%a%) < (2;%a%)", "in a, mean surprisal per token is lower at NP than at Verb"),
        ("(*;%a%) < (*;%b%)", "total surprisal over the whole sentence is lower in a than in b"),
        (
            "(*;%a%) < (2;%b%)",
            "total surprisal over the whole sentence in a is lower than mean surprisal per token at Verb in b",
        ),
    ],
)
def test_another_metric_is_said_and_a_sentence_stays_a_sum(text, prose):
    assert parse(text).describe(NAMES, "mean") == prose


def test_pieces_joined_are_the_text_and_references_carry_their_label() -> None:
    text = " [ (2;% no gap %) >= abs( (*;%b%)-1.50 )]&(1 = (7;%c%)) "
    pieces = parse(text).pieces(NAMES)
    assert "".join(piece.text for piece in pieces) == text
    assert all(text[piece.start :].startswith(piece.text) for piece in pieces)
    assert {piece.kind for piece in pieces} == {"ref", "op", "bracket", "number", "blank"}
    references = [(p.condition, p.region, p.label) for p in pieces if p.kind == "ref"]
    assert references == [
        ("no gap", 2, "Verb in “no gap”"),
        ("b", "*", "the whole sentence in b"),
        ("c", 7, "region 7 in c"),
    ]
    assert all(p.condition is None and p.region is None for p in pieces if p.kind != "ref")
