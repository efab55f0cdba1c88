"""The narrow drawing of a chart fits a phone, including its marks."""

from __future__ import annotations

import re

from lmgym.charts.heatmap import heat_chart
from lmgym.charts.intervals import RowMark, interval_rows
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
