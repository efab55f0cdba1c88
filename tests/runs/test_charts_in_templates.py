"""Template tags around the charts: numbers, steps, marks, and escaping."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
from django.template import Context, Template

from gym.templatetags import gym as tags
from lmgym.charts.regions import rate_bar, region_chart
from lmgym.charts.svg import element


def render(source: str, **context: object) -> str:
    return Template(source).render(Context(context))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12.345, "12.35"),
        (-0.001, "0.00"),
        (-1.5, "−1.50"),
        (0, "0.00"),
        (None, "–"),
        (math.nan, "–"),
        ("x", "–"),
    ],
)
def test_bits(value: object, text: str) -> None:
    assert tags.bits(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(1.2, "+1.20"), (-0.35, "−0.35"), (0.0, "0.00"), (-0.0001, "0.00"), (None, "–")]
)
def test_signed(value: object, text: str) -> None:
    assert tags.signed(value) == text


def test_the_interval_tag_formats_both_limits_as_its_filter_does() -> None:
    source = '{% interval low high "score" 2 %}; '
    source += '{% interval low high "whole_percent" %}; {% interval low none "signed" %}'
    assert render(source, low=0.125, high=0.5, none=None) == "0.12 to 0.50; 12 to 50; –"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5 / 6, "83.3%"),
        (1, "100.0%"),
        (2499 / 2500, ">99.9%"),
        (1 - 1e-13, "100.0%"),
        (0, "0.0%"),
        (1 / 2500, "<0.1%"),
        (1e-13, "0.0%"),
        (None, "–"),
    ],
)
def test_percent(value: object, text: str) -> None:
    assert tags.percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.996, ">99"), (0.005, "<1"), (0.006, "1"), (1, "100"), (0, "0")]
)
def test_whole_percent(value: object, text: str) -> None:
    assert tags.whole_percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.04, "< 0.1 s"),
        (12.4, "12 s"),
        (200, "3 min 20 s"),
        (180, "3 min"),
        (3599, "59 min 59 s"),
        (3600, "1 h"),
        (7500, "2 h 5 min"),
        (None, "–"),
    ],
)
def test_duration(value: object, text: str) -> None:
    assert tags.duration(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "a few seconds left"),
        (44, "about 40 s left"),
        (600, "about 10 min left"),
        (9000, "about 2.5 h left"),
        (None, ""),
    ],
)
def test_eta_is_no_more_precise_than_it_can_be(value: object, text: str) -> None:
    assert tags.eta(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(239_040, "239k"), (124_439_808, "124M"), (1_557_611_200, "1.6B"), (12, "12"), (None, "–")],
)
def test_compact(value: object, text: str) -> None:
    assert tags.compact(value) == text


def test_heat_has_nine_steps() -> None:
    assert tags.heat(0.0) == "h0"
    assert tags.heat(1000) == "h8"
    assert tags.heat(None) == ""
    assert [look for look, _ in tags.heat_scale()] == [f"h{k}" for k in range(9)]


def test_rates_have_nine_steps() -> None:
    assert (tags.rate_step(0.0), tags.rate_step(1.0), tags.rate_step(None)) == ("r0", "r8", "")


def test_blanks_of_a_token_become_visible() -> None:
    assert tags.visible_spaces(" the") == [("␣", True), ("the", False)]
    assert tags.visible_spaces("Ġ▁a b") == [("␣␣", True), ("a", False), ("␣", True), ("b", False)]


def test_outcome_marks_have_words() -> None:
    html = render("{% mark 2 %}{% mark 3 %}")
    assert "tie" in html
    assert "not evaluable" in html


def test_states_nobody_knows_are_shown_escaped() -> None:
    assert "&lt;b&gt;" in render("{% badge state %}", state="<b>")


def test_charts_are_printed_as_they_are_and_their_texts_are_not() -> None:
    html = render("{{ chart }}{{ bar }}", chart=region_chart(["<i>"], [], (), "<i>"), bar=rate_bar(0.5))
    assert html.startswith("<svg")
    assert "<i>" not in html
    assert "&lt;i&gt;" in html


def test_the_builder_escapes_children_and_attributes() -> None:
    assert element("a", {"b": '"<&'}, "<&") == "<a b='\"&lt;&amp;'>&lt;&amp;</a>"


def test_a_formula_is_rendered_with_names() -> None:
    from lmgym.suites.formulas import parse

    text = "(2;%match%) < (2;%mismatch%) & (*;%match%) > 0"
    revision = SimpleNamespace(regions={1: "the", 2: "<verb>"}, condition_names=["match", "mismatch"])
    shown = SimpleNamespace(
        pieces=parse(text).pieces(revision.regions), error="", prediction=SimpleNamespace(formula=text)
    )
    html = render("{% formula shown revision %}", shown=shown, revision=revision)
    assert "&lt;verb&gt;" in html
    assert "whole sentence" in html
    assert 'class="ref cond-1"' in html
    assert ">and<" in html


def test_a_formula_that_cannot_be_read_says_so() -> None:
    shown = SimpleNamespace(pieces=[], error="no <bracket>", prediction=SimpleNamespace(formula="(("))
    html = render("{% formula shown revision %}", shown=shown, revision=None)
    assert "no &lt;bracket&gt;" in html
    assert "((" in html
