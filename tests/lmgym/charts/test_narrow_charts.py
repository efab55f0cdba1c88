"""The narrow drawing of a chart fits a phone, including its marks."""

from __future__ import annotations

import re

import pytest

from lmgym.charts.heatmap import heat_chart
from lmgym.charts.intervals import RowMark, interval_rows
from lmgym.charts.svg import text_width
from lmgym.charts.xy import Point, xy_chart

ROWS = [
    RowMark("A system with a name that is long enough for two lines of a label", 0.9, 0.8, 0.95, 0.3),
    RowMark("Best", 1.0, 1.0, 1.0, 0.3),
]


def width(drawing: str) -> float:
    found = re.search(r'<svg[^>]* width="([\d.]+)"', drawing)
    assert found
    return float(found[1])


def test_the_narrow_drawing_fits_a_telephone_with_all_its_marks():
    narrow, wide = (str(interval_rows(ROWS, "Board", narrow=narrow)) for narrow in (True, False))
    assert width(narrow) <= 350 < width(wide)
    assert narrow.count("<title>") == wide.count("<title>")
    assert max(map(float, re.findall(r'cx="([\d.]+)"', narrow))) < width(narrow)


def test_the_key_of_series_stands_below_the_narrow_drawing():
    series = [
        (f"A model with a long name, number {k}", [Point(1, 0.2, "a"), Point(20, 0.9, "b")]) for k in (1, 2)
    ]
    told = {
        "x_label": "k",
        "y_label": "hit@k",
        "note": "Whiskers: 95% interval, by a method that is named here.",
    }
    narrow, wide = (str(xy_chart(series, "Games", **told, narrow=narrow)) for narrow in (True, False))
    assert width(narrow) <= 350 < width(wide)
    assert all(name in narrow for name, _ in series)


def test_a_small_grid_fits_a_telephone_whatever_is_said_below_it():
    names = ["NONE", "CREATE", "MOVE", "DESTROY"]
    said = "Steps; the stronger the colour, the greater their share among those of the answers"
    assert width(str(heat_chart(names, names, [[0.5] * 4] * 4, "Actions", description=said))) <= 350


def test_the_names_of_many_series_stand_below_each_other_where_the_drawing_is_narrow():
    names = [f"A server with a long name, number {k}" for k in range(4)]
    narrow, wide = (
        str(interval_rows(ROWS, "Over time", series=names, narrow=narrow)) for narrow in (True, False)
    )
    assert width(narrow) <= 350 < width(wide)
    assert all(name in narrow for name in names)


@pytest.mark.parametrize("second", ["", "A model"])
def test_a_narrow_drawing_has_each_label_once_above_its_marks(second):
    pair = [RowMark("A model", 0.5), RowMark(second, 0.6, series=1)]
    narrow = str(interval_rows(pair, "Pairs", narrow=True))
    [label] = re.findall(r'y="([\d.]+)"[^>]*>A model<', narrow)
    first = re.search(r'cy="([\d.]+)"', narrow)
    assert first
    assert float(label) < float(first[1])
    assert narrow.count("</text>") == str(interval_rows(pair[:1], "Pairs", narrow=True)).count("</text>")


def test_the_label_of_a_point_ends_within_the_narrow_drawing():
    points = [Point(x, 0.5, "A model with a name that is long", strong=True) for x in (1, 5, 10)]
    drawing = str(xy_chart([("", points)], "Sizes", x_label="x", y_label="y", narrow=True))
    assert width(drawing) <= 350
    places = re.findall(r'<text x="([\d.]+)" y="[\d.]+" class="c-text( c-end)?">(A model[^<]*)<', drawing)
    assert len(places) == 3
    for x, is_left_of_it, text in places:
        start = float(x) - text_width(text) if is_left_of_it else float(x)
        assert start >= 0
        assert start + text_width(text) <= width(drawing)
