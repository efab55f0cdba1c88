"""Charts are well-formed, escape their texts, and draw the values they get."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from lmgym.charts.regions import Markup, Series, margin_strip, rate_bar, region_chart

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</text><script>alert('x')</script>&\"'\x00\x1b\ud800"


def drawn(svg: Markup) -> ET.Element:
    root = ET.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    return root


def texts(root: ET.Element) -> str:
    return " ".join("".join(node.itertext()) for node in root.iter(f"{SVG}text"))


def two_conditions() -> list[Series]:
    return [
        Series("match", [1.0, 2.0, 3.0], [0.5, 1.5, 2.5], [1.5, 2.5, 3.5], n=24),
        Series("mismatch", [1.0, 2.0, 9.0], [0.5, 1.5, 8.0], [1.5, 2.5, 10.0], n=24),
    ]


def points(root: ET.Element) -> list[str]:
    """Return the tooltips of the drawn points."""
    return [t.text or "" for g in root.iter(f"{SVG}g") for t in g.findall(f"{SVG}title")]


def test_a_chart_says_what_it_shows() -> None:
    root = drawn(region_chart(["the", "noun", "verb"], two_conditions(), {3}, "Demo on agreement"))
    assert root.get("role") == "img"
    assert root.findtext(f"{SVG}title") == "Demo on agreement"
    assert "2 conditions in 3 regions" in (root.findtext(f"{SVG}desc") or "")
    assert "n = 24 items" in texts(root)
    assert "95% interval" in texts(root)


def test_every_value_has_a_point_with_its_numbers() -> None:
    tips = points(drawn(region_chart(["the", "noun", "verb"], two_conditions())))
    assert len(tips) == 6
    assert "mismatch, 3 verb: 9.00 bits (8.00 to 10.00)" in tips


def test_critical_regions_are_numbers_from_one() -> None:
    root = drawn(region_chart(["the", "noun", "verb"], two_conditions(), {3, 99}))
    bands = [node for node in root.iter(f"{SVG}rect") if node.get("class") == "c-band"]
    strong = [node for node in root.iter(f"{SVG}text") if "c-strong" in (node.get("class") or "")]
    assert len(bands) == 1
    assert ["".join(node.itertext()) for node in strong] == ["verb3 verb"]  # tooltip and label


def test_higher_means_further_up() -> None:
    root = drawn(region_chart(["r"], [Series("low", [1.0]), Series("high", [9.0])]))
    circle = next(root.iter(f"{SVG}circle"))  # series 0
    square = next(node for node in root.iter(f"{SVG}path") if "c-fill" in (node.get("class") or ""))
    assert float((square.get("d") or "").split()[1].split("H")[0]) < float(circle.get("cy") or 0)


def test_hostile_names_are_text() -> None:
    svg = region_chart([HOSTILE, "b"], [Series(HOSTILE, [1.0, 2.0])], {1}, HOSTILE, HOSTILE)
    root = drawn(svg)
    assert "<script" not in svg
    assert not list(root.iter(f"{SVG}script"))
    assert "<script>alert('x')</script>" in (root.findtext(f"{SVG}title") or "")


@pytest.mark.parametrize("standalone", [False, True])
def test_it_holds_no_style_and_no_handlers(standalone: bool) -> None:
    root = drawn(region_chart(["a", "b"], two_conditions(), {1}, standalone=standalone))
    for node in root.iter():
        assert "style" not in node.attrib
        assert not [name for name in node.attrib if name.startswith("on") or "href" in name]


def test_missing_values_leave_gaps_and_empty_regions_are_left_out() -> None:
    nan = math.nan
    series = [
        Series("a", [1.0, None, 3.0, nan], [None, None, 2.0, nan], [None, None, 4.0, nan]),
        Series("b", [2.0, None, nan]),
    ]
    root = drawn(region_chart(["one", "two", "three", "four"], series))
    assert len(points(root)) == 3
    assert "two" not in texts(root)
    assert "Empty regions omitted: 2 two, 4 four" in (root.findtext(f"{SVG}desc") or "")
    assert "nan" not in texts(root).lower()


@pytest.mark.parametrize(
    ("n_regions", "n_series"), [(0, 0), (0, 2), (1, 1), (1, 12), (15, 12), (40, 1), (2, 30)]
)
def test_any_size_is_drawn_inside_its_frame(n_regions: int, n_series: int) -> None:
    series = [
        Series(f"condition number {k}", [float((k * 7 + r * 3) % 13) for r in range(n_regions)])
        for k in range(n_series)
    ]
    root = drawn(region_chart([f"region_{r}" for r in range(n_regions)], series))
    width, height = (float(v) for v in (root.get("viewBox") or "").split()[2:])
    for node in root.iter(f"{SVG}text"):
        assert 0 <= float(node.get("x") or 0) <= width
        assert 0 <= float(node.get("y") or 0) <= height


def test_labels_at_the_end_keep_apart() -> None:
    root = drawn(region_chart(["r"], [Series(f"c{k}", [5.0]) for k in range(12)]))
    ys = sorted(float(t.get("y") or 0) for t in root.iter(f"{SVG}text") if (t.text or "").startswith("c"))
    assert len(ys) == 12
    assert min(b - a for a, b in pairwise(ys)) >= 14


def test_conditions_differ_in_shape_not_only_in_colour() -> None:
    root = drawn(region_chart(["r"], [Series(f"c{k}", [float(k)]) for k in range(12)]))
    shapes = set()
    for group in root.iter(f"{SVG}g"):
        if group.find(f"{SVG}title") is None:
            continue
        mark = list(group)[-1]
        outline = "".join(ch for ch in mark.get("d") or "circle" if ch.isalpha())
        shapes.add((outline, "c-hollow" in (mark.get("class") or ""), len(mark.get("d") or "")))
    assert len(shapes) >= 11


def test_one_long_word_turns_all_labels() -> None:
    root = drawn(region_chart(["the", "x" * 60], [Series("c", [1.0, 2.0])]))
    turned = [t for t in root.iter(f"{SVG}text") if "rotate" in (t.get("transform") or "")]
    assert len(turned) == 2


def test_constant_zero_and_negative_values_have_an_axis() -> None:
    assert drawn(region_chart(["r"], [Series("c", [0.0])])) is not None
    assert "−1" in texts(drawn(region_chart(["r"], [Series("c", [-1.0])])))


def test_standalone_charts_carry_their_colours() -> None:
    svg = region_chart(["a", "b"], two_conditions(), {1}, "For a paper", standalone=True)
    root = drawn(svg)
    assert "class=" not in svg
    assert "var(" not in svg
    assert "For a paper" not in texts(root)  # a paper has its own caption
    assert root.findtext(f"{SVG}title") == "For a paper"
    assert root.find(f"{SVG}rect") is not None
    assert root.find(f"{SVG}rect").get("fill") == "#ffffff"  # type: ignore[union-attr]
    assert "#0a66a3" in svg


def test_of_two_factors_one_is_the_colour_and_the_other_the_shape() -> None:
    looks = {"match_sing": (0, 0), "mismatch_sing": (1, 0), "match_plural": (0, 1), "mismatch_plural": (1, 1)}
    series = [Series(name, [1.0, float(k)], look=look) for k, (name, look) in enumerate(looks.items())]
    for narrow in (False, True):
        svg = region_chart(["a", "b"], series, narrow=narrow)
        assert {k for k in range(9) if f"c-s{k}" in svg} == {0, 1}
        marks = [node.get("class") or "" for node in drawn(svg).iter(f"{SVG}circle")]
        assert {name.split()[-1] for name in marks} == {
            "c-s0",
            "c-s1",
        }  # the shape does not depend on the colour
        assert svg.count("c-dash") == 2


def test_the_narrow_drawing_has_its_key_below_and_all_its_marks() -> None:
    names = [f"condition number {k}" for k in range(6)]
    series = [Series(name, [1.0 + k] * 12, n=24) for k, name in enumerate(names)]
    regions = [f"a region with a long name {k}" for k in range(12)]
    narrow, wide = (region_chart(regions, series, {1}, narrow=narrow) for narrow in (True, False))
    assert points(drawn(narrow)) == points(drawn(wide))
    assert float(drawn(narrow).get("width") or 0) <= 350 < float(drawn(wide).get("width") or 0)
    assert all(name in texts(drawn(narrow)) for name in names)


def test_the_same_input_gives_the_same_drawing() -> None:
    assert region_chart(["a"], two_conditions()) == region_chart(["a"], two_conditions())


# --- rate bar -----------------------------------------------------------------------------------------------------
def test_the_rate_bar_is_as_long_as_the_rate() -> None:
    bars = [
        node
        for node in drawn(rate_bar(0.5, 0.3, 0.7, 0.25, width=102)).iter(f"{SVG}rect")
        if node.get("class") == "rb-bar"
    ]
    assert float(bars[0].get("width") or 0) == pytest.approx(50.0)


@pytest.mark.parametrize(
    "values", [(None,), (math.nan, math.nan, None, math.inf), (2.0, -1.0, 3.0, 9.0), (0.0, 0.0, 0.0, 0.0)]
)
def test_rate_bars_take_anything(values: tuple[float | None, ...]) -> None:
    root = drawn(rate_bar(*values))
    for node in root.iter(f"{SVG}rect"):
        assert 0 <= float(node.get("width") or 0) <= 96


# --- margins ------------------------------------------------------------------------------------------------------
def test_margins_are_dots_of_their_outcome() -> None:
    root = drawn(
        margin_strip([1.0, -2.0, 0.0, None], [1, 0, 2, 3], labels=["item 7", "item 8", "item 9", "item 10"])
    )
    kinds = [node.get("class") for node in root.iter(f"{SVG}circle")]
    assert sorted(str(kind) for kind in kinds) == ["m-false", "m-tie", "m-true"]
    assert "item 8: −2.00 bits" in points(root)
    assert "1 item without a margin is omitted" in (root.findtext(f"{SVG}desc") or "")


def test_zero_is_always_on_the_axis_and_parts_held_from_failed() -> None:
    root = drawn(margin_strip([5.0, 6.0, -1.0], [1, 1, 0]))
    zero = next(node for node in root.iter(f"{SVG}line") if node.get("class") == "m-zero")
    x0 = float(zero.get("x1") or 0)
    for dot in root.iter(f"{SVG}circle"):
        assert (float(dot.get("cx") or 0) > x0) == (dot.get("class") == "m-true")


def test_equal_margins_are_stacked() -> None:
    root = drawn(margin_strip([0.0] * 60, [2] * 60))
    assert len({node.get("cy") for node in root.iter(f"{SVG}circle")}) == 60


@pytest.mark.parametrize("margins", [[], [None], [math.nan, math.inf]])
def test_no_margins_give_an_empty_strip(margins: list[float | None]) -> None:
    assert not list(drawn(margin_strip(margins, [3] * len(margins))).iter(f"{SVG}circle"))
