"""Properties of all formulas and texts."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, example, given
from hypothesis import strategies as st

from lmgym.suites.formulas import MAX_DEPTH, MAX_LENGTH, MAX_NODES, TRUE, Formula, FormulaError, parse
from lmgym.suites.formulas.nodes import (
    FUNCTIONS,
    AnyNode,
    Arithmetic,
    Call,
    Comparison,
    Logic,
    Negative,
    Not,
    Number,
    Reference,
    canonical,
    walk,
)

CONDITIONS = ("a", "b", "no gap", "d'été")
KEYS = [(condition, region) for condition in CONDITIONS for region in (1, 2)]

names = st.one_of(
    st.sampled_from(CONDITIONS),
    st.text(st.characters(exclude_categories=["C"], exclude_characters="%"), min_size=1, max_size=8)
    .map(str.strip)
    .filter(bool),
)
numbers = st.floats(0, allow_infinity=False, allow_nan=False).map(abs).map(Number)


def references(condition: st.SearchStrategy[str]) -> st.SearchStrategy[Reference]:
    return st.builds(Reference, condition, st.one_of(st.integers(0, 2000), st.just("*")))


def numeric(leaves: st.SearchStrategy[AnyNode]) -> st.SearchStrategy[AnyNode]:
    def grow(inner: st.SearchStrategy[AnyNode]) -> st.SearchStrategy[AnyNode]:
        def run(signs: str) -> st.SearchStrategy[AnyNode]:
            step = st.tuples(st.sampled_from(signs), inner)
            return st.builds(Arithmetic, inner, st.lists(step, min_size=1, max_size=3).map(tuple))

        arguments = st.lists(inner, min_size=1, max_size=3).map(tuple)
        calls = st.builds(Call, st.sampled_from(FUNCTIONS[1:]), arguments)
        absolute = st.builds(Call, st.just("abs"), st.tuples(inner))
        return st.one_of(run("+-"), run("*/"), calls, absolute, st.builds(Negative, inner))

    return st.recursive(leaves, grow, max_leaves=6)


def boolean(leaves: st.SearchStrategy[AnyNode]) -> st.SearchStrategy[AnyNode]:
    sides = numeric(leaves)
    signs = st.sampled_from(["<", ">", "<=", ">=", "=", "!="])
    return st.recursive(
        st.builds(Comparison, signs, sides, sides),
        lambda inner: st.one_of(
            st.builds(Not, inner),
            st.builds(Logic, st.sampled_from("&|"), st.lists(inner, min_size=2, max_size=3).map(tuple)),
        ),
        max_leaves=5,
    )


any_formula = boolean(st.one_of(numbers, references(names)))
known = st.sampled_from(KEYS).map(lambda key: Reference(*key))
small = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 3.0005, 1e-3])
valued_formula = boolean(st.one_of(small.map(Number), known))


def naive_truth(node: AnyNode, values: dict[tuple[str, int | str], float]) -> bool:
    """Evaluate a formula for one item, by the reference semantics in plain Python."""
    if isinstance(node, Not):
        return not naive_truth(node.operand, values)
    if isinstance(node, Logic):
        parts = [naive_truth(part, values) for part in node.operands]
        return all(parts) if node.operator == "&" else any(parts)
    assert isinstance(node, Comparison)
    a, b = naive_number(node.left, values), naive_number(node.right, values)
    same = a == b or abs(a - b) < 1e-9
    close = abs(a - b) < 1e-3 + 1e-5 * abs(b) + 1e-9
    return {
        "<": a < b and not same,
        ">": a > b and not same,
        "<=": a < b or same,
        ">=": a > b or same,
        "=": close,
        "!=": not close,
    }[node.operator]


def naive_number(node: AnyNode, values: dict[tuple[str, int | str], float]) -> float:
    if isinstance(node, Number):
        return node.value
    if isinstance(node, Reference):
        return values[node.key]
    if isinstance(node, Negative):
        return -naive_number(node.operand, values)
    if isinstance(node, Call):
        arguments = [naive_number(argument, values) for argument in node.arguments]
        if node.function == "abs":
            return abs(arguments[0])
        total = arguments[0]
        for argument in arguments[1:]:
            total += argument
        results = {"sum": total, "mean": total / len(arguments), "min": min(arguments), "max": max(arguments)}
        return results[node.function]
    assert isinstance(node, Arithmetic)
    total = naive_number(node.first, values)
    for sign, term in node.rest:
        other = naive_number(term, values)
        if sign == "+":
            total += other
        elif sign == "-":
            total -= other
        elif sign == "*":
            total *= other
        else:
            total /= other
    return total


@given(any_formula)
def test_a_printed_formula_reads_back_as_itself(tree: AnyNode) -> None:
    text = canonical(tree)
    parts = list(walk(tree))
    assume(len(text) <= MAX_LENGTH and len(parts) <= MAX_NODES)
    assume(max(depth for _, depth in parts) <= MAX_DEPTH)
    formula = parse(text)
    assert formula.ast == tree
    assert formula.canonical() == text
    assert "".join(piece.text for piece in formula.pieces({})) == text


@given(any_formula, st.integers(0, 3))
@example(parse("[0<0] | [[(*;%a%)*(*;%a%) < 0] & [37+0 < (0;%a%)]]").ast, 0)
def test_every_formula_can_be_described_checked_and_given_a_chance_level(tree: AnyNode, seed: int) -> None:
    text = canonical(tree)
    assume(len(text) <= 300)
    formula = parse(text)
    assert formula.describe({1: "NP"})
    assert all(isinstance(error, FormulaError) for error in formula.check({1: "NP"}, ["a"]))
    level = formula.chance_level(seed)
    assert 0 <= level.value <= 1
    assert level.exact == (level.standard_error == 0)


fragments = st.sampled_from(
    [*"()[]<>=!~&|+-*/%,1.eé٣≤−\x00 ", "(1;%a%)", "(*;%b%)", "(1;", "abs(", "min(", "and"]
)


def attempt(text: str) -> Formula | FormulaError:
    try:
        return parse(text)
    except FormulaError as error:
        return error


@given(st.one_of(st.text(max_size=80), st.lists(fragments, max_size=25).map("".join)))
def test_any_text_is_a_formula_or_a_formula_error(text: str) -> None:
    result = attempt(text)
    if isinstance(result, FormulaError):
        assert 0 <= result.position <= len(text)
        assert str(result)
    else:
        assert parse(result.canonical()).ast == result.ast


values = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 3.0005, 3.002, 10.185142])
items = st.lists(st.fixed_dictionaries(dict.fromkeys(KEYS, values)), min_size=1, max_size=5)


@given(valued_formula, items)
def test_many_items_at_once_give_what_each_gives_alone_and_what_plain_python_gives(
    tree: AnyNode, rows: list[dict[tuple[str, int | str], float]]
) -> None:
    text = canonical(tree)
    assume(len(text) <= MAX_LENGTH)
    formula = parse(text)
    together = formula.evaluate_items({key: np.array([row[key] for row in rows]) for key in KEYS})
    alone = [formula.evaluate(row) for row in rows]
    assert [code == TRUE for code in together.outcome.tolist()] == alone
    for row, truth, margin in zip(rows, alone, together.margin.tolist(), strict=True):
        try:
            assert naive_truth(tree, row) == truth
        except ZeroDivisionError:
            assert not truth
            continue
        assert margin >= 0 if truth else margin <= 0
