"""The drawing of a chart for telephones fits one, marks and all."""

from __future__ import annotations

import re

from gym.lib.charts.intervals import RowMark, interval_rows

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
