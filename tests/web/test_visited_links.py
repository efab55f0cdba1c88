"""Links look the same before and after a visit: a rule for visited links would outrank the navigation's
colours.
"""

from __future__ import annotations

from pathlib import Path

STYLES = Path(__file__).resolve().parents[2] / "static/css"


def test_no_style_sheet_colours_visited_links():
    sheets = sorted(STYLES.glob("*.css"))
    assert sheets
    assert [sheet.name for sheet in sheets if ":visited" in sheet.read_text()] == []
